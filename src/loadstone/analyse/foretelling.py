"""Predicts the rate of a closed loop after a change: the operational laws over a step's account.

N users complete X events a second, so an event takes R = N / X (Little's law), and R x share of it
at each place of the account. A change removes time at places, or changes a capacity or the number
of users. What is left depends on the new rate X', as each event then meets more or fewer others:

    X' = N' / (sum of the times at all places, at the rate X')

The times never fall as X' rises, so there is one solution. It is Schweitzer's and Bard's
approximate mean value analysis (M. Reiser, S. S. Lavenberg, JACM 27(2), 1980; P. Schweitzer, 1979;
Y. Bard, 1979), where an arrival meets the other N - 1 users' mean queue, with each queue calibrated
so that it has the measured wait at the measured rate. No result is beyond capacity / demand of any
resource (P. J. Denning, J. P. Buzen, ACM Computing Surveys 10(3), 1978; E. D. Lazowska et al.,
"Quantitative System Performance", 1984, chapter 5).

How a wait grows is known for cores, whose use is counted. For locks, group commit and waits in
memory it is not: there the answer lies between two models. In the patient one each remaining wait
stays as long as it is; in the crowded one it grows with the rate at its resource (`QUEUES`). The
80 % interval is around the middle of their two rates. Half its width is the root of the sum of
squares of half their distance and of 1.28 standard errors, propagated linearly: those of the shares
(from their 95 % intervals), and twice that of the rate, which is measured with the remedy as well.
Work that is a count times a constant adds its own part, which is not the same on both sides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

from loadstone.model.account import Place
from loadstone.model.predicted import Foretold

NORMAL_80 = 1.2816
"""Half the width of an 80 % interval, in standard errors."""

LEAST_LEFT = 0.1
"""[P] Part of an event's time below which what is left of it says nothing: it was measured between
long waits, with cold caches and threads that had to be woken. Where tables were locked for 98 % of
the users' time an event took 165 µs on a core, and 33 without that (PostgreSQL 15, point selects).
"""

_HALVINGS = 60
"""Steps of the search for the rate: then it is exact to a float's digits."""

_LEAST_TERM = 1e-15
"""Terms this much smaller than their sum do not change it; a sum whose inverse is so small is 0."""

Queue = Literal["cores", "server", "loops", "sync", "lock", "ticket", "crowd"]

QUEUES: Mapping[Place, Queue] = {
    # Demand and capacity are counted; the wait is Sakasegawa's for several servers, calibrated.
    "waiting for a core": "cores",
    "in the server": "server",
    # Answers queue for the event loop that reads them; its use is counted.
    "answer unread": "loops",
    # A commit waits for the rest of the sync under way, then for its own: group commit, so twice a
    # sync's time at most, however many commit.
    "log sync": "sync",
    "binlog sync": "sync",
    "commit": "sync",
    # One holder at a time: the wait gives the holding time. The holder is elsewhere in the account.
    "row lock": "lock",
    # As many holders as are admitted; what they hold it for is all their time in the server.
    "admission": "ticket",
    # Capacity and demand are unknown: the wait grows with the rate in the crowded model.
    "latch": "crowd",
    "disk read": "crowd",
    "disk write": "crowd",
    "other": "crowd",
    "sending": "crowd",
}
"""The places where users queue, and for what. At all others they spend the same time at any rate:
thinking, on the way, on a core, in a delay that somebody set, at a lock that another one holds."""

_OUTSIDE: frozenset[Place] = frozenset(
    ("idle", "generator", "answer unread", "connecting", "way", "sending")
)
_WORK: frozenset[Place] = frozenset(("on core", "waiting for a core", "in the server"))
_WAITS: frozenset[Place] = frozenset(("row lock", "admission", "waiting for a core"))
_HELD_TO_THE_END: frozenset[Place] = frozenset(
    ("log sync", "binlog sync", "commit", "commit delay", "replica")
)
"""A transaction has its row locks until its commit is over."""


def most_events(capacity: float, demand: float) -> float:
    """The utilization law: the events a second that a resource allows."""
    return capacity / demand


def completed(users: float, time_s: float) -> float:
    """Little's law: the events a second of users who need that long for each."""
    return users / time_s


@dataclass(frozen=True)
class Share:
    """A share of all users' time."""

    value: float
    error: float = 0.0
    """Its standard error."""


@dataclass(frozen=True)
class Servers:
    """A resource of several equal servers: cores, event loops."""

    capacity: float
    used: float
    """Mean number of them in use at the measured rate."""
    most: float | None = None
    """Those that the load may get from others that use them now; `None`: nobody else does."""


@dataclass(frozen=True)
class ClosedLoop:
    """A closed loop as it was measured."""

    users: int
    tps: float
    shares: Mapping[Place, Share]
    tps_error: float = 0.0
    cores: Servers | None = None
    """Those that the load may use and uses; `None`: not known."""
    loops: Servers | None = None
    """The generator's event loops."""
    generator_cores: float = 0.0
    """The part of `cores.used` that is the generator's."""
    lock_use: float | None = None
    """The part of the requests for row locks that found theirs held, which is the mean use of the
    locks that were requested (PASTA); `None`: not counted."""
    bounds: tuple[float, ...] = ()
    """Rates that other resources allow, whatever the change."""


@dataclass(frozen=True)
class Remedy:
    """What a change does; nothing by default."""

    removes: Mapping[Place, float] = field(default_factory=dict)
    """Shares of all users' time that it removes, by place."""
    users: int | None = None
    """Another number of users."""
    cores: float | None = None
    """Another number of cores."""
    loops: float | None = None
    """Another number of event loops."""
    sync_times: float = 1.0
    """Factor of a sync's time."""
    adds_s: float = 0.0
    """Time that it adds to each event."""
    work_error: float = 1.0
    """Factor either way within which the work on a core that it removes is, in four of five cases:
    where that is no measured share, but a count times what one piece of it takes."""
    frees_s: float = 0.0
    """Time of a core that an event no longer takes, next to that which users spend on one."""
    bounds: tuple[float, ...] = ()
    """Rates that it allows."""


def foretell(loop: ClosedLoop, remedy: Remedy) -> Foretold | None:
    """The rate with the remedy and its 80 % interval; `None` if too little was measured.

    That is so as well where more of what the remedy leaves is unnamed than named: nobody knows
    whether it leaves that. And where it leaves less than `LEAST_LEFT`.
    """
    if loop.tps <= 0 or not loop.shares or not _System(loop, remedy).is_known:
        return None
    low, high = rates(loop, remedy)
    middle = (low + high) / 2
    errors = [middle * loop.tps_error / loop.tps] * 2
    errors += _changes(loop, remedy)
    half = math.hypot((high - low) / 2, NORMAL_80 * math.hypot(*errors))
    less, more = (
        _middle_of(loop, remedy, times) for times in (1 / remedy.work_error, remedy.work_error)
    )
    # Where nothing bounds the rate without such work, nobody knows by how much it is higher.
    further = more - middle if more >= middle else middle - less
    below, above = math.hypot(half, middle - less), math.hypot(half, further)
    return Foretold(tps=middle, low=max(middle - below, 0.0), high=middle + above, now=loop.tps)


def _middle_of(loop: ClosedLoop, remedy: Remedy, times: float) -> float:
    """The rate if the work that it removes is so many times as much."""
    removes = {
        place: share * times if place in _WORK else share for place, share in remedy.removes.items()
    }
    return sum(rates(loop, replace(remedy, removes=removes))) / 2


def rates(loop: ClosedLoop, remedy: Remedy) -> tuple[float, float]:
    """The rates of the two models, the lower first."""
    system = _System(loop, remedy)
    crowded, patient = (system.solved(is_patient) for is_patient in (False, True))
    return min(crowded, patient), max(crowded, patient)


def _changes(loop: ClosedLoop, remedy: Remedy) -> Iterator[float]:
    """By how much the rate changes with each sampled share, by one standard error."""
    base = sum(rates(loop, remedy)) / 2
    for place, share in loop.shares.items():
        if share.error:
            moved = _moved(loop, place, share)
            taken = _taken(remedy, place, share, moved.shares[place])
            yield sum(rates(moved, taken)) / 2 - base


def _moved(loop: ClosedLoop, place: Place, share: Share) -> ClosedLoop:
    """The loop if one share is larger by its standard error, at the cost of all others."""
    larger = share.value + share.error
    rest = 1 - share.value
    scale = max(1 - larger, 0.0) / rest if rest > 0 else 1.0
    shares = {
        other: replace(one, value=larger if other == place else one.value * scale)
        for other, one in loop.shares.items()
    }
    return replace(loop, shares=shares)


def _taken(remedy: Remedy, place: Place, before: Share, after: Share) -> Remedy:
    """The remedy that removes the same part of a place whose share is another one."""
    removed = remedy.removes.get(place, 0.0)
    if not removed or before.value <= 0:
        return remedy
    part = removed * after.value / before.value
    return replace(remedy, removes={**remedy.removes, place: part})


class _System:
    """A closed loop after a change."""

    def __init__(self, loop: ClosedLoop, remedy: Remedy) -> None:
        self.loop = loop
        self.users = remedy.users or loop.users
        self.added_s = remedy.adds_s
        total = sum(share.value for share in loop.shares.values())
        # Places that were measured apart may come to more than all time.
        unit = loop.users / loop.tps / max(total, 1.0)
        self.before = {place: share.value * unit for place, share in loop.shares.items()}
        self.unnamed = max(1.0 - total, 0.0) * unit
        left = {
            place: max(1 - remedy.removes.get(place, 0.0) / share.value, 0.0) if share.value else 0
            for place, share in loop.shares.items()
        }
        self.left: Mapping[Place, float] = left
        self.after = {place: time * left[place] for place, time in self.before.items()}
        self.cores = self._cores(remedy)
        self.loops = self._loops(remedy)
        self.inside = _inside(self.before), _inside(self.after)
        self.sync_times = remedy.sync_times
        self.queues = self._queues()
        self.bounds = (*loop.bounds, *remedy.bounds)

    @property
    def is_known(self) -> bool:
        """Whether the account names most of the time that is left, and enough is left."""
        named, total = sum(self.after.values()), sum(self.before.values()) + self.unnamed
        return named >= self.unnamed and named + self.unnamed >= LEAST_LEFT * total

    def solved(self, is_patient: bool) -> float:
        """The rate at which the users' time is used up, by one of the two models."""
        low = 0.0
        high = min(*self.bounds, *self._bounds(is_patient), self._most(is_patient), math.inf)
        if not math.isfinite(high):
            return self.loop.tps
        if high * self._time(high, is_patient) <= self.users:
            return high
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if middle * self._time(middle, is_patient) > self.users:
                high = middle
            else:
                low = middle
        return low

    def _most(self, is_patient: bool) -> float:
        """The rate if nobody waited longer than alone: never below the solution."""
        alone = self._time(0.0, is_patient)
        return completed(self.users, alone) if alone > 0 else math.inf

    def _time(self, tps: float, is_patient: bool) -> float:
        """The time of an event at a rate."""
        fixed = sum(time for place, time in self.after.items() if place not in self.queues)
        waits = sum(wait(tps, is_patient) for wait in self.queues.values())
        return self.added_s + self.unnamed + fixed + waits

    def _queues(self) -> dict[Place, Callable[[float, bool], float]]:
        found: dict[Place, Callable[[float, bool], float]] = {}
        for place, kind in QUEUES.items():
            if place in self.after:
                found[place] = self._queue(place, kind)
        return found

    def _queue(self, place: Place, kind: Queue) -> Callable[[float, bool], float]:
        before, after = self.before[place], self.after[place]
        match kind:
            case "server":
                return self._in_the_server(after)
            case "cores" if self.cores:
                return self._for_servers(self.cores, before, after)
            case "loops" if self.loops:
                return self._for_servers(self.loops, before, after)
            case "sync":
                return self._for_a_sync(after)
            case "lock" | "ticket":
                return self._for_a_lock(before, after, is_ticket=kind == "ticket")
        return lambda tps, is_patient: after if is_patient else after * tps / self.loop.tps

    def _for_servers(
        self, servers: _Servers, before: float, after: float
    ) -> Callable[[float, bool], float]:
        """Waits for several servers: in proportion to their demand, and to the queue's length."""
        at = servers.length_before(self.loop)
        # Where the demand or the capacity changes, the wait follows from that alone.
        wait = before if servers.is_changed else after
        scale = wait / (servers.demand_before * at) if at > 0 and servers.demand_before else 0.0

        def waited(tps: float, is_patient: bool) -> float:
            if is_patient:
                # After such a change nobody waits before all servers are in use: `_bounds`.
                return 0.0 if servers.is_changed else wait
            return scale * servers.demand * servers.length(tps, self.users)

        return waited

    def _for_a_sync(self, after: float) -> Callable[[float, bool], float]:
        """Commits wait for the sync under way, if there is one, and for their own."""
        syncs = sum(self._share(place) for place in ("log sync", "binlog sync"))
        grouped = self._share("commit")
        # The part of a sync that a commit waits before its own: as those who wait show it, and at
        # most as often as a sync is under way.
        before = min(grouped / syncs if syncs else 1.0, syncs, 1.0)
        others, alone = _others(self.users), _others(self.loop.users)
        met = before * others / alone if alone else 0.0
        if not alone or self._gone("row lock"):
            # Nothing showed it, or locks held commits apart: they meet at independent moments.
            met = max(met, others * min(syncs, 1.0))
        once = after * self.sync_times

        def waited(tps: float, is_patient: bool) -> float:
            if is_patient:
                return once
            now = min(met * self.sync_times * tps / self.loop.tps, 1.0)
            return once * (1 + now) / (1 + before)

        return waited

    def _share(self, place: Place) -> float:
        """Mean number of users at a place before the change."""
        return self.loop.tps * self.before.get(place, 0.0)

    def _for_a_lock(
        self, before: float, after: float, *, is_ticket: bool
    ) -> Callable[[float, bool], float]:
        """Waits for one holder at a time.

        The patient model takes all that was removed in the server from the holder's time, the
        crowded one only what is certainly within it. A ticket is held for all of it. In the crowded
        model all wait for the same lock, whose use follows from their wait; in the patient one for
        as many as explain how often a lock was found held.
        """
        if self.loop.users == 1 or self.users == 1:
            return lambda tps, is_patient: after  # somebody else holds it
        one_lock = holding(before, self.loop.users, self.loop.tps)
        use = None if is_ticket else self.loop.lock_use
        several = one_lock if use is None else min(use / self.loop.tps, one_lock)
        patient = self._held(several, before, after, certain=math.inf)
        if is_ticket:
            return lambda tps, is_patient: patient(tps)
        gone = sum(self._gone(place) for place in _HELD_TO_THE_END)
        crowded = self._held(one_lock, before, after, certain=gone)
        return lambda tps, is_patient: patient(tps) if is_patient else crowded(tps)

    def _held(
        self, was: float, before: float, after: float, certain: float
    ) -> Callable[[float], float]:
        """Waits for locks that were held for so long an event.

        `certain`: the part of what was removed in the server by which the holder's time is shorter.
        """
        met = _others(self.users) * self.loop.tps * was
        scale = before * (1 - met) / (was * met) if was and met < 1 else 0.0
        scale *= after / before if before else 0.0

        def waited(tps: float) -> float:
            if not scale:
                return 0.0
            holding = max(was - certain, was * self._left_inside(tps))
            if tps * holding >= 1:
                return math.inf
            met = _others(self.users) * tps * holding
            return scale * holding * met / (1 - met)

        return waited

    def _left_inside(self, tps: float) -> float:
        """What is left of the time in the server without waits for locks and admission."""
        was, now = self.inside
        place: Place = "waiting for a core"
        if place in self.before and self.before[place] and self.cores:
            was += self.before[place]
            now += self._for_servers(self.cores, self.before[place], self.after[place])(tps, False)
        return now / was if was else 1.0

    def _in_the_server(self, after: float) -> Callable[[float, bool], float]:
        """Where threads were not looked at, the waits for a core are part of this time."""
        cores = self.cores
        if cores is None:
            return lambda tps, is_patient: after
        waited = cores.demand_before * cores.length_before(self.loop)

        def spent(tps: float, is_patient: bool) -> float:
            wait = cores.demand * cores.length(tps, self.users)
            return after if is_patient else after + max(wait - waited, 0.0)

        return spent

    def _bounds(self, is_patient: bool) -> Iterator[float]:
        """What cores and event loops allow; in the patient model others give way to the load."""
        for servers in (self.cores, self.loops):
            if servers and servers.demand > 0:
                capacity = servers.most if is_patient else servers.capacity
                yield most_events(capacity, servers.demand)

    def _cores(self, remedy: Remedy) -> _Servers | None:
        if self.loop.cores is None:
            return None
        removed = self._gone("on core")
        if "on core" not in self.before:
            # Where threads are not looked at, work is in one place with its waits.
            kept = self.left.get("in the server", 1.0)
            removed = (1 - kept) * self.loop.cores.used / self.loop.tps
        if self.loop.generator_cores:
            kept = self.left.get("generator", 1.0)
            removed += (1 - kept) * self.loop.generator_cores / self.loop.tps
        return _Servers.of(self.loop, self.loop.cores, removed + remedy.frees_s, remedy.cores)

    def _loops(self, remedy: Remedy) -> _Servers | None:
        if self.loop.loops is None:
            return None
        removed = (1 - self.left.get("generator", 1.0)) * self.loop.loops.used / self.loop.tps
        return _Servers.of(self.loop, self.loop.loops, removed, remedy.loops)

    def _gone(self, place: Place) -> float:
        """Seconds an event that are removed there."""
        return self.before.get(place, 0.0) - self.after.get(place, 0.0)


@dataclass(frozen=True)
class _Servers:
    """Cores or event loops, before and after a change: demands are in seconds an event."""

    capacity_before: float
    capacity: float
    most: float
    demand_before: float
    demand: float

    @classmethod
    def of(
        cls, loop: ClosedLoop, servers: Servers, removed: float, capacity: float | None
    ) -> _Servers:
        demand = servers.used / loop.tps
        left = max(demand - removed, 0.0)
        allowed = capacity or servers.capacity
        most = capacity or servers.most or allowed
        return cls(servers.capacity, allowed, max(most, allowed), demand, left)

    @property
    def is_changed(self) -> bool:
        return self.capacity != self.capacity_before or self.demand < self.demand_before

    def length_before(self, loop: ClosedLoop) -> float:
        return _length(loop.tps, self.demand_before, self.capacity_before, loop.users)

    def length(self, tps: float, users: int) -> float:
        return _length(tps, self.demand, self.capacity, users)


def _length(tps: float, demand: float, servers: float, users: int) -> float:
    """The wait for one of several servers, in units of the demand (H. Sakasegawa, 1977).

    The arriving user meets the other users' use alone.
    """
    met = _others(users) * tps * demand / servers if servers else 1.0
    if met >= 1:
        return math.inf
    return float(met ** (math.sqrt(2 * (servers + 1)) - 1) / (servers * (1 - met)))


def _others(users: int) -> float:
    """Schweitzer: the part of the users whom one of them can meet."""
    return (users - 1) / users


@lru_cache(maxsize=256)
def holding(wait: float, users: int, tps: float) -> float:
    """The time of a holder whom the others wait for that long.

    Of all times that fit the rate it is the one whose use of the lock is that of the machine
    repairman's model, where the rest of an event is a delay: 1 - B(users, delay / holding), with
    Erlang's loss formula B (exact for exponential times).
    """
    low, high = 0.0, 1 / tps
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        delay = users / tps - wait - middle
        if tps * middle < 1 - _loss(users, max(delay, 0.0) / middle):
            low = middle
        else:
            high = middle
    return low if wait else 0.0


def _loss(lines: int, offered: float) -> float:
    """Erlang's loss formula, by the sum of N! / (N - k)! / offered^k, whose inverse it is."""
    if not offered:
        return 0.0
    total = term = 1.0
    for left in range(lines, 0, -1):
        term *= left / offered
        total += term
        if not _LEAST_TERM * total < term < 1 / _LEAST_TERM:
            break
    return 1 / total


def _inside(times: Mapping[Place, float]) -> float:
    """The time in the server without waits for locks, cores and admission."""
    return sum(time for place, time in times.items() if place not in _OUTSIDE | _WAITS)
