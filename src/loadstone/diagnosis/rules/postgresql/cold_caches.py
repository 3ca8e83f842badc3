"""Caches were still being filled while it was measured: shared_buffers, and the kernel's below."""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import CORES, PAGE_READS, time_at
from loadstone.diagnosis.page_reads import FALLS, by_thirds, matters
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql import page_reads
from loadstone.diagnosis.trials import WARMS_S
from loadstone.model.error_codes import POSTGRESQL
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Evidence, Finding, Setting, Trial
from loadstone.model.message import Message, say, say_in, sentences


def judge(case: Case) -> Finding | None:
    """Pages read per event become fewer within the window, or find room that was never used."""
    if not case.needed(page_reads.reads(case)):
        return None
    share = case.needed(page_reads.reading_time(case))
    if not matters(case, share):
        return None
    reads = case.needed(case.series("server", page_reads.COUNTER))
    events = case.needed(case.series("load", "tps"))
    thirds = by_thirds(reads, events)
    falls = thirds is not None and thirds[1] <= FALLS * thirds[0]
    if not falls and not page_reads.find_room(case):
        return None
    return Finding(
        cause="cold-caches",
        group="validity",
        sentence=sentences(
            _filling(case, thirds if falls else None),
            say("Reading takes {share} of the users' time.", share=Percent(share)),
        ),
        evidence=tuple(_evidence(case, thirds if falls else None)),
        share=share,
        confidence=0.85,
        remedy=say("Warm up longer before the window starts: --warmup auto, or a longer time."),
        trial=_warm(),
        acts_on="disk reads",
    )


def _filling(case: Case, fell: tuple[float, float] | None) -> Message:
    """`fell`: pages read per event in the first and the last third, if these are fewer."""
    if fell is None:
        return say(
            "Caches were cold: {part} of the pages that were read found room in shared_buffers.",
            part=Percent(page_reads.kept(case)),
        )
    first, last = fell
    return say(
        "Caches were cold: pages read per event went from {first} to {last} within the window.",
        first=Number(first),
        last=Number(last),
    )


def _evidence(case: Case, fell: tuple[float, float] | None) -> Iterator[Evidence]:
    if fell is not None:
        pages, (first, last) = say_in("unit", "pages"), fell
        yield case.seen(say("pages read per event, first third"), first, pages)
        yield case.seen(say("pages read per event, last third"), last, pages, FALLS * first)
    elif (kept := page_reads.kept(case)) is not None:
        yield case.seen(say("pages read that may have stayed"), kept, say("of those read"))
    if (disk := page_reads.part_from_disk(case)) is not None:
        yield case.seen(say("bytes from the disk"), disk, say("of those read"))


def _warm() -> Trial:
    """The load once more: by now the caches contain what it reads."""
    setting = Setting(name="caches", before="cold", value="warm")
    return Trial(
        kind="again",
        settings=(setting,),
        subject=say("the cold caches"),
        settles_s=WARMS_S,
        family=POSTGRESQL,
    )


RULE = Rule(
    "cold-caches",
    say("caches are still warming up"),
    judge,
    reads="files",
    holds=time_at(*PAGE_READS, *CORES),
    holds_in=page_reads.reading_holds,
)
