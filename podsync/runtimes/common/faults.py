"""The engine's words into podsync's errors.

Engines tell failures apart by text more than by status code, and both change from
release to release. The short lower-case pieces below held for every release tried.
"""

from __future__ import annotations

import errno

from podsync.errors import (
    Conflict,
    ImageAbsent,
    ImageFault,
    NotFound,
    RuntimeFault,
    RuntimeUnavailable,
    StartFault,
)

__all__ = [
    "Refusal",
    "clean",
    "create_fault",
    "is_absent",
    "is_half_removed",
    "is_image_absent",
    "is_name_taken",
    "is_not_running",
    "is_removal_under_way",
    "pull_fault",
    "start_exit_code",
    "start_fault",
    "unavailable",
    "verb_fault",
]

_MAX_TEXT = 1024
_NOT_FOUND_EXIT = 127
_NOT_EXECUTABLE_EXIT = 126
_START_ERROR_EXIT = 128

_NAME_TAKEN = ("is already in use by container", "name is already in use", "already in use")
_IMAGE_ABSENT = ("no such image", "image not known", "unable to find image")
_HALF_REMOVED = ("container not known", "getting container from store")
_ABSENT = ("no such container", "no container with", "no such exec", "no such object", *_HALF_REMOVED)
_NOT_RUNNING = ("is not running", "can only kill running", "container state improper", "not running")
_REMOVAL_UNDER_WAY = ("already in progress", "device or resource busy", "marked for removal")
_BAD_NAME = ("invalid reference format", "repository name must be")
# Wrappings of an engine's error that tell a reader nothing; what they wrap follows them.
_WRAPPINGS = (
    "failed to create task for container: ",
    "failed to create shim task: ",
    "OCI runtime create failed: ",
    "OCI runtime error: ",
    "runc create failed: ",
    "runc: ",
    "crun: ",
    "unable to start container process: ",
    "error during container init: ",
    "preparing container for attach: ",
)


class Refusal(Exception):
    """An engine's answer other than success: HTTP ``status`` and the ``text`` it gave.

    Never leaves an adapter: each verb says what a refusal means for it.
    """

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"{status}: {text}")
        self.status = status
        self.text = text

    def says(self, pieces: tuple[str, ...]) -> bool:
        """Whether the text holds one of the pieces, in any case."""
        text = self.text.lower()
        return any(piece in text for piece in pieces)


def clean(text: str) -> str:
    """The engine's own words on one line, without the wrappings, of bounded length."""
    words = " ".join(text.split())
    for wrapping in _WRAPPINGS:
        words = words.replace(wrapping, "")
    words = words.removesuffix(": unknown")
    return words if len(words) <= _MAX_TEXT else words[: _MAX_TEXT - 1] + "…"


def is_absent(refusal: Refusal) -> bool:
    """The container, sandbox or exec session does not exist."""
    return refusal.says(_ABSENT) or (refusal.status == 404 and not is_image_absent(refusal))  # noqa: PLR2004


def is_half_removed(refusal: Refusal) -> bool:
    """A removal broke off: the engine lists the container, and has lost what it was made of.

    Podman's two stores may disagree like that for good. "No such container" is not this: that
    is how it speaks, with a 500 too, of one that went between two calls.
    """
    return refusal.says(_HALF_REMOVED)


def is_image_absent(refusal: Refusal) -> bool:
    """The engine's store lacks the image."""
    return refusal.says(_IMAGE_ABSENT)


def is_name_taken(refusal: Refusal) -> bool:
    """An object of that name exists."""
    return refusal.says(_NAME_TAKEN) and "address already in use" not in refusal.text.lower()


def is_not_running(refusal: Refusal) -> bool:
    """The verb needs a running container and this one does not run."""
    return refusal.says(_NOT_RUNNING)


def is_removal_under_way(refusal: Refusal) -> bool:
    """Somebody else is removing it."""
    return refusal.says(_REMOVAL_UNDER_WAY)


def verb_fault(refusal: Refusal) -> RuntimeFault:
    """What a refusal means where the verb gives it no meaning of its own."""
    text = clean(refusal.text)
    if is_absent(refusal):
        return NotFound(text)
    if refusal.status == 409:  # noqa: PLR2004
        return Conflict(text)
    return RuntimeFault(text)


def create_fault(refusal: Refusal, *, image: str, sandbox: bool) -> RuntimeFault:
    """A refused creation: Conflict, ImageAbsent, NotFound (the sandbox to join) or StartFault."""
    if is_name_taken(refusal):
        return Conflict(clean(refusal.text))
    if is_image_absent(refusal):
        return ImageAbsent(image)
    if is_absent(refusal):
        return NotFound(clean(refusal.text))
    return StartFault(clean(refusal.text), reason="CreatePodSandboxError" if sandbox else "CreateContainerError")


def start_fault(refusal: Refusal, *, sandbox: bool) -> RuntimeFault:
    """A refused start: NotFound when it is gone, else StartFault with the kubelet's reason."""
    if refusal.status == 404 and is_absent(refusal):  # noqa: PLR2004
        return NotFound(clean(refusal.text))
    return StartFault(clean(refusal.text), reason="CreatePodSandboxError" if sandbox else "RunContainerError")


def start_exit_code(text: str) -> int:
    """The exit code of a start that failed with this text: 127 not found, 126 not executable, 128 any other."""
    words = text.lower()
    if "executable file not found" in words or "no such file or directory" in words:
        return _NOT_FOUND_EXIT
    if "permission denied" in words:
        return _NOT_EXECUTABLE_EXIT
    return _START_ERROR_EXIT


def pull_fault(image: str, text: str) -> ImageFault:
    """A failed pull: InvalidImageName or ErrImagePull, with the engine's words.

    A registry that is away is ErrImagePull too: the kubelet's own word for it takes a typed
    answer, which these engines do not give.
    """
    refusal = Refusal(0, text)
    words = clean(text)
    if refusal.says(_BAD_NAME):
        return ImageFault(f'Failed to apply default image tag "{image}": {words}', reason="InvalidImageName")
    return ImageFault(f'failed to pull image "{image}": {words}')


def _cause(error: BaseException) -> BaseException:
    """The system's own error under what clients have wrapped around it."""
    seen: set[int] = set()
    found = error
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        if isinstance(current, OSError) and current.errno is not None:
            return current
        found = current
        inner = next((item for item in current.args if isinstance(item, BaseException)), None)
        current = getattr(current, "reason", None) if inner is None else inner
        current = current if isinstance(current, BaseException) else (found.__cause__ or found.__context__)
    return found


def unavailable(
    engine: str, endpoint: str, error: BaseException, *, waited: float | None = None, start: str = ""
) -> RuntimeUnavailable:
    """Why the engine could not be asked, and what to do about it.

    ``waited`` (seconds) says that it took the call and gave no answer in that time.
    ``start`` is the command that starts the engine.
    """
    cause = _cause(error)
    code = cause.errno if isinstance(cause, OSError) else None
    where = f"{engine} at {endpoint}"
    advice = f"; start it with: {start}" if start else ""
    if waited is not None:
        text = f"{where} did not answer within {waited:g} s: it hangs or is overloaded; look at its log, or restart it"
    elif code == errno.ENOENT:
        text = f"{where}: there is no such socket, so {engine} does not run or listens elsewhere{advice}"
    elif code in {errno.EACCES, errno.EPERM}:
        group = "; run as root, or join the socket's group (usually: docker)" if engine == "Docker" else "; run as root"
        text = f"{where}: permission denied on its socket{group}"
    elif code == errno.ECONNREFUSED:
        text = f"{where} refuses connections: the socket is there but nobody listens{advice}"
    elif code in {errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN}:
        text = f"{where} closed the connection in the middle of a call; it may be restarting"
    else:
        text = f"{where} cannot be asked: {clean(str(cause)) or type(cause).__name__}"
    return RuntimeUnavailable(text)
