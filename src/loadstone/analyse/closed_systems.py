"""A closed loop before and after a change: its places, their queues, and the rate that they allow.

N users complete X events a second, so an event takes R = N / X (Little's law), and R x share of it
at each place of the account. A change removes time at places, or changes a capacity or the number
of users. What is left depends on the new rate X', as each event then meets more or fewer others:

    X' = N' / (sum of the times at all places, at the rate X')

The times never fall as X' rises, so there is one solution. It is Schweitzer's and Bard's
approximate mean value analysis (M. Reiser, S. S. Lavenberg, JACM 27(2), 1980; P. Schweitzer, 1979;
Y. Bard, 1979), where an arrival meets the other N - 1 users' mean queue, with each queue calibrated
so that it has the measured wait at the measured rate. No result is beyond capacity / demand of any
resource (E. D. Lazowska et al., "Quantitative System Performance", 1984, chapter 5).

How a wait grows is known for cores, whose use is counted. For locks, group commit and waits in
memory it is not: there the answer lies between two models. In the patient one each remaining wait
stays as long as it is; in the crowded one it grows with the rate at its resource (`QUEUES`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from loadstone.analyse.queues import HALVINGS, completed, holding, most_events, others, wait_at
from loadstone.model.account import Place

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
WORK: frozenset[Place] = frozenset(("on core", "waiting for a core", "in the server"))
_WAITS: frozenset[Place] = frozenset(("row lock", "admission", "waiting for a core"))
_HELD_TO_THE_END: frozenset[Place] = frozenset(
    ("log sync", "binlog sync", "commit", "commit delay", "replica")
)
"""A transaction has its row locks until its commit is over."""

BURSTS = 2.0
"""[P] How many times as long as the mean use of the cores explains users wait for one, from which
their work comes in bursts."""

LEAST_LEFT = 0.1
"""[P] Part of an event's time below which what is left of it says nothing, where nobody counted the
cores."""


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
    server_cores: float = 0.0
    """The part of `cores.used` that the server's own threads and interrupts have: some of it is
    for events."""
    other_cores: float = 0.0
    """The part that is neither theirs nor the users' nor the event loops'. The less is done, the
    more of it there is for an event, and it is for none."""
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
    least_work_s: float = 0.0
    """Time of a core that an event takes at least, if such work is more than was counted."""
    leaves_work: bool = False
    """Whether an event takes as much of the cores as before: what it ends on a core, and where work
    and its waits are one place, is time in which threads could not run."""
    is_unlimited: bool = False
    """Whether the wait for a core was for a limit of the server's own: without it, it follows from
    the use of the host's cores alone."""
    warmth: float = 1.0
    """Factor of the work on a core that it leaves."""
    loops_warmth: float = 1.0
    """The same of the event loops' work."""
    frees_s: float = 0.0
    """Time of a core that an event no longer takes, next to that which users spend on one."""
    bounds: tuple[float, ...] = ()
    """Rates that it allows."""


def rates(loop: ClosedLoop, remedy: Remedy) -> tuple[float, float]:
    """The rates of the two models, the lower first."""
    system = System(loop, remedy)
    crowded, patient = (system.solved(is_patient) for is_patient in (False, True))
    return min(crowded, patient), max(crowded, patient)


class System:
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
        for place, warmth in (("on core", remedy.warmth), ("generator", remedy.loops_warmth)):
            if place in self.after:
                self.after[place] *= warmth
        self.cores = self._cores(remedy)
        self.loops = self._loops(remedy)
        self.inside = _inside(self.before), _inside(self.after)
        self.is_unlimited = remedy.is_unlimited
        self.sync_times = remedy.sync_times
        self.queues = self._queues()
        self.bounds = (*loop.bounds, *remedy.bounds)

    @property
    def is_known(self) -> bool:
        """Whether the account names most of the time that is left.

        Where the cores are not counted, enough has to be left as well: nobody knows how cold they
        were between long waits, nor what they allow.
        """
        named, total = sum(self.after.values()), sum(self.before.values()) + self.unnamed
        is_enough = self.cores is not None or named + self.unnamed >= LEAST_LEFT * total
        return named >= self.unnamed and is_enough

    def solved(self, is_patient: bool) -> float:
        """The rate at which the users' time is used up, by one of the two models."""
        low = 0.0
        high = min(*self.bounds, *self._bounds(is_patient), self._most(is_patient), math.inf)
        if not math.isfinite(high):
            return math.inf
        if high * self._time(high, is_patient) <= self.users:
            return high
        for _ in range(HALVINGS):
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
        """Waits for several servers: in proportion to their demand, and to the queue's length.

        A wait that is longer than their mean use explains was met in bursts, as between two locks
        of all tables: then it is as long at any rate, until the use alone makes it longer. At best
        it becomes as much shorter as the pauses between the bursts do.
        """
        # Where the demand or the capacity changes, the wait follows from that alone.
        wait = before if servers.is_changed else after
        usual = servers.demand_before * servers.length_before(self.loop)
        scale = wait / usual if usual > 0 else 0.0
        least, patient = 0.0, wait
        if self.is_unlimited and servers is self.cores:
            patient, scale = 0.0, 1.0
        elif servers.is_changed:
            # After such a change nobody waits before all servers are in use: `_bounds`.
            patient = 0.0
        elif scale > BURSTS:
            least, scale = wait, 1.0
            patient = wait - (wait - usual) * self._pauses_gone()

        def waited(tps: float, is_patient: bool) -> float:
            if is_patient:
                return patient
            return max(scale * servers.work * servers.length(tps, self.users), least)

        return waited

    def _pauses_gone(self) -> float:
        """The part that is removed of the time in which users neither work nor are outside."""
        places = [place for place in self.before if place not in _OUTSIDE | WORK]
        before, after = (sum(of[place] for place in places) for of in (self.before, self.after))
        return 1 - after / before if before else 0.0

    def _for_a_sync(self, after: float) -> Callable[[float, bool], float]:
        """Commits wait for the sync under way, if there is one, and for their own."""
        syncs = sum(self._share(place) for place in ("log sync", "binlog sync"))
        grouped = self._share("commit")
        # The part of a sync that a commit waits before its own: as those who wait show it, and at
        # most as often as a sync is under way.
        some, alone = others(self.users), others(self.loop.users)
        before = min(grouped / syncs if syncs else 1.0, syncs, 1.0) if alone else 0.0
        met = before * some / alone if alone else 0.0
        if not alone or self._gone("row lock"):
            # Nothing showed it, or locks held commits apart: they meet at independent moments.
            met = max(met, some * min(syncs, 1.0))
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
        met = others(self.users) * self.loop.tps * was
        scale = before * (1 - met) / (was * met) if was and met < 1 else 0.0
        scale *= after / before if before else 0.0

        def waited(tps: float) -> float:
            if not scale:
                return 0.0
            holding = max(was - certain, was * self._left_inside(tps))
            if tps * holding >= 1:
                return math.inf
            met = others(self.users) * tps * holding
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
            wait = cores.work * cores.length(tps, self.users)
            return after if is_patient else after + max(wait - waited, 0.0)

        return spent

    def _bounds(self, is_patient: bool) -> Iterator[float]:
        """What cores and event loops allow."""
        for servers in (self.cores, self.loops):
            if servers:
                yield servers.most_events(is_patient=is_patient, tps=self.loop.tps)

    def _cores(self, remedy: Remedy) -> _Servers | None:
        if self.loop.cores is None:
            return None
        removed = 0.0 if remedy.leaves_work else self._gone("on core")
        if "on core" not in self.before and not remedy.leaves_work:
            # Where threads are not looked at, work is in one place with its waits.
            kept = self.left.get("in the server", 1.0)
            removed = (1 - kept) * self.loop.cores.used / self.loop.tps
        if self.loop.generator_cores and not remedy.leaves_work:
            kept = self.left.get("generator", 1.0)
            removed += (1 - kept) * self.loop.generator_cores / self.loop.tps
        change = _Change(removed + remedy.frees_s, remedy.cores, remedy.warmth)
        own = max(self.loop.server_cores - remedy.frees_s * self.loop.tps, 0.0)
        return _Servers.of(self.loop, self.loop.cores, change, own, self.loop.other_cores)

    def _loops(self, remedy: Remedy) -> _Servers | None:
        loops = self.loop.loops
        if loops is None:
            return None
        kept = 1.0 if remedy.leaves_work else self.left.get("generator", 1.0)
        removed = (1 - kept) * loops.used / self.loop.tps
        return _Servers.of(self.loop, loops, _Change(removed, remedy.loops, remedy.loops_warmth))

    def _gone(self, place: Place) -> float:
        """Seconds an event that are removed there."""
        return self.before.get(place, 0.0) * (1 - self.left.get(place, 1.0))


class _Change(NamedTuple):
    """What becomes of cores or event loops."""

    removed: float
    """Seconds an event that they have no longer to do."""
    capacity: float | None
    """Another number of them."""
    warmth: float


@dataclass(frozen=True)
class _Servers:
    """Cores or event loops, before and after a change: demands are in seconds an event."""

    capacity_before: float
    capacity: float
    most: float
    demand_before: float
    of_events: float
    """The demand of what is done for users."""
    of_server: float
    """That of the server's own threads and of interrupts, at the measured rate."""
    fixed: float
    """Mean number of them that is used for no event, at any rate."""
    work: float
    """The demand at the measured rate, with its part of that."""
    is_changed: bool
    """Whether the remedy is about them: it adds some, or takes work from them."""

    @property
    def demand(self) -> float:
        """Of an event, if the server's own threads have more to do at a higher rate."""
        return self.of_events + self.of_server

    @classmethod
    def of(
        cls,
        loop: ClosedLoop,
        servers: Servers,
        change: _Change,
        own: float = 0.0,
        fixed: float = 0.0,
    ) -> _Servers:
        demand = servers.used / loop.tps
        left = max(demand - change.removed, 0.0)
        fixed = min(fixed, loop.tps * left)
        of_server = min(own / loop.tps, left - fixed / loop.tps)
        allowed = change.capacity or servers.capacity
        most = change.capacity or servers.most or allowed
        of_events = change.warmth * (left - fixed / loop.tps - of_server)
        return cls(
            capacity_before=servers.capacity,
            capacity=allowed,
            most=max(most, allowed),
            demand_before=demand,
            of_events=of_events,
            of_server=of_server,
            fixed=fixed,
            work=of_events + of_server + fixed / loop.tps,
            is_changed=change.removed > 0 or allowed != servers.capacity,
        )

    def use(self, tps: float) -> float:
        """The part of them that is used at a rate."""
        return (self.fixed + tps * self.demand) / self.capacity if self.capacity else 1.0

    def most_events(self, *, is_patient: bool, tps: float) -> float:
        """The rate that they allow, where `tps` is measured: as many of them can do that.

        In the patient model others give way to the load, and the server's own threads have no more
        to do than they had.
        """
        least = tps if self.capacity >= self.capacity_before else 0.0
        found = _bound(self.capacity - self.fixed, self.demand)
        if is_patient:
            beside = self.most - self.fixed
            found = _bound(beside, self.demand)
            further = _bound(beside - tps * self.of_server, self.of_events)
            # At a lower rate they have less to do.
            found = further if further >= tps else found
        return max(found, least)

    def length_before(self, loop: ClosedLoop) -> float:
        """The wait for one of them at the measured rate, in units of an event's work."""
        use = loop.tps * self.demand_before / self.capacity_before if self.capacity_before else 1.0
        return wait_at(others(loop.users) * use, self.capacity_before)

    def length(self, tps: float, users: int) -> float:
        """The same at another rate, after the change: an arriving user meets the others alone."""
        return wait_at(others(users) * self.use(tps), self.capacity)


def _bound(capacity: float, demand: float) -> float:
    return most_events(max(capacity, 0.0), demand) if demand else math.inf


def _inside(times: Mapping[Place, float]) -> float:
    """The time in the server without waits for locks, cores and admission."""
    return sum(time for place, time in times.items() if place not in _OUTSIDE | _WAITS)
