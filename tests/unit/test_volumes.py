"""A pod's folder on the host."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from podsync import podpaths
from podsync.errors import VolumeFault
from podsync.identity import adopt
from podsync.models import (
    EmptyDirVolumeSource,
    HostPathVolumeSource,
    Pod,
    PodKey,
    PodSecurityContext,
    Quantity,
    Volume,
    VolumeMount,
)
from podsync.testing.builders import container, pod
from podsync.volumes import MESSAGE_BYTES, VolumeStore

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: mounts, devices, ownership")


def _pod(volume: Volume, **spec: object) -> Pod:
    main = container(volume_mounts=(VolumeMount(name=volume.name, mount_path="/data"),))
    return adopt(pod("web", main, volumes=(volume,), **spec), "node", "test")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[VolumeStore]:
    """A store below a fresh root, emptied at the end."""
    made = VolumeStore(str(tmp_path))
    yield made
    for uid in made.folders():
        made.remove(uid)


def _volume_path(tmp_path: Path, made: Pod) -> Path:
    return Path(podpaths.volume_dir(str(tmp_path), made.metadata.uid, podpaths.EMPTY_DIR, "data"))


def test_empty_dir_is_open_to_everyone_whatever_the_umask(tmp_path: Path, store: VolumeStore) -> None:
    """An emptyDir has mode 0777, keeps its content when prepared again, and goes with the pod."""
    made = _pod(Volume(name="data", empty_dir=EmptyDirVolumeSource()))
    before = os.umask(0o077)
    try:
        store.prepare(made)
    finally:
        os.umask(before)
    path = _volume_path(tmp_path, made)
    assert stat.S_IMODE(path.stat().st_mode) == 0o777

    (path / "kept").write_text("x")
    store.prepare(made)
    assert (path / "kept").exists()

    assert store.folders() == {made.metadata.uid: PodKey("default", "web")}
    store.remove(made.metadata.uid)
    assert store.folders() == {}
    store.remove(made.metadata.uid)


@ROOT_ONLY
def test_fs_group_owns_an_empty_dir(tmp_path: Path, store: VolumeStore) -> None:
    """With fsGroup the volume belongs to the group, and new files inherit it."""
    made = _pod(
        Volume(name="data", empty_dir=EmptyDirVolumeSource()), security_context=PodSecurityContext(fs_group=2000)
    )

    store.prepare(made)

    found = _volume_path(tmp_path, made).stat()
    assert (found.st_gid, stat.S_IMODE(found.st_mode)) == (2000, 0o2777)


@ROOT_ONLY
def test_memory_volume_is_a_bounded_tmpfs(tmp_path: Path, store: VolumeStore) -> None:
    """A Memory volume is a tmpfs of its sizeLimit, mounted once, unmounted with the pod."""
    size = Quantity("1Mi")
    made = _pod(Volume(name="data", empty_dir=EmptyDirVolumeSource(medium="Memory", size_limit=size)))

    store.prepare(made)
    store.prepare(made)

    path = _volume_path(tmp_path, made)
    space = os.statvfs(path)
    assert space.f_blocks * space.f_frsize == 1 << 20
    mounts = [line for line in Path("/proc/self/mounts").read_text(errors="replace").splitlines() if str(path) in line]
    assert len(mounts) == 1
    store.remove(made.metadata.uid)
    assert str(path) not in Path("/proc/self/mounts").read_text(errors="replace")


@ROOT_ONLY
def test_removal_of_a_busy_memory_volume(tmp_path: Path, store: VolumeStore) -> None:
    """A file still open in a memory volume does not keep the pod's folder."""
    made = _pod(Volume(name="data", empty_dir=EmptyDirVolumeSource(medium="Memory")))
    store.prepare(made)

    with (_volume_path(tmp_path, made) / "open").open("w"):
        store.remove(made.metadata.uid)

    assert store.folders() == {}


def _make(kind: str, path: Path) -> None:
    if kind == "Directory":
        path.mkdir()
    elif kind == "File":
        path.write_text("x")
    elif kind == "Socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
    elif kind == "CharDevice":
        path.symlink_to("/dev/null")
    else:
        os.mknod(path, 0o600 | stat.S_IFBLK, os.makedev(7, 200))


KINDS = {
    "Directory": "directory",
    "File": "file",
    "Socket": "socket file",
    "CharDevice": "character device",
    "BlockDevice": "block device",
}


@pytest.mark.parametrize("wanted", KINDS)
@pytest.mark.parametrize("there", [*KINDS, "nothing"])
def test_host_path_types(tmp_path: Path, store: VolumeStore, wanted: str, there: str) -> None:
    """Each hostPath type accepts its own kind and refuses every other, in the kubelet's words."""
    if there == "BlockDevice" and os.geteuid() != 0:
        pytest.skip("making a block device needs root")
    path = tmp_path / "it"
    if there != "nothing":
        _make(there, path)
    made = _pod(Volume(name="data", host_path=HostPathVolumeSource(path=str(path), type=wanted)))

    if wanted == there:
        store.prepare(made)
        return
    with pytest.raises(VolumeFault) as caught:
        store.prepare(made)
    assert str(caught.value) == (
        f'MountVolume.SetUp failed for volume "data" : hostPath type check failed: {path} is not a {KINDS[wanted]}'
    )
    assert path.exists() == (there != "nothing")


@pytest.mark.parametrize(("kind", "mode"), [("DirectoryOrCreate", 0o755), ("FileOrCreate", 0o644)])
def test_host_path_is_made_on_demand(tmp_path: Path, store: VolumeStore, kind: str, mode: int) -> None:
    """The OrCreate types make what is missing, and leave what is there alone."""
    path = tmp_path / "made"
    made = _pod(Volume(name="data", host_path=HostPathVolumeSource(path=str(path), type=kind)))

    store.prepare(made)

    assert stat.S_IMODE(path.stat().st_mode) == mode
    path.chmod(0o700)
    store.prepare(made)
    assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_file_or_create_does_not_make_the_parent(tmp_path: Path, store: VolumeStore) -> None:
    """FileOrCreate below a missing directory is a FailedMount, not a directory."""
    made = _pod(Volume(name="data", host_path=HostPathVolumeSource(path=str(tmp_path / "a/b"), type="FileOrCreate")))

    with pytest.raises(VolumeFault, match="No such file"):
        store.prepare(made)
    assert not (tmp_path / "a").exists()


def test_unused_volume_is_not_made(tmp_path: Path, store: VolumeStore) -> None:
    """A volume no container mounts is not set up, and not checked either."""
    volumes = (
        Volume(name="data", empty_dir=EmptyDirVolumeSource()),
        Volume(name="host", host_path=HostPathVolumeSource(path="/never/there", type="Directory")),
    )
    made = adopt(pod("web", volumes=volumes), "node", "test")

    store.prepare(made)

    assert not _volume_path(tmp_path, made).exists()


def test_hosts_file_keeps_its_inode(tmp_path: Path, store: VolumeStore) -> None:
    """The hosts file is rewritten in place: containers have that very file mounted."""
    made = _pod(Volume(name="data", empty_dir=EmptyDirVolumeSource()))
    store.prepare(made)
    path = Path(podpaths.hosts_file(str(tmp_path), made.metadata.uid))
    before = path.stat().st_ino

    store.write_hosts(made, ("10.0.0.9",))

    assert path.stat().st_ino == before
    assert "10.0.0.9\tweb" in path.read_text()
    store.prepare(made)
    assert "10.0.0.9\tweb" in path.read_text()


def test_termination_message(tmp_path: Path, store: VolumeStore) -> None:
    """The message file is writable by any user; its last 4096 bytes are read, undecodable ones replaced."""
    path = tmp_path / "pods/u/containers/main/12345678"
    store.prepare_message(str(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o666
    assert store.read_message(str(path)) == ""

    path.write_bytes(b"a" * 10 + b"b" * (MESSAGE_BYTES - 1) + b"\xff")
    assert store.read_message(str(path)) == "b" * (MESSAGE_BYTES - 1) + "\ufffd"
    assert store.read_message(str(tmp_path / "absent")) == ""


@pytest.mark.parametrize("planted", ["link", "directory", "fifo"])
def test_planted_termination_message(tmp_path: Path, store: VolumeStore, planted: str) -> None:
    """What a container plants in place of its message file is neither followed nor waited for."""
    secret, path = tmp_path / "secret", tmp_path / "message"
    secret.write_text("root's own")
    if planted == "link":
        path.symlink_to(secret)
    elif planted == "directory":
        path.mkdir()
    else:
        os.mkfifo(path)

    assert "root's own" not in store.read_message(str(path))


def test_links_in_a_volume_are_not_followed_on_removal(tmp_path: Path, store: VolumeStore) -> None:
    """Removing a pod removes links a container planted, not what they point to."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    made = _pod(Volume(name="data", empty_dir=EmptyDirVolumeSource()))
    store.prepare(made)
    (_volume_path(tmp_path, made) / "link").symlink_to(outside)

    store.remove(made.metadata.uid)

    assert (outside / "precious").exists()


def test_folder_without_owner(tmp_path: Path, store: VolumeStore) -> None:
    """A folder cut short before its owner was noted is reported under its uid and can be removed."""
    (tmp_path / "pods" / "u9" / "volumes").mkdir(parents=True)

    assert store.folders() == {"u9": PodKey("", "u9")}
    store.remove("u9")
    assert store.folders() == {}


def test_full_disk_is_a_volume_fault(tmp_path: Path, store: VolumeStore) -> None:
    """A folder that cannot be made is a FailedMount that names it."""
    (tmp_path / "pods").write_text("a file in the way")
    made = _pod(Volume(name="data", empty_dir=EmptyDirVolumeSource()))

    with pytest.raises(VolumeFault, match="making the pod's folder"):
        store.prepare(made)
    (tmp_path / "pods").unlink()


@ROOT_ONLY
@pytest.mark.parametrize("name", ["a b", "tab\there", "back\\slash", "ümlaut", "line\nbreak", "\udcff"])
def test_mount_points_with_odd_names(tmp_path: Path, store: VolumeStore, name: str) -> None:
    """Whatever a mount point in the pod's folder is called, it is unmounted with the pod."""
    made = _pod(Volume(name="data", empty_dir=EmptyDirVolumeSource()))
    store.prepare(made)
    point = _volume_path(tmp_path, made) / name
    point.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", point], check=True)

    store.remove(made.metadata.uid)

    assert store.folders() == {}
