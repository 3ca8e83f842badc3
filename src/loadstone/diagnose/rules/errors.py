"""Events fail."""

from __future__ import annotations

from loadstone.diagnose.case import Case
from loadstone.diagnose.rule import Rule
from loadstone.diagnose.rules.row_locks import SHARE as LOCKED
from loadstone.diagnose.rules.row_locks import lock_share
from loadstone.diagnose.words import num, pct
from loadstone.model.finding import Finding

SHARE = 0.01
"""[P] of the events: DIAGNOSIS 10 takes the same for retries."""

_OF_LOCKS = ("1213", "1205", "1020")
_REMEDIES = {
    "1290": "The server is read-only (read_only, super_read_only): is it the primary?",
    "1836": "The server is read-only: is it the primary?",
    "1792": "The session's transactions are read-only: is it the primary?",
    "1461": "Raise max_prepared_stmt_count above tables × statements × users.",
    "1114": "A table or the disk is full: look at the free space of data and temporary folder.",
    "1021": "The disk is full.",
    "3024": "max_execution_time ends the statements: raise it, or make them faster.",
    "1969": "max_statement_time ends the statements: raise it, or make them faster.",
    "1226": "The account has used up what it may do an hour (MAX_QUERIES_PER_HOUR and the like).",
}
"""By number (both manuals), what to do about it."""


def judge(case: Case) -> Finding | None:
    """Error packets by event; those of locks only where nothing succeeds and no lock is seen."""
    locked = (lock_share(case) or 0.0) >= LOCKED
    errors = {
        errno: count
        for errno, count in case.step.errors.items()
        if errno not in _OF_LOCKS or not (case.step.events or locked)
    }
    total = sum(errors.values())
    if not total or total < SHARE * (case.step.events + total):
        return None
    part = total / (case.step.events + total)
    errno = max(errors, key=lambda one: errors[one])
    example = case.step.error_examples.get(errno)
    said = f": {example.message}" if example else ""
    return Finding(
        cause="errors",
        group="validity",
        sentence=f"{pct(part)} of the attempts fail, mostly with error {errno}{said}",
        evidence=(
            case.seen("errors", total, "", SHARE * _attempts(case)),
            case.seen(f"error {errno}", errors[errno], ""),
        ),
        share=part,
        confidence=0.95,
        remedy=_REMEDIES.get(errno)
        or f"Look at error {errno} first: a rate with {num(total)} errors is not the server's.",
    )


def _attempts(case: Case) -> float:
    """Attempts of the window."""
    return float(case.step.events + sum(case.step.errors.values()))


RULE = Rule("errors", judge)
