"""Events fail."""

from __future__ import annotations

from loadstone.diagnose.case import Case
from loadstone.diagnose.rule import Rule
from loadstone.diagnose.words import num, pct
from loadstone.model.finding import Finding

SHARE = 0.01
"""[P] of the events: DIAGNOSIS 10 takes the same for retries."""

_OF_LOCKS = ("1213", "1205", "1020")


def judge(case: Case) -> Finding | None:
    """Error packets by event; those of locks are told elsewhere as long as events succeed."""
    errors = {
        errno: count
        for errno, count in case.step.errors.items()
        if errno not in _OF_LOCKS or not case.step.events
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
        remedy=f"Look at error {errno} first: a rate with {num(total)} errors is not the server's.",
    )


def _attempts(case: Case) -> float:
    """Attempts of the window."""
    return float(case.step.events + sum(case.step.errors.values()))


RULE = Rule("errors", judge)
