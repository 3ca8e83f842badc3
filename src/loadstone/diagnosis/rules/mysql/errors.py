"""Events fail."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.row_waits import lock_share
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.mysql.row_locks import SHARE as LOCKED
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import Message, plain, say, say_in

SHARE = 0.01
"""[P] Share of the attempts that fail; DIAGNOSIS 10 takes the same for retries."""

_OF_LOCKS = ("1213", "1205", "1020")


def judge(case: Case) -> Finding | None:
    """Error packets per event; those of locks only if nothing succeeds and no lock is seen."""
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
        remedy=_advice(code, total),
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


def _advice(code: str, total: float) -> Message:
    """What to do about an error, by its code (both manuals)."""
    match code:
        case "1290" | "1836" | "1792":
            return say("The server or the session is read-only (read_only): is it the primary?")
        case "1461":
            return say("Raise max_prepared_stmt_count above tables × statements × users.")
        case "1021" | "1114":
            return say("Check the free space in the server's data and temporary directories.")
        case "1969" | "3024":
            return say("Raise max_execution_time (MariaDB: max_statement_time), or set it to 0.")
        case "1226":
            return say("Raise the account's limits (MAX_QUERIES_PER_HOUR and the like).")
    return say(
        "Fix error {code} first: a rate with {total} errors does not describe the server.",
        code=code,
        total=Number(total),
    )


def _attempts(case: Case) -> float:
    """All attempts in the window."""
    return float(case.step.events + sum(case.step.errors.values()))


RULE = Rule("errors", say_in("cause", "errors"), judge, reads="client")
