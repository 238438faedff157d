"""What the commands share: the root, what the agent last reported, messages for people."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import click

__all__ = [
    "Pod",
    "Settings",
    "Unreported",
    "choose_container",
    "containers_of",
    "dump",
    "find_pod",
    "key_of",
    "namespace_options",
    "notice",
    "pod_names",
    "read_events",
    "read_pods",
    "read_report",
    "root_of",
    "root_option",
    "status_of",
    "tell_problems",
    "warn",
]

Pod = Mapping[str, Any]
Command = TypeVar("Command", bound=Callable[..., Any])
NAMESPACE = "default"


class Settings:
    """Options given before the command. No dataclass: making one takes longer than all of ``--help`` may add."""

    __slots__ = ("debug", "root")

    def __init__(self, root: str | None, *, debug: bool) -> None:
        """``root`` is None when it was not given there."""
        self.root, self.debug = root, debug


class Unreported(click.ClickException):
    """No agent has ever reported under this root."""

    def __init__(self, root: str) -> None:
        """``root`` is the directory looked in."""
        super().__init__(
            f"no podsync agent has reported under {root}: start one with 'podsync run --root {root} …', "
            "or name its root with --root or PODSYNC_ROOT"
        )


class ReportMissing(Unreported):
    """An agent runs, but its report is not there."""

    def __init__(self, root: str, pid: int) -> None:
        """``pid`` is the agent's."""
        click.ClickException.__init__(self, _absent(root, "status.json", pid))


def _absent(root: str, name: str, pid: int) -> str:
    return (
        f"a podsync agent (pid {pid}) runs on {root}, but its {name} is not there: "
        "not written yet, or removed; the agent writes it anew"
    )


def warn(text: str) -> None:
    """Tell a person about something that is not as it should be; on stderr."""
    from podsync.render.printable import printable

    click.echo(f"{click.style('warning:', fg='yellow')} {printable(text)}", err=True)


def notice(text: str) -> None:
    """Tell a person something in passing; on stderr."""
    from podsync.render.printable import printable

    click.echo(printable(text), err=True)


def root_option(command: Command) -> Command:
    """``--root``, also accepted before the command."""
    return click.option("--root", metavar="DIR", help="The agent's root directory.", envvar="PODSYNC_ROOT")(command)


def root_of(root: str | None) -> str:
    """The root to use: given with the command, before it, in the environment, or the default one."""
    if root:
        return root
    context = click.get_current_context(silent=True)
    settings = context.find_object(Settings) if context is not None else None
    if settings is not None and settings.root:
        return settings.root
    from podsync.store import default_root

    return default_root()


def namespace_options(*, everywhere: bool = False) -> Callable[[Command], Command]:
    """``-n``, and ``-A`` where a command can look at all namespaces."""

    def decorate(command: Command) -> Command:
        if everywhere:
            command = click.option("-A", "--all-namespaces", is_flag=True, help="Of all namespaces.")(command)
        return click.option(
            "-n", "--namespace", default=NAMESPACE, show_default=True, metavar="NS", help="The pod's namespace."
        )(command)

    return decorate


def read_pods(root: str, *, quiet: bool = False) -> list[Pod]:
    """Every pod the agent last reported. Warns when the report may be stale.

    Raises Unreported, and ConfigError for a file that holds no such report.
    """
    from podsync.store import STATUS, agent_pid

    document, pid = read_report(root, STATUS), agent_pid(root)
    if document is None:
        raise Unreported(root) if pid is None else ReportMissing(root, pid)
    if not quiet and pid is None:
        warn(f"no podsync agent runs on {root}: this is its last report")
    return list(document.get("items") or ())


# where a list of objects, or an object, must stand when anything does
_OBJECTS = ("metadata", "spec", "status", "involvedObject", "source", "runtime")
_LISTS = ("containers", "initContainers", "containerStatuses", "initContainerStatuses", "conditions", "volumes")


def read_report(root: str, name: str) -> dict[str, Any] | None:
    """One of the agent's files, its shape checked as far as commands rely on it; None when it is not there.

    Raises ConfigError.
    """
    from podsync.errors import ConfigError
    from podsync.store import read_json

    document = read_json(root, name)
    if document is None or (isinstance(document, dict) and _is_report(document)):
        return document
    raise ConfigError(
        f"{root}/{name} is not what a podsync agent writes; remove it, and a running agent writes it anew"
    )


def _is_report(document: Mapping[str, Any]) -> bool:
    lists = [document.get("problems"), *(refusal.get("errors") for refusal in _objects(document, "refusals"))]
    return (
        all(_are_objects(document.get(field)) for field in ("items", "refusals"))
        and all(value is None or isinstance(value, list) for value in lists)
        and all(_is_shaped(item) for item in (document, *_objects(document, "items")))
    )


def _objects(document: Mapping[str, Any], field: str) -> list[Mapping[str, Any]]:
    found = document.get(field)
    return found if isinstance(found, list) and _are_objects(found) else []


def _is_shaped(item: Mapping[str, Any]) -> bool:
    parts = [item.get(field) for field in _OBJECTS]
    return all(
        part is None or (isinstance(part, dict) and all(_are_objects(part.get(field)) for field in _LISTS))
        for part in parts
    )


def _are_objects(value: Any) -> bool:
    return value is None or (isinstance(value, list) and all(isinstance(item, dict) for item in value))


def tell_problems(root: str) -> None:
    """Warn of what the agent says is wrong with itself, and of manifests it refuses."""
    from podsync.store import AGENT, agent_pid

    agent, pid = read_report(root, AGENT), agent_pid(root)
    if agent is None and pid is not None:
        warn(_absent(root, AGENT, pid))
    agent = agent or {}
    for problem in agent.get("problems") or ():
        warn(problem)
    for source in agent.get("sources") or ():
        if source.get("error"):
            since = f" since {source['failingSince']}" if source.get("failingSince") else ""
            warn(f"source {source.get('name')} cannot be read{since}: {source['error']}")
    for refusal in agent.get("refusals") or ():
        first, *more = refusal.get("errors") or [f"{refusal.get('origin')} is refused"]
        others = f" (and {len(more)} more)" if more else ""
        kept = "; its last good version runs on" if refusal.get("kept") else ""
        warn(f"{first}{others}{kept}")


def read_events(root: str) -> list[Mapping[str, Any]]:
    """Every event the agent has written down, the newest last. Raises ConfigError."""
    from podsync.store import EVENTS

    document = read_report(root, EVENTS)
    return list((document or {}).get("items") or ())


def key_of(pod: Pod) -> tuple[str, str]:
    """(namespace, name) of a pod document."""
    meta = pod.get("metadata") or {}
    return meta.get("namespace", NAMESPACE), meta.get("name", "")


def find_pod(pods: Iterable[Pod], namespace: str, name: str) -> Pod:
    """The pod of that name. Raises ClickException in kubectl's words when there is none."""
    for pod in pods:
        if key_of(pod) == (namespace, name):
            return pod
    msg = f'pods "{name}" not found'
    raise click.ClickException(msg)


def pod_names(words: Sequence[str]) -> list[str]:
    """The names in ``pod NAME…``, ``pods`` or ``pod/NAME…``. Raises UsageError for another kind of resource."""
    names: list[str] = []
    kind, *rest = words
    if "/" not in kind:
        _check_kind(kind)
        names, words = list(rest), ()
    for word in words:
        kind, _, name = word.partition("/")
        _check_kind(kind)
        if not name:
            msg = f"{word!r}: write pod/NAME"
            raise click.UsageError(msg)
        names.append(name)
    return names


def _check_kind(kind: str) -> None:
    if kind.lower() not in ("pod", "pods", "po"):
        msg = f'podsync has no resource type "{kind}", only pods'
        raise click.UsageError(msg)


def containers_of(pod: Pod) -> list[tuple[str, bool]]:
    """(name, is it an init container) of every container, regular ones first."""
    spec = pod.get("spec") or {}
    regular = [(str(c.get("name")), False) for c in spec.get("containers") or ()]
    return regular + [(str(c.get("name")), True) for c in spec.get("initContainers") or ()]


def choose_container(pod: Pod, wanted: str | None) -> str:
    """The container asked for, else kubectl's default one, said on stderr when there was a choice.

    Raises ClickException when the pod has no such container.
    """
    meta, containers = pod.get("metadata") or {}, containers_of(pod)
    names = [name for name, _ in containers]
    given = wanted or (meta.get("annotations") or {}).get("kubectl.kubernetes.io/default-container")
    if given:
        if given not in names:
            msg = f'container "{given}" not found in pod "{meta.get("name")}"'
            raise click.ClickException(msg)
        return str(given)
    if len(names) > 1:
        all_names = ", ".join(f"{name} (init)" if init else name for name, init in containers)
        notice(f'Defaulted container "{names[0]}" out of: {all_names}')
    return str(names[0])


def status_of(pod: Pod, container: str) -> Mapping[str, Any] | None:
    """The status of one container, init or regular; None when the agent has not reported it."""
    status = pod.get("status") or {}
    for field in ("containerStatuses", "initContainerStatuses"):
        for entry in status.get(field) or ():
            if entry.get("name") == container:
                return dict(entry)
    return None


def dump(document: Any, form: str) -> None:
    """Print a document as ``json`` or ``yaml`` on stdout."""
    if form == "json":
        import json

        click.echo(json.dumps(document, indent=4, ensure_ascii=False))
        return
    import yaml

    yaml.safe_dump(document, sys.stdout, sort_keys=True, allow_unicode=True)
