"""max_wal_size is so small that the log's growth brings the next checkpoint early.

Each checkpoint writes all changed pages, and after it the first change of each page is logged with
the whole page. Source: https://www.postgresql.org/docs/current/wal-configuration.html
"""

from __future__ import annotations

from loadstone.analyse.postgresql.durations import seconds_of
from loadstone.analyse.postgresql.settings import GIB, MIB, size_of
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import CORES, Holds, time_at
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql import page_images
from loadstone.diagnosis.trials import REFILLS_S, dynamic
from loadstone.model.figure import Bytes, Percent
from loadstone.model.figure import Seconds as Time
from loadstone.model.finding import Finding, Trial
from loadstone.model.message import plain, say, say_in, sentences

SECONDS_OF_LOG = 60.0
"""[P] A log that a trial asks for takes this long to fill at the rate of the run."""

TRIED_MOST = 8 * GIB
"""[P] Bytes of log that a trial asks for on a disk whose free space is not known."""

TIMES = 4
"""[P] Times the log that a trial asks for, lower bound."""


def judge(case: Case) -> Finding | None:
    """The log was full before checkpoint_timeout, and what that makes takes the users' time."""
    found = case.needed(page_images.images(case))
    size = case.needed(size_of(case.variable("max_wal_size")))
    timeout_s = case.needed(seconds_of(case.variable("checkpoint_timeout")))
    asked = case.needed(page_images.checkpoints_by_size(case))
    if not asked or not found.wal_bytes or not case.tps:
        return None
    fills_s = distance(case, size) / found.wal_bytes
    share = case.needed(page_images.time_of(case, page_images.parts(case, with_pages=True)))
    if fills_s >= timeout_s or share < page_images.MATTERS:
        return None
    wanted = max(TIMES * size, round(SECONDS_OF_LOG * size / fills_s))
    return Finding(
        cause="max-wal-size-small",
        group="setting",
        sentence=sentences(
            say(
                "max_wal_size={size} is too small: {written}/s of WAL bring a checkpoint every "
                "{time}, rather than every {timeout}.",
                size=case.variable("max_wal_size"),
                written=Bytes(found.wal_bytes),
                time=Time(fills_s),
                timeout=case.variable("checkpoint_timeout"),
            ),
            page_images.said(case, found),
            say("Images and checkpoints take {share} of the users' time.", share=Percent(share)),
        ),
        evidence=(
            case.seen(say("checkpoints before their time"), asked, plain(""), 0.0),
            case.seen(say("time to fill the WAL"), fills_s, say_in("unit", "s"), timeout_s),
            case.seen(plain(page_images.COUNTER), found.per_s, say_in("unit", "/s")),
            case.seen(plain(page_images.BYTES), found.wal_bytes, say_in("unit", "B/s")),
        ),
        share=share,
        confidence=0.8,
        remedy=say("Raise max_wal_size to {size} or more.", size=Bytes(wanted)),
        trial=_larger(case, size, wanted),
        acts_on="disk writes",
    )


def distance(case: Case, max_wal_size: float) -> float:
    """The bytes of log after which a checkpoint begins: the rest is for the time that it takes.

    Source: CalculateCheckpointSegments in the server's xlog.c, and
    https://www.postgresql.org/docs/current/runtime-config-wal.html#GUC-CHECKPOINT-COMPLETION-TARGET
    """
    return max_wal_size / (1.0 + (case.number("checkpoint_completion_target") or 0.0))


def _larger(case: Case, now: int, wanted: int) -> Trial | None:
    tried = min(wanted, TRIED_MOST) // MIB
    if tried * MIB <= now:
        return None
    return dynamic(
        case, {"max_wal_size": f"{tried}MB"}, say("the small max_wal_size"), settles_s=REFILLS_S
    )


def _holds(case: Case) -> Holds | None:
    return page_images.holds(case, with_pages=True)


RULE = Rule(
    "max-wal-size-small",
    say("max_wal_size is too small"),
    judge,
    reads="files",
    holds=time_at(*CORES, "log sync", "commit"),
    holds_in=_holds,
)
