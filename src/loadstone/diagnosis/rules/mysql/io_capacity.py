"""innodb_io_capacity holds flushing back."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import PAGE_WAITS, part_of
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.mysql.redo_small import greatest_age
from loadstone.diagnosis.trials import REFILLS_S, dynamic
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding, Trial
from loadstone.model.message import plain, say, say_in

LOW = 200.0
"""[S] MySQLTuner: what one spinning disk can do."""

DISK_FREE = 0.5
"""[P] Use below which the disk could do more (DIAGNOSIS 9)."""

LOW_MAX = 2 * LOW
"""[P] Highest innodb_io_capacity_max that also holds the flushing for the log back."""

LOG_NEAR = 0.8
"""[S] PMM: share of the log's greatest age from which the age is near it."""

NEAR = 0.9
"""[P] Share of innodb_max_dirty_pages_pct from which dirty pages are near it."""

AROUND = 0.3
"""[P] How near to the capacity the pages flushed a second are."""


def judge(case: Case) -> Finding | None:
    """Dirty pages are at their limit while flushing keeps to the capacity and the disk is idle.

    The other signs are that users find no free page (buffer_pool_wait_free), and that the redo log
    fills because its pages are flushed no faster than innodb_io_capacity_max.
    """
    capacity = case.needed(case.number("innodb_io_capacity"))
    flushed = case.needed(case.rate("pages_flushed"))
    dirty, total = case.needed(case.mean("pages_dirty")), case.needed(case.mean("pages_total"))
    waited = case.rate("buffer_pool_wait_free") or 0.0
    most = (case.number("innodb_max_dirty_pages_pct") or 90.0) / 100
    busy = case.needed(case.host("disk_busy"))
    at_capacity = abs(flushed - capacity) <= AROUND * capacity
    full = total > 0 and dirty >= NEAR * most * total
    log_full = _fills_the_log(case, flushed)
    if busy > DISK_FREE or not (at_capacity and (full or waited > 0) or log_full):
        return None
    return Finding(
        cause="io-capacity-low",
        group="setting",
        sentence=say(
            "innodb_io_capacity={capacity} holds flushing back: {flushed} pages are flushed a "
            "second, {dirty} of the pool is dirty, and the disk is busy {busy} of the time.",
            capacity=Number(capacity),
            flushed=Number(flushed),
            dirty=Percent(dirty / total),
            busy=Percent(busy),
        ),
        evidence=(
            case.seen(plain("pages_flushed"), flushed, say_in("unit", "/s"), capacity),
            case.seen(plain("pages_dirty"), dirty / total, say("of the pool"), NEAR * most),
            case.seen(plain("buffer_pool_wait_free"), waited, say_in("unit", "/s"), 0.0),
            case.seen(plain("disk_busy"), busy, say("of the time"), DISK_FREE),
        ),
        share=1 - busy if full or log_full else 0.3,
        confidence=0.8,
        remedy=say(
            "Raise innodb_io_capacity (2000 for a solid-state disk) and innodb_io_capacity_max."
        ),
        trial=_larger(case, 10 * int(capacity)),
    )


def _larger(case: Case, proposed: int) -> Trial | None:
    """The maximum goes first: MySQL clips the capacity by it."""
    most = max(2 * proposed, int(case.number("innodb_io_capacity_max") or 0))
    return dynamic(
        case,
        {"innodb_io_capacity_max": str(most), "innodb_io_capacity": str(proposed)},
        say("the low innodb_io_capacity"),
        settles_s=REFILLS_S,
    )


def _fills_the_log(case: Case, flushed: float) -> bool:
    """Whether the log fills up although the disk could take its pages.

    The synchronous flushing that follows exceeds the capacity.
    """
    most = case.number("innodb_io_capacity_max")
    age, limit = case.highest("checkpoint_age_bytes"), greatest_age(case)
    if most is None or most > LOW_MAX or not age or not limit:
        return False
    return age >= LOG_NEAR * limit and flushed >= (1 - AROUND) * most


RULE = Rule(
    "io-capacity-low",
    say("innodb_io_capacity is too low"),
    judge,
    reads="files",
    holds=part_of(*PAGE_WAITS),
)
