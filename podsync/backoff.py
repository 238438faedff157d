"""How long to wait before the next try, from what is known of the last one."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CRASH_LOOP", "IMAGE_PULL", "SANDBOX", "START", "VOLUME", "Backoff"]


@dataclass(frozen=True, slots=True)
class Backoff:
    """A delay that doubles from ``initial`` to ``maximum`` seconds.

    ``reset`` is how long (seconds) an attempt has to last for the next failure
    to count as the first again.
    """

    initial: float
    maximum: float
    reset: float = 600.0

    def after(self, failures: int) -> float:
        """Seconds to wait after that many failures in a row (1 or more)."""
        if failures < 1:
            return 0.0
        # 2**60 seconds is beyond any maximum; the cap keeps the power cheap
        return float(min(self.initial * 2 ** min(failures - 1, 60), self.maximum))

    def following(self, previous: float | None, ran: float) -> float:
        """Seconds between the end of an attempt and the next one.

        ``previous`` is the delay that preceded the attempt that just ended
        (None for a first attempt), ``ran`` how long it ran, both in seconds.
        The first restart is immediate, as the kubelet's is.
        """
        if previous is None or ran > self.reset:
            return 0.0
        if previous <= 0:
            return min(self.initial, self.maximum)
        return min(previous * 2, self.maximum)


# The kubelet's constants: crash loop and image pull 10 s to 5 min, volumes 0.5 s to 122 s.
CRASH_LOOP = Backoff(initial=10, maximum=300, reset=600)
IMAGE_PULL = Backoff(initial=10, maximum=300)
START = Backoff(initial=10, maximum=300)
SANDBOX = Backoff(initial=2, maximum=60)
VOLUME = Backoff(initial=0.5, maximum=122)
