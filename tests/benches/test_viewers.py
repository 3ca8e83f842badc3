"""The viewers of the benches, on a page whose run is the engine's double."""

from __future__ import annotations

import time
from pathlib import Path

from benches.figures import median_within
from benches.viewers import VIEWERS, Part, delay_table, rate_table
from benches.watching import viewers
from recorded import a_plan, record_step, recorder_for, steps_of
from scripted_engine import Script
from web.served import PATIENCE_S, served


def test_viewers_see_a_run_start_and_leave_when_it_has_ended(
    tmp_path: Path, script: Script
) -> None:
    plan = a_plan()
    with served(tmp_path) as page, viewers(page.link, tmp_path, 3) as seen:
        recorder = recorder_for(tmp_path, plan)
        deadline = time.monotonic() + PATIENCE_S
        while len(seen.shown_s) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        record_step(recorder, plan, steps_of(plan)[0])
        recorder.end_run("finished")
    assert len(seen.shown_s) == 3
    assert min(seen.shown_s) > 0
    assert seen.ended == {0, 1, 2}
    assert len(seen.newest_s) == 3


def test_viewers_who_are_elsewhere_only_take_what_comes(tmp_path: Path, script: Script) -> None:
    plan = a_plan()
    with served(tmp_path) as page, viewers(page.link, tmp_path, 2) as seen:
        recorder = recorder_for(tmp_path, plan)
        deadline = time.monotonic() + PATIENCE_S
        while len(seen.shown_s) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        seen.are_elsewhere.set()
        record_step(recorder, plan, steps_of(plan)[0])
        recorder.end_run("finished")
        time.sleep(1.5)
        assert all(thread.is_alive() for thread in seen.threads)
    assert not any(thread.is_alive() for thread in seen.threads)
    assert seen.ended == set()


def test_ratios_are_within_pairs_and_delays_over_all_viewers() -> None:
    watched = f"{VIEWERS} viewers"
    readings = [
        Part(0, watched, 0.0, 8.0, 0.02, 0.01, 90.0),
        Part(0, "nobody", 8.0, 16.0, 0.0, 0.01, 100.0),
        Part(1, "nobody", 16.0, 24.0, 0.0, 0.01, 50.0),
        Part(1, watched, 24.0, 32.0, 0.04, 0.01, 51.0),
    ]
    assert "0.960 (0.900–1.020)" in rate_table(readings)
    delays = delay_table(readings, (0.5, 0.9, 1.0), (0.1, 0.2, 0.3, 0.2))
    for figure in ("0.90 (0.50–1.00)", "0.20 (0.10–0.20)", "3.0 (2.0–4.0)"):
        assert figure in delays


def test_the_interval_of_a_median_is_that_of_the_sign_test() -> None:
    # Conover, "Practical Nonparametric Statistics", table A3: n = 9, ranks 2 and 8, 96.1 %.
    assert median_within(range(1, 10)) == (2, 8)
    assert median_within(range(1, 7)) == (1, 6)
    assert median_within(range(1, 6)) is None
