"""Where a user's second goes, as a table, in words and as a picture."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.analyse.ladder import Level, ladders_of
from loadstone.model.account import (
    Account,
    AccountEntry,
    Cores,
    DiskBytes,
    Disks,
    Known,
    Memory,
    MemoryOf,
    Place,
)
from loadstone.model.language import ENGLISH, in_language
from loadstone.report.account import account_notes, account_table
from loadstone.report.figures.account import COLOURS, account_figure
from loadstone.report.markdown import as_markdown
from loadstone.report.opened import Run
from loadstone.runs import run_folder
from loadstone.web.live_run import LiveRun
from loadstone.web.theme_export import shared
from recorded import a_plan, recorded_run
from scripted_engine import Script


def entry(place: Place, share: float, half: float | None = None) -> AccountEntry:
    low, high = (None, None) if half is None else (share - half, share + half)
    known: Known = "counted" if half is None else "sampled"
    return AccountEntry(place=place, users=8 * share, share=share, known=known, low=low, high=high)


AN_ACCOUNT = Account(
    users=8, seconds=10.0, view="threads", looks=200.0, unnamed=0.04, beyond=0.0, looking=0.008,
    entries=(
        entry("generator", 0.004), entry("on core", 0.25), entry("row lock", 0.7, 0.021),
        entry("other", 0.006, 0.001),
    ),
)  # fmt: skip


@pytest.fixture
def ladder(tmp_path: Path, script: Script) -> list[Level]:
    """Two levels, of which only the second has an account."""
    steps = run_folder.load(recorded_run(tmp_path, a_plan(ladder=(1, 8)))).steps
    return next(ladders_of([steps[0], steps[1].model_copy(update={"account": AN_ACCOUNT})]))


def test_small_places_are_one_row_and_the_rest_is_the_last(ladder: list[Level]) -> None:
    table = account_table(ladder, ENGLISH)
    assert table is not None
    assert [column.head for column in table.columns] == ["% of the users' time", "8"]
    assert table.rows == (
        ("on a core of the server", "25.0"),
        ("row lock", "70.0"),
        ("other places", "1.0"),
        ("unnamed", "4.0"),
    )


def test_how_it_is_known_is_said(ladder: list[Level]) -> None:
    (said,) = map(ENGLISH, account_notes(ladder))
    assert "± 2.1 points" in said
    assert "0.8 % of a core" in said


def notes_of(ladder: list[Level], **changes: object) -> list[str]:
    """What is said of a step whose account has these values."""
    account = AN_ACCOUNT.model_copy(update=changes)
    step = ladder[1].steps[0].model_copy(update={"account": account})
    return [*map(ENGLISH, account_notes(next(ladders_of([step]))))]


def test_other_clients_that_use_its_cores_are_named(ladder: list[Level]) -> None:
    said = notes_of(ladder, cores=Cores(users=1.1, others=0.4, own=0.2))
    assert said[1] == (
        "With 8 users the server used 1.1 cores for them, 0.4 for other clients' sessions and 0.2 "
        "in its own threads."
    )


def test_other_clients_whose_sessions_read_or_write_are_named(ladder: list[Level]) -> None:
    mine, own = DiskBytes(read=0.0, written=2e6), DiskBytes(read=0.0, written=6e6)
    others = DiskBytes(read=40e6, written=0.0)
    said = notes_of(ladder, disks=Disks(users=mine, others=others, own=own))
    assert said[1] == (
        "With 8 users the server read 0 B and wrote 1.91 MiB a second for them, 38.1 MiB and 0 B "
        "for other clients' sessions, and 0 B and 5.72 MiB in its own threads."
    )
    assert len(notes_of(ladder, disks=Disks(users=mine, others=mine, own=None))) == 1


def test_what_each_session_s_process_has_for_itself_is_said(ladder: list[Level]) -> None:
    users = MemoryOf(sessions=8.0, each=2 * 2**20, page_tables=2**18)
    assert notes_of(ladder, memory=Memory(users=users, others=None))[1] == (
        "With 8 users each session's process had 2 MiB of memory for itself, 256 KiB of which are "
        "page tables; all 8 together had 16 MiB."
    )


def test_without_threads_it_is_said_why(ladder: list[Level]) -> None:
    said = notes_of(ladder, view="sessions", why="it is far", beyond=0.03)
    assert said[1:] == [
        "The places were measured apart, and come to 3 % more than all time.",
        "The server's time is divided by its list of sessions only: it is far.",
    ]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_bar_has_all_places_and_its_rest(lang: str, ladder: list[Level]) -> None:
    words = in_language("zh" if lang == "zh" else "en")
    figure = account_figure(ladder, words)
    assert figure is not None
    parts = {one["name"]: one["data"][0]["value"] for one in figure.option["series"]}
    assert list(parts.values()) == [25.0, 70.0, 1.0, 4.0]
    assert figure.option["xAxis"]["data"] == ["8"]


def test_the_legend_has_the_room_that_it_needs_and_grey_is_one_place(ladder: list[Level]) -> None:
    figure = account_figure(ladder, ENGLISH)
    assert figure is not None and figure.narrow is not None
    # Four entries are two lines, or four where they do not fit next to each other.
    assert (figure.option["grid"]["top"], figure.height_px) == (64, 428)
    assert (figure.narrow.option["grid"]["top"], figure.narrow.height_px) == (112, 476)
    looks = [tuple(one["itemStyle"].values()) for one in figure.option["series"]]
    assert len(set(looks)) == 4 and (COLOURS["generator"], 1) not in looks


def test_without_any_account_there_is_nothing(tmp_path: Path, script: Script) -> None:
    run = recorded_run(tmp_path, a_plan(ladder=(1, 8)))
    ladder = next(ladders_of(run_folder.load(run).steps))
    assert account_table(ladder, ENGLISH) is None
    assert account_figure(ladder, ENGLISH) is None
    assert not [*account_notes(ladder)]
    assert "user's second" not in as_markdown(Run(run))


def test_the_live_page_has_the_bars_of_the_ladder_that_runs(
    tmp_path: Path, ladder: list[Level]
) -> None:
    run = LiveRun(tmp_path, row_of=lambda log: ladder[0].steps[0])
    assert run.snapshot()["account"] is None
    run.rows = [step for level in ladder for step in level.steps]
    account = run.snapshot()["account"]
    names = [one["name"] for one in account["option"]["series"]]
    assert names == ["on a core of the server", "row lock", "other places", "unnamed"]
    known = shared()["texts"]["zh"]
    assert all(name in known for name in (*names, account["about"]))
