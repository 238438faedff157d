"""Facts of this machine."""

from __future__ import annotations

import ipaddress
import os
import socket
from pathlib import Path

import pytest

from podsync import host


def test_the_machines_memory() -> None:
    """MemTotal in bytes, at least what the system says of its pages."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert abs(host.memory_bytes() - pages) < pages / 100


@pytest.mark.parametrize("table", [None, "", "MemFree: 3 kB\n"])
def test_unknown_memory_is_0(table: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a table, or a line in it, the memory is not known."""
    path = tmp_path / "meminfo"
    if table is not None:
        path.write_text(table)
    monkeypatch.setattr(host, "Path", lambda _: path)
    assert host.memory_bytes() == 0


def test_an_address() -> None:
    """The machine has an address, if only its own loopback."""
    ipaddress.ip_address(host.host_address())


def test_without_a_network_it_is_the_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a route to anywhere still has an address."""

    def unreachable(self: object, address: object) -> None:
        raise OSError(101, "Network is unreachable")

    class NoRoute(socket.socket):
        connect = unreachable  # type: ignore[assignment]

    monkeypatch.setattr(socket, "socket", NoRoute)
    assert host.host_address() == "127.0.0.1"


def test_the_planners_settings() -> None:
    """What is given, and the machine's memory."""
    settings = host.node_settings("n", "/root", "pause:1")
    assert (settings.node_name, settings.root, settings.pause_image) == ("n", "/root", "pause:1")
    assert settings.memory_bytes == host.memory_bytes()
