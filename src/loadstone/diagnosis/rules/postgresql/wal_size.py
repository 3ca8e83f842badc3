"""max_wal_size is so small that the log's growth brings the next checkpoint early.

Each checkpoint writes all changed pages, and after it the first change of each page is logged with
the whole page. Source: https://www.postgresql.org/docs/current/wal-configuration.html
"""

from __future__ import annotations

import math
from typing import NamedTuple

from loadstone.analyse.postgresql.durations import seconds_of
from loadstone.analyse.postgresql.settings import GIB, MIB, size_of
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import CORES, Holds, priced, time_at
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql import page_images
from loadstone.diagnosis.rules.postgresql.page_images import Images, Work
from loadstone.diagnosis.trials import REFILLS_S, dynamic
from loadstone.diagnosis.users_time import time_of
from loadstone.model.figure import Bytes, Number, Percent
from loadstone.model.figure import Seconds as Time
from loadstone.model.finding import Finding, Trial
from loadstone.model.message import plain, say, say_in, sentences

SECONDS_OF_LOG = 60.0
"""[P] A log that a trial asks for takes this long to fill at the rate of the run."""

TRIED_MOST = 8 * GIB
"""[P] Bytes of log that a trial asks for on a disk whose free space is not known."""

_SEGMENT = 16 * MIB
"""[S] The default of wal_segment_size."""

_RECORDS = "pg_stat_wal.wal_records"
_ROUNDS = 50
"""Halvings, or rounds of a fixed point, until nothing changes that a sentence shows."""

_ALL = 0.99
"""[P] Part of the changes with an image from which their pages are too many to be counted by it."""

FEWEST = 2
"""[P] Checkpoints in a window that are a habit of somebody's."""

TIMES = 4
"""[P] Times the log that a trial asks for, lower bound."""


class Spacing(NamedTuple):
    """What a larger max_wal_size changes."""

    wanted: int
    """Bytes of log that the trial asks for."""
    fills_s: float
    """Time between checkpoints now."""
    later_s: float
    """Time between them then."""
    images: float
    """Images a second then."""
    saved: Work


def judge(case: Case) -> Finding | None:
    """The log was full before checkpoint_timeout, and what wider spacing saves is users' time."""
    found = case.needed(page_images.images(case))
    size = case.needed(size_of(case.variable("max_wal_size")))
    timeout_s = case.needed(seconds_of(case.variable("checkpoint_timeout")))
    asked = case.needed(page_images.checkpoints_by_size(case))
    if not asked or not found.wal_bytes or not case.tps:
        return None
    wider = spacing(case, found, size, timeout_s)
    share = case.needed(time_of(case, page_images.parts(case, wider.saved)))
    if wider.fills_s >= timeout_s or share < page_images.MATTERS or is_forced(case, found):
        return None
    return Finding(
        cause="max-wal-size-small",
        group="setting",
        sentence=sentences(
            say(
                "max_wal_size={size} is too small: {written}/s of WAL bring a checkpoint every "
                "{time}, rather than every {timeout}.",
                size=case.variable("max_wal_size"),
                written=Bytes(found.wal_bytes),
                time=Time(wider.fills_s),
                timeout=case.variable("checkpoint_timeout"),
            ),
            page_images.said(case, found),
            say(
                "With one every {time} there are {fewer} images a second rather than {images}, as "
                "more changes meet a page that has its image, and {pages} fewer pages are written: "
                "{share} of the users' time.",
                time=Time(wider.later_s),
                fewer=Number(wider.images),
                images=Number(found.per_s),
                pages=Number(wider.saved.pages),
                share=Percent(share),
            ),
        ),
        evidence=(
            case.seen(say("checkpoints before their time"), asked, plain(""), 0.0),
            case.seen(say("time to fill the WAL"), wider.fills_s, say_in("unit", "s"), timeout_s),
            case.seen(plain(page_images.COUNTER), found.per_s, say_in("unit", "/s")),
            case.seen(say("images saved"), wider.saved.images, say_in("unit", "/s")),
            case.seen(plain(page_images.BYTES), found.wal_bytes, say_in("unit", "B/s")),
        ),
        share=share,
        confidence=0.8,
        remedy=say("Raise max_wal_size to {size} or more.", size=Bytes(wider.wanted)),
        trial=_larger(case, size, wider.wanted),
        acts_on="disk writes",
    )


def is_forced(case: Case, found: Images) -> bool:
    """Whether most of the checkpoints that were asked for are none that the log's size explains."""
    asked, size = page_images.asked_for(case), size_of(case.variable("max_wal_size"))
    if not asked or not size or asked * case.step.seconds < FEWEST:
        return False
    others = found.wal_bytes / distance(case, size) + page_images.timed(case)
    return asked - 1 / case.step.seconds > 2 * others


def spacing(case: Case, found: Images, size: int, timeout_s: float) -> Spacing:
    """What the log that a trial asks for saves.

    Between two checkpoints changes come to pages at random, and each page is imaged once. With
    `pages` pages and `changes` changes a second the images of `t` seconds are
    `pages * (1 - exp(-changes * t / pages))`. The measured spacing and its images give `pages`.
    """
    fills_s = distance(case, size) / found.wal_bytes
    wanted = max(TIMES * size, round(SECONDS_OF_LOG * size / fills_s))
    tried = min(wanted, TRIED_MOST)
    changes = max((case.rate(_RECORDS) or 0.0) - (case.commits() or 0.0), found.per_s)
    pages = _pages(found.per_s * fills_s, changes * fills_s)
    each = found.bytes_per_s / found.per_s if found.per_s else 0.0
    later_s, images = fills_s, found.per_s
    for _ in range(_ROUNDS):  # fewer images fill the log more slowly, which makes them fewer still
        written = found.wal_bytes - (found.per_s - images) * each
        later_s = max(min(distance(case, tried) / max(written, 1.0), timeout_s), fills_s)
        images = _imaged(pages, changes * later_s) / later_s
    saved = max(found.per_s - images, 0.0)
    part = saved / found.per_s if found.per_s else 0.0
    fewer = part * page_images.pages_of_checkpoints(case)
    return Spacing(wanted, fills_s, later_s, images, Work(saved, saved * each, fewer))


def _imaged(pages: float, changes: float) -> float:
    """Of so many pages those that so many changes meet; infinitely many pages: one each."""
    return changes if math.isinf(pages) else -pages * math.expm1(-changes / pages)


def _pages(images: float, changes: float) -> float:
    """The number of pages of which so many changes meet so many; infinite: each meets another."""
    if not images or images >= _ALL * changes:
        return math.inf
    low, high = images, images * changes / (changes - images)
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        low, high = (middle, high) if _imaged(middle, changes) < images else (low, middle)
    return high


def distance(case: Case, max_wal_size: float) -> float:
    """The bytes of log after which a checkpoint begins: the rest is for the time that it takes.

    It is a whole number of segments, one at least.

    Source: CalculateCheckpointSegments in the server's xlog.c, and
    https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-CHECKPOINT-COMPLETION-TARGET
    """
    segment = size_of(case.variable("wal_segment_size")) or _SEGMENT
    size = max_wal_size / (1.0 + (case.number("checkpoint_completion_target") or 0.0))
    return max(size // segment, 1.0) * segment


def _larger(case: Case, now: int, wanted: int) -> Trial | None:
    tried = min(wanted, TRIED_MOST) // MIB
    if tried * MIB <= now:
        return None
    return dynamic(
        case, {"max_wal_size": f"{tried}MB"}, say("the small max_wal_size"), settles_s=REFILLS_S
    )


def _holds(case: Case) -> Holds | None:
    found, size = page_images.images(case), size_of(case.variable("max_wal_size"))
    timeout_s = seconds_of(case.variable("checkpoint_timeout"))
    if not found or not found.wal_bytes or not size or not timeout_s:
        return None
    parts = page_images.parts(case, spacing(case, found, size, timeout_s).saved)
    return priced(parts) if parts else None


RULE = Rule(
    "max-wal-size-small",
    say("max_wal_size is too small"),
    judge,
    reads="files",
    holds=time_at(*CORES, "log sync", "commit"),
    holds_in=_holds,
)
