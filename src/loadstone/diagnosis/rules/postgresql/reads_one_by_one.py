"""Scans that know many of their pages in advance wait for one after the other.

A bitmap heap scan has a list of pages. It asks the kernel for effective_io_concurrency of them
ahead; with 0 or 1, the default up to version 17, a disk that could serve many at once serves one.

Source: https://www.postgresql.org/docs/current/runtime-config-resource.html#GUC-EFFECTIVE-IO-CONCURRENCY
"""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import PAGE_READS, Holds, parts_of, time_at
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql import page_reads, versions
from loadstone.diagnosis.trials import dynamic
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding, Trial
from loadstone.model.message import plain, say, say_in

FEW = 1.0
"""The highest effective_io_concurrency with which a scan has one page under way."""

TRIED = 32
"""[P] Pages ahead that a trial asks for: a solid-state disk serves some tens at once."""

MATTERS = 0.1
"""[P] Share of the users' time from which it counts."""


def judge(case: Case) -> Finding | None:
    """Waits for pages from the disk, of scans that could have asked for them in advance."""
    ahead = case.needed(case.number("effective_io_concurrency"))
    part = case.needed(_part_of_bitmaps(case))
    waits = case.needed(case.time_at(*PAGE_READS))
    from_disk = page_reads.part_from_disk(case)
    share = part * waits
    if ahead > FEW or share < MATTERS or not from_disk:
        return None
    return Finding(
        cause="reads-one-by-one",
        group="setting",
        sentence=say(
            "Bitmap scans wait for one page after the other (effective_io_concurrency={ahead}): "
            "{part} of the rows that indexes lead to are theirs, and at a moment {reading} users "
            "wait for {reading} pages. This takes {share} of the users' time.",
            ahead=Number(ahead),
            part=Percent(part),
            reading=Number(case.users * waits),
            share=Percent(share),
        ),
        evidence=(
            case.seen(plain("effective_io_concurrency"), ahead, plain(""), FEW),
            case.seen(say("rows of bitmap scans"), part, say("of those that indexes lead to")),
            case.seen(say("bytes from the disk"), from_disk, say("of those read")),
            case.seen(say("requests at the disk"), case.host("disk_queue") or 0.0, plain("")),
            case.seen(plain(page_reads.COUNTER), page_reads.reads(case) or 0.0, _PAGES),
        ),
        share=share,
        # Whether the disk serves more at once is for a trial.
        confidence=0.5,
        remedy=say(
            "Raise effective_io_concurrency, for all or for the tablespace on that disk: a "
            "solid-state disk or an array serves tens of reads at once."
        ),
        trial=_ahead(case),
        acts_on="disk reads",
    )


_PAGES = say_in("unit", "pages/s")


def _ahead(case: Case) -> Trial | None:
    """More pages ahead; if that brings nothing, this disk serves no more at once."""
    trial = dynamic(
        case, {"effective_io_concurrency": str(TRIED)}, say("reading one page after the other")
    )
    return trial and trial.model_copy(update={"refutes": False})


def _part_of_bitmaps(case: Case) -> float | None:
    """Of the rows that indexes led to, those of bitmap scans, 0 to 1.

    A table counts the rows of both kinds of scans, an index those of plain scans alone.
    """
    found = versions.tables(case)
    if found is None:
        return None
    led_to = sum(one.fetched for one in found)
    plainly = sum(index.fetched for one in found for index in one.indexes)
    return max(led_to - plainly, 0) / led_to if led_to else 0.0


def _holds(case: Case) -> Holds | None:
    part = _part_of_bitmaps(case)
    return None if part is None else parts_of(dict.fromkeys(PAGE_READS, part))


RULE = Rule(
    "reads-one-by-one",
    say("pages are read one by one"),
    judge,
    reads="files",
    holds=time_at(*PAGE_READS),
    holds_in=_holds,
)
