"""Every error podsync raises on purpose.

::

    PodsyncError
    ├── ConfigError                 wrong option, unusable root
    ├── PluginError                 an entry point that cannot be loaded
    ├── ManifestError               a manifest that cannot be used: all its problems at once
    ├── SourceError                 a source that cannot be read (never "it is empty")
    └── RuntimeFault                the engine said no
        ├── RuntimeUnavailable      it could not be asked at all
        ├── NotFound
        ├── Conflict                exists already, or is in the wrong state
        ├── Unsupported             this engine cannot do it
        ├── ImageFault              ErrImagePull and its kin
        │   └── ImageAbsent         not in the engine's store
        ├── StartFault              create or start of a container or sandbox failed
        ├── VolumeFault             a volume could not be prepared
        └── ExecTimeout

Each class carries the word Kubernetes uses for it (``reason``), which is what
lands in a container's status, and the exit code of a command that ends with it.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "ConfigError",
    "Conflict",
    "ExecTimeout",
    "FieldError",
    "ImageAbsent",
    "ImageFault",
    "ManifestError",
    "NotFound",
    "PluginError",
    "PodsyncError",
    "RuntimeFault",
    "RuntimeUnavailable",
    "SourceError",
    "StartFault",
    "Unsupported",
    "VolumeFault",
]


class PodsyncError(Exception):
    """Base of everything podsync raises on purpose; its text is fit for a user."""

    reason = "Error"
    exit_code = 1


class ConfigError(PodsyncError):
    """An option, an environment variable or the root directory cannot be used."""

    reason = "InvalidConfiguration"
    exit_code = 1


class PluginError(PodsyncError):
    """A runtime or source plug-in is missing or fails to load; names its distribution."""

    reason = "PluginFailed"


@dataclass(frozen=True, slots=True)
class FieldError:
    """One problem of a manifest.

    ``path`` is a Kubernetes field path (``spec.containers[0].name``; empty for the
    document as a whole), ``message`` the Kubernetes text (``Required value: …``).
    ``line`` counts from 1 and ``document`` from 1; 0 means unknown.
    """

    path: str
    message: str
    file: str = ""
    line: int = 0
    document: int = 0
    warning: bool = False

    def __str__(self) -> str:
        """``FILE:LINE: document N: path: message``, leaving out what is not known."""
        where = f"{self.file or '<input>'}:{self.line}: " if self.line else f"{self.file}: " if self.file else ""
        document = f"document {self.document}: " if self.document else ""
        level = "warning: " if self.warning else ""
        path = f"{self.path}: " if self.path else ""
        return f"{where}{document}{level}{path}{self.message}"


class ManifestError(PodsyncError):
    """A manifest that cannot be used; ``errors`` holds every problem found in it."""

    reason = "FailedValidation"

    def __init__(self, errors: tuple[FieldError, ...]) -> None:
        """Take the problems in the order they should be read."""
        self.errors = errors
        super().__init__("\n".join(str(error) for error in errors))


class SourceError(PodsyncError):
    """A source could not be read. What it said last still stands."""

    reason = "SourceFailed"

    def __init__(self, source: str, message: str) -> None:
        """``source`` is the source's name, ``message`` says what failed and what to do."""
        self.source = source
        super().__init__(f"{source}: {message}")


class RuntimeFault(PodsyncError):
    """The container engine refused or failed.

    ``retryable`` is false when asking again the same way cannot help.
    """

    reason = "RuntimeError"

    def __init__(self, message: str, *, reason: str | None = None, retryable: bool = True) -> None:
        """``message`` holds the engine's own words; ``reason`` overrides the class's word."""
        super().__init__(message)
        self.message = message
        self.retryable = retryable
        if reason is not None:
            self.reason = reason


class RuntimeUnavailable(RuntimeFault):
    """The engine could not be asked: no socket, no permission, no answer in time."""

    reason = "RuntimeUnavailable"


class NotFound(RuntimeFault):
    """The sandbox, container or exec session does not exist."""

    reason = "NotFound"


class Conflict(RuntimeFault):
    """It exists already, or its state forbids the call."""

    reason = "Conflict"


class Unsupported(RuntimeFault):
    """This engine cannot do it; ``capability`` names what is missing."""

    reason = "Unsupported"

    def __init__(self, capability: str, message: str) -> None:
        """``capability`` is one of the words of ``RuntimeInfo.capabilities``."""
        super().__init__(message, retryable=False)
        self.capability = capability


class ImageFault(RuntimeFault):
    """An image could not be had: ErrImagePull, ErrImageNeverPull, InvalidImageName and their kin."""

    reason = "ErrImagePull"


class ImageAbsent(ImageFault):
    """The engine's store lacks the image; ``image`` is the name asked for."""

    reason = "ErrImageAbsent"

    def __init__(self, image: str) -> None:
        """``image`` as the manifest writes it."""
        super().__init__(f'image "{image}" is not present')
        self.image = image


class StartFault(RuntimeFault):
    """CreateContainerConfigError, CreateContainerError, RunContainerError or CreatePodSandboxError."""

    reason = "RunContainerError"


class VolumeFault(RuntimeFault):
    """A volume could not be prepared; the text is the kubelet's FailedMount text."""

    reason = "FailedMount"


class ExecTimeout(RuntimeFault):
    """The command ran longer than allowed; its process has been ended."""

    reason = "DeadlineExceeded"
