"""Nothing is used up: users wait for one answer after the other, and there are too few users."""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import FULL, IDLE, busy_share, outside, own_share
from loadstone.diagnosis.holds import rest_of
from loadstone.diagnosis.locked_rows import due_to
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.line_full import packets_queue
from loadstone.diagnosis.trials import more_users
from loadstone.diagnosis.unexplained import nameless_wait, stalled, waits_most
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import Message, plain, say, say_in, sentences, user_count
from loadstone.model.result import FLIGHT

FAR_MS = 0.4
"""[P] Shortest time of a statement from which the server is far away; within one host or rack it is
0.05 to 0.3 ms.
"""

AWAY = 0.5
"""[P] Share of the users' time outside the server."""

RISES = 1.1
"""[P] Growth of the rate over the previous level, from which more users still help."""

MET = 0.98
"""[P] Share of the due events that were done; the rest are in flight at the window's end."""

NAMELESS = 0.5
"""[P] Share of the users' time from which a wait without a name is the answer."""

UNSEEN = 0.7
"""[P] How sure that is where the server's host is not observed."""

NEAR = 5.0
"""[P] The statements' shortest time by the least round trip of the kernel's packets, from which the
way to whatever answers these is not what takes it."""

TRAVELS = 0.4
"""[P] Share of an event's time that is the shortest time of its statements."""


def judge(case: Case) -> Finding | None:
    """Little's law: users and their response time limit the rate, whatever the server can do."""
    if case.step.rate is not None:
        return _met(case)
    if not case.tps:
        return None
    mean_ms = case.needed(case.mean_ms)
    busy, own = busy_share(case), own_share(case)
    if not case.is_last:
        return None
    # Users that are mostly elsewhere do not wait for the server's cores, seen or not.
    far = _far(case, mean_ms) if (own or 0.0) <= IDLE and (busy or 0.0) < FULL else None
    if far is not None:
        return far if busy is not None else far.model_copy(update={"confidence": UNSEEN})
    busy = case.needed(busy_share(case))
    if busy >= FULL:
        return None
    before = max((step.tps or 0.0 for step in case.ladder[:-1]), default=0.0)
    if case.tps < RISES * before or nameless_wait(case) >= NAMELESS:
        return None
    if (not before and waits_most(case)) or stalled(case):
        return None
    if busy <= IDLE and (case.time_at("waiting for a core") or 0.0) >= AWAY:
        return None  # cores are idle that it is kept from
    return Finding(
        cause="few-users",
        group="note",
        sentence=_few(case, busy, mean_ms, still_rises=bool(before)),
        evidence=(
            case.seen(say("CPU busy"), busy, say("of the cores"), FULL),
            case.seen(plain("latency.service.mean"), mean_ms, say_in("unit", "ms")),
        ),
        share=None,
        confidence=0.7,
        remedy=say("Try more users: --concurrency auto finds the fewest that reach the peak."),
        trial=more_users(case, 4),
        acts_on="concurrency",
    )


def _few(case: Case, busy: float, mean_ms: float, *, still_rises: bool) -> Message:
    values = {
        "busy": Percent(busy),
        "users": user_count(case.users),
        "mean": Number(mean_ms),
        "rate": Number(case.tps),
    }
    if still_rises:
        return say(
            "No resource is used up ({busy} of the cores), and the rate still rises with users: "
            "{users} at {mean} ms an event made {rate} events a second; more users make more.",
            **values,
        )
    return say(
        "No resource is used up ({busy} of the cores), and only one level was tried: {users} at "
        "{mean} ms an event made {rate} events a second; more users may make more.",
        **values,
    )


def _met(case: Case) -> Finding | None:
    """In an open loop the rate is given: if all due events were done, nothing limits it."""
    step = case.step
    if not step.due or not case.is_last or step.events < MET * step.due or step.skipped:
        return None
    return Finding(
        cause="rate-met",
        group="note",
        sentence=say(
            "The requested rate was met: {rate} events a second, {share} of those due; no higher "
            "rate was tried.",
            rate=Number(case.tps),
            share=Percent(step.events / step.due),
        ),
        evidence=(
            case.seen(plain("due"), float(step.due), say_in("unit", "events"), step.events / MET),
        ),
        share=None,
        confidence=0.95,
        remedy=say(
            "Try a higher --rate, or --slo to find the highest rate that meets an objective."
        ),
        acts_on="concurrency",
    )


def _far(case: Case, mean_ms: float) -> Finding | None:
    """Even the fastest answer takes long, and the server is idle in the meantime."""
    least = [spread.min for spread in case.step.statements.values() if spread.min is not None]
    away = outside(case)
    if not least or away is None or not case.step.qps:
        return None
    trip_ms = min(least)
    statements = case.step.qps / case.tps
    share = min(_trips(case, statements) * trip_ms / mean_ms, 1.0) if mean_ms else 0.0
    # A row stays locked while its holder's statements travel: who waits for it waits for that.
    waits = due_to(case, "way")
    if packets_queue(case) is not None:
        return None  # it is near, and the line is full
    if trip_ms < FAR_MS or away + waits < AWAY or share + waits < TRAVELS:
        return None
    return Finding(
        cause="far-away",
        group="wait",
        sentence=sentences(
            say(
                "The server is far away: no statement takes less than {least} ms, and an event of "
                "{statements} statements spends {share} of its {mean} ms in the network, while "
                "users are in the server {inside} of their time.",
                least=Number(trip_ms),
                statements=Number(statements),
                share=Percent(share),
                mean=Number(mean_ms),
                inside=Percent(1 - away),
            ),
            *_held_back(case, trip_ms),
        ),
        evidence=(
            case.seen(say("statements' shortest time"), trip_ms, say_in("unit", "ms"), FAR_MS),
            case.seen(say("users outside the server"), away, say("of their time"), AWAY),
        ),
        share=share,
        confidence=0.85,
        remedy=say("A generator nearer to the server, fewer statements an event, or more users."),
        trial=more_users(case, 4),
        acts_on="concurrency",
    )


def _held_back(case: Case, trip_ms: float) -> Iterator[Message]:
    """A sentence, if what answers the packets is near: a relay, or one that waits for more."""
    account = case.step.account
    least_ms = 1000 * account.trips.least if account and account.trips else None
    if least_ms is not None and trip_ms >= NEAR * least_ms:
        yield say(
            "The quickest packet is acknowledged within {least} ms: what is that near, or what "
            "leads from there, holds statements back.",
            least=Number(least_ms),
        )


def _trips(case: Case, statements: float) -> float:
    """Round trips of an event of so many statements: fewer where several are sent at once."""
    flights = case.step.statements.get(FLIGHT)
    return flights.count / case.step.events if flights and case.step.events else statements


RULE = Rule(
    "latency-bound",
    say("the network between client and server"),
    judge,
    also={
        "few-users": say("too few users: nothing is used up"),
        "rate-met": say("nothing: it keeps up with the requested rate"),
        "far-away": say("client and server are far apart"),
    },
    holds={"far-away": rest_of("way")},
)
