"""What is kept of a pod between two steps: its memory of actions, looks and hints."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from podsync import ledger, plan
from podsync.errors import (
    Conflict,
    ImageAbsent,
    ImageFault,
    NotFound,
    RuntimeFault,
    RuntimeUnavailable,
    StartFault,
    VolumeFault,
)
from podsync.ledger import Entry, Ledger
from podsync.messages import Outcome
from podsync.models import ObjectMeta, PodKey
from podsync.plan import Action, Cause
from podsync.runtimes.base import ContainerId, ContainerRecord, ContainerState, SandboxId, SandboxRecord
from podsync.state import ActualPod, Failure, PodMemory, PullState
from podsync.testing.builders import PodNames, container, pod

AT = datetime(2030, 1, 1, tzinfo=UTC)
LATER = AT + timedelta(seconds=5)
NEW = Cause.NEW_POD
NAMES = PodNames("node-1", name="web", uid="u1")
POD = pod("web", container("main"), container("other", image="other:1")).evolve(
    metadata=ObjectMeta(name="web", namespace="default", uid="u1")
)
KEY = PodKey("default", "web")

MOUNT = plan.MountVolumes(POD, NEW)
UNMOUNT = plan.UnmountVolumes("u1", NEW)
CREATE_SANDBOX = plan.CreateSandbox(NAMES.sandbox(), NEW)
START_SANDBOX = plan.StartSandbox(NAMES.ref("POD"), POD, NEW)
REMOVE_SANDBOX = plan.RemoveSandbox("s1", NAMES.ref("POD"), (), NEW)
STOP_SANDBOX = plan.StopSandbox("s1", NAMES.ref("POD"), NEW)
CREATE = plan.CreateContainer(NAMES.ref("POD"), NAMES.container("busybox:1"), POD, "main", NEW)
START = plan.StartContainer(NAMES.ref("main"), "main", NEW)
TERM = plan.SignalContainer(ContainerId("c1"), NAMES.ref("main"), "main", "SIGTERM", NEW)
KILL = replace(TERM, signal="SIGKILL")
REMOVE = plan.RemoveContainer(ContainerId("c1"), NAMES.ref("main"), NEW)
PULL = plan.PullImage("busybox:1", NEW)

ALL: list[Action] = [
    *(MOUNT, UNMOUNT, CREATE_SANDBOX, START_SANDBOX, REMOVE_SANDBOX, STOP_SANDBOX),
    *(CREATE, START, TERM, KILL, REMOVE, PULL),
]
SUBJECTS: dict[type[Action], str] = {
    plan.MountVolumes: "/volumes",
    plan.CreateSandbox: "/sandbox",
    plan.StartSandbox: "/sandbox",
    plan.CreateContainer: "main",
    plan.StartContainer: "main",
}
"""Actions whose failures the planner learns of from the memory, and under which subject."""


def remembered(action: Action, error: Exception | None, memory: PodMemory | None = None) -> PodMemory:
    """The memory after that outcome."""
    return ledger.remember(memory or PodMemory(uid="u1"), Outcome(action, LATER, 0.1, error))


def failed(subject: str, count: int = 1) -> PodMemory:
    """A memory of so many failures of one subject, and of another one's."""
    other = Failure("RunContainerError", "else", AT)
    return PodMemory(uid="u1", failures={"bystander": other, subject: Failure("Error", "before", AT, count)})


@pytest.mark.parametrize("action", ALL, ids=lambda a: f"{type(a).__name__}{getattr(a, 'signal', '')}")
@pytest.mark.parametrize("error", [RuntimeFault("odd"), Conflict("taken"), NotFound("gone"), KeyError("bug")], ids=repr)
def test_a_failure_is_remembered_by_its_subject(action: Action, error: Exception) -> None:
    """A failed try of volumes, sandbox or a container is kept with reason, text, time and count; no other is."""
    subject = SUBJECTS.get(type(action))
    memory = remembered(action, error)
    assert ledger.remembers(Outcome(action, LATER, 0.1, error)) is (subject is not None)
    if subject is None:
        assert memory == PodMemory(uid="u1")
        return
    failure = memory.failures[subject]
    reason = getattr(error, "reason", "InternalError")
    assert failure.reason == ("CreatePodSandboxError" if subject == "/sandbox" else reason)
    assert (failure.message, failure.at, failure.count) == (str(error), LATER, 1)

    again = remembered(action, error, failed(subject, count=4))
    assert again.failures[subject].count == 5
    assert again.failures["bystander"].message == "else"


@pytest.mark.parametrize(
    ("action", "error", "reason"),
    [
        (MOUNT, VolumeFault("no disk"), "FailedMount"),
        (CREATE, StartFault("bad mount", reason="CreateContainerError"), "CreateContainerError"),
        (START, StartFault("no such file"), "RunContainerError"),
        (CREATE_SANDBOX, StartFault("no network"), "CreatePodSandboxError"),
    ],
)
def test_a_failure_has_the_words_of_a_status(action: Action, error: Exception, reason: str) -> None:
    """The reason kept is the one Kubernetes shows for it."""
    (failure,) = remembered(action, error).failures.values()
    assert (failure.reason, failure.message) == (reason, str(error))


@pytest.mark.parametrize("action", ALL, ids=lambda a: f"{type(a).__name__}{getattr(a, 'signal', '')}")
@pytest.mark.parametrize("error", [RuntimeUnavailable("away"), ImageAbsent("busybox:1")], ids=repr)
def test_an_engine_that_is_away_and_an_absent_image_are_no_failures(action: Action, error: Exception) -> None:
    """Neither says anything about the pod, so nothing is remembered of them, and nothing forgotten."""
    for memory in (PodMemory(uid="u1"), failed(SUBJECTS.get(type(action)) or "main")):
        assert remembered(action, error, memory) is memory


def test_what_an_unheard_action_needs() -> None:
    """After an action the engine did not hear the lane itself keeps the distance: the memory does not tell of it."""
    assert not ledger.remembers(Outcome(CREATE, LATER, 0.1, RuntimeUnavailable("away")))
    assert not ledger.remembers(Outcome(REMOVE_SANDBOX, LATER, 0.1, RuntimeFault("busy")))


@pytest.mark.parametrize("action", ALL, ids=lambda a: f"{type(a).__name__}{getattr(a, 'signal', '')}")
def test_success_ends_a_series_of_failures(action: Action) -> None:
    """Mounted, started: the subject's failures are over. Being created alone ends none; nor does anything else."""
    subject = SUBJECTS.get(type(action))
    before = failed(subject or "main", count=3)
    memory = remembered(action, None, before)
    ends = action in (MOUNT, START_SANDBOX, START)
    assert set(memory.failures) == ({"bystander"} if ends else set(before.failures))


def test_the_first_term_counts() -> None:
    """Grace begins with the first SIGTERM: a repeated one does not begin it anew. SIGKILL is kept apart."""
    memory = ledger.remember(PodMemory(), Outcome(TERM, AT, 0.1))
    memory = ledger.remember(memory, Outcome(TERM, LATER, 0.1))
    assert (memory.term_sent, memory.kill_sent) == ({"c1": AT}, {})
    memory = ledger.remember(memory, Outcome(KILL, LATER, 0.1))
    assert (memory.term_sent, memory.kill_sent) == ({"c1": AT}, {"c1": LATER})


@pytest.mark.parametrize("action", [TERM, KILL])
def test_a_signal_that_failed_was_not_sent(action: Action) -> None:
    """Only a signal that was delivered is remembered."""
    assert remembered(action, RuntimeFault("no")) == PodMemory(uid="u1")


def test_a_pull_is_used_up_by_one_creation() -> None:
    """ImagePullPolicy Always wants one pull a start: the creation that follows a pull uses it up."""
    memory = ledger.pull_succeeded(PodMemory(), "busybox:1")
    assert memory.pulls == {"busybox:1": PullState(ready=True)}
    assert ledger.remember(memory, Outcome(CREATE, AT, 0.1, StartFault("no"))).pulls["busybox:1"].ready
    assert not ledger.remember(memory, Outcome(CREATE, AT, 0.1)).pulls["busybox:1"].ready
    other = ledger.pull_succeeded(PodMemory(), "other:1")
    assert ledger.remember(other, Outcome(CREATE, AT, 0.1)) is other


def test_failed_pulls_are_counted_until_one_succeeds() -> None:
    """Each failure in a row adds to the count that back-off is made from."""
    memory = PodMemory()
    for count in (1, 2, 3):
        memory = ledger.pull_failed(memory, "far:1", ImageFault("denied"), AT)
        assert memory.pulls["far:1"] == PullState(failure=Failure("ErrImagePull", "denied", AT, count))
    memory = ledger.pull_failed(memory, "far:1", KeyError("bug"), AT)
    failure = memory.pulls["far:1"].failure
    assert failure is not None
    assert failure.reason == "ErrImagePull"
    memory = ledger.pull_succeeded(memory, "far:1")
    assert ledger.pull_failed(memory, "far:1", ImageFault("x"), AT).pulls["far:1"].failure == Failure(
        "ErrImagePull", "x", AT, 1
    )


def test_a_new_uid_remembers_only_signals() -> None:
    """An edit forgets failures and pulls of the old pod, but not who was told to end and when."""
    memory = replace(failed("main"), pulls={"a": PullState(ready=True)}, term_sent={ContainerId("c1"): AT})
    memory = replace(memory, kill_sent={ContainerId("c1"): LATER})
    fresh = ledger.fresh_memory(memory, "u2")
    assert fresh == PodMemory(uid="u2", term_sent={ContainerId("c1"): AT}, kill_sent={ContainerId("c1"): LATER})


# --- batches ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", ALL, ids=lambda a: f"{type(a).__name__}{getattr(a, 'signal', '')}")
def test_what_a_batch_touches(action: Action) -> None:
    """The uid of all that an action makes, starts, ends or removes is looked at afterwards; folders have none."""
    expected = () if action in (MOUNT, UNMOUNT, PULL) else ("u1",)
    assert ledger.uids_of([[action]]) == expected


def test_what_a_batch_of_two_pods_touches() -> None:
    """Each uid once, in the order met; names of others are nothing to look for."""
    old = replace(REMOVE_SANDBOX, name="k8s_POD_web_default_u0_3")
    foreign = replace(REMOVE_SANDBOX, name="somebody")
    assert ledger.uids_of([[old, foreign], [CREATE_SANDBOX, CREATE], [START]]) == ("u0", "u1")


def test_folders_after_a_batch() -> None:
    """A folder is there once it was tried to make one, and until one was removed well."""
    fault = VolumeFault("no")

    def after(action: Action, error: Exception | None, before: frozenset[str]) -> frozenset[str]:
        return ledger.folder_changes([Outcome(CREATE, AT, 0.1), Outcome(action, AT, 0.1, error)], before)

    nothing, one = frozenset[str](), frozenset({"u1"})
    assert after(MOUNT, None, nothing) == one
    assert after(MOUNT, fault, nothing) == one
    assert after(UNMOUNT, None, one) == nothing
    assert after(UNMOUNT, fault, one) == one


# --- entries -----------------------------------------------------------------------------------------


def sandbox(uid: str = "u1", attempt: int = 0, *containers: ContainerRecord) -> SandboxRecord:
    """A running sandbox."""
    name = f"k8s_POD_web_default_{uid}_{attempt}"
    return SandboxRecord(
        SandboxId(f"s-{uid}-{attempt}"), name, "web", "default", uid, attempt, True, containers=containers
    )


def record(ident: str, state: ContainerState = ContainerState.RUNNING) -> ContainerRecord:
    """One container."""
    return ContainerRecord(ContainerId(ident), f"k8s_{ident}_web_default_u1_0", ident, 0, state)


def test_a_look_at_everything_replaces_what_was_seen() -> None:
    """What a full look does not show is gone; the same again changes nothing."""
    entry = Entry(KEY)
    old = replace(sandbox("u2"), created_at=AT)
    entry.see([sandbox("u1", 1), old, sandbox("u1", 0)], None)
    assert [(s.uid, s.attempt) for s in entry.actual.sandboxes] == [("u1", 0), ("u1", 1), ("u2", 0)]  # oldest first
    entry.changed = False
    before = entry.actual
    entry.see([sandbox("u1", 0), sandbox("u1", 1), old], None)
    assert entry.actual is before
    assert not entry.changed
    entry.see([], None)
    assert entry.actual.sandboxes == ()
    assert entry.changed


def test_a_look_at_one_uid_leaves_the_others() -> None:
    """A look at some uids tells of those alone, also that they have nothing left."""
    entry = Entry(KEY)
    entry.see([sandbox("u1"), replace(sandbox("u2"), created_at=AT)], None)
    entry.see([sandbox("u1", 0), sandbox("u1", 1)], ("u1",))
    assert [(s.uid, s.attempt) for s in entry.actual.sandboxes] == [("u1", 0), ("u1", 1), ("u2", 0)]
    entry.see([], ("u1",))
    assert [s.uid for s in entry.actual.sandboxes] == ["u2"]


def test_signals_are_forgotten_with_their_containers() -> None:
    """Who was told to end is remembered while there is a record of it, and no longer."""
    entry = Entry(KEY)
    entry.see([sandbox("u1", 0, record("c1"), record("c2"))], None)
    memory = PodMemory(term_sent={ContainerId("c1"): AT, ContainerId("c2"): AT}, kill_sent={ContainerId("c1"): AT})
    entry.remember(memory)
    entry.see([sandbox("u1", 0, record("c1", ContainerState.EXITED), record("c2"))], None)
    assert entry.actual.memory == memory
    entry.see([sandbox("u1", 0, record("c2"))], None)
    assert entry.actual.memory == PodMemory(term_sent={ContainerId("c2"): AT})


def test_a_new_memory_asks_for_planning() -> None:
    """Only another memory makes an entry dirty."""
    entry = Entry(KEY, dirty=False, changed=False)
    entry.remember(entry.actual.memory)
    assert (entry.dirty, entry.changed) == (False, False)
    entry.remember(PodMemory(uid="u1"))
    assert (entry.dirty, entry.changed) == (True, True)


@pytest.mark.parametrize("looked", [False, True])
def test_what_explains_a_hint(looked: bool) -> None:
    """An ended container or sandbox explains it; one that is absent only after a look; one that runs never."""
    entry = Entry(KEY)
    dead = replace(sandbox("u1", 0, record("gone", ContainerState.EXITED)), ready=False)
    entry.see([dead, sandbox("u1", 1, record("runs"), record("made", ContainerState.CREATED))], None)
    assert entry.explains("gone", looked=looked)
    assert entry.explains(dead.id, looked=looked)
    assert not entry.explains("runs", looked=looked)
    assert not entry.explains("made", looked=looked)
    assert not entry.explains("s-u1-1", looked=looked)
    assert not entry.explains("", looked=looked)
    assert entry.explains("absent", looked=looked) is looked


def test_when_an_entry_is_gone() -> None:
    """Nothing wanted, nothing there, nothing under way."""
    entry = Entry(KEY)
    assert entry.gone
    assert not replace(entry, pod=POD).gone
    assert not replace(entry, busy=True).gone
    assert not replace(entry, actual=ActualPod(folders=frozenset({"u1"}))).gone
    assert not replace(entry, actual=ActualPod((sandbox(),))).gone


def test_which_images_an_entry_uses() -> None:
    """Those of its wanted pod's containers, init containers too."""
    initial = POD.evolve(spec=POD.spec.evolve(init_containers=(container("init", image="init:1"),)))
    entry = Entry(KEY, pod=initial)
    assert all(entry.uses(frozenset({image})) for image in ("busybox:1.36", "other:1", "init:1"))
    assert not entry.uses(frozenset({"else:1"}))
    assert not Entry(KEY).uses(frozenset({"busybox:1.36"}))


def test_the_ledger_finds_entries_by_every_uid() -> None:
    """By the wanted uid and by those that are there, until the entry is dropped."""
    book = Ledger()
    entry = book.entry(KEY)
    assert book.entry(KEY) is entry
    assert book.attention == {KEY}
    entry.pod = POD
    entry.see([sandbox("u0")], None)
    book.index(entry)
    assert book.of_uid("u0") is book.of_uid("u1") is entry
    assert book.of_uid("u9") is None
    book.actual[KEY] = entry.actual
    book.drop(entry)
    assert book.of_uid("u0") is book.of_uid("u1") is None
    assert (book.entries, book.actual) == ({}, {})


def test_touching_asks_for_planning_and_reporting() -> None:
    """Those touched are planned and reported anew, the others are left."""
    book = Ledger()
    one, other = book.entry(KEY), book.entry(PodKey("default", "other"))
    for entry in (one, other):
        entry.dirty = entry.changed = False
    book.attention.clear()
    book.touch(key for key in (KEY,))
    assert (one.dirty, one.changed, other.dirty, other.changed) == (True, True, False, False)
    assert book.attention == {KEY}
