"""How long threads ran and waited for a core, of all of them or of a sample."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from loadstone.model.account import THREADS_SEEN
from loadstone.observe.threads import Scheduled, Threads


class Ran(NamedTuple):
    """How long the threads of a kind of sessions ran and waited for a core."""

    on_core_s: float
    delay_s: float
    seconds: float
    """The time in which that was counted."""


class Running:
    """Counts how long the threads of one kind of sessions ran and waited for a core."""

    def __init__(self) -> None:
        self._before: Mapping[int, Scheduled] = {}
        self._before_s = 0.0

    @property
    def read(self) -> Collection[int]:
        """The threads that were read the last time."""
        return self._before.keys()

    def since(self, threads: Threads, kind: Sequence[int], now_s: float) -> Ran:
        """The times of all threads of the kind since the last call.

        Of many threads a sample is read twice, at this call and at the next one: a new one each
        time, since a few of them may do all the work.
        """
        there, sample = set(kind), sample_of(kind)
        again = [thread for thread in self._before if thread in there]
        now = threads.scheduled(dict.fromkeys((*again, *sample)))
        both = [(self._before[thread], now[thread]) for thread in again if thread in now]
        seconds = now_s - self._before_s
        self._before = {thread: now[thread] for thread in sample if thread in now}
        self._before_s = now_s
        if not both:
            # Without any thread that was there before, nothing is known, unless there was none.
            return Ran(0.0, 0.0, 0.0 if kind else seconds)
        scale = len(kind) / len(both)
        return Ran(
            on_core_s=scale * sum(new.on_core_s - old.on_core_s for old, new in both),
            delay_s=scale * sum(new.delay_s - old.delay_s for old, new in both),
            seconds=seconds,
        )


def sample_of(threads: Sequence[int]) -> Sequence[int]:
    """All of them, or as many as a look reads, chosen at random."""
    if len(threads) <= THREADS_SEEN:
        return threads
    return random.sample(threads, THREADS_SEEN)
