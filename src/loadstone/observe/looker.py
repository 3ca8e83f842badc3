"""A look at a server's sessions: where each of them is, and how long they ran since the last one.

What the threads do is read before the list of sessions: the question itself wakes threads and takes
a core from them. Times on a core and waits for one need no looks, as the kernel counts them.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from loadstone.model.account import THREADS_SEEN, VIEW, WHY
from loadstone.model.message import say
from loadstone.observe.answers import Answers
from loadstone.observe.listing import Listing
from loadstone.observe.locks import Locks
from loadstone.observe.polls import Polls
from loadstone.observe.sessions import Says, Seat, Session, SessionList, base_name, seat_of
from loadstone.observe.thread_counts import Grown, ThreadCounts, sample_of
from loadstone.observe.threads import Doing, Kind, Scheduled, Threads, hurry

MOST_OF_A_CORE = 0.01
"""The share of a core that all looks may take, here and in the server."""

_AIM = 0.8
"""[P] Part of that share that looks aim at: the mean of the latest ones' costs is behind costs that
grow. Aiming at all of it, they took 0.9 to 1.2 % of a core."""

SHORTEST_S = 0.05
"""The mean time between two looks, if they cost little. Closer ones would hardly add to what is
known: most waits last some milliseconds."""

_COSTS_AVERAGED = 16
"""Looks whose cost decides about the next one's time: that must not follow what is looked at from
one look to the next, or busy moments would be seen less often."""

_LISTED_FOR_S = 1.0
"""How long a list of sessions holds, as far as it says which thread is whose."""

_NAMED_BY_THE_LIST: frozenset[Kind] = frozenset({"futex", "sleeping", "other"})
"""Waits of which only the list of sessions says what they are for."""

ELSEWHERE = say("the server's process is not on this machine")


_BYTES_EVERY_S = 1.0
"""How often bytes moved by threads, and memory, are read: they divide nobody's time."""

_TRIPS_EVERY_S = 1.0
"""How often round trips are read: the kernel has smoothed them."""

_QUEUE_EVERY_S = 1.0
"""How often a pooler is asked for the time that it counts."""


_SaidBy = Literal["threads", "a list", "a late list"]
"""What says where sessions are."""


class _Kind:
    """What the kernel counts of the threads of one kind of sessions."""

    def __init__(self, prefix: str) -> None:
        """`prefix`: that of the counters' names."""
        self._prefix = prefix
        self._times = ThreadCounts(Threads.scheduled)
        self._bytes = ThreadCounts(Threads.transferred)
        self._bytes_s = -_BYTES_EVERY_S

    @property
    def read(self) -> Collection[int]:
        """The threads that are read again."""
        return {*self._times.read, *self._bytes.read}

    def counted(self, threads: Threads, kind: Sequence[int], now_s: float) -> dict[str, float]:
        """Times on a core and waiting for one since the last look; bytes, once a second."""
        ran = self._times.since(threads, kind, now_s)
        found = self._named(ran, ("core_s", "delay_s"), "counted_s")
        if now_s - self._bytes_s >= _BYTES_EVERY_S:
            self._bytes_s = now_s
            moved = self._bytes.since(threads, kind, now_s)
            found |= self._named(moved, ("read_bytes", "written_bytes"), "bytes_counted_s")
            found |= self._memory(threads, len(kind))
        return found

    def _memory(self, threads: Threads, sessions: int) -> dict[str, float]:
        """What all sessions have for themselves now, by those whose bytes are read."""
        own = threads.memory(self._bytes.read)
        if not own:
            return {}
        scale = sessions / len(own)
        found = {
            "memory_bytes": scale * sum(one.more + one.page_tables for one in own.values()),
            "page_table_bytes": scale * sum(one.page_tables for one in own.values()),
            "memory_sessions": float(sessions),
            "memory_looks": 1.0,
        }
        return {self._prefix + name: value for name, value in found.items()}

    def _named(self, grown: Grown, names: tuple[str, ...], seconds: str) -> dict[str, float]:
        by = grown.by or (0.0,) * len(names)
        found = dict(zip(names, by, strict=True)) | {seconds: grown.seconds}
        return {self._prefix + name: value for name, value in found.items()}


QUEUED, QUEUE_COUNTED = "queued_s", "queue_counted_s"
"""Seconds that users waited before a pooler, and within how many that was counted."""


@dataclass
class Looker:
    """Looks at one connection's server until it is lost."""

    sessions: SessionList
    threads: Threads | None
    answers: Answers
    facts: dict[str, str] = field(default_factory=dict)
    _ours: Sequence[int] = ()
    """Threads of our users at the last look."""
    _users: int = 0
    """Sessions of our users at the last look."""
    _sampled: Sequence[int] = ()
    _users_kind: _Kind = field(default_factory=lambda: _Kind(""))
    _others_kind: _Kind = field(default_factory=lambda: _Kind("others_"))
    _listing: Listing = field(init=False)
    _listed_s: float = -_LISTED_FOR_S
    """When the latest list was asked for that was not late, on the monotonic clock."""
    _own: Scheduled | None = None
    _cost_s: float | None = None
    """Seconds of a core that a look takes: the mean of the latest ones."""
    _locks: Locks = field(default_factory=Locks)
    _polls: Polls = field(default_factory=Polls)
    _looked_s: float = 0.0
    """When the threads were last looked at before a list, on the monotonic clock."""
    _answered_s: float = 0.0
    """When the list was there."""
    _queued_s: float | None = None
    """What a pooler had counted when it was last asked, and when that was."""
    _asked_pooler_s: float = -_QUEUE_EVERY_S
    _trips_s: float = -_TRIPS_EVERY_S
    made: Mapping[str, float] = field(default_factory=dict)
    """What the questions until the last look made."""

    def __post_init__(self) -> None:
        self._listing = Listing(self.sessions)

    def look(self) -> dict[str, float]:
        """Look once; returns by how much each counter grows.

        Raises:
            SourceError: the server does not answer.
        """
        began_s, began_cpu_s = time.monotonic(), time.thread_time()
        found = self._look(began_s)
        own_s = time.thread_time() - began_cpu_s + self._listing.cost_s()
        cost_s = own_s + self._asked_s(time.monotonic() - began_s)
        found["looking_s"] = cost_s
        before_s = cost_s if self._cost_s is None else self._cost_s
        self._cost_s = before_s + (cost_s - before_s) / _COSTS_AVERAGED
        return found

    def _look(self, began_s: float) -> dict[str, float]:
        self._sampled = sample_of(self._ours)
        doing = self.threads.doing(self._sampled) if self.threads else {}
        unread = self.answers.unread()
        if self._users > THREADS_SEEN:
            # A list of thousands takes tens of milliseconds, which others need as much.
            hurry(on=False)
        said = self._said_by(began_s, doing, unread)
        sessions = self._listing.latest
        self._learn()
        if said == "a late list":
            if not self._are_listed():
                return {}  # users have connected since, and nobody knows by which threads
            sessions = self._still_there(sessions)
        ours = [one for one in sessions if one.whose == "ours"]
        self._expect(len(ours))
        found: dict[str, float] = {}
        # A session whose thread was not known before the look was not seen.
        seen = [one for one in ours if one.thread in doing] if self.threads else ours
        if seen or not ours:
            if said == "threads":
                # What the list said of them is of an earlier moment.
                seen = [replace(one, says="works") for one in seen]
            is_late = said == "a late list"
            found = _counted(self._seats(seen, doing, is_late=is_late), len(ours))
            if unread:
                found |= _moments("unread", unread, found.get("at.running", 0.0))
            if self.sessions.sees_others:
                found["others"] = sum(
                    one.whose == "other" and one.says != "waits for the client" for one in sessions
                )
        counted = self._counted_by_threads(sessions) | self._made_since() | self._queued_since()
        return found | counted | self._trips()

    def _trips(self) -> dict[str, float]:
        """Round trips of the users' connections, as their kernel measures them; once a second."""
        now_s = time.monotonic()
        if now_s - self._trips_s < _TRIPS_EVERY_S:
            return {}
        self._trips_s, trips = now_s, self.answers.trips()
        if trips is None:
            return {}
        return {"trip_s": trips.usual, "least_trip_s": trips.least, "trip_looks": 1.0}

    def _said_by(self, began_s: float, doing: Mapping[int, Doing], unread: float) -> _SaidBy:
        """What says where the sessions are: a list is made where the threads alone do not.

        Where thousands want a core, a list may be late. Then what the threads do counts, and what
        the list says of a session is the best guess at what it waits for in memory.

        Args:
            began_s: when the threads were looked at, on the monotonic clock.
            doing: what they did.
            unread: how many users have an answer that waits to be read.
        """
        if self._tell_all(doing, unread):
            return "threads"
        may_be_late = self._users > THREADS_SEEN and self.threads and self._are_listed()
        if may_be_late or self._listing.is_pending:
            is_blocked = any(one.kind in _NAMED_BY_THE_LIST for one in doing.values())
            if not self._listing.make_soon(with_waiters=is_blocked):
                return "a late list"
        else:
            self._listing.make()
        self._listed_s = self._looked_s = began_s
        self._answered_s = time.monotonic()
        return "a list"

    def _are_listed(self) -> bool:
        """Whether the latest list has all connections that the load has now."""
        connections = set(self.sessions.connections())
        return bool(connections) and connections <= {one.number for one in self._listing.latest}

    def _still_there(self, sessions: Sequence[Session]) -> tuple[Session, ...]:
        """Without those of the load that have left since they were listed."""
        connections = set(self.sessions.connections())
        return tuple(one for one in sessions if one.whose != "ours" or one.number in connections)

    def _expect(self, users: int) -> None:
        """So many more or fewer of thousands of sessions make a look cost something else."""
        most, least = max(users, self._users), min(users, self._users)
        if most > THREADS_SEEN and most > 2 * least:
            self.forget_costs()
        self._users = users

    def _tell_all(self, doing: Mapping[int, Doing], unread: float) -> bool:
        """Whether the threads alone say where their sessions are: a list costs more than they do.

        A thread that polls may wait for its client, or for a client that does not read.
        """
        kinds = {one.kind for one in doing.values()}
        # What polls a set of events waits for its client or for anything else.
        may_be_else = any(
            one.kind == "polling" and (unread > 0 or one.address) for one in doing.values()
        )
        is_known = bool(doing) and len(doing) == len(self._sampled)
        is_fresh = time.monotonic() - self._listed_s < _LISTED_FOR_S
        return is_known and is_fresh and not may_be_else and not kinds & _NAMED_BY_THE_LIST

    @property
    def mean_wait_s(self) -> float:
        """The mean time until the next look, so that looks like the latest cost little enough."""
        return max((self._cost_s or 0.0) / (_AIM * MOST_OF_A_CORE), SHORTEST_S)

    @property
    def least_wait_s(self) -> float:
        """The least time until the next look: without threads each look needs the row waiters."""
        return 0.0 if self.threads else self.sessions.rows_kept_s

    def forget_costs(self) -> None:
        """Do not judge further looks by what those so far took."""
        self._cost_s = None

    def close(self) -> None:
        """Close the files of threads, and wait for a list that is being made."""
        self._listing.close()
        if self.threads:
            self.threads.close()

    def _learn(self) -> None:
        """After the first list: whether its sessions have threads that we may look at."""
        if VIEW in self.facts:
            return
        why = self.sessions.why_no_threads
        if why is None:
            why = self.threads.refused() if self.threads else ELSEWHERE
        if why is not None and self.threads:
            self.threads.close()
            self.threads = None
        self.facts = {VIEW: "threads" if self.threads else "sessions"}
        if why is not None:
            self.facts[WHY] = why

    def _seats(
        self, seen: Sequence[Session], doing: Mapping[int, Doing], *, is_late: bool
    ) -> list[Seat | None]:
        rows = self._row_waiters(seen, doing)
        return [
            self._seat(one, doing.get(one.thread) if one.thread else None, rows, is_late=is_late)
            for one in seen
        ]

    def _seat(
        self, one: Session, doing: Doing | None, rows: Collection[int] | None, *, is_late: bool
    ) -> Seat | None:
        waits_for_data = doing and doing.kind in ("polling", "receiving")
        # An old list does not know whose turn it is.
        says: Says = "works" if is_late and waits_for_data else one.says
        if doing and one.thread and doing.kind == "polling" and doing.address:
            is_settled = one.since_s > self._answered_s - self._looked_s
            return self._polls.seat(one.thread, doing, says, is_settled=is_settled)
        kind = self.sessions.file_kind(base_name(doing.file)) if doing and doing.file else ""
        seat = seat_of(
            doing,
            says,
            waits_for_row=None if rows is None else one.number in rows,
            file_kind=kind,
            sleeps=self.sessions.sleeps,
        )
        if not doing or doing.kind != "futex":
            return seat
        # What a late list says names no lock for good.
        known = self._locks.named(doing.address, None if is_late else seat)
        return known or seat if is_late else known

    def _row_waiters(
        self, seen: Sequence[Session], doing: Mapping[int, Doing]
    ) -> Collection[int] | None:
        """Ask only if somebody waits for what has no other name: the question costs the server."""
        for one in seen:
            is_blocked = not doing or doing[one.thread or 0].kind in _NAMED_BY_THE_LIST
            if one.says == "works" and is_blocked:
                return self._listing.row_waiters()
        return ()

    def _counted_by_threads(self, sessions: Sequence[Session]) -> dict[str, float]:
        """What the kernel has counted since the last look, of all sessions of a kind."""
        if self.threads is None:
            return {}
        self._ours = [one.thread for one in sessions if one.thread and one.whose == "ours"]
        others = [one.thread for one in sessions if one.thread and one.whose == "other"]
        now_s = time.monotonic()
        found = {
            **self._users_kind.counted(self.threads, self._ours, now_s),
            **self._others_kind.counted(self.threads, others, now_s),
        }
        used = (*self._sampled, *self._users_kind.read, *self._others_kind.read)
        self.threads.keep([*used, self.sessions.thread or 0])
        return found

    def _queued_since(self) -> dict[str, float]:
        """For how long users waited before a pooler since it was last asked."""
        now_s = time.monotonic()
        asked_s, before = self._asked_pooler_s, self._queued_s
        if now_s - asked_s < _QUEUE_EVERY_S:
            return {}
        self._asked_pooler_s, self._queued_s = now_s, self.sessions.queued_s()
        if before is None or self._queued_s is None or self._queued_s < before:
            return {}  # it was not asked before, or has started again
        return {QUEUED: self._queued_s - before, QUEUE_COUNTED: now_s - asked_s}

    def _made_since(self) -> dict[str, float]:
        """What the questions since the last look made the server do."""
        before, self.made = self.made, dict(self.sessions.made)
        return {name: number - before.get(name, 0.0) for name, number in self.made.items()}

    def _asked_s(self, wall_s: float) -> float:
        """What the look took of the server's cores: counted, or else at most the time it took."""
        own = self.sessions.thread
        if self.threads is None or own is None:
            return max(wall_s - self.sessions.round_trip_s(), 0.0)
        now = self.threads.scheduled([own]).get(own)
        before, self._own = self._own, now
        if now is None or before is None:
            return wall_s
        return now.on_core_s - before.on_core_s


def _counted(seen: Sequence[Seat | None], ours: int) -> dict[str, float]:
    """The counts of a look, of all users' sessions if a sample was seen."""
    scale = ours / len(seen) if seen else 0.0
    found: dict[str, float] = {"looks": 1.0}
    numbers = Counter(seen)
    for seat, number in numbers.items():
        if seat is not None:
            found |= _moments(seat, scale * number, scale * numbers["running"])
    return found


MOMENTS = ("at", "sq", "xr")
"""The sums that each seat has: see `_moments`."""


def _moments(seat: str, number: float, running: float) -> dict[str, float]:
    """What a look adds to a seat's sums."""
    return {f"at.{seat}": number, f"sq.{seat}": number**2, f"xr.{seat}": number * running}
