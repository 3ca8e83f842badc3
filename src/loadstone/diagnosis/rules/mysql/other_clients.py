"""Other clients drive the server that is measured."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import state_share
from loadstone.diagnosis.others_work import (
    by_cpu,
    by_length,
    counted_or,
    finding,
    not_of_ours,
    rule_of,
)
from loadstone.diagnosis.row_waits import lock_share
from loadstone.diagnosis.rules.mysql.table_locks import LOCKED
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import plain, say, say_in

SHARE = 0.2
"""[P] Share of the statements that the server receives."""

FEWEST = 50.0
"""[P] Statements a second: our own reading of the counters, and other monitoring, are some ten."""

WAITING = 0.1
"""[P] Share of our users that wait for locks, from which a statement may last for that reason."""

SEEN = 0.9
"""[P] Share of the window in which the server must have been observed: where it was gone for a
while, its rates are of the seconds in which it was there, and ours of all."""

BYTES = 0.3
"""[P] Share of the bytes that the server sends."""

FEWEST_BYTES = 1e6
"""[P] Bytes a second: our reading of the counters takes some ten thousand."""

_REMEDY = say("Find them (SHOW PROCESSLIST), and measure without them.")


def judge(case: Case) -> Finding | None:
    """Statements or bytes, the length of a statement, or CPU that cannot come from our users."""
    if case.seen_share < SEEN:
        return _by_length(case)
    return _by_number(case) or _by_length(case) or _by_bytes(case) or by_cpu(case, _REMEDY)


def _by_number(case: Case) -> Finding | None:
    """Statements that the server received, less those that our users sent.

    The statements that open a connection count as well, so many new ones leave this undecided.
    """
    received = case.needed(case.rate("questions"))
    new = case.needed(case.rate("connections"))
    ours = _ours(case)
    others = received - ours - new * 2
    if others < max(FEWEST, SHARE * received) or new > SHARE * case.tps:
        return None
    part = others / received
    return finding(
        say(
            "Others use the server: of the {all} statements a second that it receives, {others} "
            "({part}) do not belong to this load. Do not compare these figures.",
            all=Number(received),
            others=Number(others),
            part=Percent(part),
        ),
        (
            case.seen(plain("questions"), received, say_in("unit", "/s")),
            case.seen(say("statements of others"), part, say("of all"), SHARE),
        ),
        counted_or(case, part),
        _REMEDY,
    )


def _by_length(case: Case) -> Finding | None:
    """A report, a backup or a change of a table's schema is one long statement."""
    longest = long_statement_s(case)
    return None if longest is None else by_length(case, longest, _REMEDY)


def long_statement_s(case: Case) -> float | None:
    """How long a statement that is none of ours has been running; `None`: there is none."""
    longest = not_of_ours(case)
    if longest is None:
        return None
    locked = max(lock_share(case) or 0.0, state_share(case, *(text for text, _ in LOCKED)) or 0.0)
    return longest if locked < WAITING else None


def _by_bytes(case: Case) -> Finding | None:
    """Bytes that the server sent, less those that it sent to us."""
    step = case.step
    sent = case.rate("bytes_sent")
    if not sent or not step.seconds or len(step.targets) > 1 or step.compressed_users:
        return None
    others = sent - step.bytes_in / step.seconds
    if others < max(FEWEST_BYTES, BYTES * sent):
        return None
    part = others / sent
    return finding(
        say(
            "Others use the server: of the {all} MB a second that it sends, {others} MB ({part}) "
            "do not go to this load. Do not compare these figures.",
            all=Number(sent / 1e6),
            others=Number(others / 1e6),
            part=Percent(part),
        ),
        (
            case.seen(plain("bytes_sent"), sent, say_in("unit", "B/s")),
            case.seen(say("bytes to others"), part, say("of all"), BYTES),
        ),
        counted_or(case, part),
        _REMEDY,
    )


def _ours(case: Case) -> float:
    """Statements a second that went to the server whose counters these are, failed ones too."""
    step = case.step
    if len(step.targets) > 1 and step.seconds:
        return (step.targets[0].queries + step.targets[0].errors) / step.seconds
    failed = sum(step.errors.values()) / step.seconds if step.seconds else 0.0
    return (step.qps or 0.0) + failed


RULE = rule_of(judge)
