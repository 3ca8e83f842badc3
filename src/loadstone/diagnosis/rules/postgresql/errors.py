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

_HAVE_CAUSES = ("40P01", "40001")
"""A deadlock's victim, and a transaction that could not be serialized."""

_NOT_GIVEN = "55P03"
"""A lock that was not to be had at once (NOWAIT), or within lock_timeout."""


def judge(case: Case) -> Finding | None:
    """Errors per event; of those that waits for locks explain, what no lock is seen for."""
    locked = (lock_share(case) or 0.0) >= LOCKED

    def counts(code: str) -> bool:
        if code == _NOT_GIVEN:
            return not locked
        return code not in _HAVE_CAUSES or not (case.step.events or locked)

    errors = {code: count for code, count in case.step.errors.items() if counts(code)}
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
            return say(
                "Check the free space of the server's data and of pg_wal; in a container also that "
                "of its shared memory (/dev/shm), if the error names it."
            )
        case "53200":
            return say(
                "The server has no memory left: lower work_mem, or if the error says "
                "max_locks_per_transaction, raise that."
            )
        case "55P03":
            return say(
                "Find who holds the lock (pg_blocking_pids), and raise lock_timeout or retry; "
                "with NOWAIT a lock that is held is an error at once."
            )
        case "57014":
            return say("Raise statement_timeout, or set it to 0.")
        case "25P03":
            return say("Raise idle_in_transaction_session_timeout, or set it to 0.")
        case "42501":
            return say("Grant the load's user the rights that the error names.")
    return None


RULE = Rule("errors", say_in("cause", "errors"), judge, reads="client")
