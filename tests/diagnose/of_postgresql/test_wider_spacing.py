"""What wider spacing of checkpoints saves, against images that are counted one by one."""

from __future__ import annotations

import random

import pytest

from diagnose.accounts import an_account
from diagnose.of_postgresql.figures import a_case, at
from loadstone.analyse.postgresql.settings import MIB
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.rules.postgresql import page_images, wal_size

CHANGES = 4000.0
"""A second; each writes 100 bytes of log, and an image 8192 more."""

EACH = 100.0
IMAGE = 8192.0
SIZE = 32 * MIB
TIMEOUT_S = 300.0
_TIME = an_account(on_core=0.2, waiting_for_a_core=0.2, log_sync=0.05, commit=0.25)


def interval(pages: int, size: float) -> tuple[float, int]:
    """Seconds until the log has so many bytes, and the images in it, change by change."""
    chance, met = random.Random(7), set[int]()
    most = int(TIMEOUT_S * CHANGES)
    changes = 0
    while changes < most and changes * EACH + len(met) * IMAGE < size:
        met.add(int(chance.random() * pages))
        changes += 1
    return changes / CHANGES, len(met)


def case_of(pages: int) -> Case:
    """The figures of a run on so many pages, with checkpoints by the log's size."""
    distance = SIZE / 1.9
    seconds, images = interval(pages, distance)
    rates: dict[str, float | None] = {
        "pg_stat_wal.wal_fpi": images / seconds,
        "pg_stat_wal.wal_bytes": distance / seconds,
        "pg_stat_wal.wal_records": CHANGES + 1000,  # and a commit each
    }
    asked: dict[str, float | None] = {"pg_stat_bgwriter.checkpoints_req": 30.0}
    return a_case(at(_TIME, rates=rates, totals=asked), variables={"max_wal_size": "32MB"})


@pytest.mark.parametrize("pages", [300, 3000, 20_000])
def test_the_images_that_are_left_are_those_that_are_counted(pages: int) -> None:
    case = case_of(pages)
    found = case.needed(page_images.images(case))
    wider = wal_size.spacing(case, found, SIZE, TIMEOUT_S)
    seconds, images = interval(pages, min(wider.wanted, wal_size.TRIED_MOST) / 1.9)
    assert wider.later_s == pytest.approx(seconds, rel=0.05)
    assert wider.images == pytest.approx(images / seconds, rel=0.1)
    assert wider.saved.images == pytest.approx(found.per_s - wider.images)


def test_where_each_change_meets_another_page_nothing_is_saved() -> None:
    case = case_of(100_000_000)
    found = case.needed(page_images.images(case))
    wider = wal_size.spacing(case, found, SIZE, TIMEOUT_S)
    assert wider.saved.images <= 0.05 * found.per_s
    assert wal_size.judge(case) is None
