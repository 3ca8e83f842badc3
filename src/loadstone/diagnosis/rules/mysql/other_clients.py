"""Other clients drive the server that is measured."""

from __future__ import annotations

from loadstone.analyse.cores import NEIGHBOURS, busy_cores, client_cores
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import state_share
from loadstone.diagnosis.holds import part_of_waits
from loadstone.diagnosis.row_waits import lock_share
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.mysql.table_locks import LOCKED
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Evidence, Finding
from loadstone.model.message import Message, plain, say, say_in

SHARE = 0.2
"""[P] Share of the statements that the server receives."""

FEWEST = 50.0
"""[P] Statements a second: our own reading of the counters, and other monitoring, are some ten."""

LONG_S = 2.0
"""[P] Shortest running time with which a statement counts as a load of its own."""

TIMES_LONGEST = 2.0
"""[P] The same as a multiple of the longest statement of ours that has ended."""

WAITING = 0.1
"""[P] Share of our users that wait for locks, from which a statement may last for that reason."""

SEEN = 0.9
"""[P] Share of the window in which the server must have been observed: where it was gone for a
while, its rates are of the seconds in which it was there, and ours of all."""

BYTES = 0.3
"""[P] Share of the bytes that the server sends."""

FEWEST_BYTES = 1e6
"""[P] Bytes a second: our reading of the counters takes some ten thousand."""

RESTING = 0.005
"""The largest share of the busy cores that is written as 0 %: what sleeps is no load."""

COMING = 1.0
"""[P] New connections a second: of sessions that end between two looks no CPU is known."""


def judge(case: Case) -> Finding | None:
    """Statements or bytes, the length of a statement, or CPU that cannot come from our users."""
    if case.seen_share < SEEN:
        return _by_length(case)
    return _by_number(case) or _by_length(case) or _by_bytes(case) or _by_cpu(case)


def _by_cpu(case: Case) -> Finding | None:
    """What the kernel counts of the threads of sessions that are none of the load's."""
    others, cores = client_cores(case.step), case.host("cores")
    if not cores or others < NEIGHBOURS * cores:
        return None
    part = others / cores
    return _finding(
        say(
            "Others use the server: other clients' sessions take {others} of its host's {cores} "
            "cores. Do not compare these figures.",
            others=Number(others),
            cores=Number(cores),
        ),
        (case.seen(say("CPU for other clients"), part, say("of the cores"), NEIGHBOURS),),
        _part_of_the_cores(case),
    )


def _part_of_the_cores(case: Case) -> float | None:
    """The part of the busy cores that work for other clients: who waits for a core waits for them.

    `None`: nobody counted it.
    """
    account, host = case.step.account, case.step.host
    busy = busy_cores(host) if host else None
    if account is None or account.cores is None or not busy:
        return None
    return min(account.cores.others / busy, 1.0)


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
    return _finding(
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
        _counted_or(case, part),
    )


def _by_length(case: Case) -> Finding | None:
    """A report, a backup or a change of a table's schema is one long statement."""
    longest = long_statement_s(case)
    counted = _part_of_the_cores(case)
    if longest is None or (counted is not None and counted < RESTING):
        return None
    cores = case.host("cores")
    return _finding(
        say(
            "Others use the server: a statement has been running for {seconds} s, longer than any "
            "of this load. Do not compare these figures.",
            seconds=Number(longest),
        ),
        (case.seen(plain("longest_statement_s"), longest, say_in("unit", "s"), LONG_S),),
        _counted_or(case, 1 / cores if cores else None),
    )


def long_statement_s(case: Case) -> float | None:
    """How long a statement that is none of ours has been running; `None`: there is none."""
    longest = case.highest("longest_statement_s")
    own_s = TIMES_LONGEST * (case.step.latency.service.max or 0.0) / 1000
    if longest is None or longest < max(LONG_S, own_s):
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
    return _finding(
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
        _counted_or(case, part),
    )


def _counted_or(case: Case, guessed: float | None) -> float | None:
    """Statements and bytes cost different amounts. Sessions that come and go are hardly counted."""
    counted = _part_of_the_cores(case)
    if counted is None:
        return guessed
    stays = (case.rate("connections") or 0.0) < COMING
    return counted if stays else max(counted, guessed or 0.0)


def _finding(sentence: Message, evidence: tuple[Evidence, ...], share: float | None) -> Finding:
    return Finding(
        cause="other-clients",
        group="validity",
        sentence=sentence,
        evidence=evidence,
        share=share,
        confidence=0.85,
        remedy=say("Find them (SHOW PROCESSLIST), and measure without them."),
        acts_on="server CPU",
    )


def _ours(case: Case) -> float:
    """Statements a second that went to the server whose counters these are, failed ones too."""
    step = case.step
    if len(step.targets) > 1 and step.seconds:
        return (step.targets[0].queries + step.targets[0].errors) / step.seconds
    failed = sum(step.errors.values()) / step.seconds if step.seconds else 0.0
    return (step.qps or 0.0) + failed


RULE = Rule("other-clients", say("other clients of the server"), judge, holds=part_of_waits())
