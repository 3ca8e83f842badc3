"""Users wait for the table that says which pages are in shared_buffers."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import time_at
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql.latches import Lock, named
from loadstone.model.finding import Finding
from loadstone.model.message import plain, say, say_in

_LOCK = Lock(
    "page-table",
    named("BufferMapping", "buffer_mapping"),
    say("Pages come into shared_buffers and go again all the time, each in one of 128 partitions."),
    say("Raise shared_buffers until the pages that the load uses stay there."),
)


def judge(case: Case) -> Finding | None:
    """Waits of who brings a page in, or looks for one there."""
    reads = case.rate("buffer_pool_reads")
    evidence = (
        ()
        if reads is None
        else (case.seen(plain("buffer_pool_reads"), reads, say_in("unit", "/s")),)
    )
    return _LOCK.judge(case, *evidence)


RULE = Rule(
    _LOCK.cause,
    say("users wait for the table of pages"),
    judge,
    holds=time_at("latch"),
    holds_in=_LOCK.holds_in,
)
