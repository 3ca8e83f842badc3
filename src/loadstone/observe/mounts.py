"""Where file systems are mounted, and which disk holds a folder."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from loadstone.observe.procfs import disk_of_partition


@dataclass(frozen=True)
class Mount:
    """A line of /proc/PID/mountinfo."""

    device: str
    """`MAJOR:MINOR`; the major is 0 if there is no single block device behind it."""
    root: str
    """The folder of the file system that is mounted."""
    point: str
    kind: str
    source: str
    options: frozenset[str]
    """Options of the file system; for cgroup version 1 they name the controllers."""
    flags: frozenset[str] = frozenset()
    """Options of this mount alone, such as `noatime`."""


def mounts_of(text: str) -> list[Mount]:
    """Parse /proc/PID/mountinfo, see proc(5); malformed lines are left out."""
    found = []
    for line in text.splitlines():
        before, separator, after = line.partition(" - ")
        left, right = before.split(" "), after.split(" ")
        if not separator or len(left) < 6 or len(right) < 3:
            continue
        found.append(
            Mount(
                device=left[2],
                root=_plain(left[3]),
                point=_plain(left[4]),
                kind=right[0],
                source=_plain(right[1]),
                options=frozenset(right[2].split(",")),
                flags=frozenset(left[5].split(",")),
            )
        )
    return found


def _plain(text: str) -> str:
    """Decode the octal escapes of blanks and backslashes."""
    return re.sub(r"\\([0-3][0-7]{2})", lambda found: chr(int(found[1], 8)), text)


def disk_behind(device: str, disks: Mapping[str, str], mounts: Sequence[Mount]) -> str | None:
    """The name of the disk that holds a file with this device number (`MAJOR:MINOR`).

    For a partition it is its disk; a volume of LVM or RAID is returned itself. A file system
    without a device number of its own (btrfs) is looked up by its mount. `None` for memory, network
    file systems and unknown devices.

    Args:
        device: the file's, from its st_dev.
        disks: names of all block devices by number, see `procfs.disk_names`.
        mounts: those of the process that sees the file.
    """
    name = disks.get(device)
    if name is None:
        sources = {mount.source for mount in mounts if mount.device == device}
        if len(sources) != 1:
            return None
        source = PurePosixPath(sources.pop())
        name = source.name if source.parent == PurePosixPath("/dev") else None
    known = set(disks.values())
    return disk_of_partition(name, known) if name in known and name is not None else None
