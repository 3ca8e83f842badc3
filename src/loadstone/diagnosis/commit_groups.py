"""Group commit, which is no fault: the rate rises while syncs and disk operations fall.

A flush writes the whole log buffer; commits that arrive in the meantime go with the next one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from loadstone.diagnosis.context import Case
from loadstone.model.figure import Bytes, Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import Message, plain, say, say_in, sentences, user_count
from loadstone.model.result import StepResult

FALLS = 0.2
"""[P] Share by which syncs per transaction fall along the ladder, at least (DIAGNOSIS 4)."""

FEWEST = 10.0
"""[P] Syncs a second at the lowest level: the log is synced once a second without any commit."""


@dataclass(frozen=True)
class Log:
    """The log that commits are flushed to, in the words of a family."""

    syncs: Message
    """Its syncs, within a sentence."""
    name: Message
    """What a flush writes, after an amount of bytes."""
    counter: Message
    """The name of the counter of syncs."""


def grown(case: Case, log: Log) -> Finding | None:
    """The finding if transactions per sync grow from the lowest level to the fastest one.

    Raises:
        Missing: syncs were not counted.
    """
    levels = [step for step in case.ladder if step.server and step.tps]
    case.needed(case.rate("log_syncs"))
    if len(levels) < 2:
        return None
    first = levels[0]
    best = max(levels[1:], key=lambda step: step.tps or 0.0)
    before, after = _by_sync(first), _by_sync(best)
    rose = (best.tps or 0.0) > (first.tps or 0.0)
    if not before or not after or not rose or _syncs(first) < FEWEST:
        return None
    if 1 / after > (1 - FALLS) / before:
        return None
    return Finding(
        cause="group-commit",
        group="note",
        sentence=sentences(*_in_sentences(log, first, best, levels[-1])),
        evidence=(
            case.at(first).seen(say("transactions per sync"), before, plain("")),
            case.at(best).seen(
                say("transactions per sync"), after, plain(""), before / (1 - FALLS)
            ),
            case.at(first).seen(log.counter, _syncs(first), say_in("unit", "/s")),
            case.at(best).seen(log.counter, _syncs(best), say_in("unit", "/s")),
        ),
        share=None,
        confidence=0.95,
        remedy=say(
            "Nothing to do: disk operations do not measure the work done, and their limit does not "
            "hold this rate back (syncs per transaction fell by {share}).",
            share=Percent(1 - before / after),
        ),
    )


def _by_sync(step: StepResult) -> float | None:
    return step.server.transactions_per_sync if step.server else None


def _syncs(step: StepResult) -> float:
    return (step.server.log_syncs_per_s if step.server else None) or 0.0


def _binlog(step: StepResult) -> float:
    return (step.server.binlog_syncs_per_s if step.server else None) or 0.0


def _in_sentences(
    log: Log, first: StepResult, best: StepResult, last: StepResult
) -> Iterator[Message]:
    yield _syncs_and_rates(log, first, best)
    yield from _binlog_syncs(first, best)
    yield _carried(log, first, best)
    yield from _disk(first, best)
    yield from _beyond(best, last)


def _syncs_and_rates(log: Log, first: StepResult, best: StepResult) -> Message:
    figures = {
        "first": user_count(first.concurrency),
        "best": user_count(best.concurrency),
        "before": Number(first.tps),
        "after": Number(best.tps),
        "syncs": Number(_syncs(first)),
        "now": Number(_syncs(best)),
        "of_log": log.syncs,
    }
    if _syncs(best) < _syncs(first):
        return say(
            "Group commit: from {first} to {best} the rate goes from {before} to {after} tps while "
            "{of_log} fall from {syncs} to {now} a second.",
            **figures,
        )
    return say(
        "Group commit: from {first} to {best} the rate goes from {before} to {after} tps while "
        "{of_log} only grow from {syncs} to {now} a second.",
        **figures,
    )


def _binlog_syncs(first: StepResult, best: StepResult) -> Iterator[Message]:
    before, after = _binlog(first), _binlog(best)
    if before and after:
        yield say(
            "Syncs of the binary log go from {before} to {after} a second.",
            before=Number(before),
            after=Number(after),
        )


def _carried(log: Log, first: StepResult, best: StepResult) -> Message:
    """How many transactions share a sync, and how large a flush is where that is known."""
    carried, alone = Number(_by_sync(best)), Number(_by_sync(first))
    sizes = [step.server.bytes_per_sync if step.server else None for step in (first, best)]
    if sizes[0] is None or sizes[1] is None:
        return say(
            "One sync carries {carried} transactions instead of {alone}.",
            carried=carried,
            alone=alone,
        )
    return say(
        "One sync carries {carried} transactions instead of {alone}, and {bytes} of {log} instead "
        "of {bytes_before}.",
        carried=carried,
        alone=alone,
        bytes=Bytes(sizes[1]),
        bytes_before=Bytes(sizes[0]),
        log=log.name,
    )


def _beyond(best: StepResult, last: StepResult) -> Iterator[Message]:
    """What users beyond the peak bring: still larger groups, and no more events."""
    carried = _by_sync(last)
    if last is best or carried is None or not last.tps:
        return
    figures = {
        "users": user_count(last.concurrency),
        "rate": Number(last.tps),
        "carried": Number(carried),
    }
    writes = last.host.disk_write_iops if last.host else None
    if writes is None:
        yield say(
            "With {users} the rate is {rate} tps, at {carried} transactions per sync: beyond the "
            "peak more users bring no gain.",
            **figures,
        )
    else:
        yield say(
            "With {users} the rate is {rate} tps, at {carried} transactions per sync and {writes} "
            "disk writes a second: beyond the peak more users bring no gain.",
            **figures,
            writes=Number(writes),
        )


def _disk(first: StepResult, best: StepResult) -> Iterator[Message]:
    """How often the disk writes."""
    before = first.host.disk_write_iops if first.host else None
    after = best.host.disk_write_iops if best.host else None
    if before is not None and after is not None:
        yield say(
            "Disk writes go from {before} to {after} a second.",
            before=Number(before),
            after=Number(after),
        )
