"""``podsync exec``: a command inside a running container."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from podsync.cli.common import (
    choose_container,
    find_pod,
    namespace_options,
    notice,
    pod_names,
    read_pods,
    root_of,
    root_option,
    status_of,
)
from podsync.cli.engine import container_ref, runtime_of, runtime_option
from podsync.errors import RuntimeFault
from podsync.render.pods import state_of

if TYPE_CHECKING:
    from podsync.runtimes.base import ExecSession

__all__ = ["exec_"]

CHUNK = 32768
RESIZE_TRIES = 5
RESIZE_PAUSE = 0.02
"""Seconds between two tries to tell the terminal's size."""


@click.command("exec", short_help="Run a command in a container.")
@click.argument("pod", metavar="NAME")
@click.argument("command", nargs=-1, required=True, metavar="-- CMD [ARG…]")
@namespace_options()
@click.option("-c", "--container", metavar="NAME", help="The container, if the pod has several.")
@click.option("-i", "--stdin", "with_stdin", is_flag=True, help="Pass standard input on.")
@click.option("-t", "--tty", is_flag=True, help="Give the command a terminal.")
@runtime_option
@root_option
def exec_(
    *,
    pod: str,
    command: tuple[str, ...],
    namespace: str,
    container: str | None,
    with_stdin: bool,
    tty: bool,
    runtime: str | None,
    root: str | None,
) -> int:
    """Run a command in a container and end with its exit code."""
    name = pod_names([pod])[0] if "/" in pod else pod
    found = find_pod(read_pods(root_of(root)), namespace, name)
    phase = (found.get("status") or {}).get("phase")
    if phase in ("Succeeded", "Failed"):
        raise click.ClickException(f"cannot exec into a container in a completed pod; current phase is {phase}")
    chosen = choose_container(found, container)
    status = status_of(found, chosen)
    if status is None or state_of(status)[0] != "running":
        raise click.ClickException(f'container "{chosen}" in pod "{name}" is not running')
    if tty and not (with_stdin and os.isatty(0)):
        notice("Unable to use a TTY - input is not a terminal or the right kind of file")
        tty = False
    with runtime_of(root, runtime) as engine:
        ref = container_ref(str(status.get("containerID", "")))
        session = engine.open_exec(ref, command, stdin=with_stdin, tty=tty)
        try:
            with _terminal(session) if tty else contextlib.nullcontext():
                return _converse(session, with_stdin=with_stdin)
        finally:
            session.close()


def _converse(session: ExecSession, *, with_stdin: bool) -> int:
    """Carry data both ways until the command ends; returns its exit code."""
    from podsync.runtimes.base import Stream

    if with_stdin:
        threading.Thread(target=_feed, args=(session,), name="podsync-stdin", daemon=True).start()
    for stream, data in session.frames():
        out = sys.stdout.buffer if stream is Stream.STDOUT else sys.stderr.buffer
        out.write(data)
        out.flush()
    return session.exit_code()


def _feed(session: ExecSession) -> None:
    """Send standard input until it ends or the command no longer listens."""
    if sys.stdin is None:  # closed before we began
        session.close_stdin()
        return
    descriptor = sys.stdin.fileno()
    with contextlib.suppress(OSError):
        while data := os.read(descriptor, CHUNK):
            session.write(data)
        session.close_stdin()


def _fit(session: ExecSession) -> None:
    """Tell the command the terminal's size; an engine may refuse until the command has come up, or for good."""
    size = shutil.get_terminal_size()
    pause = threading.Event()
    for _ in range(RESIZE_TRIES):
        try:
            session.resize(size.lines, size.columns)
        except RuntimeFault:
            pause.wait(RESIZE_PAUSE)
        else:
            return


@contextlib.contextmanager
def _terminal(session: ExecSession) -> Iterator[None]:
    """The terminal in raw mode, its size told to the command now and whenever it changes."""
    import termios
    import tty

    def resize(*_: object) -> None:
        _fit(session)

    before = termios.tcgetattr(0)
    handler = signal.signal(signal.SIGWINCH, resize)
    try:
        tty.setraw(0)
        resize()
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
        signal.signal(signal.SIGWINCH, handler)
