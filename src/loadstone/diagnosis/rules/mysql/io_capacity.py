"""innodb_io_capacity holds flushing back."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.mysql.redo_small import greatest_age
from loadstone.diagnosis.trials import REFILLS_S, dynamic
from loadstone.model.finding import Finding, Trial
from loadstone.model.message import say
from loadstone.model.numbers import num, pct

LOW = 200.0
"""[S] MySQLTuner: what one turning disk can do."""

DISK_FREE = 0.5
"""[P] DIAGNOSIS 9: the disk could do more."""

LOW_MAX = 2 * LOW
"""[P] an innodb_io_capacity_max up to which it is the log's flushing, too, that is held back."""

LOG_NEAR = 0.8
"""[S] PMM: part of the log's greatest age that is near it."""

NEAR = 0.9
"""[P] of innodb_max_dirty_pages_pct."""

AROUND = 0.3
"""[P] how near pages flushed a second are to the capacity."""


def judge(case: Case) -> Finding | None:
    """Dirty pages stand at their limit while flushing keeps to the capacity and the disk rests.

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
        sentence=(
            f"innodb_io_capacity={num(capacity)} holds flushing back: {num(flushed)} pages are "
            f"flushed a second, {pct(dirty / total)} of the pool is dirty, and the disk is busy "
            f"{pct(busy)} of the time."
        ),
        evidence=(
            case.seen("pages_flushed", flushed, "/s", capacity),
            case.seen("pages_dirty", dirty / total, "of the pool", NEAR * most),
            case.seen("buffer_pool_wait_free", waited, "/s", 0.0),
            case.seen("disk_busy", busy, "of the time", DISK_FREE),
        ),
        share=1 - busy if full or log_full else 0.3,
        confidence=0.8,
        remedy="Raise innodb_io_capacity (2000 for a solid-state disk) and innodb_io_capacity_max.",
        trial=_larger(case, 10 * int(capacity)),
    )


def _larger(case: Case, wanted: int) -> Trial | None:
    """The maximum goes first: MySQL clips the capacity by it."""
    most = max(2 * wanted, int(case.number("innodb_io_capacity_max") or 0))
    return dynamic(
        case,
        {"innodb_io_capacity_max": str(most), "innodb_io_capacity": str(wanted)},
        "flushing at so low a capacity",
        settles_s=REFILLS_S,
    )


def _fills_the_log(case: Case, flushed: float) -> bool:
    """Whether the log gets full although the disk could take its pages.

    Synchronous flushing, which comes then, goes beyond the capacity.
    """
    most = case.number("innodb_io_capacity_max")
    age, limit = case.highest("checkpoint_age_bytes"), greatest_age(case)
    if most is None or most > LOW_MAX or not age or not limit:
        return False
    return age >= LOG_NEAR * limit and flushed >= (1 - AROUND) * most


RULE = Rule("io-capacity-low", say("innodb_io_capacity is too low"), judge)
