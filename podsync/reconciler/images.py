"""Images: is a container's there, or must it be pulled first."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from podsync.backoff import IMAGE_PULL
from podsync.plan import Cause, PullImage
from podsync.reconciler.draft import Draft, View, not_yet
from podsync.state import Failure, PullState

if TYPE_CHECKING:
    from podsync.models import Container

__all__ = ["image_ready"]

FRESH_FAILURE = timedelta(seconds=2)
"""How long a failed pull is told as ErrImagePull before it is told as back-off."""
NEVER_PULL_RETRY = timedelta(seconds=10)
"""When to look again for an image that must not be pulled."""
_UNPULLED = PullState()
# what waiting cannot change keeps its own word
_LASTING = frozenset({"InvalidImageName"})


def image_ready(view: View, draft: Draft, container: Container) -> bool:
    """Whether the container may be created now; otherwise plan the pull or say what it waits for.

    An image not known to be absent is taken to be there: creation finds out.
    """
    image, policy = container.image, container.image_pull_policy
    absent = image in view.absent_images
    pull = view.memory.pulls.get(image, _UNPULLED)
    if not absent and (policy != "Always" or pull.ready):
        return True
    if policy == "Never":
        message = f'Container image "{image}" is not present with pull policy of Never'
        draft.wait(container.name, "ErrImageNeverPull", message)
        draft.wake(view.now + NEVER_PULL_RETRY)
        return False
    if pull.failure is not None and not pull.pulling:
        due = pull.failure.at + timedelta(seconds=IMAGE_PULL.after(pull.failure.count))
        if view.now < due:
            told_until = pull.failure.at + FRESH_FAILURE
            if view.now < told_until or pull.failure.reason in _LASTING:
                draft.wait(container.name, pull.failure.reason, pull.failure.message, due)
                draft.wake(told_until if view.now < told_until else due)
            else:
                draft.wait(container.name, "ImagePullBackOff", _back_off_text(image, pull.failure), due)
            return False
    if not pull.pulling:
        draft.pulls[image] = PullImage(image, Cause.IMAGE_ABSENT if absent else Cause.PULL_ALWAYS)
    if pull.failure is not None:
        # until the new try has an answer the last one stands, as on a kubelet
        draft.wait(container.name, "ImagePullBackOff", _back_off_text(image, pull.failure))
    elif view.newest(container.name) is None:
        draft.wait(container.name, not_yet(view.pod))
    return False


def _back_off_text(image: str, failure: Failure) -> str:
    return f'Back-off pulling image "{image}": {failure.reason}: {failure.message}'
