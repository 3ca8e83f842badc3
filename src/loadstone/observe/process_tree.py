"""The CPU time of a server that has a process for each session: of that one and its children.

Reading a process costs some 20 µs, which is to stay below a hundredth of a core. So of many
children a part is read each time, those first that were not read for the longest time. What a
child has used since is counted when its turn comes: totals are right, and late by the time of a
round, which is the number of children divided by `MOST_READ`, in readings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from loadstone.observe import process
from loadstone.observe.latest import Figures, Scale

MOST_READ = 300
"""Children that are read at a time."""

_Ticks = tuple[float, float]
"""In user mode and in the kernel."""


class ProcessTree:
    """Adds up what a process and its children have used, those that have ended too."""

    def __init__(self) -> None:
        """Know nothing of any child."""
        self._known: dict[int, _Ticks] = {}
        self._turns: dict[int, int] = {}
        """When each child was read, or was there without being read, for the last time."""
        self._now = 0
        self._older: set[int] | None = None
        self._before: _Ticks = (0.0, 0.0)
        self._had: dict[int, tuple[float, float]] = {}
        """By child its page faults when it was first read, and the last time."""
        self._earlier = 0.0
        """Faults of children that have ended, before they were read for the first time."""

    def due(self, children: Iterable[int]) -> tuple[int, ...]:
        """The children to read now; the same ones until `add` has them."""
        queue = sorted(children, key=lambda child: self._turns.get(child, self._now))
        return tuple(queue[:MOST_READ])

    def add(
        self, stat: str, children: Mapping[int, str | None], scale: Scale, into: Figures
    ) -> None:
        """Add the figures of /proc/PID/stat of a process, and of its children if they were read.

        `children` are all of them, with `None` for one that was not read. The time of a child that
        has ended is its parent's, once the parent has waited for it.
        """
        own = process.ticks_with_waited(stat)
        if own is None:
            return
        self._meet(children)
        for child, text in children.items():
            used = None if text is None else process.ticks_in(text)
            if used is not None:
                self._take(child, used)
        live = zip(*(own, *self._known.values()), strict=True)
        user, system = (sum(each) - old for each, old in zip(live, self._before, strict=True))
        into.counters["process.cpu_user_s"] = user / scale.ticks_per_s
        into.counters["process.cpu_sys_s"] = system / scale.ticks_per_s
        into.counters["process.major_faults"] = self._faults(stat, children)
        into.gauges["process.threads"] = 1 + len(children)
        into.gauges["process.stopped"] = process.stopped(stat)

    def _faults(self, stat: str, children: Mapping[int, str | None]) -> float:
        """Page faults that read a disk, of children from when they were read for the first time.

        Those of a child that has ended are its parent's, once that has waited for it.
        """
        for child, text in children.items():
            if text is not None:
                now = process.major_faults_in(text)
                first, _ = self._had.get(child, (now, now))
                self._had[child] = (first, now)
        ended = [self._had.pop(child) for child in self._had.keys() - children.keys()]
        self._earlier += sum(first for first, _ in ended)
        live = sum(now - first for first, now in self._had.values())
        return process.major_faults_in(stat) - self._earlier + live

    def _meet(self, children: Mapping[int, str | None]) -> None:
        """Note which children there are: those to come later wait for their turn behind them."""
        if self._older is None:
            # There before anything was read: what they have used so far must not count as growth.
            self._older = {child for child, text in children.items() if text is None}
        self._older &= children.keys()
        self._known = {child: used for child, used in self._known.items() if child in children}
        self._turns = {child: self._turns.get(child, self._now) for child in children}
        self._now += 1

    def _take(self, child: int, used: _Ticks) -> None:
        if self._older and child in self._older:
            self._older.remove(child)
            self._before = (self._before[0] + used[0], self._before[1] + used[1])
        self._known[child] = used
        self._turns[child] = self._now
