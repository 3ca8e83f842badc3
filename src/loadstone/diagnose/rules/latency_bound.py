"""Nothing is used up: the users wait for answers one after the other, and there are too few."""

from __future__ import annotations

from loadstone.diagnose.case import Case
from loadstone.diagnose.cpu import IDLE, busy_share, outside
from loadstone.diagnose.rule import Rule
from loadstone.diagnose.words import num, pct, users
from loadstone.model.finding import Finding, Trial

FAR_MS = 0.4
"""[P] least time of a statement from which it comes from afar: one host or rack: 0.05 to 0.3."""

AWAY = 0.5
"""[P] share of the users' time outside the server."""

RISES = 1.1
"""[P] growth of the rate over the level before, from which more users still help."""

TRAVELS = 0.4
"""[P] share of an event's time that is the statements' least times."""


def judge(case: Case) -> Finding | None:
    """Little's law: so many users with such a response time do no more, whatever the server can."""
    busy = case.needed(busy_share(case))
    mean_ms = case.needed(case.mean_ms)
    if busy > IDLE or not case.is_last or case.step.rate is not None or not case.tps:
        return None
    far = _far(case, mean_ms)
    if far is not None:
        return far
    before = max((step.tps or 0.0 for step in case.ladder[:-1]), default=0.0)
    if case.tps < RISES * before:
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
            case.seen("CPU busy", busy, "of the cores", IDLE),
            case.seen("latency.service.mean", mean_ms, "ms"),
        ),
        share=None,
        confidence=0.7,
        remedy="Try more users: --concurrency auto finds the fewest that reach the peak.",
        trial=Trial(kind="users", name="concurrency", value=str(4 * case.users)),
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
        trial=Trial(kind="users", name="concurrency", value=str(4 * case.users)),
        acts_on="concurrency",
    )


RULE = Rule("latency-bound", judge)
