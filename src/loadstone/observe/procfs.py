"""What /proc says about a whole host, as counters and gauges: texts in, figures out.

The files are described in the kernel's Documentation/filesystems/proc.rst, admin-guide/iostats.rst
and accounting/psi.rst. A malformed line is left out as a whole; so is a figure that the kernel does
not have.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache

from loadstone.observe.latest import Figures, Scale, count, counts

_SECTOR_BYTES = 512  # in this file, whatever the device's sector size
_MODES = ("user_s", "nice_s", "system_s", "idle_s", "iowait_s", "irq_s", "softirq_s", "steal_s")
_STAT = {
    "ctxt": ("counters", "context_switches"),
    "processes": ("counters", "forks"),
    "procs_running": ("gauges", "run_queue"),
    "procs_blocked": ("gauges", "blocked"),
}
_NIC = (
    ("bytes_in", 0),
    ("packets_in", 1),
    ("errors_in", 2),
    ("drops_in", 3),
    ("bytes_out", 8),
    ("packets_out", 9),
    ("errors_out", 10),
    ("drops_out", 11),
)
_MEMORY = {
    "MemTotal": "memory.total_bytes",
    "MemFree": "memory.free_bytes",
    "MemAvailable": "memory.available_bytes",
    "Cached": "memory.cached_bytes",
    "Dirty": "memory.dirty_bytes",
    "Writeback": "memory.writeback_bytes",
}
# Columns of a disk after its name: figure, column, factor.
_DISK = (
    ("reads", 0, 1.0),
    ("read_bytes", 2, _SECTOR_BYTES),
    ("read_s", 3, 1e-3),
    ("writes", 4, 1.0),
    ("written_bytes", 6, _SECTOR_BYTES),
    ("write_s", 7, 1e-3),
    ("io_s", 9, 1e-3),
    ("weighted_s", 10, 1e-3),
    ("flushes", 15, 1.0),  # since 5.5
    ("flush_s", 16, 1e-3),
)
_IN_FLIGHT = 8
_NO_DISK = ("loop", "ram", "zram", "sr", "fd")


def cpu(text: str, scale: Scale, into: Figures) -> None:
    """Parse /proc/stat: time by core and mode, context switches, forks, running and blocked tasks.

    A guest's time is part of `user_s`, as in the kernel.
    """
    cores = 0
    for line in text.splitlines():
        label, _, rest = line.partition(" ")
        if label.startswith("cpu"):
            ticks = counts(rest.split()[: len(_MODES)])
            names = _cpu_names(label)
            if not ticks or names is None:
                continue
            cores += label != "cpu"
            for name, value in zip(names, ticks, strict=False):
                into.counters[name] = value / scale.ticks_per_s
        elif label in _STAT and (value_or_none := count(rest.strip())) is not None:
            kind, name = _STAT[label]
            (into.counters if kind == "counters" else into.gauges)[name] = value_or_none
    if cores:
        into.facts["cores_online"] = str(cores)


@lru_cache(maxsize=4096)
def _cpu_names(label: str) -> tuple[str, ...] | None:
    number = label.removeprefix("cpu")
    if number and count(number) is None:
        return None
    prefix = f"cpu.{number}" if number else "cpu"
    return tuple(f"{prefix}.{mode}" for mode in _MODES)


def disks(text: str, into: Figures) -> None:
    """Parse /proc/diskstats: figures per disk, which include those of its partitions."""
    rows = _disk_rows(text)
    for name in whole_disks(rows):
        values = counts(rows[name][3:])
        if values is None:
            continue
        prefix = f"disk.{name}."
        for figure, column, scale in _DISK:
            if column < len(values):
                into.counters[prefix + figure] = values[column] * scale
        into.gauges[prefix + "in_flight"] = values[_IN_FLIGHT]


def whole_disks(names: Collection[str]) -> list[str]:
    """Devices that are disks: no partitions of listed devices, no loop, RAM or optical devices."""
    return [
        name
        for name in names
        if disk_of_partition(name, names) == name and not name.startswith(_NO_DISK)
    ]


def disk_of_partition(name: str, names: Collection[str]) -> str:
    """The disk of a partition (`sda1`, `nvme0n1p2`); the name itself if it is a disk.

    Some virtual machines have `xvda1` and no `xvda`: then `xvda1` is the disk.
    """
    stem = name.rstrip("0123456789")
    if stem == name:
        return name
    if stem.endswith("p") and stem[-2:-1].isdigit() and stem[:-1] in names:
        return stem[:-1]
    return stem if stem in names else name


def disk_names(text: str) -> dict[str, str]:
    """Parse /proc/diskstats: the name of each block device and partition by `MAJOR:MINOR`."""
    return {f"{row[0]}:{row[1]}": name for name, row in _disk_rows(text).items()}


def _disk_rows(text: str) -> dict[str, list[str]]:
    rows = (line.split() for line in text.splitlines())
    return {row[2]: row for row in rows if len(row) >= 14}


def nics(text: str, into: Figures) -> None:
    """Parse /proc/net/dev: figures per interface, whose name may contain dots (`eth0.100`)."""
    for line in text.splitlines():
        name, colon, rest = line.partition(":")
        values = counts(rest.split()) if colon else None
        if values is None or len(values) < 16:
            continue
        prefix = f"nic.{name.strip()}."
        for figure, column in _NIC:
            into.counters[prefix + figure] = values[column]


def nic_names(text: str) -> list[str]:
    """Parse /proc/net/dev: the interfaces of a network namespace."""
    figures = Figures()
    nics(text, figures)
    end = ".bytes_in"
    return [name[len("nic.") : -len(end)] for name in figures.counters if name.endswith(end)]


def memory(text: str, into: Figures) -> None:
    """Parse /proc/meminfo: total memory, free memory, and memory waiting to be written."""
    swap: dict[str, float] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        if name not in _MEMORY and not name.startswith("Swap"):
            continue
        words = rest.split()
        value = count(words[0]) if len(words) == 2 and words[1] == "kB" else None
        if value is None:
            continue
        if name in _MEMORY:
            into.gauges[_MEMORY[name]] = value * 1024
        else:
            swap[name] = value * 1024
    if "SwapTotal" in swap and "SwapFree" in swap:
        into.gauges["memory.swap_used_bytes"] = swap["SwapTotal"] - swap["SwapFree"]


def paging(text: str, into: Figures) -> None:
    """Parse /proc/vmstat: page faults of all processes, and pages swapped in and out."""
    seen: dict[str, float] = {}
    for line in text.splitlines():
        name, _, rest = line.partition(" ")
        if name in ("pswpin", "pswpout", "pgfault", "pgmajfault"):
            value = count(rest.strip())
            if value is not None:
                seen[name] = value
    keep_paging(seen, into)


def keep_paging(seen: dict[str, float], into: Figures) -> None:
    """Add the known figures on faults and swapping, given under the kernel's names."""
    if "pswpin" in seen:
        into.counters["memory.swap_in_pages"] = seen["pswpin"]
    if "pswpout" in seen:
        into.counters["memory.swap_out_pages"] = seen["pswpout"]
    if "pgmajfault" in seen:
        into.counters["memory.major_faults"] = seen["pgmajfault"]
        if "pgfault" in seen:  # pgfault counts both kinds
            into.counters["memory.minor_faults"] = seen["pgfault"] - seen["pgmajfault"]


def load(text: str, into: Figures) -> None:
    """Parse /proc/loadavg: mean tasks that run or wait for a disk over 1, 5 and 15 minutes."""
    for name, word in zip(("load_1m", "load_5m", "load_15m"), text.split(), strict=False):
        whole, point, part = word.partition(".")
        if point and count(whole) is not None and count(part) is not None:
            into.gauges[name] = float(word)


def pressure(resource: str, text: str, into: Figures) -> None:
    """Parse /proc/pressure/*: how long some, or all, tasks have waited for this resource.

    For a whole host, "all tasks wait for a core" has no meaning; the kernel writes zeros there.
    """
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        total = count(rest.rpartition("total=")[2].strip())
        known = ("some",) if resource == "cpu" else ("some", "full")
        if kind in known and total is not None:
            into.counters[f"pressure.{resource}.{kind}_s"] = total / 1e6


def tcp(text: str, into: Figures) -> None:
    """Parse /proc/net/snmp: segments sent, and segments sent again."""
    lines = [line.split() for line in text.splitlines() if line.startswith("Tcp: ")]
    if len(lines) != 2 or len(lines[0]) != len(lines[1]):
        return
    values = dict(zip(*lines, strict=True))
    for theirs, ours in (("OutSegs", "tcp.segments_out"), ("RetransSegs", "tcp.retransmits")):
        value = count(values.get(theirs, ""))
        if value is not None:
            into.counters[ours] = value
