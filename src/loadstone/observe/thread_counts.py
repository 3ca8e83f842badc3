"""What the kernel counts of the threads of a kind of sessions, of all of them or of a sample."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from loadstone.model.account import THREADS_SEEN
from loadstone.observe.threads import Threads

Read = Callable[[Threads, Iterable[int]], Mapping[int, Sequence[float]]]
"""Reads counters of some threads; those that have ended are left out."""


class Grown(NamedTuple):
    """By how much the counters of the threads of a kind have grown together."""

    by: tuple[float, ...]
    """In the order of the counters; empty: nothing is known, or there were no threads."""
    seconds: float
    """The time in which that was counted."""


class ThreadCounts:
    """Adds up the counters of the threads of one kind of sessions."""

    def __init__(self, read: Read) -> None:
        """Store how to read them."""
        self._read = read
        self._before: Mapping[int, Sequence[float]] = {}
        self._before_s = 0.0

    @property
    def read(self) -> Collection[int]:
        """The threads that were read the last time."""
        return self._before.keys()

    def since(self, threads: Threads, kind: Sequence[int], now_s: float) -> Grown:
        """The growth of all threads of the kind since the last call.

        Of many threads a sample is read twice, at this call and at the next one: a new one each
        time, since a few of them may do all the work.
        """
        there, sample = set(kind), sample_of(kind)
        again = [thread for thread in self._before if thread in there]
        now = self._read(threads, dict.fromkeys((*again, *sample)))
        both = [(self._before[thread], now[thread]) for thread in again if thread in now]
        seconds = now_s - self._before_s
        self._before = {thread: now[thread] for thread in sample if thread in now}
        self._before_s = now_s
        if not both:
            # Without any thread that was there before, nothing is known, unless there was none.
            return Grown((), 0.0 if kind else seconds)
        scale = len(kind) / len(both)
        grown = [[new - old for old, new in zip(*pair, strict=True)] for pair in both]
        return Grown(tuple(scale * sum(each) for each in zip(*grown, strict=True)), seconds)


def sample_of(threads: Sequence[int]) -> Sequence[int]:
    """All of them, or as many as a look reads, chosen at random."""
    if len(threads) <= THREADS_SEEN:
        return threads
    return random.sample(threads, THREADS_SEEN)
