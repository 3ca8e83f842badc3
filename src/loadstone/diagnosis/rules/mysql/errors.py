"""Events fail."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.mysql.row_locks import SHARE as LOCKED
from loadstone.diagnosis.rules.mysql.row_locks import lock_share
from loadstone.model.finding import Finding
from loadstone.model.message import say_in
from loadstone.model.numbers import num, pct

SHARE = 0.01
"""[P] of the events: DIAGNOSIS 10 takes the same for retries."""

_OF_LOCKS = ("1213", "1205", "1020")


def judge(case: Case) -> Finding | None:
    """Error packets by event; those of locks only where nothing succeeds and no lock is seen."""
    locked = (lock_share(case) or 0.0) >= LOCKED
    errors = {
        code: count
        for code, count in case.step.errors.items()
        if code not in _OF_LOCKS or not (case.step.events or locked)
    }
    total = sum(errors.values())
    if not total or total < SHARE * (case.step.events + total):
        return None
    part = total / (case.step.events + total)
    code = max(errors, key=lambda one: errors[one])
    example = case.step.error_examples.get(code)
    said = f": {example.message}" if example else ""
    return Finding(
        cause="errors",
        group="validity",
        sentence=f"{pct(part)} of the attempts fail, mostly with error {code}{said}",
        evidence=(
            case.seen("errors", total, "", SHARE * _attempts(case)),
            case.seen(f"error {code}", errors[code], ""),
        ),
        share=part,
        confidence=0.95,
        remedy=_advice(code, total),
    )


def _advice(code: str, total: float) -> str:
    """What to do about it, by its number (both manuals)."""
    match code:
        case "1290" | "1836" | "1792":
            return "The server or the session is read-only (read_only): is it the primary?"
        case "1461":
            return "Raise max_prepared_stmt_count above tables × statements × users."
        case "1021" | "1114":
            return "Look at the free space of the server's data and temporary folders."
        case "1969" | "3024":
            return "Raise max_execution_time (MariaDB: max_statement_time), or set it to 0."
        case "1226":
            return "Raise the account's limits (MAX_QUERIES_PER_HOUR and the like)."
    return f"Look at error {code} first: a rate with {num(total)} errors is not the server's."


def _attempts(case: Case) -> float:
    """Attempts of the window."""
    return float(case.step.events + sum(case.step.errors.values()))


RULE = Rule("errors", say_in("cause", "errors"), judge)
