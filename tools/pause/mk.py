"""Build the pause program and show it as podsync ships it.

    python tools/pause/mk.py            print the programs as base64
    python tools/pause/mk.py --check    say whether podsync ships exactly these; exit 1 when not

Needs gcc, and aarch64-linux-gnu-gcc (Debian: gcc-aarch64-linux-gnu) for arm64; an
architecture whose compiler is missing is left out. Nothing of this is needed to run
podsync: the programs are in podsync/runtimes/common/pause.py.

The compiler's output is cut down to its code, and one ELF header with one program
header (readable, executable, holding headers and code) is put before it. No build id,
path or time gets in, so the same compiler gives the same bytes.
"""

from __future__ import annotations

import argparse
import base64
import platform
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).with_name("pause.c")
BASE = 0x400000
"""Address the program is loaded at."""
ELF_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
PROGRAM_HEADER = struct.Struct("<IIQQQQQQ")
EXECUTABLE, LOAD, READ_EXECUTE = 2, 1, 5


class Target(NamedTuple):
    """One architecture."""

    machine: str
    """As ``uname -m`` has it."""
    compilers: tuple[str, ...]
    elf_machine: int
    page: int
    flags: tuple[str, ...] = ()


TARGETS = {
    "amd64": Target("x86_64", ("x86_64-linux-gnu-gcc", "gcc"), 62, 0x1000, ("-fcf-protection=none",)),
    "arm64": Target("aarch64", ("aarch64-linux-gnu-gcc", "gcc"), 183, 0x10000),
}
FLAGS = (
    *("-Os", "-static", "-nostdlib", "-nostartfiles", "-ffreestanding", "-fno-pie", "-no-pie"),
    *("-fno-stack-protector", "-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fomit-frame-pointer"),
    *("-Wall", "-Wextra", "-Wl,--build-id=none,-N,-z,noexecstack,--no-warn-rwx-segments", "-s"),
)


def compiler(target: Target) -> str | None:
    """The compiler for a target; plain ``gcc`` only for this machine's own kind."""
    for name in target.compilers:
        if shutil.which(name) and (name != "gcc" or platform.machine() == target.machine):
            return name
    return None


def code(linked: bytes) -> tuple[bytes, int]:
    """(code, offset of its entry point) of a linked program."""
    header = ELF_HEADER.unpack_from(linked)
    entry, first, count = header[4], header[5], header[10]
    for index in range(count):
        at = first + index * PROGRAM_HEADER.size
        kind, _, offset, address, _, size, _, _ = PROGRAM_HEADER.unpack_from(linked, at)
        if kind == LOAD:
            return linked[offset : offset + size], entry - address
    sys.exit("the compiler's program has nothing to load")


def program(target: Target, linked: bytes) -> bytes:
    """The smallest file with the same code."""
    text, entry = code(linked)
    headers = ELF_HEADER.size + PROGRAM_HEADER.size
    size = headers + len(text)
    identity = b"\x7fELF\x02\x01\x01" + bytes(9)
    elf = ELF_HEADER.pack(
        identity, EXECUTABLE, target.elf_machine, 1, BASE + headers + entry, ELF_HEADER.size, 0, 0,
        ELF_HEADER.size, PROGRAM_HEADER.size, 1, 0, 0, 0,
    )  # fmt: skip
    return elf + PROGRAM_HEADER.pack(LOAD, READ_EXECUTE, 0, BASE, BASE, size, size, target.page) + text


def build(target: Target, gcc: str) -> bytes:
    """Compile for a target."""
    with tempfile.TemporaryDirectory() as folder:
        linked = Path(folder, "pause")
        subprocess.run([gcc, *FLAGS, *target.flags, "-o", str(linked), str(SOURCE)], check=True)
        return program(target, linked.read_bytes())


def main() -> int:
    """Build what can be built here."""
    parser = argparse.ArgumentParser(description="Build the pause program.")
    parser.add_argument("--check", action="store_true", help="compare with what podsync ships")
    check = parser.parse_args().check
    differs = False
    for name, target in TARGETS.items():
        gcc = compiler(target)
        if gcc is None:
            print(f"{name}: no compiler here", file=sys.stderr)
            continue
        data = build(target, gcc)
        if check:
            sys.path.insert(0, str(SOURCE.parents[2]))
            from podsync.runtimes.common.pause import PROGRAMS

            same = base64.b64decode(PROGRAMS[name]) == data
            differs |= not same
            print(f"{name}: {len(data)} bytes, {'as shipped' if same else 'not what is shipped'}")
        else:
            print(name, len(data), base64.b64encode(data).decode())
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())
