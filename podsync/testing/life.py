"""One life of an agent in a simulation: its workers, its inbox, its steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from podsync.errors import Conflict, NotFound, PodsyncError
from podsync.messages import BatchDone, Looked, Message, PullDone

if TYPE_CHECKING:
    from podsync.owner import Owner
    from podsync.testing.schedule import Schedule

__all__ = ["AgentKilled", "Life"]

MOMENT = 0.001
STEPS_A_MOMENT = 500
"""So many steps with less than a moment between each and the next are a busy loop."""


class AgentKilled(BaseException):
    """``kill -9``: passes through everything the agent does."""


class Life:
    """The ``Workers`` and the ``Inbox`` of one agent, until it is killed.

    A job draws two delays: when its effect happens, and when the news of it arrives.
    Without the second no look would ever be stale. ``problems`` collects, in words, what
    a sound agent never does; ``calm`` says whether nobody else has touched the engine lately.
    """

    def __init__(self, schedule: Schedule, problems: list[str], calm: Callable[[], bool]) -> None:
        """Begin a life; all that belongs to the one before is void."""
        schedule.life += 1
        self.number = schedule.life
        self.owner: Owner | None = None
        self._schedule, self._problems, self._calm = schedule, problems, calm
        self._lanes: set[str] = set()
        self._inbox: list[Message] = []
        self._steps = 0
        self._stepped_at = 0.0
        self._wake = 0

    # -- Inbox -------------------------------------------------------------------------

    def post(self, message: Message) -> None:
        """Read with the next step."""
        self._inbox.append(message)

    def wait(self, timeout: float | None) -> Sequence[Message]:
        """Nobody waits here: the owner is stepped when there is something to tell."""
        del timeout
        messages, self._inbox = tuple(self._inbox), []
        return messages

    # -- Workers -----------------------------------------------------------------------

    def submit(self, lane: str, job: Callable[[], Message]) -> None:
        """Run a job some time, and let its news arrive some time later."""
        if lane in self._lanes:
            self._problems.append(f"the lane {lane} is used twice at once")
        self._lanes.add(lane)
        self.later(self._schedule.delay(), lambda: self._perform(lane, job))

    def together(self, jobs: Sequence[Callable[[], None]]) -> None:
        """Independent calls, in any order."""
        for job in self._schedule.random.sample(list(jobs), len(jobs)):
            job()

    def stop(self, timeout: float) -> bool:
        """Jobs end with their life."""
        del timeout
        return True

    # -- living ------------------------------------------------------------------------

    def later(self, seconds: float, event: Callable[[], None]) -> None:
        """Let something happen in this life."""
        self._schedule.at(seconds, event, self.number)

    def deliver(self, message: Message) -> None:
        """A message arrives, and the owner steps."""
        self.post(message)
        self.step()

    def step(self) -> None:
        """One step of the owner, and the next one when it asks for it."""
        if self.owner is None:
            return
        now = self._schedule.clock.monotonic()
        self._steps = self._steps + 1 if now - self._stepped_at < MOMENT else 0
        self._stepped_at = now
        if self._steps > STEPS_A_MOMENT:
            self._problems.append("the agent steps again and again while hardly any time goes by")
        self.owner.step(self.wait(0))
        self._wake += 1
        ticket = self._wake
        wait = max(self.owner.seconds_to_wait(), 1e-6)
        self.later(wait, lambda: self.step() if ticket == self._wake else None)

    def kill(self) -> None:
        """End this life wherever it is."""
        raise AgentKilled

    def _perform(self, lane: str, job: Callable[[], Message]) -> None:
        message = job()
        self._judge(message)

        def arrive() -> None:
            self._lanes.discard(lane)
            self.deliver(message)

        self.later(self._schedule.delay(), arrive)

    def _judge(self, message: Message) -> None:
        """Errors must be podsync's own; and in calm weather no action is at odds with the engine."""
        errors: list[Exception | None] = []
        if isinstance(message, BatchDone):
            errors = [*(outcome.error for outcome in message.outcomes), message.look_error]
        elif isinstance(message, Looked | PullDone):
            errors = [message.error]
        for error in errors:
            odd = isinstance(error, Conflict | NotFound) and self._calm()
            if error is not None and (odd or not isinstance(error, PodsyncError)):
                self._problems.append(f"unexpected {error!r}")
