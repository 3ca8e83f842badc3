"""The data in use is larger than the buffer pool."""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import is_full
from loadstone.diagnosis.holds import CORES, PAGE_READS, time_at
from loadstone.diagnosis.page_reads import (
    STAYS,
    has_room,
    kept_share,
    matters,
    reading_holds,
    reading_said,
    reading_share,
    reads_by_event,
)
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import REFILLS_S, at_start, dynamic, free_memory
from loadstone.model.figure import Bytes, Number, Percent
from loadstone.model.finding import Finding, Trial
from loadstone.model.message import Message, say, say_in, sentences

READS = 0.1
"""[P] Pages read per transaction (DIAGNOSIS 14)."""

MOST_TIMES = 4
"""[P] Times the pool that a trial asks for, upper bound."""

FREE_TAKEN = 0.5
"""[P] Share of the free memory that a trial takes: the rest is the operating system's cache."""


def judge(case: Case) -> Finding | None:
    """The pool is full, and evicts pages that are needed again."""
    if not case.tps:
        return None
    reads = case.needed(reads_by_event(case))
    kept = case.needed(kept_share(case))
    if reads < READS or kept >= STAYS or has_room(case):
        return None
    share = reading_share(case)
    if share is not None and not matters(case, share):
        return None
    pool = case.number("innodb_buffer_pool_size")
    requests = case.rate("buffer_pool_read_requests")
    misses = (case.rate("buffer_pool_reads") or 0.0) / requests if requests else None
    return Finding(
        cause="working-set",
        group="wait",
        sentence=sentences(_not_fitting(reads, pool), *_shares(case, misses, share)),
        evidence=(
            case.seen(say("buffer_pool_reads per event"), reads, say_in("unit", "pages"), READS),
            case.seen(say("pages read that stay"), kept, say("of those read"), STAYS),
        ),
        share=share,
        confidence=0.9,
        remedy=say("Raise innodb_buffer_pool_size as far as the memory allows."),
        trial=_larger(case, pool),
        acts_on="server CPU" if is_full(case) else "disk reads",
    )


def _not_fitting(reads: float, pool: float | None) -> Message:
    if pool:
        return say(
            "The data in use does not fit the buffer pool of {size}: each event reads {reads} "
            "pages from the disk.",
            size=Bytes(pool),
            reads=Number(reads),
        )
    return say(
        "The data in use does not fit the buffer pool: each event reads {reads} pages from the "
        "disk.",
        reads=Number(reads),
    )


def _shares(case: Case, misses: float | None, share: float | None) -> Iterator[Message]:
    if misses is not None:
        yield say("That is {misses} of all page requests.", misses=Percent(misses))
    if share is not None:
        yield reading_said(case, share)


def _larger(case: Case, pool: float | None) -> Trial | None:
    """A pool that half of the free memory allows, at most four times as large."""
    free = free_memory(case)
    if not pool or free is None:
        return None
    times = min(MOST_TIMES, 1 + int(FREE_TAKEN * free / pool))
    if times < 2:
        return None
    subject, proposed = say("the small buffer pool"), times * int(pool)
    settings = {"innodb_buffer_pool_size": str(proposed)}
    if _grows_to(case) < proposed:
        return at_start(case, settings, subject)
    return dynamic(case, settings, subject, settles_s=REFILLS_S)


def _grows_to(case: Case) -> float:
    """How far the pool may grow while the server runs: newer MariaDBs have a limit."""
    most = case.number("innodb_buffer_pool_size_max")
    return float("inf") if most is None else most


RULE = Rule(
    "working-set",
    say("the working set does not fit the buffer pool"),
    judge,
    holds=time_at(*PAGE_READS, *CORES),
    holds_in=reading_holds,
)
