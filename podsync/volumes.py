"""A pod's folder on the host: its volumes and the files the kubelet adds to its containers.

Layout as in ``podpaths``. Everything is made again when asked (idempotent), nothing
outside ``<root>/pods/<uid>`` is ever written, and removal follows no symbolic link.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import logging
import os
import re
import shutil
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from podsync import netfiles, podpaths
from podsync.atomic import write_whole
from podsync.errors import VolumeFault
from podsync.models import PodKey

if TYPE_CHECKING:
    from podsync.models import EmptyDirVolumeSource, HostPathVolumeSource, Pod

__all__ = ["MemoryVolumes", "VolumeStore", "Volumes"]

log = logging.getLogger(__name__)

OWNER_FILE = "owner"
MESSAGE_BYTES = 4096
RESOLV_CONF = ("/etc/resolv.conf", "/run/systemd/resolve/resolv.conf")

_OCTAL = re.compile(rb"\\([0-7]{3})")
"""How the kernel writes blanks and the like in its tables."""
_MS_NOSUID, _MS_NODEV, _MNT_DETACH = 2, 4, 2


class Volumes(Protocol):
    """What the executor and the agent need of the host's file system."""

    def prepare(self, pod: Pod) -> None:
        """Make the pod's folder, volumes and files. Raises VolumeFault."""

    def write_hosts(self, pod: Pod, ips: Sequence[str]) -> None:
        """Write the pod's ``/etc/hosts``. Raises VolumeFault."""

    def prepare_message(self, path: str) -> None:
        """Make the file behind ``terminationMessagePath``. Raises VolumeFault."""

    def read_message(self, path: str) -> str:
        """Its last 4096 bytes as text; empty when there is nothing."""

    def remove(self, uid: str) -> None:
        """Remove the pod's folder and all data in it. Absent: succeeds. Raises VolumeFault."""

    def folders(self) -> Mapping[str, PodKey]:
        """Every pod folder there is, by uid. One without an owner has the key ``("", uid)``."""


class MemoryVolumes:
    """Pod folders that exist in memory only: for runtimes whose containers are not real."""

    def __init__(self) -> None:
        self._folders: dict[str, PodKey] = {}
        self.messages: dict[str, str] = {}
        """Termination messages by path, for tests to set."""

    def note(self, uid: str, key: PodKey) -> None:
        """Say that the folder is there."""
        self._folders[uid] = key

    def prepare(self, pod: Pod) -> None:
        """Note the folder."""
        self.note(pod.metadata.uid, pod.key)

    def write_hosts(self, pod: Pod, ips: Sequence[str]) -> None:
        """Nothing to write."""

    def prepare_message(self, path: str) -> None:
        """Nothing to make."""

    def read_message(self, path: str) -> str:
        """What a test has put there."""
        return self.messages.get(path, "")

    def remove(self, uid: str) -> None:
        """Forget the folder."""
        self._folders.pop(uid, None)

    def folders(self) -> Mapping[str, PodKey]:
        """A copy of what is noted."""
        return self._folders.copy()


class VolumeStore:
    """Pod folders below a root directory. Safe to call from several threads, one a pod."""

    def __init__(self, root: str) -> None:
        """``root`` is absolute; the folders are made on demand."""
        self._root = root
        self._checks: Mapping[str, Callable[[int], bool]] = {
            "Directory": stat.S_ISDIR,
            "File": stat.S_ISREG,
            "Socket": stat.S_ISSOCK,
            "CharDevice": stat.S_ISCHR,
            "BlockDevice": stat.S_ISBLK,
        }

    def prepare(self, pod: Pod) -> None:
        """Make the pod's folder, volumes and files. Raises VolumeFault."""
        uid = pod.metadata.uid
        folder = Path(podpaths.pod_dir(self._root, uid))
        try:
            folder.mkdir(mode=0o750, parents=True, exist_ok=True)
            write_whole(folder / OWNER_FILE, f"{pod.metadata.namespace}/{pod.metadata.name}\n", 0o600)
            _rewrite(Path(podpaths.resolv_file(self._root, uid)), self._resolv_conf(pod))
            hosts = Path(podpaths.hosts_file(self._root, uid))
            if not hosts.exists():
                _rewrite(hosts, "")
        except OSError as error:
            raise VolumeFault(f"making the pod's folder {folder} failed: {_words(error)}") from error
        mounted = {m.name for c in (*pod.spec.init_containers, *pod.spec.containers) for m in c.volume_mounts}
        for volume in pod.spec.volumes:
            if volume.name not in mounted:
                continue
            try:
                if volume.host_path is not None:
                    self._check_host_path(volume.host_path)
                elif volume.empty_dir is not None:
                    path = podpaths.volume_dir(self._root, uid, podpaths.EMPTY_DIR, volume.name)
                    self._make_empty_dir(Path(path), volume.empty_dir, pod)
            except OSError as error:
                raise VolumeFault(f'MountVolume.SetUp failed for volume "{volume.name}" : {_words(error)}') from error
            except VolumeFault as error:
                raise VolumeFault(f'MountVolume.SetUp failed for volume "{volume.name}" : {error}') from error

    def write_hosts(self, pod: Pod, ips: Sequence[str]) -> None:
        """Write the pod's ``/etc/hosts``. Raises VolumeFault."""
        path = Path(podpaths.hosts_file(self._root, pod.metadata.uid))
        try:
            host_file = Path("/etc/hosts").read_text(errors="replace") if pod.spec.host_network else ""
            _rewrite(path, netfiles.hosts_text(pod, ips, host_file))
        except OSError as error:
            raise VolumeFault(f"writing {path} failed: {_words(error)}") from error

    def prepare_message(self, path: str) -> None:
        """Make the file behind ``terminationMessagePath``. Raises VolumeFault."""
        try:
            Path(path).parent.mkdir(mode=0o750, parents=True, exist_ok=True)
            _rewrite(Path(path), "", 0o666)
        except OSError as error:
            raise VolumeFault(f"making {path} failed: {_words(error)}") from error

    def read_message(self, path: str) -> str:
        """Its last 4096 bytes as text; empty when there is nothing."""
        try:
            # the container owns this file: never follow a link it may have planted
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return ""
        except OSError as error:
            return f"Error on reading termination log {path}: {_words(error)}"
        try:
            size = os.fstat(descriptor).st_size
            return os.pread(descriptor, MESSAGE_BYTES, max(0, size - MESSAGE_BYTES)).decode("utf-8", "replace")
        except OSError as error:
            return f"Error on reading termination log {path}: {_words(error)}"
        finally:
            os.close(descriptor)

    def remove(self, uid: str) -> None:
        """Remove the pod's folder and all data in it. Absent: succeeds. Raises VolumeFault."""
        folder = Path(podpaths.pod_dir(self._root, uid))
        try:
            for mount in _mounts_below(folder):
                _unmount(mount)
            if _mounts_below(folder):
                raise VolumeFault(f"{folder} still has something mounted in it")
            # the owner file goes last: a removal cut short is taken up again under the right name
            with contextlib.suppress(FileNotFoundError):
                for entry in folder.iterdir():
                    if entry.name == OWNER_FILE:
                        continue
                    shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
                shutil.rmtree(folder)
        except OSError as error:
            raise VolumeFault(f"removing {folder} failed: {_words(error)}") from error

    def folders(self) -> Mapping[str, PodKey]:
        """Every pod folder there is, by uid. One without an owner has the key ``("", uid)``. Raises VolumeFault."""
        found: dict[str, PodKey] = {}
        folder = podpaths.pods_dir(self._root)
        try:
            with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
                for entry in entries:
                    found[entry.name] = _owner(Path(entry.path), entry.name)
        except OSError as error:
            raise VolumeFault(f"the pods' folder {folder} cannot be read: {_words(error)}") from error
        return found

    def _resolv_conf(self, pod: Pod) -> str:
        host = netfiles.ResolvConf()
        for path in RESOLV_CONF:
            with contextlib.suppress(OSError):
                host = netfiles.parse_resolv_conf(Path(path).read_text(errors="replace"))
            # a resolver on the node's loopback cannot be reached from a pod's network
            if pod.spec.host_network or not all(n.startswith(("127.", "::1")) for n in host.nameservers):
                break
        return netfiles.resolv_conf_text(pod, host)

    def _check_host_path(self, source: HostPathVolumeSource) -> None:
        """``hostPath.type``: what must be there, or is made."""
        path, kind = Path(source.path), source.type or ""
        if kind == "DirectoryOrCreate" and not path.exists():
            path.mkdir(mode=0o755, parents=True)
            path.chmod(0o755)
        elif kind == "FileOrCreate" and not path.exists():
            _rewrite(path, "", 0o644)
        elif kind == "" and not path.exists():
            # no check was asked for, and engines differ on a missing source: make the directory Docker would make
            path.mkdir(mode=0o755, parents=True)
        wanted = kind.removesuffix("OrCreate")
        if wanted:
            words = {"Directory": "directory", "File": "file", "Socket": "socket file"}
            name = words.get(wanted) or ("character device" if wanted == "CharDevice" else "block device")
            try:
                right = self._checks[wanted](path.stat().st_mode)
            except OSError:
                right = False
            if not right:
                raise VolumeFault(f"hostPath type check failed: {source.path} is not a {name}")

    def _make_empty_dir(self, path: Path, source: EmptyDirVolumeSource, pod: Pod) -> None:
        path.mkdir(mode=0o750, parents=True, exist_ok=True)
        if source.medium == "Memory" and not os.path.ismount(path):
            _mount_tmpfs(path, _memory_size(source, pod))
        # mkdir's mode is cut by the umask, chmod's is not
        context = pod.spec.security_context
        group = context.fs_group if context is not None else None
        if group is None:
            path.chmod(0o777)
        else:
            os.chown(path, -1, group)
            path.chmod(0o2777)


def _memory_size(source: EmptyDirVolumeSource, pod: Pod) -> int | None:
    """Bytes a memory volume may hold: the least of its own limit and the pod's memory limit."""
    sizes = [source.size_limit.value] if source.size_limit is not None else []
    limits = [c.resources.limits.get("memory") for c in pod.spec.containers]
    if limits and all(limit is not None for limit in limits):
        sizes.append(sum(limit.value for limit in limits if limit is not None))
    return min((size for size in sizes if size > 0), default=None)


def _rewrite(path: Path, text: str, mode: int = 0o644) -> None:
    """Write in place: containers have this very file mounted, so it must stay the same inode."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        os.fchmod(file.fileno(), mode)


def _owner(folder: Path, uid: str) -> PodKey:
    try:
        namespace, slash, name = (folder / OWNER_FILE).read_text().strip().partition("/")
    except (OSError, UnicodeDecodeError):
        slash = namespace = name = ""
    return PodKey(namespace, name) if slash else PodKey("", uid)


def _libc_call(name: str, *arguments: object) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, name)(*arguments) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _mount_tmpfs(path: Path, size: int | None) -> None:
    options = "mode=0777" + (f",size={size}" if size is not None else "")
    try:
        _libc_call(
            "mount", b"tmpfs", os.fsencode(path), b"tmpfs", ctypes.c_ulong(_MS_NOSUID | _MS_NODEV), options.encode()
        )
    except PermissionError as error:
        raise VolumeFault(
            "a Memory volume needs the right to mount (run podsync as root, or use another medium)"
        ) from error


def _unmount(path: str) -> None:
    try:
        _libc_call("umount2", os.fsencode(path), ctypes.c_int(0))
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        # its containers are gone; whoever still looks at it keeps his view until he leaves
        _libc_call("umount2", os.fsencode(path), ctypes.c_int(_MNT_DETACH))


def _mounts_below(folder: Path) -> list[str]:
    """Mount points inside a folder, deepest first."""
    prefix = os.fsencode(f"{folder}/")
    with Path("/proc/self/mountinfo").open("rb") as table:
        points = [_OCTAL.sub(lambda m: bytes([int(m[1], 8)]), line.split(b" ", 5)[4]) for line in table]
    return sorted((os.fsdecode(point) for point in points if point.startswith(prefix)), reverse=True)


def _words(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.filename else str(error.strerror or error)
