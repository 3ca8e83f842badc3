"""Transactions that could not be serialized are rolled back, and what they did is lost.

A standby ends queries with the same code, if they keep what its recovery has to remove.

Sources: https://www.postgresql.org/docs/current/transaction-iso.html and
https://www.postgresql.org/docs/current/hot-standby.html#HOT-STANDBY-CONFLICT
"""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import SERVER, Holds, part_of, parts_of
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import client, dynamic
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding, Trial
from loadstone.model.message import plain, say, say_in

CODE = "40001"
"""serialization_failure: under REPEATABLE READ somebody has changed the row since the snapshot,
under SERIALIZABLE somebody may have read what the transaction changes."""

PART = 0.01
"""[P] Part of the attempts from which it is said."""

LOST = 0.05
"""[P] Part of the attempts from which it is no note."""

MOSTLY = 0.5
"""Part of them that recovery has ended, from which they are its conflicts."""

_CONFLICTS = "pg_stat_database.target.conflicts"

_SUBJECT = say("transactions that cannot be serialized")


def judge(case: Case) -> Finding | None:
    """Of the attempts at an event those that the server refuses to serialize."""
    part = _part(case)
    if part < PART:
        return None
    account = case.step.account
    share = part * account.share_of(*SERVER) if account else part
    conflicts = case.rate(_CONFLICTS) or 0.0
    if case.step.seconds and conflicts * case.step.seconds >= MOSTLY * case.step.errors[CODE]:
        return _of_recovery(case, part, share, conflicts)
    level = case.variable("default_transaction_isolation")
    per_s = case.step.errors[CODE] / case.step.seconds if case.step.seconds else 0.0
    return Finding(
        cause="serialization-failures",
        group="wait" if part >= LOST else "note",
        sentence=say(
            "{part} of the attempts at an event, {failed} a second, are rolled back because they "
            "cannot be serialized ({code}), and are begun again: their part of the users' time in "
            "the server is lost.",
            part=Percent(part),
            failed=Number(per_s),
            code=CODE,
        ),
        evidence=(
            case.seen(plain(CODE), per_s, say_in("unit", "/s")),
            case.seen(say("attempts rolled back"), part, plain(""), PART),
        ),
        share=share,
        confidence=0.85,
        remedy=say(
            "Use READ COMMITTED where it is enough (default_transaction_isolation={level}, or what "
            "the sessions set), lock rows before they are read (SELECT ... FOR UPDATE), and keep "
            "transactions short. Fewer users meet less often.",
            level=level or "-",
        ),
        trial=_less_strict(case),
    )


def _of_recovery(case: Case, part: float, share: float, conflicts: float) -> Finding:
    """Queries of a standby that were in the way of its recovery."""
    return Finding(
        cause="recovery-conflicts",
        group="wait" if part >= LOST else "note",
        sentence=say(
            "{part} of the attempts at an event are cancelled by the standby's recovery ({code}): "
            "they keep rows or locks that it has to remove, {conflicts} a second.",
            part=Percent(part),
            code=CODE,
            conflicts=Number(conflicts),
        ),
        evidence=(
            case.seen(plain(_CONFLICTS), conflicts, say_in("unit", "/s")),
            case.seen(say("attempts rolled back"), part, plain(""), PART),
        ),
        share=share,
        confidence=0.85,
        remedy=say(
            "Set hot_standby_feedback=on, with which the primary keeps what queries here need, or "
            "raise max_standby_streaming_delay, which lets recovery wait for them."
        ),
    )


def _part(case: Case) -> float:
    """The part of the attempts that fail so, 0 to 1."""
    step = case.step
    attempts = step.events + step.failed + step.restarts
    return min(step.errors.get(CODE, 0) / attempts, 1.0) if attempts else 0.0


def _less_strict(case: Case) -> Trial | None:
    asked = (case.drive.get("session") or {}).get("isolation")
    if asked:
        return client("isolation", "read-committed", str(asked), _SUBJECT)
    return dynamic(case, {"default_transaction_isolation": "read committed"}, _SUBJECT)


def _holds(case: Case) -> Holds | None:
    part = _part(case)
    return parts_of(dict.fromkeys(SERVER, part)) if part else None


RULE = Rule(
    "serialization-failures",
    say("transactions cannot be serialized"),
    judge,
    also={"recovery-conflicts": say("recovery cancels queries")},
    reads="client",
    holds=part_of(*SERVER),
    holds_in=_holds,
)
