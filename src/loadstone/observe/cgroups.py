"""CPU, memory and I/O limits of a process's control groups, and how long they throttled it.

A limit may be set at any level above the process, so every level is read and the lowest limit
counts. Versions 1 and 2 may be in use at the same time (Documentation/admin-guide/cgroup-v1,
cgroup-v2.rst).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from posixpath import dirname

from loadstone.observe.latest import Figures, count
from loadstone.observe.mounts import Mount

_NO_LIMIT_BYTES = 2.0**60  # version 1 writes the largest page-aligned number for "none"
_V1_FILES = {
    # The last file is only in this folder where both controllers share a hierarchy; elsewhere it
    # belongs to other groups.
    "cpu": ("cpu.stat", "cpu.cfs_quota_us", "cpu.cfs_period_us", "cpuacct.usage"),
    "memory": ("memory.limit_in_bytes",),
    "blkio": (
        "blkio.throttle.read_iops_device",
        "blkio.throttle.write_iops_device",
        "blkio.throttle.read_bps_device",
        "blkio.throttle.write_bps_device",
    ),
}
_V2_FILES = {
    "cpu": ("cpu.stat", "cpu.max"),
    "memory": ("memory.max",),
    "blkio": ("io.max",),
}
_IO_V1 = {
    "blkio.throttle.read_iops_device": "read_iops",
    "blkio.throttle.write_iops_device": "write_iops",
    "blkio.throttle.read_bps_device": "read_bytes_per_s",
    "blkio.throttle.write_bps_device": "write_bytes_per_s",
}
_IO_V2 = {
    "riops": "read_iops",
    "wiops": "write_iops",
    "rbps": "read_bytes_per_s",
    "wbps": "write_bytes_per_s",
}
_STAT_UNITS = {
    "nr_periods": ("cgroup.periods", 1.0),
    "nr_throttled": ("cgroup.throttled_periods", 1.0),
    "throttled_time": ("cgroup.throttled_s", 1e-9),
    "throttled_usec": ("cgroup.throttled_s", 1e-6),
    "usage_usec": ("cgroup.cpu_s", 1e-6),
}


@dataclass(frozen=True)
class Cgroups:
    """The folders of a process's groups by controller: its own first, then its ancestors."""

    v1: Mapping[str, tuple[str, ...]]
    v2: tuple[str, ...]

    @property
    def files(self) -> tuple[str, ...]:
        """All files to read."""
        return tuple(
            f"{folder}/{name}"
            for controller, names in _V1_FILES.items()
            for folder in self.folders(controller)
            for name in (names if controller in self.v1 else _V2_FILES[controller])
        )

    def folders(self, controller: str) -> tuple[str, ...]:
        """The folders with that controller's files: version 1's, otherwise version 2's."""
        return self.v1.get(controller, self.v2)


def cgroups_of(text: str, mounts: Sequence[Mount]) -> Cgroups:
    """Parse /proc/PID/cgroup with the reader's mounts; groups not mounted there are left out."""
    v1: dict[str, tuple[str, ...]] = {}
    v2: tuple[str, ...] = ()
    for line in text.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            v2 = _folders(path, [mount for mount in mounts if mount.kind == "cgroup2"])
            continue
        for name in set(controllers.split(",")) & _V1_FILES.keys():
            v1[name] = _folders(
                path,
                [mount for mount in mounts if mount.kind == "cgroup" and name in mount.options],
            )
    return Cgroups(v1, v2)


def freezer_file(text: str, mounts: Sequence[Mount]) -> str | None:
    """The file that says whether a process's group is frozen; `None`: none is mounted here.

    `text` is that of /proc/PID/cgroup.
    """
    found: dict[str, str] = {}
    for line in text.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        is_v2 = number == "0" and not controllers
        if is_v2 or "freezer" in controllers.split(","):
            kind, name = ("cgroup2", "cgroup.events") if is_v2 else ("cgroup", "freezer.state")
            at = [m for m in mounts if m.kind == kind and (is_v2 or "freezer" in m.options)]
            if folders := _folders(path, at):
                found[kind] = f"{folders[0]}/{name}"
    return found.get("cgroup") or found.get("cgroup2")


def is_frozen(text: str) -> bool:
    """Whether a group is frozen, by the content of its `freezer_file` of either version."""
    return text.strip() == "FROZEN" or "frozen 1" in text.splitlines()


def _folders(path: str, mounts: Iterable[Mount]) -> tuple[str, ...]:
    """The group's folder and its ancestors; none if it lies outside the mounted part."""
    for mount in mounts:
        root = mount.root.rstrip("/")
        below = path.removeprefix(root) if path == root or path.startswith(root + "/") else None
        if below is None or ".." in below.split("/"):
            continue
        folders = [(mount.point + below).rstrip("/")]
        while len(folders[-1]) > len(mount.point):
            folders.append(dirname(folders[-1]))
        return tuple(folders)
    return ()


def cgroup_figures(
    cgroups: Cgroups, texts: Mapping[str, str], disks: Mapping[str, str], into: Figures
) -> None:
    """Add the limits and the throttling to the figures.

    Args:
        cgroups: the process's groups.
        texts: contents of the files by path; files that do not exist are missing.
        disks: disk names by `MAJOR:MINOR`.
        into: the figures to add to.
    """
    _cpu(cgroups, texts, into)
    limits = [
        limit
        for folder in cgroups.folders("memory")
        for name in ("memory.limit_in_bytes", "memory.max")
        if (limit := count(texts.get(f"{folder}/{name}", "").strip())) is not None
    ]
    if limits and min(limits) < _NO_LIMIT_BYTES:
        into.gauges["cgroup.memory_limit_bytes"] = min(limits)
    _io(cgroups, texts, disks, into)


def _cpu(cgroups: Cgroups, texts: Mapping[str, str], into: Figures) -> None:
    folders = cgroups.folders("cpu")
    limits = {folder: cores for folder in folders if (cores := _cores(folder, texts)) is not None}
    if limits:
        into.gauges["cgroup.cpu_cores"] = min(limits.values())
    if folders:  # throttling is counted at the level that sets the limit
        told = min(limits, key=lambda folder: limits[folder]) if limits else folders[0]
        for line in texts.get(f"{told}/cpu.stat", "").splitlines():
            name, _, word = line.partition(" ")
            value = count(word.strip())
            if name in _STAT_UNITS and value is not None:
                figure, unit = _STAT_UNITS[name]
                into.counters[figure] = value * unit
        used_ns = count(texts.get(f"{told}/cpuacct.usage", "").strip())
        if used_ns is not None:
            into.counters["cgroup.cpu_s"] = used_ns / 1e9


def _cores(folder: str, texts: Mapping[str, str]) -> float | None:
    """How many cores' worth of CPU time a group may use; `None` if it has no limit."""
    words = texts.get(f"{folder}/cpu.max", "").split()
    if len(words) != 2:
        names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        words = [texts.get(f"{folder}/{name}", "").strip() for name in names]
    quota, period = count(words[0]), count(words[1])  # "max" and -1 are not counts
    return quota / period if quota is not None and period else None


def _io(
    cgroups: Cgroups, texts: Mapping[str, str], disks: Mapping[str, str], into: Figures
) -> None:
    for folder in cgroups.folders("blkio"):
        for name, limit in _IO_V1.items():
            for line in texts.get(f"{folder}/{name}", "").splitlines():
                device, _, word = line.partition(" ")
                _keep_io(disks.get(device), limit, word, into)
        for line in texts.get(f"{folder}/io.max", "").splitlines():
            device, _, rest = line.partition(" ")
            for pair in rest.split():
                key, _, word = pair.partition("=")
                if key in _IO_V2:
                    _keep_io(disks.get(device), _IO_V2[key], word, into)


def _keep_io(disk: str | None, limit: str, word: str, into: Figures) -> None:
    value = count(word.strip())
    if disk is None or value is None:
        return
    name = f"cgroup.disk.{disk}.{limit}"
    into.gauges[name] = min(value, into.gauges.get(name, value))
