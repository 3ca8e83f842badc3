"""The text of a run about TPC-C's transactions."""

from __future__ import annotations

from pathlib import Path

from loadstone.model.records import LatencyNs
from loadstone.model.result import LatencyMs, Result
from loadstone.report.text import as_text
from loadstone.runs import run_folder
from recorded import a_plan, recorded_run
from scripted_engine import Script

KINDS = """\
TPC-C-like, not audited: 1,350 New-Order transactions a minute at 4 users:
                       share   mean    p90    p99    max
transaction    events      %     ms     ms     ms     ms
────────────────────────────────────────────────────────
New-Order         180  45.00   5.00   9.00   9.50   12.0
  rolled back       2   0.50   5.00   9.00   9.50   12.0
Payment           172  43.00   5.00   9.00   9.50   12.0
"""


def with_kinds(tmp_path: Path, script: Script, tpmc: float | None) -> Result:
    script.tps = lambda users, second: 100
    result = run_folder.load(recorded_run(tmp_path, a_plan(ladder=(4,))))
    (step,) = result.steps
    counts = {"payment": 172, "new_order": 180, "new_order_rolled_back": 2}
    kinds = {name: took(count) for name, count in counts.items()}
    changed = step.model_copy(update={"kinds": kinds, "tpmc": tpmc, "events": 400})
    return result.model_copy(update={"steps": (changed,)})


def took(count: int) -> LatencyMs:
    nothing = LatencyMs.from_ns(LatencyNs())
    return nothing.model_copy(
        update={"count": count, "mean": 5.0, "p90": 9.0, "p99": 9.5, "max": 12.0}
    )


def test_orders_a_minute_stand_with_their_honest_name(tmp_path: Path, script: Script) -> None:
    assert KINDS in as_text(with_kinds(tmp_path, script, 1350.0))


def test_another_workload_is_not_said_to_be_like_it(tmp_path: Path, script: Script) -> None:
    text = as_text(with_kinds(tmp_path, script, None))
    assert "TPC-C" not in text and "The transactions of the step with 4 users:" in text
    assert "new_order         " in text
