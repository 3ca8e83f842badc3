"""The generator itself is the limit."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import busy_share, cpu_of, is_full, outside
from loadstone.diagnosis.order import DOUBTFUL
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.neighbour import OTHERS
from loadstone.diagnosis.trials import client
from loadstone.model.figure import Percent
from loadstone.model.finding import Evidence, Finding, Trial
from loadstone.model.message import Message, plain, say
from loadstone.model.numbers import num
from loadstone.model.result import CLIENT_BOUND_SHARE, CLIENT_LATE_SHARE

HOST_FREE = 0.85
"""[P] Use of the shared cores above which the host is full, and not the generator alone."""

ALL_AWAY = 0.9
"""[P] Share of the users' time outside the server from which the server does not fill the host."""

HELD = 0.3
"""[P] How long an answer waits to be read (p99), divided by the latency's p99: a loop stopped by a
group's limit neither works nor waits for a core, but leaves answers unread.
"""

HELD_US = 1000.0
"""[P] The shortest such wait that counts: a sleeping loop takes tens of microseconds to wake, which
is much of a fast answer's time and no sign of a limit. Groups stop for milliseconds.
"""

LOADED = 0.5
"""[P] Share of their time that loops work or wait for a core, from which they are late for that
reason: on loops that mostly rest, events start late because of the timer.
"""

AWAY = 0.5
"""[P] DIAGNOSIS 12: the server has work for less than half of the users."""


def judge(case: Case) -> Finding | None:
    """The generator's loops never rest, run late, or leave replies unread, and the server is idle.

    A loop that waits for a core used by others is as saturated as one that works. Whether the limit
    is the generator's or the full host's depends on whether cores are free.
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
        return None  # the server fills the host, too: the host's own rules report that
    if away is not None and away < AWAY and (ceiling or 0.0) < CLIENT_BOUND_SHARE:
        return None  # the server has work for most users
    if max(cpu, ceiling or 0.0, late or 0.0) < CLIENT_BOUND_SHARE and not starved:
        return None
    share = min(max(cpu + delay, ceiling or 0.0, late or 0.0, held), 1.0)
    return Finding(
        cause="client-bound",
        group="validity",
        sentence=_sentence((cpu, delay, held), away),
        evidence=_evidence(case, cpu, delay, away),
        share=share,
        confidence=_sureness(case, delay > cpu and held < HELD, away),
        remedy=say(
            "Give the generator cores of its own (another host, or more --shards); "
            "loadstone calibrate measures what it can do."
        ),
        trial=_more_shards(case),
        acts_on="generator",
    )


def _sentence(loops: tuple[float, float, float], away: float | None) -> Message:
    cpu, delay, held = (Percent(share) for share in loops)
    if not away:
        return say(
            "The load generator is the limit, not the server: its event loops work {cpu} of the "
            "time and wait for a core {delay} of it, and answers wait up to {held} of the latency "
            "to be read.",
            cpu=cpu,
            delay=delay,
            held=held,
        )
    return say(
        "The load generator is the limit, not the server: its event loops work {cpu} of the time "
        "and wait for a core {delay} of it, and answers wait up to {held} of the latency to be "
        "read, while users spend {away} of their time outside the server.",
        cpu=cpu,
        delay=delay,
        held=held,
        away=Percent(away),
    )


def _sureness(case: Case, waits_for_a_core: bool, away: float | None) -> float:
    """If others use the cores that it waits for, they are an explanation as well."""
    if waits_for_a_core and is_full(case) and (cpu_of(case).others or 0.0) >= OTHERS:
        return DOUBTFUL
    return 0.9 if away is not None else 0.7


def _more_shards(case: Case) -> Trial:
    shards = int(case.generator("shards") or 1)
    subject = say("so few event loops")
    return client("shards", str(2 * shards), str(shards), subject, refutes=False)


def held_share(case: Case) -> float | None:
    """How long answers wait to be read, divided by the latency, both at p99."""
    held_us, p99_ms = case.generator("held_p99_us"), case.step.latency.response.p99
    if held_us is None or not p99_ms:
        return None
    return min(held_us / (1000 * p99_ms), 1.0) if held_us >= HELD_US else 0.0


def _late(case: Case) -> float | None:
    """Its lateness divided by the allowed one: too late from 1 on."""
    late_us, p99_ms = case.generator("dispatch_p99_us"), case.step.latency.response.p99
    if late_us is None or not p99_ms:
        return None
    return min(CLIENT_BOUND_SHARE * late_us / (CLIENT_LATE_SHARE * p99_ms * 1000), 1.0)


def _evidence(case: Case, cpu: float, delay: float, away: float | None) -> tuple[Evidence, ...]:
    found = [
        case.seen(plain("generator.cpu_share"), cpu, plain(""), CLIENT_BOUND_SHARE),
        case.seen(plain("generator.run_delay_share"), delay, plain("")),
    ]
    if away is not None:
        outside_server = say("users outside the server")
        found.append(case.seen(outside_server, float(num(away)), plain(""), AWAY))
    return tuple(found)


RULE = Rule("client-bound", say("the load generator itself"), judge)
