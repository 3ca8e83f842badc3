"""The data in use is larger than the buffer pool."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import is_full
from loadstone.diagnosis.page_reads import STAYS, has_room, kept_share, reads_by_event, reads_share
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import REFILLS_S, at_start, dynamic
from loadstone.model.finding import Finding, Trial
from loadstone.model.message import say
from loadstone.model.numbers import num, pct, size

READS = 0.1
"""[P] DIAGNOSIS 14: pages read by transaction."""

MATTERS = 0.05
"""[P] share of an event's demand that is reading pages."""

MOST_TIMES = 4
"""[P] by which a trial makes the pool larger."""

FREE_TAKEN = 0.5
"""[P] of the memory that is free: the rest is the operating system's, and its cache's."""


def judge(case: Case) -> Finding | None:
    """A full pool from which pages are thrown out that are needed again."""
    if not case.tps:
        return None
    reads = case.needed(reads_by_event(case))
    kept = case.needed(kept_share(case))
    if reads < READS or kept >= STAYS or has_room(case):
        return None
    share = reads_share(case)
    if share is not None and share < MATTERS:
        return None
    pool = case.number("innodb_buffer_pool_size")
    requests = case.rate("buffer_pool_read_requests")
    misses = (case.rate("buffer_pool_reads") or 0.0) / requests if requests else None
    told = f" of {size(pool)}" if pool else ""
    return Finding(
        cause="working-set",
        group="wait",
        sentence=(
            f"The data in use does not fit the buffer pool{told}: each event reads {num(reads)} "
            "pages from the disk"
            + (f" ({pct(misses)} of all page requests)" if misses is not None else "")
            + (f", which is {pct(share)} of its work." if share is not None else ".")
        ),
        evidence=(
            case.seen("buffer_pool_reads by event", reads, "pages", READS),
            case.seen("pages read that stay", kept, "of those read", STAYS),
        ),
        share=share,
        confidence=0.9,
        remedy="Raise innodb_buffer_pool_size, as far as the memory goes.",
        trial=_larger(case, pool),
        acts_on="server CPU" if is_full(case) else "disk reads",
    )


def _larger(case: Case, pool: float | None) -> Trial | None:
    """As many times the pool as half of the free memory holds, at most four times."""
    free = case.host("memory_available_bytes")
    if not pool or free is None:
        return None
    times = min(MOST_TIMES, 1 + int(FREE_TAKEN * free / pool))
    if times < 2:
        return None
    subject, wanted = "so small a buffer pool", times * int(pool)
    settings = {"innodb_buffer_pool_size": str(wanted)}
    if _grows_to(case) < wanted:
        return at_start(case, settings, subject)
    return dynamic(case, settings, subject, settles_s=REFILLS_S)


def _grows_to(case: Case) -> float:
    """As far as the pool may be enlarged while the server runs: newer MariaDBs have a limit."""
    most = case.number("innodb_buffer_pool_size_max")
    return float("inf") if most is None else most


RULE = Rule("working-set", say("the working set does not fit the buffer pool"), judge)
