"""Computes the account of a step: the share of the users' time at each place.

`model.account` says what it is, docs/account.md how each share is known.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from loadstone.model.account import (
    PLACES,
    THREADS_SEEN,
    VIEW,
    WHY,
    Account,
    AccountEntry,
    Known,
    Place,
    Trips,
    View,
)
from loadstone.model.plan import Step
from loadstone.model.records import LatencyNs
from loadstone.model.result import FLIGHT
from loadstone.runs.source_figures import SourceSums
from loadstone.runs.whose import cores_of, disks_of, memory_of, queued, ran, ran_in

_NORMAL_95 = 1.96
ENOUGH_LOOKS = 10.0
"""With fewer there is no interval, and the slope of a line through them is noise."""

_SHOWN = 0.0005
"""Less of the users' time than this is shown nowhere: an entry of 0.0 % tells nothing."""

_STATEMENTS = ("read", "write", "other")
"""Names of the latencies that add up to the time of all statements. Those of errors are of whole
attempts, with the statements before."""


@dataclass(frozen=True)
class Driven:
    """What the generator's own clocks say of a window."""

    users: int
    seconds: float
    in_statements: float
    """Mean number of users that wait for a statement's answer."""
    connecting: float
    """Mean number of users that open a connection."""
    is_paced: bool
    """Whether users wait for their next event to be due."""
    beside: float
    """Idle connections in addition to the users'."""
    served: float
    """Mean number of users that the generator is at work for: each of its threads serves one."""

    def at_rate(self, part: float) -> Driven:
        """The same in seconds that have this part of the events a second.

        What the generator and its users take of their own for an event does not depend on how long
        the server takes for it.
        """
        between = self.users - self.in_statements - self.connecting
        connecting = part * self.connecting
        return replace(
            self,
            in_statements=self.users - connecting - part * between,
            connecting=connecting,
            served=part * self.served,
        )


def driven(
    step: Step,
    seconds: float,
    cpu_s: float,
    plan: Mapping[str, Any],
    merged: Mapping[str, LatencyNs],
) -> Driven:
    """The generator's side of a step, which took `cpu_s` of its cores."""

    def mean(names: Iterable[str]) -> float:
        found = (merged[name] for name in names if name in merged)
        return sum((each.mean or 0.0) * each.count for each in found) / 1e9 / seconds

    return Driven(
        users=step.concurrency,
        seconds=seconds,
        # The times of statements that are sent at once overlap, those of flights do not.
        in_statements=mean([FLIGHT] if FLIGHT in merged else _STATEMENTS),
        connecting=mean(["connect"]),
        is_paced=step.rate is not None or _is_paced(plan),
        beside=float((plan.get("drive") or {}).get("idle") or 0),
        served=cpu_s / seconds,
    )


def account_of(
    load: Driven,
    looked: Sequence[SourceSums],
    facts: Sequence[Mapping[str, str]],
    hosts: Sequence[SourceSums | None] = (None,),
) -> Account | None:
    """The account of a window; `None` if the servers' sessions were not looked at.

    Args:
        load: the generator's side.
        looked: the sums of the looks at each server.
        facts: those of the same sources.
        hosts: the sums of each server's host; `None`: not observed.
    """
    looks = sum(sums.deltas["looks"] for sums in looked)
    if not looks or not load.users:
        return None
    is_whole = _is_whole(load)
    views = {fact.get(VIEW) for fact in facts}
    view: View = "threads" if views == {"threads"} else "sessions"
    seats = _Seats.of(looked, is_whole=is_whole)
    entries = _entries(load, looked, seats, is_whole=is_whole)
    total = sum(one.share for one in entries)
    return Account(
        users=load.users,
        seconds=max(sums.seconds for sums in looked),
        view=view,
        looks=looks,
        entries=entries,
        unnamed=max(1.0 - total, 0.0),
        beyond=max(total - 1.0, 0.0),
        others=seats.mean.get("others"),
        cores=cores_of(looked, hosts) if view == "threads" else None,
        disks=disks_of(looked, hosts) if view == "threads" else None,
        memory=memory_of(looked) if view == "threads" else None,
        trips=_trips(looked),
        seen_running=_share_running(load, looked) if view == "threads" else None,
        looking=_rate(looked, "looking_s"),
        why=next((fact[WHY] for fact in facts if WHY in fact), None),
    )


def entries_of(load: Driven, looked: Sequence[SourceSums]) -> tuple[AccountEntry, ...]:
    """The places alone, of any seconds; empty without looks at each server."""
    if not load.users or not looked or not all(sums.deltas["looks"] for sums in looked):
        return ()
    seats = _Seats.of(looked, is_whole=_is_whole(load))
    return _entries(load, looked, seats, is_whole=_is_whole(load))


def _entries(
    load: Driven, looked: Sequence[SourceSums], seats: _Seats, *, is_whole: bool
) -> tuple[AccountEntry, ...]:
    outside = _outside(load, seats, queued(looked))
    entries = [
        *_by_clocks(load, outside),
        *_on_cores(load, looked, is_whole),
        *_sampled(load, seats, outside.left),
    ]
    entries = [one for one in entries if one.share >= _SHOWN]
    return tuple(sorted(entries, key=lambda one: PLACES.index(one.place)))


def _is_whole(load: Driven) -> bool:
    """Whether each look reads the threads of all users."""
    return load.users + load.beside <= THREADS_SEEN


@dataclass(frozen=True)
class _Seats:
    """Mean numbers of sessions at each seat, and their standard errors."""

    mean: Mapping[str, float]
    error: Mapping[str, float]

    @classmethod
    def of(cls, looked: Sequence[SourceSums], *, is_whole: bool) -> _Seats:
        """Of all servers together, whose looks are independent.

        `is_whole`: the threads of all sessions are counted, not of a sample.
        """
        mean: defaultdict[str, float] = defaultdict(float)
        square: defaultdict[str, float] = defaultdict(float)
        for sums in looked:
            for name in [*sums.deltas]:
                kind, _, seat = name.partition(".")
                if kind == "at":
                    found = _mean_at(seat, sums, is_whole=is_whole)
                    mean[seat] += found.mean
                    square[seat] += found.square_error
            if "others" in sums.deltas and sums.deltas["looks"]:
                mean["others"] += sums.deltas["others"] / sums.deltas["looks"]
        return cls(mean, {seat: math.sqrt(value) for seat, value in square.items()})


class _Mean(NamedTuple):
    mean: float
    square_error: float


def _mean_at(seat: str, sums: SourceSums, *, is_whole: bool) -> _Mean:
    """The mean number of sessions at a seat of one server, and the square of its standard error.

    How many run or are ready to is sampled as well, but also counted by the kernel. By that much
    the looks were off, and so are the other seats, as far as they go with it: the regression
    estimator (W. G. Cochran, "Sampling Techniques", 3rd edition, chapter 7).
    """
    looks = sums.deltas["looks"]
    if not looks:
        return _Mean(0.0, 0.0)
    at, running = sums.deltas[f"at.{seat}"] / looks, sums.deltas["at.running"] / looks
    spread = max(sums.deltas[f"sq.{seat}"] / looks - at**2, 0.0)
    of_running = sums.deltas["sq.running"] / looks - running**2
    counted = _counted_running(sums) if is_whole else None
    if looks < ENOUGH_LOOKS:
        return _Mean(at, math.inf)
    if seat == "running" or counted is None or of_running <= 0:
        return _Mean(at, spread / (looks - 1.0))
    together = sums.deltas[f"xr.{seat}"] / looks - at * running
    slope = together / of_running
    left = max(spread - slope * together, 0.0)
    return _Mean(max(at + slope * (counted - running), 0.0), left / (looks - 2.0))


def _counted_running(sums: SourceSums) -> float | None:
    """How many sessions run or are ready to, by the kernel's count."""
    on_core, delayed = ran(sums, "core_s"), ran(sums, "delay_s")
    return None if on_core is None or delayed is None else on_core + delayed


def _share_running(load: Driven, looked: Sequence[SourceSums]) -> float:
    """As the looks saw it; what the kernel counted is in the entries."""
    means = (sums.deltas["at.running"] / sums.deltas["looks"] for sums in looked)
    return sum(means) / load.users


def _trips(looked: Sequence[SourceSums]) -> Trips | None:
    """Mean over the looks at all servers."""
    looks = sum(sums.deltas["trip_looks"] for sums in looked)
    if not looks:
        return None
    usual, least = (
        sum(sums.deltas[name] for sums in looked) / looks for name in ("trip_s", "least_trip_s")
    )
    return Trips(usual=usual, least=least)


def _by_clocks(load: Driven, outside: _Outside) -> list[AccountEntry]:
    """What the clocks of the generator and of a pooler say, which miss nothing."""
    return [
        _entry(load, "idle", outside.idle),
        _entry(load, "generator", outside.generator),
        _entry(load, "connecting", load.connecting),
        _entry(load, "admission", outside.queued),
    ]


def _on_cores(load: Driven, looked: Sequence[SourceSums], is_whole: bool) -> list[AccountEntry]:
    """What the kernel counts of each thread, or of a sample of the threads."""
    known: Known = "counted" if is_whole else "sampled"
    return [
        _entry(load, "on core", ran_in(looked, "core_s"), known=known),
        _entry(load, "waiting for a core", ran_in(looked, "delay_s"), known=known),
    ]


def _sampled(load: Driven, seats: _Seats, left: float) -> list[AccountEntry]:
    """What was seen at random moments; `left`: as in `_Outside`."""
    # Of an answer that is still being sent the session is elsewhere.
    unread = min(seats.mean.get("unread", 0.0), left)
    way = left - unread
    found = [
        _entry(load, "answer unread", unread, seats.error.get("unread", 0.0)),
        _entry(load, "way", way, seats.error.get("client", 0.0)),
    ]
    return found + [
        _entry(load, place, seats.mean[place], seats.error[place])
        for place in PLACES
        if place in seats.error
    ]


class _Outside(NamedTuple):
    """Mean numbers of users whose sessions wait for their clients, by what these wait for."""

    generator: float
    idle: float
    left: float
    """Their answer is on the way or has not been read, or their next statement is on the way."""
    queued: float
    """They have no session: they wait for one of a pooler's."""


_NOT_INSIDE = ("client", "unread", "others")


def _outside(load: Driven, seats: _Seats, before_pooler: float | None) -> _Outside:
    """Divides the time in which sessions wait for their clients.

    A session is at work or waits for its client, never both: that is what makes the places exclude
    each other. Generator and server may well work for a user at the same time, since who has sent
    something works on until it sleeps. That time is the server's.

    Statements count when they end, so that one that lasts beyond the window is not in their sum:
    but who is between two statements has a session that waits for its client.
    """
    waiting = max(seats.mean.get("client", 0.0) - load.beside, 0.0)
    if before_pooler is not None:
        # Of a pooler's sessions that wait for a client, many have none.
        inside = sum(mean for seat, mean in seats.mean.items() if seat not in _NOT_INSIDE)
        waiting = min(waiting, max(load.users - load.connecting - inside - before_pooler, 0.0))
    between = min(max(load.users - load.in_statements - load.connecting, 0.0), waiting)
    # What the generator does between two statements is part of the time between them.
    works = min(max(load.served, 0.0 if load.is_paced else between), waiting)
    idle = min(between, waiting - works) if load.is_paced else 0.0
    return _Outside(works, idle, waiting - works - idle, before_pooler or 0.0)


def _entry(
    load: Driven,
    place: Place,
    users: float,
    error: float | None = None,
    known: Known = "counted",
) -> AccountEntry:
    """An entry, with an interval if there is a finite error."""
    share = users / load.users
    has_interval = error is not None and math.isfinite(error)
    half = _NORMAL_95 * (error or 0.0) / load.users
    return AccountEntry(
        place=place,
        users=users,
        share=share,
        known="sampled" if error is not None else known,
        low=max(share - half, 0.0) if has_interval else None,
        high=min(share + half, 1.0) if has_interval else None,
    )


def _rate(looked: Sequence[SourceSums], counter: str) -> float | None:
    found = [rate for sums in looked if (rate := sums.rate(counter)) is not None]
    return sum(found) if found else None


def _is_paced(plan: Mapping[str, Any]) -> bool:
    """Whether the plan has rates, think times, phases or idle users."""
    return bool(plan.get("phases")) or any(_paces(plan.get(part)) for part in _PARTS)


_PARTS = ("drive", "mix", "workload")
_PACES = ("think_s", "rate", "keying_and_think_time")
_NO_PACE = (None, 0, False, "0", "false", "off", "no")


def _paces(part: object) -> bool:
    if isinstance(part, Mapping):
        paced = any(part.get(name) not in _NO_PACE for name in _PACES if name in part)
        return paced or any(map(_paces, part.values()))
    return isinstance(part, (list, tuple)) and any(map(_paces, part))
