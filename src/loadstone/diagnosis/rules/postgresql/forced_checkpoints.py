"""Somebody asks for checkpoints, more often than the log's growth does.

CHECKPOINT, base backups and DROP DATABASE do. Each checkpoint writes all changed pages, and after
it the first change of each page is logged with the whole page.

Source: https://www.postgresql.org/docs/current/sql-checkpoint.html
"""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import CORES, Holds, priced, time_at
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql import page_images, wal_size
from loadstone.diagnosis.rules.postgresql.page_images import Images, Work
from loadstone.diagnosis.users_time import time_of
from loadstone.model.figure import Percent
from loadstone.model.figure import Seconds as Time
from loadstone.model.finding import Finding
from loadstone.model.message import plain, say, say_in, sentences


def judge(case: Case) -> Finding | None:
    """The images after most checkpoints, and the pages of these: somebody asked for them."""
    found = case.needed(page_images.images(case))
    asked = case.needed(page_images.asked_for(case))
    share = case.needed(time_of(case, page_images.parts(case, _work(case, found))))
    if not case.tps or share < page_images.MATTERS or not wal_size.is_forced(case, found):
        return None
    return Finding(
        cause="checkpoints-asked-for",
        group="setting",
        sentence=sentences(
            say(
                "Somebody asks for a checkpoint every {time}; checkpoints write {written} pages a "
                "second.",
                time=Time(1 / asked),
                written=round(page_images.pages_of_checkpoints(case)),
            ),
            page_images.said(case, found),
            say("This takes {share} of the users' time.", share=Percent(share)),
        ),
        evidence=(
            case.seen(say("checkpoints asked for"), asked, say_in("unit", "/s")),
            case.seen(plain(page_images.COUNTER), found.per_s, say_in("unit", "/s")),
            case.seen(plain(page_images.BYTES), found.wal_bytes, say_in("unit", "B/s")),
        ),
        share=share,
        confidence=0.8,
        remedy=say(
            "Find who runs CHECKPOINT, a base backup or DROP DATABASE that often: "
            "pg_stat_activity shows it, and log_checkpoints each one that was forced."
        ),
        acts_on="disk writes",
    )


def _work(case: Case, found: Images) -> Work:
    asked = page_images.asked_for(case) or 0.0
    part = asked / (asked + page_images.timed(case)) if asked else 0.0
    pages = page_images.pages_of_checkpoints(case)
    return Work(part * found.per_s, part * found.bytes_per_s, part * pages)


def _holds(case: Case) -> Holds | None:
    found = page_images.images(case)
    parts = page_images.parts(case, _work(case, found)) if found else {}
    return priced(parts) if parts else None


RULE = Rule(
    "checkpoints-asked-for",
    say("somebody asks for checkpoints"),
    judge,
    reads="files",
    holds=time_at("log sync", "commit", *CORES),
    holds_in=_holds,
)
