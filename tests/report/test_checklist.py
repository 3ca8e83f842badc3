"""The checklist of fair benchmarking: what is missing is never a pass."""

from __future__ import annotations

from typing import Any

import pytest

from analyse.made import a_step
from loadstone.model.result import HostFigures, OutageLine, Result, RunInfo, StepResult
from loadstone.report.checklist import Item, State, checklist

DURABLE = {
    "innodb_flush_log_at_trx_commit": "1",
    "innodb_doublewrite": "ON",
    "log_bin": "ON",
    "sync_binlog": "1",
}


def states(*steps: StepResult, variables: dict[str, str] | None = None) -> dict[Item, State]:
    info = RunInfo.model_validate(
        dict.fromkeys(RunInfo.model_fields)
        | {"id": "r", "name": "r", "state": "finished", "steps_finished": 1, "notes": ()}
    )
    environment = {"targets": [{"variables": variables}]} if variables else {}
    found = checklist(Result(run=info, steps=steps), environment, None)
    return {one.item: one.state for one in found}


def test_what_was_not_seen_is_not_evaluated() -> None:
    found = states(a_step())
    unknown: tuple[Item, ...] = (
        "durable",
        "client-free",
        "ceiling-known",
        "apart",
        "warm",
        "balanced",
        "undisturbed",
    )
    assert {found[item] for item in unknown} == {"not evaluated"}
    assert "interleaved" not in found


@pytest.mark.parametrize(
    ("changed", "state"),
    [
        ({}, "met"),
        ({"innodb_flush_log_at_trx_commit": "2"}, "missed"),
        ({"sync_binlog": "1000"}, "missed"),
        ({"log_bin": "OFF", "sync_binlog": "0"}, "missed"),
        ({"innodb_doublewrite": "OFF"}, "missed"),
    ],
)
def test_durability_is_that_of_each_commit(changed: dict[str, str], state: State) -> None:
    assert states(a_step(), variables=DURABLE | changed)["durable"] == state


@pytest.mark.parametrize(
    ("item", "good", "bad"),
    [
        ("long", {"seconds": 30.0}, {"seconds": 29.0}),
        ("warm", {"steady": True}, {"steady": False}),
        ("balanced", {"tally_balances": True}, {"tally_balances": False}),
        ("correct", {"errors": {"1213": 10}}, {"errors": {"1213": 11}}),
        (
            "connected",
            {},
            {"outages": (OutageLine(from_s=1.0, to_s=2.0, users=1, reason="gone"),)},
        ),
        (
            "undisturbed",
            {"host": HostFigures(seconds=1.0, cpu_steal=0.01)},
            {"host": HostFigures(seconds=1.0, cpu_steal=0.03)},
        ),
        (
            "apart",
            {"host": HostFigures(seconds=1.0)},
            {"host": HostFigures(seconds=1.0, facts={"shared_with_generator": "yes"})},
        ),
    ],
)
def test_a_rule_is_met_or_missed(item: Item, good: dict[str, Any], bad: dict[str, Any]) -> None:
    assert states(a_step(**good))[item] == "met"
    assert states(a_step(**bad))[item] == "missed"


def test_repeats_are_counted_by_level() -> None:
    steps = [a_step(repeat=repeat) for repeat in (1, 2, 3)]
    assert states(*steps)["repeated"] == "met"
    assert states(*steps, a_step(users=16))["repeated"] == "missed"
