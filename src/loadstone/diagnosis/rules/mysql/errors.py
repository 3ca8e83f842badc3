"""Events fail."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.failed_events import failing
from loadstone.diagnosis.row_waits import lock_share
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.mysql.row_locks import SHARE as LOCKED
from loadstone.model.finding import Finding
from loadstone.model.message import Message, say, say_in

_OF_LOCKS = ("1213", "1205", "1020")


def judge(case: Case) -> Finding | None:
    """Error packets per event; those of locks only if nothing succeeds and no lock is seen."""
    locked = (lock_share(case) or 0.0) >= LOCKED
    errors = {
        code: count
        for code, count in case.step.errors.items()
        if code not in _OF_LOCKS or not (case.step.events or locked)
    }
    return failing(case, errors, _advice)


def _advice(code: str) -> Message | None:
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
    return None


RULE = Rule("errors", say_in("cause", "errors"), judge, reads="client")
