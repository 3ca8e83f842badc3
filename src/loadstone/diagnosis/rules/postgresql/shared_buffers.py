"""The data in use is larger than shared_buffers."""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.analyse.postgresql.settings import MIB, size_of
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import is_full
from loadstone.diagnosis.holds import CORES, PAGE_READS, time_at
from loadstone.diagnosis.page_reads import FALLS, STAYS, by_thirds, matters
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql import page_reads
from loadstone.diagnosis.trials import at_start, free_memory
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Evidence, Finding, Trial
from loadstone.model.message import Message, plain, say, say_in, sentences

MOST_TIMES = 4
"""[P] Times the buffers that a trial asks for, upper bound."""

DEFAULT_MIB = 128
"""[S] The manual's default for shared_buffers."""

FREE_TAKEN = 0.5
"""[P] Share of the free memory that a trial takes: the rest is the kernel's cache."""

MOSTLY = 0.5
"""[P] Part of the bytes from which the disk is what to think of first."""


def judge(case: Case) -> Finding | None:
    """Pages are read that take the place of others, and the reads do not become fewer."""
    reads = case.needed(page_reads.reads(case))
    if not case.tps or not reads:
        return None
    share = case.needed(page_reads.reading_time(case))
    if not matters(case, share):
        return None
    kept = case.needed(page_reads.most_kept(case))
    if _fills(case, kept):
        return None
    disk = page_reads.part_from_disk(case)
    return Finding(
        cause="shared-buffers-small",
        group="wait",
        sentence=sentences(*_said(case, reads, share, disk)),
        evidence=tuple(_evidence(case, reads, kept, disk)),
        share=share,
        # Reads that stay as frequent are no proof that pages had to make room.
        confidence=0.9 if kept < STAYS else 0.6,
        remedy=say(
            "More memory, or less data in use: raising shared_buffers takes memory from the "
            "kernel's cache, and helps where both together hold the data."
        )
        if (disk or 0.0) >= MOSTLY
        else say(
            "Raise shared_buffers: pages that are in the kernel's cache as well are copied from "
            "there each time."
        ),
        trial=_larger(case),
        acts_on="disk reads" if (disk or 0.0) >= MOSTLY and not is_full(case) else "server CPU",
    )


def _fills(case: Case, kept: float) -> bool:
    """Whether the buffers are being filled, or may be.

    Where it is not counted, and most of what is read may stay, only reads that go on as before say
    that it does not.
    """
    if page_reads.find_room(case):
        return True
    reads, events = case.series("server", page_reads.COUNTER), case.series("load", "tps")
    thirds = by_thirds(reads, events) if reads and events else None
    return kept >= STAYS if thirds is None else thirds[1] <= FALLS * thirds[0]


def _said(case: Case, reads: float, share: float, disk: float | None) -> Iterator[Message]:
    yield say(
        "Each event reads {reads} pages that are not in shared_buffers ({size}).",
        reads=Number(reads / case.tps),
        size=case.variable("shared_buffers") or "-",
    )
    if disk is not None:
        yield say(
            "Of their bytes {part} come from the disk, the others from the kernel's cache.",
            part=Percent(disk),
        )
    yield say("Reading takes {share} of the users' time.", share=Percent(share))


def _evidence(case: Case, reads: float, kept: float, disk: float | None) -> Iterator[Evidence]:
    yield case.seen(plain(page_reads.COUNTER), reads, say_in("unit", "pages/s"))
    yield case.seen(say("pages read that may have stayed"), kept, say("of those read"), STAYS)
    if disk is not None:
        yield case.seen(say("bytes from the disk"), disk, say("of those read"), MOSTLY)


def _larger(case: Case) -> Trial | None:
    """Buffers that half of the free memory allows: four times as large, or the default."""
    now, free = size_of(case.variable("shared_buffers")), free_memory(case)
    if not now or free is None:
        return None
    times = min(MOST_TIMES, 1 + int(FREE_TAKEN * free / now))
    wanted = max(times * now // MIB, DEFAULT_MIB)
    if times < 2 or wanted * MIB > FREE_TAKEN * free + now:
        return None
    return at_start(case, {"shared_buffers": f"{wanted}MB"}, say("the small shared_buffers"))


RULE = Rule(
    "shared-buffers-small",
    say("the data in use does not fit shared_buffers"),
    judge,
    reads="files",
    holds=time_at(*PAGE_READS, *CORES),
    holds_in=page_reads.reading_holds,
)
