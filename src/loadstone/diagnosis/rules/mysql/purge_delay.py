"""InnoDB holds changes back until purge has caught up."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import dynamic
from loadstone.model.finding import Finding
from loadstone.model.message import say
from loadstone.model.numbers import num, pct

SHARE = 0.1
"""[P] of the users' time."""

FROM = 0.5
"""[S] MySQL's manual, "Purge configuration": a row is delayed by (history / lag - 0.5) × 10 ms."""

EACH_S = 0.010
"""[S] likewise."""


def judge(case: Case) -> Finding | None:
    """Rows changed by second, times the delay of each, are the users that are held back."""
    lag = case.needed(case.number("innodb_max_purge_lag"))
    history = case.needed(case.mean("history_length"))
    if not lag or history <= lag:
        return None
    most_us = case.number("innodb_max_purge_lag_delay")
    delay_s = (history / lag - FROM) * EACH_S
    if most_us:
        delay_s = min(delay_s, most_us / 1e6)
    rows = sum(case.rate(f"rows_{what}") or 0.0 for what in ("inserted", "updated", "deleted"))
    share = min(rows * delay_s / case.users, 1.0)
    if share < SHARE:
        return None
    return Finding(
        cause="purge-delay",
        group="wait",
        sentence=(
            f"Changes are held back on purpose: innodb_max_purge_lag={num(lag)}, and the history "
            f"has {num(history)} entries, so that each changed row waits {num(1000 * delay_s)} ms, "
            f"{pct(share)} of the users' time."
        ),
        evidence=(
            case.seen("history_length", history, "entries", lag),
            case.seen("rows changed", rows, "/s"),
        ),
        share=share,
        confidence=0.85,
        remedy="Set innodb_max_purge_lag to 0; look for what holds purge back.",
        trial=dynamic(case, {"innodb_max_purge_lag": "0"}, "holding changes back for purge"),
    )


RULE = Rule("purge-delay", say("changes are held back for purge"), judge)
