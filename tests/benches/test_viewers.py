"""The viewers of the bench, on a page whose run is the engine's double."""

from __future__ import annotations

import time
from pathlib import Path

from benches.viewers import Driven, delay_table, rate_table
from benches.watching import viewers
from recorded import a_plan, record_step, recorder_for, steps_of
from scripted_engine import Script
from web.served import PATIENCE_S, served


def test_viewers_see_a_run_begin_and_go_when_it_has_ended(tmp_path: Path, script: Script) -> None:
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


def test_ratios_are_within_pairs_and_delays_over_all_viewers() -> None:
    readings = [
        Driven(0, "ten viewers", 90.0, 0.02, (0.5, 1.0), (0.1, 0.2, 0.3)),
        Driven(0, "nobody", 100.0),
        Driven(1, "nobody", 50.0),
        Driven(1, "ten viewers", 51.0, 0.04, (0.9,), (0.2,)),
    ]
    assert "0.960 (0.900–1.020)" in rate_table(readings)
    delays = delay_table(readings)
    for figure in ("0.90 (0.50–1.00)", "0.20 (0.10–0.20)", "3.0 (2.0–4.0)"):
        assert figure in delays
