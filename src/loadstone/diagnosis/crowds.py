"""More sessions at work than the cores can serve: beyond the peak each event costs more CPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import cpu_of, is_full, server_cores
from loadstone.diagnosis.holds import CORES
from loadstone.diagnosis.rules.neighbour import OTHERS
from loadstone.model.finding import Evidence
from loadstone.model.message import Message, plain, say, say_in

FALL = 0.1
"""[P] Share of the peak's rate that is lost (DIAGNOSIS 6)."""

DEARER = 1.1
"""[P] Growth of an event's CPU by switching and cold caches; a rate that falls for another reason
does not cost the server more."""

RUNNING = 4.0
"""[P] Active connections per core (DIAGNOSIS 6)."""

TAKING_TURNS = 64.0
"""[P] Connections per core that come to it in turn, from which they crowd it as well."""

LOCKS = 0.3
"""[P] Share of the users that wait for rows, from which the rate falls for that reason."""

SWITCH_S = 5e-6
"""[P] Core time of a thread switch, caches included (measured costs are 1 to 10 µs)."""


def peak_of(case: Case) -> Case:
    """The level of the ladder with the highest rate."""
    return case.at(max(case.ladder, key=lambda step: step.tps or 0.0))


def lost(case: Case, peak: Case) -> float:
    """Share of the peak's rate that is lost; zero where neighbours make the two incomparable.

    They take cores and caches from the server, so its events cost more because of them.
    """
    others = [cpu_of(one).others or 0.0 for one in (case, peak)]
    if not peak.tps or max(others) >= OTHERS:
        return 0.0
    return max(1 - case.tps / peak.tps, 0.0)


def dearer(case: Case, peak: Case) -> float | None:
    """The server's CPU per event, as a multiple of that at the peak; `None`: not observed."""
    if not peak.tps or not case.tps:
        return 0.0
    then, now = server_cores(peak), server_cores(case)
    if now is None or then is None:
        return None
    return (now / case.tps) / (then / peak.tps) if then else 0.0


def switching(case: Case, cores: float) -> float:
    """Part of the cores' time that switches from thread to thread take."""
    return (case.host("context_switches_per_s") or 0.0) * SWITCH_S / cores


class Crowd(NamedTuple):
    """Sessions next to the cores that they share."""

    seen: Message
    """What counts them."""
    sessions: float
    cores: float
    most: float
    """Of them for each core, above which they crowd it."""

    @property
    def is_one(self) -> bool:
        """Whether there are so many."""
        return self.sessions >= self.most * self.cores


def running(case: Case) -> float | None:
    """Connections at work at once, by the server; else the users that were seen at work in it.

    A server that so many crowd may not answer the connection that asks for its gauges.
    """
    at_work = case.time_at(*CORES, "latch")
    counted = case.mean("threads_running")
    return min(at_work, 1.0) * case.users if counted is None and at_work is not None else counted


def crowd_of(case: Case, at_work: float, cores: float) -> Crowd:
    """The sessions at work at once; where the cores are full, all that come to one in turn.

    A generator that shares these waits for one as well, and sessions wait for it.
    """
    connected = (case.mean("threads_connected") or 0.0) if is_full(case) else 0.0
    # Of connections those of users, not those that somebody keeps for later.
    in_turn = min(connected, case.users)
    if at_work >= RUNNING * cores or in_turn < TAKING_TURNS * cores:
        is_counted = case.mean("threads_running") is not None
        seen = plain("threads_running") if is_counted else say("users at work in the server")
        return Crowd(seen, at_work, cores, RUNNING)
    return Crowd(plain("threads_connected"), in_turn, cores, TAKING_TURNS)


def evidence(case: Case, crowd: Crowd, lost: float, dearer: float | None) -> Iterator[Evidence]:
    """How many there are, and what the rate and an event's CPU are next to the peak's."""
    cores = crowd.cores
    yield case.seen(crowd.seen, crowd.sessions, plain(""), crowd.most * cores)
    yield case.seen(say("rate below the peak"), lost, plain(""), FALL)
    if dearer is not None:
        yield case.seen(
            say("CPU per event compared with the peak"), dearer, say_in("unit", "times"), DEARER
        )
    yield case.seen(say("context switches per core"), switching(case, cores), say("of its time"))
