"""The generator itself is the limit."""

from __future__ import annotations

from dataclasses import dataclass

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import busy_share, cpu_of, is_full, outside
from loadstone.diagnosis.holds import CLIENT, rest_of
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.neighbour import OTHERS
from loadstone.diagnosis.trials import client
from loadstone.model.figure import Percent
from loadstone.model.finding import Evidence, Finding, Trial
from loadstone.model.message import Joined, Message, plain, say
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

NAMED = 0.005
"""The smallest share that is not written as 0 %."""

LOADED = 0.5
"""[P] Share of their time that loops work or wait for a core, from which they are late for that
reason: on loops that mostly rest, events start late because of the timer.
"""

AWAY = 0.5
"""[P] DIAGNOSIS 12: the server has work for less than half of the users."""


@dataclass(frozen=True)
class Reached:
    """What besides the loops' own CPU may show that the generator is the limit."""

    ceiling: float | None
    """The rate as a share of the calibrated maximum."""
    late: float | None
    """Lateness, where `CLIENT_BOUND_SHARE` is the allowed one."""
    held: float
    starved: bool
    """Whether loops rarely rest because they wait for a core, or leave answers unread."""


DOUBTFUL = 0.5
"""Confidence in a generator that waits for cores used by others, whose findings come before it."""


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
    if away is None and (case.time_at("admission") or 0.0) > 1 - AWAY:
        return None  # they wait in the queue of its thread pool
    if max(cpu, ceiling or 0.0, late or 0.0) < CLIENT_BOUND_SHARE and not starved:
        return None
    share = min(max(cpu + delay, ceiling or 0.0, late or 0.0, held), 1.0)
    return Finding(
        cause="client-bound",
        group="validity",
        sentence=_sentence((cpu, delay, held), away),
        evidence=_evidence(case, cpu, delay, away, Reached(ceiling, late, held, starved=starved)),
        share=share,
        confidence=_sureness(case, delay > cpu and held < HELD, away),
        remedy=_remedy(case),
        trial=_more_shards(case),
        acts_on="generator",
    )


def _remedy(case: Case) -> Message:
    if is_full(case):
        return say(
            "Drive the load from another host: no core is left on this one. loadstone calibrate "
            "measures what the generator can do."
        )
    return say(
        "Give the generator cores of its own (another host, or more --shards); "
        "loadstone calibrate measures what it can do."
    )


def _sentence(loops: tuple[float, float, float], away: float | None) -> Message:
    cpu, delay, held = loops
    said: list[Message] = [
        say(
            "its event loops work {cpu} of the time and wait for a core {delay} of it",
            cpu=Percent(cpu),
            delay=Percent(delay),
        )
    ]
    if held >= NAMED:
        said.append(say("answers wait up to {held} of the latency to be read", held=Percent(held)))
    if away:
        said.append(say("users spend {away} of their time outside the server", away=Percent(away)))
    return say("The load generator is the limit, not the server: {why}.", why=Joined(said))


def _sureness(case: Case, waits_for_a_core: bool, away: float | None) -> float:
    """If others use the cores that it waits for, they are an explanation as well."""
    if waits_for_a_core and is_full(case) and (cpu_of(case).others or 0.0) >= OTHERS:
        return DOUBTFUL
    return 0.9 if away is not None else 0.7


def _more_shards(case: Case) -> Trial | None:
    """More loops, where a core is left for them."""
    if is_full(case):
        return None
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


def _evidence(
    case: Case, cpu: float, delay: float, away: float | None, reached: Reached
) -> tuple[Evidence, ...]:
    """The figures that reached their thresholds come with them, and the loops' time always."""
    works = CLIENT_BOUND_SHARE if cpu >= CLIENT_BOUND_SHARE else None
    found = [
        case.seen(plain("generator.cpu_share"), cpu, plain(""), works),
        case.seen(plain("generator.run_delay_share"), delay, plain("")),
    ]
    if reached.ceiling is not None and reached.ceiling >= CLIENT_BOUND_SHARE:
        ceiling = plain("generator.ceiling_share")
        found.append(case.seen(ceiling, reached.ceiling, plain(""), CLIENT_BOUND_SHARE))
    if reached.starved and cpu + delay >= CLIENT_BOUND_SHARE:
        both = say("event loops working or waiting for a core")
        found.append(case.seen(both, cpu + delay, say("of the time"), CLIENT_BOUND_SHARE))
    if reached.held >= HELD:
        unread = say("answers waiting to be read (p99)")
        found.append(case.seen(unread, reached.held, say("of the latency"), HELD))
    if reached.late is not None and reached.late >= CLIENT_BOUND_SHARE:
        late = say("events started late by the generator (p99)")
        share = (case.generator("dispatch_p99_us") or 0.0) / 1000
        share /= case.step.latency.response.p99 or share
        found.append(case.seen(late, share, say("of the latency"), CLIENT_LATE_SHARE))
    if away is not None:
        outside_server = say("users outside the server")
        least = AWAY if away >= AWAY else None
        found.append(case.seen(outside_server, float(num(away)), plain(""), least))
    return tuple(found)


RULE = Rule("client-bound", say("the load generator itself"), judge, holds=rest_of(*CLIENT))
