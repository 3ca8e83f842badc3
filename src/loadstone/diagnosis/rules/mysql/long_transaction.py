"""An old transaction keeps all versions of changed rows, or purge does not keep up."""

from __future__ import annotations

from loadstone.diagnosis.context import Case, Series
from loadstone.diagnosis.rule import Rule
from loadstone.model.finding import Finding
from loadstone.model.message import say
from loadstone.model.numbers import num, pct

OLD_S = 5.0
"""[P] and far longer than any event of the load."""

TIMES_P99 = 20.0
"""[P] the oldest transaction by the load's own p99."""

GROWS = 0.5
"""[P] history entries that stay, by commit."""

FEWEST = 4
"""Seconds from which begin and end of a window are more than chance."""

LONG = 100_000.0
"""[P] entries from which reads and purge feel the history."""


def judge(case: Case) -> Finding | None:
    """The history grows with each commit."""
    history = case.needed(case.mean("history_length"))
    commits = case.needed(case.commits())
    oldest = case.highest("oldest_transaction_s")
    rate = _slope(case.series("server", "history_length.now"))
    p99_s = (case.step.latency.response.p99 or 0.0) / 1000
    old = oldest is not None and oldest >= max(OLD_S, TIMES_P99 * p99_s)
    grows = rate is not None and commits > 0 and rate >= GROWS * commits
    if not grows and history < LONG:
        return None
    if not old and history < LONG:
        return None
    fall = _fall(case.series("load", "tps")) if grows else 0.0
    who = f"a transaction is open for {num(oldest or 0.0)} s" if old else "purge does not keep up"
    return Finding(
        cause="long-transaction" if old else "purge-lag",
        group="wait" if grows or history >= LONG else "note",
        sentence=(
            f"Old row versions pile up: {who}; the history has {num(history)} entries"
            + (f" and grows by {num(rate)} a second" if grows and rate is not None else "")
            + ", through which each read of a changed row goes"
            + (f"; the rate fell by {pct(fall)} meanwhile." if fall else ".")
        ),
        evidence=(
            case.seen("history_length", history, "entries", LONG),
            case.seen("oldest_transaction_s", oldest or 0.0, "s", OLD_S),
        ),
        share=max(min(history / (10 * LONG), 0.5), fall),
        confidence=0.8 if old else 0.6,
        remedy=(
            "End that transaction (information_schema.INNODB_TRX names it)."
            if old
            else "Raise innodb_purge_threads; look for what holds purge back."
        ),
        acts_on="server CPU",
    )


def _fall(series: Series | None) -> float:
    """How far the rate of the last third of the window is below that of the first."""
    if series is None or len(series) < FEWEST:
        return 0.0
    third = max(len(series) // 3, 1)
    first, last = (sum(value for _, value in part) for part in (series[:third], series[-third:]))
    return max(1 - last / first, 0.0) if first > 0 else 0.0


def _slope(series: Series | None) -> float | None:
    """Growth by second between first and last."""
    if series is None or len(series) < 3:
        return None
    (begin, first), (end, last) = series[0], series[-1]
    return (last - first) / (end - begin) if end > begin else None


RULE = Rule(
    "long-transaction",
    say("a long transaction"),
    judge,
    also={"purge-lag": say("purge that does not keep up")},
)
