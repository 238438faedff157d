"""Engines' words into podsync's errors."""

from __future__ import annotations

import errno

import pytest

from podsync.errors import Conflict, ImageAbsent, ImageFault, NotFound, RuntimeFault, StartFault
from podsync.runtimes.common import faults
from podsync.runtimes.common.faults import Refusal

# What the engines say, by release: Docker 20.10 and 29, Podman 4.3 and 5.7.
NAME_TAKEN = [
    (409, 'Conflict. The container name "/x" is already in use by container "1f". You have to remove (or rename) it.'),
    (409, 'Conflict. The container name "/x" is already in use by container "1f"'),
    (500, 'container create: creating container storage: the container name "x" is already in use by 1f'),
]
IMAGE_ABSENT = [
    (404, "No such image: busybox:nope"),
    (404, "No such image: sha256:0000"),
    (500, "busybox:nope: image not known"),
]
ABSENT = [
    (404, "No such container: x"),
    (404, 'no container with name or ID "x" found: no such container'),
    (404, "No such exec instance: x"),
    (404, 'getting container from store "1f": container not known'),
]


@pytest.mark.parametrize(("status", "text"), NAME_TAKEN)
def test_a_taken_name_is_a_conflict(status: int, text: str) -> None:
    """Whatever the status."""
    assert isinstance(faults.create_fault(Refusal(status, text), image="i", sandbox=False), Conflict)


@pytest.mark.parametrize(("status", "text"), IMAGE_ABSENT)
def test_an_absent_image_is_named_as_the_manifest_names_it(status: int, text: str) -> None:
    """The engine was asked for its id, which tells a user nothing."""
    fault = faults.create_fault(Refusal(status, text), image="busybox:nope", sandbox=False)
    assert isinstance(fault, ImageAbsent)
    assert fault.image == "busybox:nope"


@pytest.mark.parametrize(("status", "text"), ABSENT)
def test_what_is_absent_is_not_found(status: int, text: str) -> None:
    """For every verb alike."""
    refusal = Refusal(status, text)
    found = [
        faults.verb_fault(refusal),
        faults.start_fault(refusal, sandbox=False),
        faults.create_fault(refusal, image="i", sandbox=False),
    ]
    assert [type(fault) for fault in found] == [NotFound] * 3


@pytest.mark.parametrize(
    ("status", "text", "half"),
    [
        (404, "No such container: x", False),
        (404, 'no container with name or ID "x" found: no such container', False),
        (500, "container 1f does not exist in database: no such container", False),
        (500, 'getting container from store "1f": container not known', True),
        (500, "container not known", True),
        (500, "device or resource busy", False),
    ],
)
def test_what_a_removal_has_left_over_is_told_from_what_is_gone(status: int, text: str, *, half: bool) -> None:
    """By its words: the engine knows the id, and not what was behind it."""
    assert faults.is_half_removed(Refusal(status, text)) is half


@pytest.mark.parametrize(
    ("sandbox", "create", "start"),
    [(True, "CreatePodSandboxError", "CreatePodSandboxError"), (False, "CreateContainerError", "RunContainerError")],
)
def test_other_refusals_carry_the_kubelets_reason(*, sandbox: bool, create: str, start: str) -> None:
    """By verb, for a sandbox and for a container; an address in use is no name in use."""
    for text in ("invalid mount config", "bind: address already in use", "cannot join network of a non running one"):
        made = faults.create_fault(Refusal(500, text), image="i", sandbox=sandbox)
        started = faults.start_fault(Refusal(500, text), sandbox=sandbox)
        assert (type(made), made.reason, made.message) == (StartFault, create, text)
        assert (type(started), started.reason, started.message) == (StartFault, start, text)


@pytest.mark.parametrize(("status", "kind"), [(409, Conflict), (500, RuntimeFault), (400, RuntimeFault)])
def test_a_refusal_without_a_meaning_of_its_own(status: int, kind: type[RuntimeFault]) -> None:
    """409 is a conflict on every engine; the rest keeps the words."""
    fault = faults.verb_fault(Refusal(status, "some words"))
    assert (type(fault), fault.message) == (kind, "some words")


@pytest.mark.parametrize(
    "text",
    [
        "failed to create shim task: OCI runtime create failed: runc create failed: {}: unknown",
        "failed to create task for container: failed to create shim task: OCI runtime create failed: {}",
        "unable to start container process: error during container init: {}",
        "runc: runc create failed: unable to start container process: {}",
        "crun: {}",
    ],
)
def test_wrappings_are_taken_off(text: str) -> None:
    """What is left is what went wrong."""
    words = 'exec: "/nope": stat /nope: no such file or directory'
    assert faults.clean(text.format(words)) == words


def test_words_are_bounded_and_on_one_line() -> None:
    """A status has no room for a core dump."""
    words = faults.clean("a\nb  c" * 2000)
    assert len(words) == 1024
    assert words.startswith("a b ca b c")
    assert words.endswith("…")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('exec: "x": executable file not found in $PATH', 127),
        ("stat /nope: no such file or directory", 127),
        ("exec /etc/passwd: Permission denied", 126),
        ("driver failed programming external connectivity: port is already allocated", 128),
    ],
)
def test_exit_code_of_a_failed_start(text: str, code: int) -> None:
    """As a shell would have it, 128 for everything else."""
    assert faults.start_exit_code(text) == code


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("invalid reference format", "InvalidImageName"),
        ('Get "http://localhost:1/v2/": dial tcp 127.0.0.1:1: connect: connection refused', "ErrImagePull"),
        ("dial tcp: lookup nowhere.invalid: no such host", "ErrImagePull"),
        ("pull access denied for x, repository does not exist or may require 'docker login'", "ErrImagePull"),
        ("manifest for busybox:nope not found: manifest unknown", "ErrImagePull"),
    ],
)
def test_failed_pulls(text: str, reason: str) -> None:
    """The kubelet's reason, with the engine's words in the text."""
    fault = faults.pull_fault("image:tag", text)
    assert (type(fault), fault.reason) == (ImageFault, reason)
    assert text in fault.message
    assert "image:tag" in fault.message


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (FileNotFoundError(errno.ENOENT, "No such file"), "no such socket"),
        (PermissionError(errno.EACCES, "Permission denied"), "permission denied"),
        (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), "nobody listens"),
        (ConnectionResetError(errno.ECONNRESET, "reset"), "in the middle of a call"),
        (OSError("the engine's answer is not HTTP"), "not HTTP"),
    ],
)
@pytest.mark.parametrize("wrapped", [False, True])
def test_reasons_for_not_being_asked_are_told_apart(error: OSError, words: str, *, wrapped: bool) -> None:
    """Each with what to do, also when a client has wrapped the system's error."""
    given: Exception = RuntimeError(RuntimeError("aborted", error)) if wrapped else error
    text = str(faults.unavailable("Docker", "unix:///s", given, start="start it"))
    assert words in text
    assert text.startswith("Docker at unix:///s")


def test_a_hung_engine_is_told_from_an_absent_one() -> None:
    """With how long it was waited for."""
    text = str(faults.unavailable("Docker", "unix:///s", TimeoutError(), waited=30.0))
    assert "did not answer within 30 s" in text
