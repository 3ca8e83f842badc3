"""What a drawn fault costs, when it counts, and how its diagnosis is judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from faults import injections
from faults.case import Effect, Fault, Load
from faults.drawn import report
from faults.drawn.cost import COUNTS, ROUND, Cost, Rate, cost_of, needs_another_round
from faults.drawn.drawn import Drawn, Family, Truth
from faults.drawn.judge import Judged, judge
from faults.drawn.measure import Measured, Ran
from faults.drive import Driven
from faults.scene import Used

QUIET = Used(busy=0.6, others=0.02, stolen=0.0, busiest=0.7)
TRUTH = Truth.of("row-locks", ("row lock",), also="deadlocks")
COSTLY = Cost(loss=0.5, low=0.4, high=0.6, without=1000.0)
CHEAP = Cost(loss=0.01, low=None, high=None, without=1000.0)


def rounds(*ratios: float) -> list[Rate]:
    """Rates of whole rounds, each with that ratio of with and without, and some drift."""
    found: list[Rate] = []
    for number, ratio in enumerate(ratios):
        drift = 1 + 0.01 * number
        found += [(there, 100 * drift * (ratio if there else 1.0)) for there in ROUND]
    return found


def test_the_loss_is_a_share_of_the_rate_without_the_fault() -> None:
    cost = cost_of(rounds(0.6, 0.62))
    assert cost.loss == pytest.approx(0.39, abs=0.001)
    assert cost.low is not None
    assert cost.high is not None
    assert cost.low < cost.loss < cost.high
    assert cost.without == pytest.approx(100.5, abs=0.1)
    assert cost.counts


def test_a_drift_is_no_cost() -> None:
    drifting = [(there, 100.0 * 0.9**place) for place, there in enumerate(ROUND * 2)]
    assert cost_of(drifting).loss == pytest.approx(0, abs=1e-9)


def test_one_round_gives_no_interval_and_counts_nothing() -> None:
    cost = cost_of(rounds(0.5))
    assert (cost.low, cost.counts) == (None, False)


def test_a_fault_counts_from_a_tenth_on_with_an_interval_above_zero() -> None:
    assert not cost_of(rounds(0.92, 0.92)).counts
    assert cost_of(rounds(0.88, 0.88)).counts
    wide = cost_of(rounds(0.4, 1.2))
    assert wide.loss > COUNTS
    assert not wide.counts


def test_rounds_end_once_it_is_known_whether_a_fault_counts() -> None:
    assert not needs_another_round(rounds(0.97))
    assert needs_another_round(rounds(0.7))
    assert not needs_another_round(rounds(0.7, 0.7))
    assert needs_another_round(rounds(0.4, 1.2))
    assert not needs_another_round(rounds(0.4, 1.2, 0.8))


def finding(cause: str, share: float | None = 0.5, **others: Any) -> dict[str, Any]:
    return {
        "cause": cause,
        "group": "wait",
        "sentence": "s",
        "remedy": "r",
        "share": share,
        **others,
    }


def result(**places: float) -> dict[str, Any]:
    entries = [{"place": name.replace("_", " "), "share": share} for name, share in places.items()]
    return {
        "run": {"id": "run"},
        "steps": [{"tps": 500.0, "account": {"entries": entries} if places else None}],
    }


def measured(
    *findings: dict[str, Any],
    cost: Cost = COSTLY,
    truth: Truth = TRUTH,
    used: Used = QUIET,
    family: Family = "lock",
) -> Measured:
    fault = Fault((), "1 row", Load("oltp_read_write", (8,)), injections.nothing)
    drawn = Drawn(1, family, "row", "mariadb-10.11", fault, truth, start={})
    kept = Driven(result(row_lock=0.6, on_core=0.3), Effect("held", bites=True), used)
    without = Ran(False, 1000.0, replace(kept, result=result(on_core=0.9)))
    return Measured(drawn, (without, Ran(True, 500.0, kept)), cost, findings, 60.0)


def judged(*findings: dict[str, Any], **others: Any) -> Judged:
    return judge(measured(*findings, **others))


def test_the_right_cause_has_a_rank() -> None:
    assert judged(finding("row-locks"), finding("cpu-bound")).rank == 1
    assert judged(finding("cpu-bound"), finding("row-locks")).rank == 2
    assert judged(finding("cpu-bound")).rank is None
    assert judged().first == "nothing"


def test_a_neighbour_that_proc_shows_takes_no_rank() -> None:
    disturbed = replace(QUIET, others=0.4)
    neighbour = finding("noisy-neighbour")
    assert judged(neighbour, finding("row-locks"), used=disturbed).rank == 1
    assert judged(neighbour, finding("row-locks")).rank == 2


def test_a_finding_that_names_the_variable_is_right() -> None:
    truth = Truth.of("", ("latch",), variable="innodb_spin_wait_delay")
    said = finding("unexplained", remedy="innodb_spin_wait_delay=6 in place of 300")
    tried = finding("x", trial={"settings": [{"name": "innodb_spin_wait_delay"}]})
    assert judged(said, truth=truth).rank == 1
    assert judged(tried, truth=truth).rank == 1
    assert judged(finding("unexplained"), truth=truth).rank is None


def test_the_claimed_share_is_compared_with_the_loss_where_the_first_finding_is_right() -> None:
    claims = [{"place": "row lock", "share": 0.4}, {"place": "latch", "share": 0.2}]
    assert judged(finding("row-locks", claims=claims)).share_error == pytest.approx(0.1)
    assert judged(finding("row-locks", 0.3)).share_error == pytest.approx(-0.2)
    assert judged(finding("row-locks", None)).share_error is None
    assert judged(finding("cpu-bound"), finding("row-locks")).share_error is None


def test_the_largest_place_is_known_or_not() -> None:
    one = judged(finding("unexplained"))
    assert (one.is_unexplained, one.largest, one.largest_is_known) == (True, "row lock", True)
    assert one.grew == pytest.approx(0.6)
    elsewhere = Truth.of("disk-cap", ("disk read",))
    assert judged(finding("unexplained"), truth=elsewhere).largest_is_known is False


def test_a_forecast_is_compared_with_the_rate_without_the_fault() -> None:
    said = {"tps": 900.0, "low": 800.0, "high": 1100.0}
    forecast = judged(finding("cpu-bound"), finding("row-locks", foretold=said)).forecast
    assert forecast is not None
    assert forecast.is_inside
    assert forecast.error == pytest.approx(-0.1)
    low = {"tps": 700.0, "low": 600.0, "high": 800.0}
    outside = judged(finding("row-locks", foretold=low)).forecast
    assert outside is not None
    assert not outside.is_inside
    assert judged(finding("cpu-bound", foretold=said)).forecast is None


def test_a_fault_that_does_not_count_is_a_healthy_run() -> None:
    assert judged(finding("tls"), cost=CHEAP).accused == ("tls",)
    assert judged(finding("tls", group="note"), cost=CHEAP).accused == ()
    assert judged(finding("deadlocks"), cost=CHEAP).accused == ()
    assert judged(finding("tls")).accused == ()
    full = replace(QUIET, busiest=0.97)
    assert judged(finding("cpu-bound"), cost=CHEAP, used=full).accused == ()
    assert judged(finding("cpu-bound"), cost=CHEAP).accused == ("cpu-bound",)


def test_what_is_there_and_costs_little_may_be_named_but_not_with_a_great_share() -> None:
    assert judged(finding("row-locks", 0.02), cost=CHEAP).accused == ()
    assert judged(finding("row-locks", 0.4), cost=CHEAP).accused == ("row-locks",)
    between = replace(CHEAP, loss=0.08)
    assert judged(finding("row-locks", 0.4), cost=between).accused == ()


def test_the_table_has_a_row_for_each_family_and_one_for_all() -> None:
    everything = [
        judged(finding("row-locks", 0.45, foretold={"tps": 900.0, "low": 800.0, "high": 1100.0})),
        judged(finding("cpu-bound"), finding("row-locks")),
        judged(finding("unexplained"), family="client"),
        judged(finding("tls"), cost=CHEAP, family="client"),
    ]
    figures = report.figures_of(everything)
    assert figures == {
        "draws": 4,
        "counted": 3,
        "right_first": 1,
        "rank_median": 2.0,
        "share_error_median": pytest.approx(0.05),
        "predicted": 1,
        "predicted_inside": 1,
        "unexplained": 1,
        "unexplained_place_known": 1,
        "accused": 1,
        "healthy": 1,
    }
    lines = report.by_family(everything).splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:]] == ["lock", "client", "all"]
    assert [cell.strip() for cell in lines[2].split("|")[2:6]] == ["2", "2", "1", "1.5"]


def test_the_raw_figures_are_kept() -> None:
    record = report.as_record(judged(finding("row-locks")))
    assert [run["tps"] for run in record["runs"]] == [1000.0, 500.0]
    assert record["runs"][1]["places"] == {"row lock": 0.6, "on core": 0.3}
    assert (record["loss"], record["counted"], record["rank"]) == (0.5, True, 1)
    assert record["known_places"] == ["row lock"]


@pytest.mark.parametrize("mark", ["ok", "WRONG", "none", "FALSE"])
def test_a_line_begins_with_the_verdict(mark: str) -> None:
    shown = {
        "ok": judged(finding("row-locks")),
        "WRONG": judged(finding("tls")),
        "none": judged(cost=CHEAP),
        "FALSE": judged(finding("tls"), cost=CHEAP),
    }
    assert report.line(shown[mark]).startswith(mark)


def test_the_page_of_the_diagnosis_has_the_columns_of_the_table() -> None:
    said = Path(__file__).parents[2].joinpath("docs/diagnosis.md").read_text()
    assert [name for name in report.COLUMNS if f"`{name}`" not in said] == []
