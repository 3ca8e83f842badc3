"""Events that fail, for any family of servers: how many, and mostly with which error."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from loadstone.diagnosis.context import Case
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import Message, plain, say

SHARE = 0.01
"""[P] Share of the attempts that fail; DIAGNOSIS 10 takes the same for retries."""


def failing(
    case: Case, errors: Mapping[str, int], advice: Callable[[str], Message | None]
) -> Finding | None:
    """A finding about these errors, by code, if they are more than a few of the attempts.

    `advice`: what to do about a code; `None`: nothing is known.
    """
    total = sum(errors.values())
    if not total or total < SHARE * (case.step.events + total):
        return None
    part = total / (case.step.events + total)
    code = max(errors, key=lambda one: errors[one])
    return Finding(
        cause="errors",
        group="validity",
        sentence=_failing(case, code, part),
        evidence=(
            case.seen(say("errors"), total, plain(""), SHARE * _attempts(case)),
            case.seen(say("error {number}", number=code), errors[code], plain("")),
        ),
        share=part,
        confidence=0.95,
        remedy=advice(code)
        or say(
            "Fix error {code} first: a rate with {total} errors does not describe the server.",
            code=code,
            total=Number(total),
        ),
    )


def _failing(case: Case, code: str, part: float) -> Message:
    if example := case.step.error_examples.get(code):
        return say(
            "{part} of the attempts fail, mostly with error {code}: {message}",
            part=Percent(part),
            code=code,
            message=example.message,
        )
    return say(
        "{part} of the attempts fail, mostly with error {code}.", part=Percent(part), code=code
    )


def _attempts(case: Case) -> float:
    """All attempts in the window."""
    return float(case.step.events + sum(case.step.errors.values()))
