"""The generator itself is the limit."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import busy_share, cpu_of, is_full, outside
from loadstone.diagnosis.order import DOUBTFUL
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.neighbour import OTHERS
from loadstone.diagnosis.trials import client
from loadstone.model.finding import Evidence, Finding, Trial
from loadstone.model.message import say
from loadstone.model.numbers import num, pct
from loadstone.model.result import CLIENT_BOUND_SHARE, CLIENT_LATE_SHARE

HOST_FREE = 0.85
"""[P] above this use of the shared cores the host is full, and not the generator alone."""

ALL_AWAY = 0.9
"""[P] share of the users' time outside the server from which a full host is not full of it."""

HELD = 0.3
"""[P] an answer's waiting to be looked at (p99) by the p99: a loop that is stopped by a group's
limit neither works nor waits for a core, but leaves answers lying."""

HELD_US = 1000.0
"""[P] and how long they lie at least: a loop that sleeps takes tens of microseconds to wake up,
which is much of a fast answer's time and no sign of a limit. Groups stop for milliseconds."""

LOADED = 0.5
"""[P] of their time that loops work or wait for a core, from which lateness is theirs: what
begins late on loops that mostly rest is late by the timer."""

AWAY = 0.5
"""[P] DIAGNOSIS 12: the server has work for fewer than half of the users."""


def judge(case: Case) -> Finding | None:
    """The generator's loops never rest, run late, or leave replies unread, and the server is idle.

    A loop that waits for a core that others have is as saturated as one that works; whether that
    is the generator's limit or the full host's is told by the cores that are free.
    """
    cpu = case.needed(case.generator("cpu_share"))
    delay = case.generator("run_delay_share") or 0.0
    ceiling = case.generator("ceiling_share")
    late = _late(case) if cpu + delay >= LOADED else None
    busy, away = busy_share(case), outside(case)
    held = held_share(case) or 0.0
    starved = (cpu + delay >= CLIENT_BOUND_SHARE and delay > cpu) or held >= HELD
    works = max(cpu, ceiling or 0.0) > CLIENT_BOUND_SHARE
    if busy is not None and busy > HOST_FREE and not works and (away or 0.0) < ALL_AWAY:
        return None  # the host is full, and of the server too: that is said of the host
    if away is not None and away < AWAY and (ceiling or 0.0) < CLIENT_BOUND_SHARE:
        return None  # most users are at work in the server
    if max(cpu, ceiling or 0.0, late or 0.0) < CLIENT_BOUND_SHARE and not starved:
        return None
    share = min(max(cpu + delay, ceiling or 0.0, late or 0.0, held), 1.0)
    return Finding(
        cause="client-bound",
        group="validity",
        sentence=(
            f"The load generator is the limit, not the server: its event loops work "
            f"{pct(cpu)} of the time and wait for a core {pct(delay)} of it, and answers that have "
            f"come lie for up to {pct(held)} of the latency"
            + (
                f", while {pct(away)} of the users' time is spent outside the server."
                if away
                else "."
            )
        ),
        evidence=_evidence(case, cpu, delay, away),
        share=share,
        confidence=_sureness(case, delay > cpu and held < HELD, away),
        remedy=(
            "Give the generator cores of its own (another host, or more --shards); "
            "loadstone calibrate measures what it can do."
        ),
        trial=_more_shards(case),
        acts_on="generator",
    )


def _sureness(case: Case, waits_for_a_core: bool, away: float | None) -> float:
    """Where others have the cores that it waits for, they are as good an explanation."""
    if waits_for_a_core and is_full(case) and (cpu_of(case).others or 0.0) >= OTHERS:
        return DOUBTFUL
    return 0.9 if away is not None else 0.7


def _more_shards(case: Case) -> Trial:
    shards = int(case.generator("shards") or 1)
    return client("shards", str(2 * shards), str(shards), "so few event loops", refutes=False)


def held_share(case: Case) -> float | None:
    """How long answers lie before they are looked at, by the latency, both at p99."""
    held_us, p99_ms = case.generator("held_p99_us"), case.step.latency.response.p99
    if held_us is None or not p99_ms:
        return None
    return min(held_us / (1000 * p99_ms), 1.0) if held_us >= HELD_US else 0.0


def _late(case: Case) -> float | None:
    """How far its own lateness is beyond what is allowed: 1 and more is too late."""
    late_us, p99_ms = case.generator("dispatch_p99_us"), case.step.latency.response.p99
    if late_us is None or not p99_ms:
        return None
    return min(CLIENT_BOUND_SHARE * late_us / (CLIENT_LATE_SHARE * p99_ms * 1000), 1.0)


def _evidence(case: Case, cpu: float, delay: float, away: float | None) -> tuple[Evidence, ...]:
    found = [
        case.seen("generator.cpu_share", cpu, "", CLIENT_BOUND_SHARE),
        case.seen("generator.run_delay_share", delay, ""),
    ]
    if away is not None:
        found.append(case.seen("users outside the server", float(num(away)), "", AWAY))
    return tuple(found)


RULE = Rule("client-bound", say("the load generator itself"), judge)
