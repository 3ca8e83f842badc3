"""Closed systems that are simulated event by event: the truth that predictions are compared with.

A user thinks, works on one of a few cores, then takes a lock that one user holds at a time, works
while holding it, commits in groups that share a sync, and releases the lock.
"""

from __future__ import annotations

import heapq
import random
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from loadstone.model.account import Place


@dataclass(frozen=True)
class System:
    """Mean times in seconds; zero leaves a place out."""

    users: int
    cores: int
    way_s: float
    work_s: float
    locked_s: float
    """Work on a core while the lock is held."""
    sync_s: float
    locks: int = 1
    """How many rows there are, each with a lock of its own; an event takes one of them."""
    is_held_to_the_end: bool = True
    """Whether the lock is released after the commit, not before it."""


@dataclass
class Seen:
    """What happened in the measured part."""

    events: int = 0
    seconds: float = 0.0
    at: dict[Place, float] = field(default_factory=lambda: defaultdict(float))
    """User seconds at each place."""
    core_s: float = 0.0

    @property
    def tps(self) -> float:
        """Events a second."""
        return self.events / self.seconds

    def share(self, place: Place, users: int) -> float:
        """Share of the users' time."""
        return self.at[place] / (users * self.seconds)


class _Servers:
    """Equal servers with one queue, first come first served."""

    def __init__(self, clock: _Clock, number: int) -> None:
        self.clock, self.free = clock, number
        self.queue: deque[tuple[float, float, Callable[[], None]]] = deque()

    def serve(self, time_s: float, then: Callable[[], None]) -> None:
        if self.free:
            self.free -= 1
            self._begin(time_s, then)
        else:
            self.queue.append((self.clock.now, time_s, then))

    def _begin(self, time_s: float, then: Callable[[], None]) -> None:
        def done() -> None:
            self.clock.spent("on core", self.clock.now - time_s)
            if self.queue:
                since, other, after = self.queue.popleft()
                self.clock.spent("waiting for a core", since)
                self._begin(other, after)
            else:
                self.free += 1
            then()

        self.clock.after(time_s, done)


class _Lock:
    def __init__(self, clock: _Clock) -> None:
        self.clock, self.is_held = clock, False
        self.queue: deque[tuple[float, Callable[[], None]]] = deque()

    def take(self, then: Callable[[], None]) -> None:
        if self.is_held:
            self.queue.append((self.clock.now, then))
        else:
            self.is_held = True
            then()

    def release(self) -> None:
        if self.queue:
            since, then = self.queue.popleft()
            self.clock.spent("row lock", since)
            then()
        else:
            self.is_held = False


class _Log:
    """A sync at a time, for all that were waiting when it began."""

    def __init__(self, clock: _Clock, sync: Callable[[], float]) -> None:
        self.clock, self.sync, self.is_busy = clock, sync, False
        self.waiting: list[tuple[float, Callable[[], None]]] = []

    def commit(self, then: Callable[[], None]) -> None:
        self.waiting.append((self.clock.now, then))
        if not self.is_busy:
            self._begin()

    def _begin(self) -> None:
        group, self.waiting, self.is_busy = self.waiting, [], True
        began = self.clock.now

        def done() -> None:
            for number, (since, _) in enumerate(group):
                if number == 0:
                    self.clock.spent("commit", since, until=began)
                    self.clock.spent("log sync", began)
                else:
                    self.clock.spent("commit", since)
            if self.waiting:
                self._begin()
            else:
                self.is_busy = False
            for _, then in group:
                then()

        self.clock.after(self.sync(), done)


class _Clock:
    def __init__(self, warmup_s: float) -> None:
        self.now, self.warmup_s, self.seen = 0.0, warmup_s, Seen()
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._number = 0

    def after(self, time_s: float, then: Callable[[], None]) -> None:
        self._number += 1
        heapq.heappush(self._due, (self.now + time_s, self._number, then))

    def spent(self, place: Place, since: float, until: float | None = None) -> None:
        end = self.now if until is None else until
        self.seen.at[place] += max(end - max(since, self.warmup_s), 0.0)

    def run(self, until: float) -> Seen:
        while self._due and self._due[0][0] < until:
            self.now, _, then = heapq.heappop(self._due)
            then()
        self.seen.seconds = until - self.warmup_s
        return self.seen


def _least_s(system: System) -> float:
    """The shortest time of an event: that of its bottleneck."""
    alone = system.way_s + system.work_s + system.locked_s + system.sync_s
    held = system.locked_s + (system.sync_s if system.is_held_to_the_end else 0.0)
    return max(
        (system.work_s + system.locked_s) / system.cores,
        alone / system.users,
        held / system.locks if system.locked_s else 0.0,
    )


def simulated(system: System, events: int, seed: int) -> Seen:
    """About that many events, after a tenth of them as warm-up."""
    draw = random.Random(seed)
    lasts = events * _least_s(system)
    clock = _Clock(lasts / 10)
    cores = _Servers(clock, system.cores)
    locks = [_Lock(clock) for _ in range(system.locks)]
    log = _Log(clock, lambda: draw.uniform(0.5, 1.5) * system.sync_s)

    def think() -> None:
        since = clock.now

        def over() -> None:
            clock.spent("way", since)
            cores.serve(draw.expovariate(1 / system.work_s), lock)

        clock.after(draw.expovariate(1 / system.way_s) if system.way_s else 0.0, over)

    def lock() -> None:
        if not system.locked_s:
            return commit(None)
        row = draw.choice(locks)
        row.take(lambda: cores.serve(draw.expovariate(1 / system.locked_s), lambda: commit(row)))

    def commit(row: _Lock | None) -> None:
        held = row if system.is_held_to_the_end else None
        if row and not held:
            row.release()
        log.commit(lambda: end(held)) if system.sync_s else end(held)

    def end(row: _Lock | None) -> None:
        if row:
            row.release()
        clock.seen.events += clock.now >= clock.warmup_s
        think()

    for _ in range(system.users):
        think()
    return clock.run(1.1 * lasts)
