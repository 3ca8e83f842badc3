"""What /proc/PID says about one process: texts in, figures out. See proc(5)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from loadstone.observe.latest import Figures, Scale, count, counts

# Counted from the state, the first word after the name in parentheses.
_STATE, _PARENT, _MINOR, _MAJOR, _USER, _SYSTEM, _THREADS = 0, 1, 7, 9, 11, 12, 17
_STARTED, _RSS = 19, 21
_OWN_AND_WAITED = (_USER, _SYSTEM, 13, 14)
_MAJOR_WAITED = 10
_STOPPED = ("T", "t")
_IO = {
    "read_bytes": "process.read_bytes",
    "write_bytes": "process.written_bytes",
    "syscr": "process.read_calls",
    "syscw": "process.write_calls",
}
_OWN, _SWAPPED, _TABLES = (
    re.compile(rf"^{name}:\s+(\d{{1,15}}) kB$", re.MULTILINE)
    for name in ("RssAnon", "VmSwap", "VmPTE")
)
"""Of some sixty lines three. A kernel without swap has no line for what is swapped."""


def stat(text: str, scale: Scale, into: Figures) -> None:
    """Parse /proc/PID/stat: CPU time, faults and number of threads, memory, whether it is stopped.

    `cpu_user_s` and `cpu_sys_s` are counted in ticks, mostly of 10 ms.
    """
    words = _after_the_name(text)
    at = (_USER, _SYSTEM, _MINOR, _MAJOR, _THREADS, _RSS)
    values = counts(words[place] for place in at) if len(words) > _RSS else None
    if values is None:
        return
    user, system, minor, major, threads, pages = values
    into.counters["process.cpu_user_s"] = user / scale.ticks_per_s
    into.counters["process.cpu_sys_s"] = system / scale.ticks_per_s
    into.counters["process.minor_faults"] = minor
    into.counters["process.major_faults"] = major
    into.gauges["process.threads"] = threads
    into.gauges["process.rss_bytes"] = pages * scale.page_bytes
    into.gauges["process.stopped"] = stopped(text)


def ticks_in(text: str) -> tuple[float, float] | None:
    """Parse /proc/PID/stat: CPU time of the process in ticks, in user mode and in the kernel."""
    values = counts(_after_the_name(text)[_USER : _SYSTEM + 1])
    return (values[0], values[1]) if values is not None and len(values) > 1 else None


def major_faults_in(text: str) -> float:
    """Parse /proc/PID/stat: page faults that read a disk, with those of ended children; else 0."""
    words = _after_the_name(text)
    values = (
        counts(words[place] for place in (_MAJOR, _MAJOR_WAITED)) if len(words) > _RSS else None
    )
    return sum(values) if values is not None else 0.0


def times_in(text: str) -> tuple[float, float] | None:
    """Parse a thread's schedstat: seconds that it ran, and that it was ready to without a core."""
    values = counts(text.split()[:2])
    return (1e-9 * values[0], 1e-9 * values[1]) if values is not None and len(values) > 1 else None


def ticks_with_waited(text: str) -> tuple[float, float] | None:
    """The same with the time of the children that have ended, and that it has waited for."""
    words = _after_the_name(text)
    values = counts(words[place] for place in _OWN_AND_WAITED) if len(words) > _RSS else None
    if values is None:
        return None
    user, system, waited_user, waited_system = values
    return user + waited_user, system + waited_system


def stopped(text: str) -> float:
    """Parse /proc/PID/stat: 1 if the process is stopped, else 0."""
    return float(_after_the_name(text)[_STATE] in _STOPPED)


def memory_in(text: str) -> tuple[float, float] | None:
    """Parse /proc/PID/status: bytes that no file and no shared memory has, and of page tables.

    Bytes that are swapped out are still the process's own.
    """
    own, swapped, tables = (_bytes_in(text, line) for line in (_OWN, _SWAPPED, _TABLES))
    return None if own is None or tables is None else (own + (swapped or 0.0), tables)


def _bytes_in(text: str, line: re.Pattern[str]) -> float | None:
    found = line.search(text)
    return 1024 * float(found[1]) if found else None


def tree_io(texts: Iterable[str], into: Figures) -> None:
    """Parse /proc/PID/io of a process and of those that it has started: their bytes together.

    Those of a child that has ended are its parent's, once the parent has waited for it.
    """
    total: dict[str, float] = {}
    for text in texts:
        one = Figures()
        io(text, one)
        if one.counters.keys() != set(_IO.values()):
            return  # nothing is known of all of them
        for name, value in one.counters.items():
            total[name] = total.get(name, 0.0) + value
    into.counters |= total


def children_in(text: str) -> tuple[int, ...]:
    """Parse /proc/PID/task/PID/children: the processes that it has started."""
    return tuple(int(word) for word in text.split() if word.isdecimal())


def started_ticks(text: str) -> float | None:
    """Parse /proc/PID/stat: when the process started, in ticks since the boot."""
    words = _after_the_name(text)
    return count(words[_STARTED]) if len(words) > _STARTED else None


def name_in(text: str) -> str:
    """Parse /proc/PID/stat: the program's name, of which the kernel keeps 15 letters."""
    return text.rpartition(")")[0].partition("(")[2]


def parent(text: str) -> int | None:
    """Parse /proc/PID/stat: the process that started it."""
    words = _after_the_name(text)
    return int(words[_PARENT]) if len(words) > _PARENT and words[_PARENT].isdecimal() else None


def has_ended(text: str) -> bool:
    """Parse /proc/PID/stat: whether the process has ended and only waits to be reaped."""
    return _after_the_name(text)[:1] in (["Z"], ["X"])


def _after_the_name(text: str) -> list[str]:
    # The name may contain any characters, including parentheses.
    return text.rpartition(")")[2].split()


def io(text: str, into: Figures) -> None:
    """Parse /proc/PID/io: bytes read from and written to disks, and calls that read and wrote."""
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        if name in _IO and (value := count(rest.strip())) is not None:
            into.counters[_IO[name]] = value


def allowed(text: str, into: Figures) -> None:
    """Parse /proc/PID/status: on how many cores the main thread may run (taskset, cpuset)."""
    for line in text.splitlines():
        name, _, rest = line.partition(":")
        if name == "Cpus_allowed_list" and (cores := _listed(rest.strip())):
            into.gauges["process.cpus_allowed"] = cores


def _listed(text: str) -> int | None:
    """How many numbers a list such as `0-3,8` contains; `None` if it is not such a list."""
    total = 0
    for part in text.split(","):
        first, dash, last = part.partition("-")
        ends = counts((first, last if dash else first))
        if ends is None or ends[1] < ends[0]:
            return None
        total += int(ends[1] - ends[0]) + 1
    return total
