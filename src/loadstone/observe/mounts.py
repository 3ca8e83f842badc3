"""Where file systems are mounted, and on which disk a folder is."""

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
    """`MAJOR:MINOR`; the major is 0 where no single block device is behind it."""
    root: str
    """Which folder of the file system is mounted."""
    point: str
    kind: str
    source: str
    options: frozenset[str]
    """Options of the file system; that of a cgroup has its controllers here."""
    flags: frozenset[str] = frozenset()
    """Options of this mount alone, such as `noatime`."""


def mounts_of(text: str) -> list[Mount]:
    """/proc/PID/mountinfo, see proc(5); lines that are not as described there are left out."""
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
    """Blanks and backslashes stand there as three octal digits."""
    return re.sub(r"\\([0-3][0-7]{2})", lambda found: chr(int(found[1], 8)), text)


def disk_behind(device: str, disks: Mapping[str, str], mounts: Sequence[Mount]) -> str | None:
    """The disk that holds a file of this device number (`MAJOR:MINOR`), by its name.

    A partition is its disk; what LVM or RAID made is itself. A file system that has no device
    of its own (btrfs) is what its mount names; `None`: memory, a network's, or not to be told.

    Args:
        device: of the file, as its st_dev says.
        disks: names of all block devices by number, see `procfs.disk_names`.
        mounts: of the process that sees the file.
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
