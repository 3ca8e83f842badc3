"""Others drive the same server, besides the load that is measured."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import state_share
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.mysql.row_locks import lock_share
from loadstone.diagnosis.rules.mysql.table_locks import LOCKED
from loadstone.model.finding import Evidence, Finding
from loadstone.model.message import say
from loadstone.model.numbers import num, pct

SHARE = 0.2
"""[P] of the statements that the server was sent."""

FEWEST = 50.0
"""[P] a second: our own looks at the counters, and those of others who watch, are some ten."""

LONG_S = 2.0
"""[P] for which a statement must have been at work at the least to be a load of its own."""

TIMES_LONGEST = 2.0
"""[P] and that by the longest statement of ours that came to its end."""

WAITING = 0.1
"""[P] share of our users that wait for locks, from which a statement may last for that reason."""

SEEN = 0.9
"""[P] of the window in which the server must have been looked at: where it was gone for a while,
its rates are those of the seconds in which it was there, and ours those of all."""

BYTES = 0.3
"""[P] of the bytes that the server sent."""

FEWEST_BYTES = 1e6
"""[P] a second: our looks at the counters are some ten thousand."""


def judge(case: Case) -> Finding | None:
    """Statements, bytes, or a statement's length that cannot be our users'."""
    if case.seen_share < SEEN:
        return _by_length(case)
    return _by_number(case) or _by_length(case) or _by_bytes(case)


def _by_number(case: Case) -> Finding | None:
    """Statements that the server counted, less those that our users sent.

    What a connection is told when it begins is counted as well: with many new ones nothing is said.
    """
    counted = case.needed(case.rate("questions"))
    new = case.needed(case.rate("connections"))
    ours = _ours(case)
    others = counted - ours - new * 2
    if others < max(FEWEST, SHARE * counted) or new > SHARE * case.tps:
        return None
    part = others / counted
    return _finding(
        f"Others use the server: of {num(counted)} statements a second that it was sent, "
        f"{num(others)} ({pct(part)}) are not of this load: do not compare these figures.",
        (
            case.seen("questions", counted, "/s"),
            case.seen("statements of others", part, "of all", SHARE),
        ),
        part,
    )


def _by_length(case: Case) -> Finding | None:
    """A report, a backup or a change of a table is one statement for all that it takes."""
    longest = long_statement_s(case)
    if longest is None:
        return None
    cores = case.host("cores")
    return _finding(
        f"Others use the server: a statement has been at work for {num(longest)} s, longer than "
        "any of this load takes: do not compare these figures.",
        (case.seen("longest_statement_s", longest, "s", LONG_S),),
        1 / cores if cores else None,
    )


def long_statement_s(case: Case) -> float | None:
    """For how long a statement has been at work that is none of ours; `None`: there is none."""
    longest = case.highest("longest_statement_s")
    own_s = TIMES_LONGEST * (case.step.latency.service.max or 0.0) / 1000
    if longest is None or longest < max(LONG_S, own_s):
        return None
    locked = max(lock_share(case) or 0.0, state_share(case, *(text for text, _ in LOCKED)) or 0.0)
    return longest if locked < WAITING else None


def _by_bytes(case: Case) -> Finding | None:
    """Bytes that the server sent, less those that came to us."""
    step = case.step
    sent = case.rate("bytes_sent")
    if not sent or not step.seconds or len(step.targets) > 1 or step.compressed_users:
        return None
    others = sent - step.bytes_in / step.seconds
    if others < max(FEWEST_BYTES, BYTES * sent):
        return None
    part = others / sent
    return _finding(
        f"Others use the server: of {num(sent / 1e6)} MB a second that it sends, "
        f"{num(others / 1e6)} ({pct(part)}) do not come to this load: do not compare these "
        "figures.",
        (
            case.seen("bytes_sent", sent, "B/s"),
            case.seen("bytes to others", part, "of all", BYTES),
        ),
        part,
    )


def _finding(sentence: str, evidence: tuple[Evidence, ...], share: float | None) -> Finding:
    return Finding(
        cause="other-clients",
        group="validity",
        sentence=sentence,
        evidence=evidence,
        share=share,
        confidence=0.85,
        remedy="Find them (SHOW PROCESSLIST), and measure without them.",
        acts_on="server CPU",
    )


def _ours(case: Case) -> float:
    """Statements a second that went to the server whose counters these are, failed ones too."""
    step = case.step
    if len(step.targets) > 1 and step.seconds:
        return (step.targets[0].queries + step.targets[0].errors) / step.seconds
    failed = sum(step.errors.values()) / step.seconds if step.seconds else 0.0
    return (step.qps or 0.0) + failed


RULE = Rule("other-clients", say("other clients of the server"), judge)
