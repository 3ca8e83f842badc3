"""A failover drill as text."""

from __future__ import annotations

import pytest

from analyse.made import a_step
from loadstone.model.failover import (
    DrillError,
    DrillOutage,
    DrillSecond,
    LedgerPlace,
    LedgerVerdict,
    Timeline,
)
from loadstone.model.language import ENGLISH, Language, in_language
from loadstone.report.failover import outage_lines, verdict_lines
from loadstone.report.notes import drill_notes

_OUTAGE = DrillOutage(
    from_s=4.9981,
    to_s=8.25,
    users=64,
    users_cut_off=0,
    last_success_s=5.001,
    first_success_s=7.501,
    outage_ms=2500.0,
    slowest_user=17,
    slowest_ms=3200.4,
    median_ms=2750.0,
    errors=(
        DrillError(code="2003", name="CR_CONN_HOST_ERROR", statements=0, connects=1812),
        DrillError(code="4711", name=None, statements=1, connects=2),
    ),
    seconds=(
        DrillSecond(
            from_s=5.0,
            to_s=6.0,
            succeeded=0,
            failed=64,
            errors={"2013": 64},
            connect_failures={},
            users=0,
        ),
    ),
    seconds_left_out=0,
)

_VERDICT = LedgerVerdict(
    target="mysql://bench@db2:3306/drill",
    holds=True,
    is_complete=True,
    users=64,
    acknowledged=123456,
    lost=0,
    twice=0,
    though_refused=0,
    altered=0,
    in_doubt_present=3,
    in_doubt_absent=61,
    untold_present=0,
    sum_expected=7,
    sum_found=7,
    places=(),
)


def test_an_outage_tells_how_long_nobody_was_served_and_how_long_the_slowest_waited() -> None:
    assert list(outage_lines(_OUTAGE, 64)) == [
        "Outage from 4.998 s to 8.250 s: 64 of 64 users had to wait",
        "  nobody was served for 2,500 ms: the last success was at 5.001 s, the next one at "
        "7.501 s",
        "  slowest user: 3,200 ms (number 17); median 2,750 ms",
        "  2003 CR_CONN_HOST_ERROR: 1,812 connects",
        "  4711 no name here: 1 statement, 2 connects",
    ]


def test_an_outage_in_chinese_counts_users_and_has_one_space_between_numbers_and_words() -> None:
    chinese = in_language("zh")
    head = next(outage_lines(_OUTAGE, 64, chinese))
    assert head == "服务不可用：4.998 秒至 8.250 秒，64 个并发中有 64 个需要等待"
    open_end = _OUTAGE.model_copy(update={"to_s": None})
    assert next(outage_lines(open_end, 64, chinese)).startswith("服务不可用：4.998 秒至步骤结束，")


def test_an_outage_that_never_ended_says_so() -> None:
    changes = {"to_s": None, "first_success_s": None, "outage_ms": None, "users_cut_off": 64}
    nothing = {"slowest_user": None, "slowest_ms": None, "median_ms": None, "errors": ()}
    lines = list(outage_lines(_OUTAGE.model_copy(update=changes | nothing), 64))
    assert lines == [
        "Outage from 4.998 s to the step's end: 64 of 64 users had to wait",
        "  nobody was served from 5.001 s until the step's end",
        "  64 users were never served again",
    ]


def test_a_ledger_tells_doubts_apart_from_losses() -> None:
    assert list(verdict_lines(_VERDICT)) == [
        "Ledger at mysql://bench@db2:3306/drill: none of 123,456 acknowledged entries lost, "
        "none doubled",
        "  64 in doubt, as COMMIT was sent and its answer did not come: 3 present, 61 missing",
    ]


def test_a_ledger_names_what_was_lost_and_what_nobody_knows() -> None:
    changes = {
        "holds": False,
        "is_complete": False,
        "lost": 12,
        "twice": 1,
        "untold_present": 2,
        "sum_found": 6,
        "places": (
            LedgerPlace(user=5, what="lost", first=1000, last=1011),
            LedgerPlace(user=6, what="twice", first=9, last=9),
        ),
    }
    lines = list(verdict_lines(_VERDICT.model_copy(update=changes)))
    assert lines[0].endswith("12 of 123,456 acknowledged entries lost, 1 doubled")
    assert lines[2:] == [
        "  a generator was lost before its end: whether 2 entries that it wrote last were "
        "acknowledged is not known, nor whether others are missing",
        "  the amounts add up to 6 instead of 7",
        "  user 5: entries 1,000 to 1,011 acknowledged, but missing",
        "  user 6: entry 9 present more than once",
    ]


@pytest.mark.parametrize(
    ("words", "said"), [(ENGLISH, "nobody was served"), (in_language("zh"), "写入核对表")]
)
def test_the_page_has_both_in_its_language(words: Language, said: str) -> None:
    timeline = Timeline(outages=(_OUTAGE,), outages_left_out=0)
    step = a_step(timeline=timeline, ledger=(_VERDICT,))
    lines = list(map(words, drill_notes(step)))
    assert len(lines) == 3
    assert "2,500 ms" in lines[0] or "2,500 毫秒" in lines[0]
    assert "3,200" in lines[1] and "123,456" in lines[2]
    assert said in " ".join(lines)
    assert list(drill_notes(a_step())) == []
