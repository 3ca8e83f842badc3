"""The verdicts of a soak, on made-up readings and journals: each promise can be broken."""

from __future__ import annotations

import json
import math
import os
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benches.accounting import Account, account_of
from benches.growth import look, steady_slope
from benches.soak import Soaked, memory_promise, promises, report
from benches.soak_faults import FAULTS, LINE_FAULTS, in_rounds
from loadstone.runs.rebuild import read_log
from recorded import a_plan, recorded_run
from scripted_engine import Script
from soaked import GOOD


def broken(soaked: Soaked) -> tuple[str, ...]:
    return report(soaked, seed=1, with_line=True).broken


def test_a_good_soak_keeps_all_promises() -> None:
    assert broken(GOOD) == ()
    assert len(promises(GOOD)) == 6
    assert memory_promise(GOOD).figure == "+0.00 (+0.00 to +0.00) at 110.0 MB"


@pytest.mark.parametrize(
    ("changes", "promise"),
    [
        ({"memory": tuple((at, mb + 1.5 * at) for at, mb in GOOD.memory)}, "memory of its own"),
        ({"memory": GOOD.memory[:1]}, "memory of its own"),
        ({"descriptors": (2040,) * 59 + (2041,)}, "descriptors that were never given back"),
        ({"account": replace(GOOD.account, seconds=3599)}, "seconds without a record"),
        ({"account": replace(GOOD.account, missing_s=1.0)}, "seconds without a record"),
        ({"account": replace(GOOD.account, unaccounted=1)}, "events unaccounted for"),
        ({"account": replace(GOOD.account, due=0)}, "events unaccounted for"),
        ({"faults": GOOD.faults[1:]}, "faults after which users stayed away"),
        (
            {"faults": (replace(GOOD.faults[0], back_s=None), *GOOD.faults[1:])},
            "faults after which users stayed away",
        ),
        ({"state": "failed", "code": 3}, "it ends well"),
    ],
)
def test_each_promise_can_be_broken(changes: dict[str, Any], promise: str) -> None:
    (told,) = broken(replace(GOOD, **changes))
    assert told.startswith(promise)


def test_ten_minutes_judge_only_what_no_settling_would_explain() -> None:
    ten = replace(GOOD, minutes=10, memory=GOOD.memory[:10])
    assert memory_promise(ten).figure == "+9.00 to 109.0 MB (+54 MB an hour)"
    assert memory_promise(ten).holds
    leaks = tuple((at, mb + 12 * at) for at, mb in ten.memory)
    assert not memory_promise(replace(ten, memory=leaks)).holds


def test_a_slope_is_hardly_moved_by_single_points() -> None:
    points = [(float(x), 2.0 * x) for x in range(20)]
    points[3], points[11] = (3.0, 500.0), (11.0, -300.0)
    found = steady_slope(points)
    assert found.value == pytest.approx(2, abs=0.01)
    assert found.low <= 2 <= found.high
    with pytest.raises(ValueError, match="1 points have no slope"):
        steady_slope(points[:1])


def test_a_process_is_looked_at() -> None:
    before = look(os.getpid())
    with Path(os.devnull).open("rb"):
        after = look(os.getpid())
    assert after.descriptors == before.descriptors + 1
    assert before.own_kb > 1000
    assert math.isfinite(after.at - before.at)


def test_faults_come_in_rounds_and_in_another_order_each_time() -> None:
    names = [*FAULTS, *LINE_FAULTS]
    order = in_rounds(names, random.Random(1))
    rounds = [tuple(next(order) for _ in names) for _ in range(5)]
    assert all(sorted(each) == sorted(names) for each in rounds)
    assert len(set(rounds)) > 1


Change = Callable[[dict[str, Any]], None]


def without_a_second(sample: dict[str, Any]) -> None:
    sample["kind"] = "gone"


def with_an_event_more(sample: dict[str, Any]) -> None:
    sample["counts"]["events"] += 1


def with_a_failure_more(sample: dict[str, Any]) -> None:
    sample["counts"]["failed"] += 1


def journal_with(run: Path, change: Change) -> None:
    """Change one sample of the first step; a sample whose kind becomes `gone` is left out."""
    journal = run / "journal.jsonl"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    samples = [line for line in lines if line.get("record", {}).get("kind") == "sample"]
    change(samples[2]["record"])
    kept = [line for line in lines if line.get("record", {}).get("kind") != "gone"]
    # Without spaces, as the product writes it: steps are found by their byte offsets.
    journal.write_text("".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in kept))


def accounts(run: Path) -> Account:
    return account_of(read_log(run).steps[0])


def test_a_whole_journal_is_in_balance(tmp_path: Path, script: Script) -> None:
    run = recorded_run(tmp_path, a_plan(ladder=(4,)))
    assert accounts(run) == Account(due=200, unaccounted=0, seconds=5, missing_s=0.0)


@pytest.mark.parametrize(
    ("change", "unaccounted", "missing_s"),
    [(without_a_second, 80, 1.0), (with_an_event_more, 1, 0.0), (with_a_failure_more, 1, 0.0)],
)
def test_what_is_missing_or_contradicts_itself_is_counted(
    tmp_path: Path, script: Script, change: Change, unaccounted: int, missing_s: float
) -> None:
    run = recorded_run(tmp_path, a_plan(ladder=(4,)))
    journal_with(run, change)
    account = accounts(run)
    assert (account.unaccounted, account.missing_s) == (unaccounted, missing_s)
