"""Each thread's share of a core in a running program: /proc/PID/task/*/schedstat."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Seen:
    """CPU nanoseconds of each thread at an instant."""

    at_s: float
    names: dict[int, str]
    cpu_ns: dict[int, int]


class Threads:
    """Reads them from some time after a thread whose name starts with `begins_with` appeared until
    it is gone.
    """

    def __init__(self, begins_with: str, settle_s: float) -> None:
        self.begins_with = begins_with
        self.settle_s = settle_s
        self._came_at: float | None = None
        self._first: Seen | None = None
        self._last: Seen | None = None

    def look(self, pid: int) -> None:
        """Take a reading; a process that is just ending gives none."""
        try:
            seen = read(Path("/proc", str(pid)))
        except (OSError, ValueError, IndexError):
            return
        if not any(name.startswith(self.begins_with) for name in seen.names.values()):
            return
        self._came_at = self._came_at or seen.at_s
        if seen.at_s - self._came_at >= self.settle_s:
            self._first = self._first or seen
            self._last = seen

    @property
    def shares(self) -> dict[str, float]:
        """Shares of a core, by the threads' names without their numbers.

        Raises:
            ValueError: it was over before there were two readings.
        """
        if self._first is None or self._last is None or self._first is self._last:
            raise ValueError(f"no two readings of threads named {self.begins_with}")
        return shares(self._first, self._last)


def shares(first: Seen, last: Seen) -> dict[str, float]:
    """The difference between two readings; a thread missing in the first started at zero."""
    span_ns = (last.at_s - first.at_s) * 1e9
    found: dict[str, float] = {}
    for thread, cpu_ns in last.cpu_ns.items():
        name = last.names[thread].rstrip("0123456789").rstrip("-")
        spent = cpu_ns - first.cpu_ns.get(thread, 0)
        found[name] = found.get(name, 0.0) + spent / span_ns
    return found


def read(folder: Path) -> Seen:
    """All threads of a process, by its folder in /proc."""
    names, cpu_ns = {}, {}
    for task in sorted(folder.glob("task/*")):
        names[int(task.name)] = (task / "comm").read_text().strip()
        cpu_ns[int(task.name)] = int((task / "schedstat").read_text().split()[0])
    return Seen(time.monotonic(), names, cpu_ns)
