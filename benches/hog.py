"""Other processes that use a known share of the processor."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_TURN_S = 0.02
_A_CORE = 2
"""Hogs per core: a server that shares its core with two of them keeps a third of it."""

_HOG = """
import sys, time
lasts_s, most, turn_s = map(float, sys.argv[1:])
began = time.monotonic()
while True:
    busy = most * min((time.monotonic() - began) / lasts_s, 1)
    until = time.monotonic() + busy * turn_s
    while time.monotonic() < until:
        pass
    time.sleep((1 - busy) * turn_s)
"""


@contextmanager
def growing(lasts_s: float, most: float) -> Iterator[None]:
    """Two processes per core whose demand grows evenly from zero to `most` in this time."""
    words = [sys.executable, "-c", _HOG, str(lasts_s), str(most), str(_TURN_S)]
    hogs = [subprocess.Popen(words) for _ in range(_A_CORE * len(os.sched_getaffinity(0)))]
    try:
        yield
    finally:
        for hog in hogs:
            hog.terminate()
        for hog in hogs:
            hog.wait(20)


@contextmanager
def beside(core: int) -> Iterator[None]:
    """A process that always runs on this core, and touches hardly any memory."""
    words = ["taskset", "--cpu-list", str(core), "sh", "-c", "while :; do :; done"]
    with subprocess.Popen(words) as hog:
        try:
            yield
        finally:
            hog.terminate()
