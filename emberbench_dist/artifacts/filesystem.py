"""What a folder lies on, by the system's table of mounts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
_NETWORK = {
    *("nfs", "nfs4", "cifs", "smb3", "smbfs", "lustre", "gpfs", "beegfs", "ceph", "9p"),
    *("glusterfs", "afs", "panfs", "pvfs2", "orangefs", "ocfs2", "gfs2", "virtiofs", "vboxsf"),
}
_MEMORY = {"tmpfs", "ramfs"}
# On FUSE, but of this machine's own disks.
_LOCAL_FUSE = {"fuse.fuse-overlayfs", "fuse.mergerfs", "fuse.bindfs", "fuse.gocryptfs"}


@dataclass(frozen=True, slots=True)
class Mount:
    """A mounted file system: where, and of which type."""

    point: Path
    type: str

    @property
    def is_network(self) -> bool:
        """Say whether other machines, or programs, may stand behind it."""
        fuse = self.type == "fuse" or self.type.startswith("fuse.")
        return self.type in _NETWORK or (fuse and self.type not in _LOCAL_FUSE)

    @property
    def is_memory(self) -> bool:
        """Say whether its files are gone after a reboot."""
        return self.type in _MEMORY


def mount_of(path: Path, mounts: Path = _MOUNTS) -> Mount | None:
    """Return what a path, existing or not, lies on; None where the system does not tell."""
    try:
        lines = mounts.read_text(errors="surrogateescape").splitlines()
        place = path.resolve()
    except (OSError, RuntimeError):  # RuntimeError: links in a circle
        return None
    around = [mount for line in lines if (mount := _parsed(line)) and _contains(mount, place)]
    # Of two at one point the later one is on top.
    return max(reversed(around), key=lambda mount: len(mount.point.parts), default=None)


def network_warning(path: Path, mounts: Path = _MOUNTS) -> str:
    """Return the line to print where a run folder lies on a network file system, else nothing."""
    mount = mount_of(path, mounts)
    if mount is None or not mount.is_network:
        return ""
    return (
        f"The run folder is on {mount.type} (mounted at {mount.point}): locks and syncs may lie "
        "there. Keep it on a local disk, and copy the results with --publish."
    )


def _parsed(line: str) -> Mount | None:
    """Return the mount of a line: the fifth field is its point, the type follows ` - `."""
    before, _, after = line.partition(" - ")
    fields = before.split(" ")
    if len(fields) < 6 or not after:
        return None
    point = re.sub(r"\\([0-7]{3})", lambda escape: chr(int(escape[1], 8)), fields[4])
    return Mount(Path(point), after.split(" ")[0])


def _contains(mount: Mount, place: Path) -> bool:
    return place.is_relative_to(mount.point)
