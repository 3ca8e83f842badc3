"""Runs of which only the end is read: what viewers get is that of a run that was read whole."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import Any

import pytest

from loadstone.runs import run_folder
from loadstone.runs.rebuild import JOURNAL
from loadstone.web import feed
from recorded import a_plan, recorded_run
from scripted_engine import Script
from stretched import stretch
from web.served import Stream, served

SHOWN_S = 200.0
SECONDS = 500


@pytest.fixture
def run(tmp_path: Path, script: Script) -> Path:
    """A run with two steps of 500 seconds each."""
    script.tps = lambda users, second: 2 + users + second % 3
    return recorded_run(tmp_path, a_plan(ladder=(1, 2), duration_s=SECONDS - 1.0))


def snapshot_of(run: Path) -> dict[str, Any]:
    with served(run.parent) as server:
        stream = server.stream(run.name)
        snapshot: dict[str, Any] = stream.until("snapshot").data
        stream.close()
    return snapshot


def points_of(snapshot: dict[str, Any]) -> list[Any]:
    series = snapshot["timelines"]["rates"]["option"]["series"]
    return next(one["data"] for one in series if one["id"] == "tps")


# Without a result the rows come from processes of their own.
@pytest.mark.parametrize("has_result", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_rows_and_notes_are_those_of_the_whole_run(
    run: Path, has_result: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stretch(run)
    if not has_result:
        (run / run_folder.RESULT).unlink()
    whole = snapshot_of(run)
    monkeypatch.setattr(feed, "KEPT_S", SHOWN_S)
    recent = snapshot_of(run)
    for same in ("run", "step", "rows", "notes", "ladder", "account"):
        assert recent[same] == whole[same], same
    assert len(recent["rows"]) == 2
    assert len(points_of(whole)) == 900
    shown = points_of(recent)
    assert SHOWN_S <= len(shown) < SECONDS
    assert points_of(whole)[-len(shown) :] == shown


@pytest.mark.slow
def test_a_step_that_was_begun_long_ago_ends_with_the_row_of_all_its_seconds(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = stretch(run)
    (run / run_folder.RESULT).unlink()
    whole = snapshot_of(run)
    ends = next(at for at, line in enumerate(lines) if line.startswith(b'{"kind":"step_end"'))
    monkeypatch.setattr(feed, "KEPT_S", SHOWN_S)
    with (run / JOURNAL).open("wb", buffering=0) as journal:
        fcntl.flock(journal, fcntl.LOCK_EX)
        journal.write(b"".join(lines[:ends]))
        with served(run.parent) as server:
            stream: Stream = server.stream(run.name)
            assert stream.until("snapshot").data["rows"] == []
            journal.write(lines[ends])
            assert stream.until("row").data["row"] == whole["rows"][0]
            stream.close()


def test_a_viewer_that_missed_what_is_not_read_again_gets_a_snapshot(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stretch(run)
    monkeypatch.setattr(feed, "KEPT_S", SHOWN_S)
    with served(run.parent) as server:
        stream = server.stream(run.name, Last_Event_ID="2000")
        assert len(stream.until("snapshot").data["rows"]) == 2
        stream.close()
