"""What a finding predicts, and the rate of the load without its fault."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from faults.case import Draw, Effect, Removal
from faults.catalogue import CASES
from faults.drive import Carried
from faults.forecast import Forecast, forecast_of_case, summed_up

THROTTLED = next(case for case in CASES if case.name == "cpu-throttled")


def finding(cause: str, now: float, low: float, high: float) -> dict[str, Any]:
    foretold = {"now": now, "tps": (low + high) / 2, "low": low, "high": high}
    return {"cause": cause, "group": "wait", "sentence": "", "share": 0.5, "foretold": foretold}


def carried(*findings: dict[str, Any], without: tuple[float | None, ...]) -> Carried:
    return Carried(
        case=THROTTLED,
        server="mariadb",
        fault=THROTTLED.make(Draw.of(1, THROTTLED.name, "mariadb")),
        effect=Effect("throttled", bites=True),
        used=None,
        tps=(100.0, 150.0),
        findings=findings,
        run="run",
        took_s=1.0,
        tps_without=without,
    )


def test_the_right_finding_is_compared_at_the_level_that_it_starts_from() -> None:
    other, right = finding("tls", 100, 1, 2), finding("cpu-throttled", 149, 200, 300)
    found = forecast_of_case(carried(other, right, without=(120.0, 250.0)))
    assert found == Forecast(250.0, 200, 300, 250.0)
    assert found.is_inside
    assert found.error == 0
    assert found.words == "250 tps is inside 200 to 300"


def test_without_a_removal_or_a_right_finding_there_is_none() -> None:
    right = finding("cpu-throttled", 149, 200, 300)
    assert forecast_of_case(carried(right, without=())) is None
    assert forecast_of_case(carried(right, without=(None, None))) is None
    assert forecast_of_case(carried(finding("tls", 1, 1, 2), without=(1.0, 2.0))) is None


def test_forecasts_are_summed_up() -> None:
    said = summed_up([Forecast(90, 80, 110, 100), Forecast(50, 40, 60, 100)])
    assert said.startswith("1 of 2 rates")
    assert "off by 30% in the median (-30% with its sign)" in said


@pytest.mark.parametrize(
    ("removal", "again"),
    [
        (Removal(), True),
        (Removal(settings=("tmp_table_size",)), True),
        (Removal(("VACUUM item",)), False),
    ],
)
def test_a_server_starts_again_unless_the_running_one_is_mended(
    removal: Removal, again: bool
) -> None:
    assert removal.starts_again is again


def test_what_is_no_fault_stays_set() -> None:
    settings = {"tmp_table_size": "1024", "sync_binlog": "0"}
    removal = Removal(settings=("tmp_table_size",))
    throttled = THROTTLED.make(Draw.of(1, THROTTLED.name, "mysql"))
    fault = replace(throttled, settings=settings, removal=removal)
    assert fault.other_settings == {"sync_binlog": "0"}


def test_each_removed_setting_is_one_of_the_fault() -> None:
    for case in CASES:
        for server in case.servers:
            fault = case.make(Draw.of(7, case.name, server))
            named = set(fault.removal.settings) if fault.removal else set()
            assert named <= {*fault.settings, *(fault.pooler or ())}, case.name


def test_a_pooler_is_started_without_what_was_the_fault() -> None:
    removal = Removal(settings=("default_pool_size",))
    pooled = {"pool_mode": "transaction", "default_pool_size": "1"}
    fault = replace(THROTTLED.make(Draw.of(1, THROTTLED.name, "postgresql")), removal=removal)
    assert fault.other_pooler is None
    assert replace(fault, pooler=pooled).other_pooler == {"pool_mode": "transaction"}
