"""Watches a running process: its private memory and its open files."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from scipy.stats import theilslopes

_EVERY_S = 1.0


@dataclass(frozen=True)
class Look:
    """One reading."""

    at: float
    """On the monotonic clock."""
    own_kb: int
    """`RssAnon`: resident memory that is not backed by a file."""
    descriptors: int


@dataclass
class Watch:
    """All readings so far."""

    looks: list[Look] = field(default_factory=list)

    def between(self, from_s: float, to_s: float) -> list[Look]:
        """The readings between two times of the monotonic clock."""
        return [look for look in self.looks if from_s <= look.at < to_s]


@contextmanager
def watched(pid: int) -> Iterator[Watch]:
    """Read a process each second, until the block or the process ends."""
    watch, over = Watch(), threading.Event()

    def read() -> None:
        while not over.wait(_EVERY_S):
            try:
                watch.looks.append(look(pid))
            except OSError:
                return

    reader = threading.Thread(target=read, name="growth", daemon=True)
    reader.start()
    try:
        yield watch
    finally:
        over.set()
        reader.join()


def look(pid: int) -> Look:
    """Read it once.

    Raises:
        OSError: it has ended.
    """
    folder = Path("/proc", str(pid))
    status = (folder / "status").read_text()
    return Look(time.monotonic(), own_kb(status), len(os.listdir(folder / "fd")))


def own_kb(status: str) -> int:
    """`RssAnon` of a `/proc/PID/status`; 0 for a process that has released its memory."""
    for line in status.splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1])
    return 0


@dataclass(frozen=True)
class Slope:
    """How much y grows with x, with the bounds of the 95 % confidence interval."""

    value: float
    low: float
    high: float


def steady_slope(points: Sequence[tuple[float, float]]) -> Slope:
    """The median of the slopes between all pairs of points (Theil-Sen): outliers hardly affect it.

    Raises:
        ValueError: there are fewer than two points.
    """
    if len(points) < 2:
        raise ValueError(f"{len(points)} points have no slope")
    found = theilslopes([y for _, y in points], [x for x, _ in points], 0.95)
    return Slope(float(found[0]), float(found[2]), float(found[3]))
