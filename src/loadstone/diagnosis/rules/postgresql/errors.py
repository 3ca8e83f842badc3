"""Events fail.

Source: https://www.postgresql.org/docs/current/errcodes-appendix.html
"""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.failed_events import failing
from loadstone.diagnosis.row_waits import lock_share
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql.row_locks import SHARE as LOCKED
from loadstone.model.finding import Finding
from loadstone.model.message import Message, say, say_in

_OF_LOCKS = ("40P01", "40001", "55P03")
"""A deadlock's victim, a transaction that could not be serialized, and the end of lock_timeout."""


def judge(case: Case) -> Finding | None:
    """Errors per event; those of locks only if nothing succeeds and no lock is seen."""
    locked = (lock_share(case) or 0.0) >= LOCKED
    errors = {
        code: count
        for code, count in case.step.errors.items()
        if code not in _OF_LOCKS or not (case.step.events or locked)
    }
    return failing(case, errors, _advice)


def _advice(code: str) -> Message | None:
    """What to do about an error, by its code."""
    match code:
        case "25006":
            return say(
                "The server is a standby, or its transactions are read-only "
                "(default_transaction_read_only): is it the primary?"
            )
        case "53100":
            return say("Check the free space of the server's data and of pg_wal.")
        case "53200":
            return say(
                "The server has no memory left: lower work_mem, or if the error says "
                "max_locks_per_transaction, raise that."
            )
        case "57014":
            return say("Raise statement_timeout, or set it to 0.")
        case "25P03":
            return say("Raise idle_in_transaction_session_timeout, or set it to 0.")
        case "42501":
            return say("Grant the load's user the rights that the error names.")
    return None


RULE = Rule("errors", say_in("cause", "errors"), judge, reads="client")
