"""What a user sees while a run is under way."""

from __future__ import annotations

import os
import sys
from io import StringIO

import pytest
from rich.console import Console

from loadstone.cli.progress.load import LoadLines, progress_line
from loadstone.cli.progress.steps import LiveTable, PlainLines, second_line, watching
from loadstone.lab.step.order import steps_of
from loadstone.model.message import plain
from loadstone.model.records import (
    Counts,
    GeneratorUse,
    Latencies,
    LatencyNs,
    LoadProgress,
    Phase,
    Sample,
    Tally,
)
from recorded import a_plan

PLAN = a_plan(ladder=(1, 8), duration_s=30.0)


def sample(to_s: float, phase: Phase = "window", errors: dict[str, int] | None = None) -> Sample:
    response = LatencyNs(count=10, p50=1_500_000, p95=2_500_000, p99=3_500_000, max=9_000_000)
    return Sample(
        phase=phase,
        from_s=to_s - 1,
        to_s=to_s,
        tally=Tally(due=1, waiting=0, started=1, skipped=0, in_flight=0, succeeded=1, failed=0),
        counts=Counts(events=1234, reads=12_340),
        errors=errors or {},
        users=8,
        latency_ns=Latencies(response=response),
        generator=GeneratorUse(cpu_us=61_700, wall_us=1_000_000, late_ns_p99=0, shards=1),
    )


def shown(view: LiveTable) -> list[str]:
    out = StringIO()
    Console(file=out, width=100).print(view)
    return [line.rstrip() for line in out.getvalue().splitlines() if line.strip()]


def test_the_current_second_is_on_top_and_the_step_in_its_row() -> None:
    view = LiveTable(PLAN, 2)
    step = steps_of(PLAN)[1]
    view.on_step_begin(step)
    assert shown(view)[0] == "step 2 of 2, 8 users: connecting"
    view.on_sample(step, sample(13.0))
    lines = shown(view)
    assert lines[0] == "step 2 of 2, 8 users: window 12 of 30 s, 1,234 tps, p95 2.50 ms"
    assert lines[-1].split() == "8 1,234 12,340 1.50 2.50 3.50 9.00 0 0 5.00".split()


def test_a_terminal_that_is_closed_meanwhile_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = os.openpty()
    step, *_ = steps_of(PLAN)
    with open(slave, "w") as terminal, monkeypatch.context() as patch:
        # It keeps drawing: for a moment the terminal is not yet known to be closed.
        patch.setenv("TERM", "xterm")
        patch.setenv("FORCE_COLOR", "1")
        patch.setattr(sys, "stderr", terminal)
        with watching(PLAN, 2, quiet=False) as view:
            view.on_step_begin(step)
            os.close(master)
            with pytest.raises(OSError, match="Input/output error"):
                os.write(slave, b"x")
            view.on_sample(step, sample(13.0))
            view.on_note(plain("still there"))
        with open(os.devnull, "w") as nowhere:  # for what could not be shown
            os.dup2(nowhere.fileno(), slave)


def test_notes_stand_below_the_live_table() -> None:
    view = LiveTable(PLAN, 2)
    view.on_note("the server is on this machine")
    assert shown(view)[-1] == "note  the server is on this machine"


def test_a_second_says_its_phase_and_its_errors() -> None:
    warming = second_line(PLAN, sample(1.0, "warmup", {"1213": 2}))
    assert warming == "warmup 1 of 1 s, 1,234 tps, p95 2.50 ms, 2 errors"


def test_plain_lines_come_every_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    view = PlainLines(PLAN, 2)
    step = steps_of(PLAN)[0]
    view.on_step_begin(step)
    for second in range(1, 32):
        view.on_sample(step, sample(float(second)))
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(": ")[2].partition(",")[0] for line in lines] == [
        "connecting",
        "window 9 of 30 s",
        "window 19 of 30 s",
        "window 29 of 30 s",
    ]


def progress(rows: int, seconds: float) -> LoadProgress:
    return LoadProgress(
        seconds=seconds,
        rows=rows,
        rows_total=1_000_000,
        phase="rows",
        tables_done=0,
        method="infile",
    )


def test_loading_says_how_fast_and_how_long_still() -> None:
    said = progress_line(progress(250_000, 2.0))
    assert said == "loading: 250,000 of 1,000,000 rows, 125,000 rows/s, 6 s left"
    assert progress_line(progress(0, 0.0)) == "loading: 0 of 1,000,000 rows, 0 rows/s"


def test_rows_of_an_earlier_load_are_none_of_its_speed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loadstone.cli.progress.load.LINE_EVERY_S", 0.0)
    monkeypatch.setattr("loadstone.cli.progress.load.FIRST_LINE_AFTER_S", 0.0)
    lines = LoadLines()
    lines.on_progress(progress(700_000, 1.0))
    lines.on_progress(progress(730_000, 2.0))
    assert capsys.readouterr().err.splitlines() == [
        "loading: 700,000 of 1,000,000 rows, 0 rows/s",
        "loading: 730,000 of 1,000,000 rows, 30,000 rows/s, 9 s left",
    ]


def test_the_time_left_is_a_guess_and_has_two_digits() -> None:
    said = progress_line(progress(470_123, 1.234567))
    assert said.endswith(", 1.4 s left")


def test_loading_is_quiet_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    lines = LoadLines(quiet=True)
    lines.on_progress(progress(1, 1.0))
    lines.close()
    assert capsys.readouterr() == ("", "")
