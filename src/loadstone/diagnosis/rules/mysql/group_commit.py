"""Not a fault: the rate rises while syncs and disk operations fall."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.rule import Rule
from loadstone.model.finding import Finding
from loadstone.model.message import say
from loadstone.model.numbers import num, pct, users
from loadstone.model.result import StepResult

FALLS = 0.2
"""[P] DIAGNOSIS 4: syncs by transaction fall by this share, or more, along the ladder."""

FEWEST = 10.0
"""[P] syncs a second at the lowest level: the log is synced once a second without any commit."""


def judge(case: Case) -> Finding | None:
    """Transactions by sync grow from the lowest level to the busiest that has fewer syncs by one.

    A flush writes the whole log buffer; commits that come meanwhile go together with the next.
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
    syncs = (_syncs(first), _syncs(best))
    fewer = syncs[1] < syncs[0]
    moved = "fall" if fewer else "grow only"
    binlog = _binlog(first), _binlog(best)
    also = f" (binary log {num(binlog[0])} to {num(binlog[1])})" if all(binlog) else ""
    return Finding(
        cause="group-commit",
        group="note",
        sentence=(
            f"Group commit: from {users(first.concurrency)} to {users(best.concurrency)} the rate "
            f"goes from {num(first.tps or 0.0)} to {num(best.tps or 0.0)} tps while syncs of the "
            f"log {moved} from {num(syncs[0])} to {num(syncs[1])} a second{also}: one sync carries "
            f"{num(after)} transactions instead of {num(before)}{_bytes(first, best)}"
            f"{_disk(first, best)}{_beyond(best, levels[-1])}."
        ),
        evidence=(
            case.at(first).seen("transactions by sync", before, ""),
            case.at(best).seen("transactions by sync", after, "", before / (1 - FALLS)),
            case.at(first).seen("log_syncs", syncs[0], "/s"),
            case.at(best).seen("log_syncs", syncs[1], "/s"),
        ),
        share=None,
        confidence=0.95,
        remedy=(
            "Nothing to do: disk operations are no measure of the work, and their limit is not "
            f"what holds this rate (syncs by transaction fell by {pct(1 - before / after)})."
        ),
    )


def _by_sync(step: StepResult) -> float | None:
    return step.server.transactions_per_sync if step.server else None


def _syncs(step: StepResult) -> float:
    return (step.server.log_syncs_per_s if step.server else None) or 0.0


def _binlog(step: StepResult) -> float:
    return (step.server.binlog_syncs_per_s if step.server else None) or 0.0


def _bytes(first: StepResult, best: StepResult) -> str:
    """How large a flush is."""
    sizes = [step.server.bytes_per_sync if step.server else None for step in (first, best)]
    if sizes[0] is None or sizes[1] is None:
        return ""
    return f", and {num(sizes[1] / 1000)} KB of log instead of {num(sizes[0] / 1000)}"


def _beyond(best: StepResult, last: StepResult) -> str:
    """What users beyond the peak bring: larger groups still, and no more events."""
    carried = _by_sync(last)
    if last is best or carried is None or not last.tps:
        return ""
    writes = last.host.disk_write_iops if last.host else None
    also = f" and {num(writes)} writes of the disk a second" if writes is not None else ""
    return (
        f"; with {users(last.concurrency)} it is {num(last.tps)} tps with {num(carried)} "
        f"transactions a sync{also}: beyond the peak users bring no more"
    )


def _disk(first: StepResult, best: StepResult) -> str:
    """What became of the disk's operations."""
    before = first.host.disk_write_iops if first.host else None
    after = best.host.disk_write_iops if best.host else None
    if before is None or after is None:
        return ""
    return f"; the disk writes {num(before)} and {num(after)} times a second"


RULE = Rule("group-commit", say("group commit: fewer, larger flushes"), judge, last_only=True)
