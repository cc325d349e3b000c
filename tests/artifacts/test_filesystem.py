"""What a folder lies on, read from tables of mounts that were written down, and from this one's."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from emberbench_dist.artifacts.filesystem import Mount, mount_of, network_warning

TABLE = r"""
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
40 27 0:40 / /home rw,relatime shared:2 master:3 - nfs4 server:/export/home rw,vers=4.2
41 40 0:41 / /home/me/local\040disk rw - xfs /dev/sdb rw
42 27 0:42 / /scratch rw - lustre 10.0.0.1@tcp:/scratch rw,flock
43 27 0:43 / /mnt/c rw - 9p drvfs rw,aname=drvfs
44 27 0:44 / /mnt/ssh rw - fuse.sshfs me@host: rw
45 27 0:45 / /mnt/disk rw - fuseblk /dev/sdc rw
46 27 0:46 / /mnt/container rw - fuse.fuse-overlayfs fuse-overlayfs rw
47 27 0:47 / /mnt/both rw - nfs server:/x rw
48 47 0:48 / /mnt/both rw - ext4 /dev/sdd rw
49 27 0:49 / /run rw - tmpfs tmpfs rw
50 27 0:50 / /mnt/back\134slash\011tab rw - cifs //server/share rw
nonsense
"""


@pytest.fixture
def table(tmp_path):
    """Write the table."""
    (tmp_path / "mountinfo").write_text(TABLE)
    return tmp_path / "mountinfo"


@pytest.mark.parametrize(
    ("path", "type_", "is_network"),
    [
        ("/data/results", "ext4", False),
        ("/home", "nfs4", True),
        ("/home/me/results/not/there/yet", "nfs4", True),
        ("/homes/results", "ext4", False),
        ("/home/me/local disk/results", "xfs", False),
        ("/scratch/run", "lustre", True),
        ("/mnt/c/run", "9p", True),
        ("/mnt/ssh/run", "fuse.sshfs", True),
        ("/mnt/disk/run", "fuseblk", False),
        ("/mnt/container/run", "fuse.fuse-overlayfs", False),
        ("/mnt/both/run", "ext4", False),
        ("/mnt/back\\slash\ttab/run", "cifs", True),
        ("/run/x", "tmpfs", False),
    ],
)
def test_the_innermost_mount_counts(table, path, type_, is_network):
    """The longest mount point around a path says its type; of two at one point the later."""
    mount = mount_of(Path(path), table)
    assert (mount.type, mount.is_network) == (type_, is_network)
    assert bool(network_warning(Path(path), table)) == is_network


def test_links_are_followed(table, tmp_path):
    """A link to a network disk is on the network."""
    (tmp_path / "results").symlink_to("/scratch/me")
    assert mount_of(tmp_path / "results/run", table) == Mount(Path("/scratch"), "lustre")


def test_the_warning_says_where_and_what_to_do(table):
    """One line, with type and mount point."""
    assert network_warning(Path("/home/me/run"), table) == (
        "The run folder is on nfs4 (mounted at /home): locks and syncs may lie there. "
        "Keep it on a local disk, and copy the results with --publish."
    )


def test_memory_is_told_apart():
    """What is gone after a reboot is known."""
    assert Mount(Path("/run"), "tmpfs").is_memory
    assert not Mount(Path("/"), "ext4").is_memory


def test_without_a_table_nothing_is_said(tmp_path):
    """Where the system does not tell, nobody is warned."""
    assert mount_of(tmp_path, tmp_path / "nothing") is None
    assert network_warning(tmp_path, tmp_path / "nothing") == ""


def test_this_machine_is_read(tmp_path):
    """The real table is understood: the root is there, and a test's folder is on a disk of it."""
    assert mount_of(Path("/proc/self")).type == "proc"
    assert mount_of(tmp_path).type
    assert not network_warning(tmp_path)


def test_a_real_mount_is_seen(tmp_path):
    """A file system is told by its real mount, whatever the characters of its name."""
    folder = tmp_path / "a disk\\040"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40k", "tmpfs", folder], check=True)
    try:
        assert mount_of(folder / "run") == Mount(folder, "tmpfs")
    finally:
        subprocess.run(["umount", folder], check=True)
    assert mount_of(folder / "run") != Mount(folder, "tmpfs")
