"""Conditions as they are written, and what is none."""

from __future__ import annotations

import pytest

from loadstone.model.exit_codes import ExitCode
from loadstone.model.protection import (
    ConditionError,
    Protection,
    condition,
    max_load,
    unknown_row,
)


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("threads_running>200", ("threads_running", ">", 200, "count", 0)),
        ("Threads_Running >= 1k", ("threads_running", ">=", 1000, "count", 0)),
        ("p99>200ms", ("p99", ">", 0.2, "time", 0)),
        ("p99.9 > 2s for 5s", ("p999", ">", 2, "time", 5)),
        ("errors>1%", ("errors", ">", 0.01, "share", 0)),
        ("replica_lag>10s for 500ms", ("replica_lag", ">", 10, "time", 0.5)),
        ("replica_lag>1m", ("replica_lag", ">", 60, "time", 0)),
        ("disk_free<10GB", ("disk_free", "<", 10 * 1024**3, "bytes", 0)),
        ("disk_free<512M", ("disk_free", "<", 512 * 1024**2, "bytes", 0)),
        ("disk_free<5%", ("disk_free", "<", 0.05, "share", 0)),
        ("others_slowdown>3x", ("others_slowdown", ">", 3, "times", 0)),
        ("others_latency>50ms for 1m", ("others_latency", ">", 0.05, "time", 60)),
        ("tps<100", ("tps", "<", 100, "rate", 0)),
        (
            "Innodb_row_lock_current_waits>50",
            ("innodb_row_lock_current_waits", ">", 50, "count", 0),
        ),
        ("Aborted_clients>10/s", ("aborted_clients", ">", 10, "rate", 0)),
    ],
)
def test_a_condition_is_a_name_a_relation_and_a_number_with_its_unit(
    text: str, parsed: tuple[str, str, float, str, float]
) -> None:
    found = condition(text)
    figure, relation, limit, kind, for_s = parsed
    assert (found.figure, found.relation, found.kind) == (figure, relation, kind)
    assert (found.limit, found.for_s) == pytest.approx((limit, for_s))


def test_only_the_growth_of_a_row_is_by_second() -> None:
    assert condition("Aborted_clients>10/s").is_growth
    assert not condition("Aborted_clients>10").is_growth
    assert not condition("tps<10/s").is_growth


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("", "'' is not a condition", "write 'threads_running>200 for 5s'"),
        ("threads_running", "is not a condition", None),
        ("threads_running=200", "is not a condition", None),
        ("threads_running>-1", "is not a condition", None),
        ("p99>200", "p99 needs a unit", "write 200ms; units: us, µs, ms, s, m, h"),
        ("p99>200%", "'%' is not a unit of p99", None),
        ("disk_free<10", "disk_free needs a unit", "write 10GB or 5%"),
        ("p98>200ms", "a status variable has no unit 'ms'", "did you mean p99"),
        ("p99>200ms for", "is not a condition", None),
        ("p99>200ms for 5", "for how long?", "write for 5s"),
        ("p99>200ms for 5 apples", "for how long?", None),
        ("threads_running>9" + "9" * 400, "no value is that large", None),
    ],
)
def test_what_is_no_condition_is_refused_in_a_line_with_what_to_write(
    text: str, said: str, hint: str | None
) -> None:
    with pytest.raises(ConditionError) as refused:
        condition(text)
    assert said in refused.value.message
    assert "\n" not in refused.value.message
    assert hint is None or hint in (refused.value.hint or "")
    assert refused.value.exit_code == ExitCode.USAGE


def test_a_load_is_not_held_back_by_what_it_does_not_do() -> None:
    with pytest.raises(ConditionError, match="it would never continue"):
        max_load("tps<100")
    assert max_load("threads_running>100").figure == "threads_running"


def test_a_name_that_the_server_does_not_have_is_told_with_those_near_it() -> None:
    rows = {"threads_running": 1.0, "innodb_row_lock_current_waits": 0.0}
    asked = condition("Innodb_row_lock_curent_waits>5")
    error = unknown_row(asked, "db1:3306", rows, "SHOW GLOBAL STATUS")
    assert error.message.endswith("db1:3306 has no status variable 'innodb_row_lock_curent_waits'")
    assert error.hint == "did you mean innodb_row_lock_current_waits?"


def test_what_a_file_and_a_command_line_want_holds_together() -> None:
    file = Protection(abort_if=(condition("p99>1s"),), max_load=(max_load("errors>1%"),))
    line = Protection(abort_if=(condition("p99>1s"), condition("errors>5%")), defaults=False)
    both = file.combined(line)
    assert [one.text for one in both.asked] == ["p99>1s", "errors>5%", "errors>1%"]
    assert not both.defaults


@pytest.mark.parametrize(
    ("text", "value", "shown"),
    [
        ("p99>1ms", 0.2314, "231 ms"),
        ("p99>1ms", 2.5, "2.5 s"),
        ("disk_free<5%", 0.0312, "3.12 %"),
        ("disk_free<1G", 5 * 1024**3, "5 GiB"),
        ("threads_running>1", 4096.0, "4,096"),
        ("Aborted_clients>1/s", 12.0, "12/s"),
    ],
)
def test_a_value_is_told_in_its_unit(text: str, value: float, shown: str) -> None:
    assert condition(text).shown(value) == shown
