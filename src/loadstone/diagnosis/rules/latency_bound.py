"""Nothing is used up: the users wait for answers one after the other, and there are too few."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import FULL, IDLE, busy_share, outside, own_share
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import more_users
from loadstone.diagnosis.unexplained import nameless_wait, stalled
from loadstone.model.finding import Finding
from loadstone.model.message import say
from loadstone.model.numbers import num, pct, users

FAR_MS = 0.4
"""[P] least time of a statement from which it comes from afar: one host or rack: 0.05 to 0.3."""

AWAY = 0.5
"""[P] share of the users' time outside the server."""

RISES = 1.1
"""[P] growth of the rate over the level before, from which more users still help."""

MET = 0.98
"""[P] part of the events due that were done; the rest are on their way at the window's end."""

NAMELESS = 0.5
"""[P] share of the users' time in a wait without a name, which then is the answer."""

TRAVELS = 0.4
"""[P] share of an event's time that is the statements' least times."""


def judge(case: Case) -> Finding | None:
    """Little's law: so many users with such a response time do no more, whatever the server can."""
    if case.step.rate is not None:
        return _met(case)
    if not case.tps:
        return None
    busy = case.needed(busy_share(case))
    mean_ms = case.needed(case.mean_ms)
    if busy >= FULL or not case.is_last:
        return None
    own = own_share(case)
    far = _far(case, mean_ms) if own is not None and own <= IDLE else None
    if far is not None:
        return far
    before = max((step.tps or 0.0 for step in case.ladder[:-1]), default=0.0)
    if case.tps < RISES * before or nameless_wait(case) >= NAMELESS or stalled(case):
        return None
    still = "the rate still rises with users" if before else "only one level was tried"
    return Finding(
        cause="few-users",
        group="note",
        sentence=(
            f"No resource is used up ({pct(busy)} of the cores) and {still}: {users(case.users)} "
            f"with {num(mean_ms)} ms an event can do no more than {num(case.tps)} a second."
        ),
        evidence=(
            case.seen("CPU busy", busy, "of the cores", FULL),
            case.seen("latency.service.mean", mean_ms, "ms"),
        ),
        share=None,
        confidence=0.7,
        remedy="Try more users: --concurrency auto finds the fewest that reach the peak.",
        trial=more_users(case, 4),
        acts_on="concurrency",
    )


def _met(case: Case) -> Finding | None:
    """In an open loop the rate is asked for; where all that was due was done there is no more."""
    step = case.step
    if not step.due or not case.is_last or step.events < MET * step.due or step.skipped:
        return None
    return Finding(
        cause="rate-met",
        group="note",
        sentence=(
            f"The rate that was asked for was met: {num(case.tps)} events a second, "
            f"{pct(step.events / step.due)} of those due; a higher one was not tried."
        ),
        evidence=(case.seen("due", float(step.due), "events", step.events / MET),),
        share=None,
        confidence=0.95,
        remedy="Try a higher --rate, or --slo for the highest that holds an objective.",
        acts_on="concurrency",
    )


def _far(case: Case, mean_ms: float) -> Finding | None:
    """Even the fastest answer takes long, and the server has nothing to do meanwhile."""
    least = [spread.min for spread in case.step.statements.values() if spread.min is not None]
    away = outside(case)
    if not least or away is None or not case.step.qps:
        return None
    trip_ms = min(least)
    statements = case.step.qps / case.tps
    share = min(statements * trip_ms / mean_ms, 1.0) if mean_ms else 0.0
    if trip_ms < FAR_MS or away < AWAY or share < TRAVELS:
        return None
    return Finding(
        cause="far-away",
        group="wait",
        sentence=(
            f"The server is far away: no statement takes less than {num(trip_ms)} ms, and an event "
            f"of {num(statements)} of them spends {pct(share)} of its {num(mean_ms)} ms on the "
            f"way, while users are in the server {pct(1 - away)} of their time."
        ),
        evidence=(
            case.seen("statements' least time", trip_ms, "ms", FAR_MS),
            case.seen("users outside the server", away, "of their time", AWAY),
        ),
        share=share,
        confidence=0.85,
        remedy="A generator nearer to the server, fewer statements an event, or more users.",
        trial=more_users(case, 4),
        acts_on="concurrency",
    )


RULE = Rule("latency-bound", say("the way between client and server"), judge)
