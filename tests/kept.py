"""Measures how long processes waited for a core, so that a test can judge the rest of a time.

Sources: the kernel's count of how long each thread waited for a core (sched-stats.rst), and the
time that the hypervisor took from the whole machine (proc(5), steal).
"""

from __future__ import annotations

import os
import time
from pathlib import Path

_STAT = Path("/proc/stat")


def waits(pid: int | None = None) -> dict[str, float]:
    """How long each thread of a process has waited for a core, by its id; `None`: this process."""
    found = {}
    try:
        threads = list(Path(f"/proc/{pid or 'self'}/task").iterdir())
    except OSError:  # the process is gone
        return {}
    for thread in threads:
        try:
            found[thread.name] = int((thread / "schedstat").read_text().split()[1]) / 1e9
        except OSError:  # it has ended
            continue
    return found


class Stopwatch:
    """The time since it was created, and how long its processes waited for a core in that time.

    Waits of several threads are summed even if they overlap: what is judged is never too long. A
    thread's last wait is known only if `look` is called before it ends.
    """

    def __init__(self, *pids: int) -> None:
        """Watch these processes, and this one."""
        self._pids = (None, *pids)
        self._before = self._waits()
        self._seen = dict(self._before)
        self._stolen_s, self._began_s = stolen_s(), time.monotonic()

    def look(self) -> None:
        """Record how long each thread has waited so far."""
        self._seen |= self._waits()

    @property
    def passed_s(self) -> float:
        """The time since it was created."""
        return time.monotonic() - self._began_s

    @property
    def kept_s(self) -> float:
        """The part of it in which a core was missing."""
        self.look()
        before = self._before
        waited = sum(max(s - before.get(thread, 0.0), 0.0) for thread, s in self._seen.items())
        return waited + stolen_s() - self._stolen_s

    @property
    def judged_s(self) -> float:
        """The rest of it, which the program itself took."""
        passed_s = self.passed_s
        return passed_s - self.kept_s

    def _waits(self) -> dict[str, float]:
        return {thread: s for pid in self._pids for thread, s in waits(pid).items()}


def stolen_s() -> float:
    """CPU time that the hypervisor took since boot (proc(5): the eighth field, steal)."""
    try:
        return int(_STAT.read_text().split(maxsplit=9)[8]) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0.0
