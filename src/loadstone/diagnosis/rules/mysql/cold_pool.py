"""The buffer pool was still being filled while it was measured."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import CORES, PAGE_READS, time_at
from loadstone.diagnosis.page_reads import (
    FALLS,
    STAYS,
    by_thirds,
    has_room,
    kept_share,
    matters,
    reading_holds,
    reading_said,
    reading_share,
)
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.trials import warm
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import say, say_in, sentences

ALL = 0.8
"""[P] Share of the pages read that stay, from which a pool with room for more is being filled,
whether or not the window shows the end of it."""


def judge(case: Case) -> Finding | None:
    """Pages read per event fall within the window, or all stay in a pool that has room for more."""
    kept = case.needed(kept_share(case))
    if case.needed(case.rate("buffer_pool_reads")) <= 0 or kept < STAYS:
        return None
    reads = case.needed(case.series("server", "buffer_pool_reads"))
    events = case.needed(case.series("load", "tps"))
    share = reading_share(case)
    thirds = by_thirds(reads, events)
    if thirds is None or share is None or not matters(case, share):
        return None
    if thirds[1] > FALLS * thirds[0] and not (kept >= ALL and has_room(case)):
        return None
    return Finding(
        cause="cold-buffer-pool",
        group="validity",
        sentence=sentences(
            say(
                "The buffer pool was cold: pages read per event went from {first} to {last} within "
                "the window, and {kept} of the pages read stayed in the pool.",
                first=Number(thirds[0]),
                last=Number(thirds[1]),
                kept=Percent(kept),
            ),
            reading_said(case, share),
        ),
        evidence=(
            case.seen(
                say("buffer_pool_reads per event, first third"), thirds[0], say_in("unit", "pages")
            ),
            case.seen(
                say("buffer_pool_reads per event, last third"),
                thirds[1],
                say_in("unit", "pages"),
                FALLS * thirds[0],
            ),
            case.seen(say("pages read that stay"), kept, say("of those read"), STAYS),
        ),
        share=share,
        confidence=0.85,
        remedy=say("Warm up longer before the window starts: --warmup auto, or a longer time."),
        trial=warm(),
        acts_on="disk reads",
    )


RULE = Rule(
    "cold-buffer-pool",
    say("the buffer pool is still warming up"),
    judge,
    holds=time_at(*PAGE_READS, *CORES),
    holds_in=reading_holds,
)
