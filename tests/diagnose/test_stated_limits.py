"""Limits that the user states, in findings: of hosts that show them to nobody."""

from __future__ import annotations

import pytest

from diagnose.examples import FULL_OF_SERVER, IDLE
from diagnose.healthy import Made, a_case
from diagnose.test_in_chinese import assert_has_chinese
from loadstone.analyse.ceilings import ceilings
from loadstone.diagnosis.context import Case, Missing
from loadstone.diagnosis.rules import disk_cap, line_full
from loadstone.model.finding import Finding
from loadstone.model.limits import Given, stated

# The healthy step: 1,200 writes and 5 reads a second; it sends 40 MB a second by the protocol.
FULL_LINE = ("line_bytes_per_s", 41e6)


def at_limits(case: Case, *given: Given) -> Case:
    found = ceilings(case.ladder, stated(given))
    return Case(**{**vars(case), "ceilings": {one.step: one for one in found}})


def without_a_host(case: Case) -> Case:
    step = case.step.model_copy(update={"host": None})
    return Case(**{**vars(case), "step": step, "ladder": (step,)})


def named(finding: Finding | None) -> Finding:
    assert finding is not None
    assert_has_chinese(finding.sentence)
    return finding


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (("disk_write_iops", 1250.0), "96 % of its disk writes: 1,250 writes/s"),
        (("disk_iops", 1250.0), "96 % of its disk operations: 1,250 operations/s"),
    ],
)
def test_a_disk_at_a_stated_limit_is_named_with_it(limit: Given, said: str) -> None:
    finding = named(disk_cap.RULE.judge(at_limits(a_case(), limit)))
    assert said in str(finding.sentence)
    assert "(limit stated by hand)" in str(finding.sentence)
    assert "loadstone probe" not in str(finding.sentence)


def test_a_disk_below_a_stated_limit_is_not_named() -> None:
    assert disk_cap.RULE.judge(at_limits(a_case(), ("disk_write_iops", 3000.0))) is None


def test_a_stated_line_is_full_without_any_figure_of_the_host() -> None:
    case = at_limits(without_a_host(a_case(Made(host=IDLE))), FULL_LINE)
    finding = named(line_full.RULE.judge(case))
    assert str(finding.sentence) == (
        "The network from the server is full: 98 % of 328 Mbit/s ÷ 39.1 KiB per event (limit "
        "stated by hand). The server's cores were not observed."
    )


def test_without_a_stated_line_the_rule_needs_the_host() -> None:
    with pytest.raises(Missing, match="cpu_idle"):
        line_full.RULE.judge(without_a_host(a_case(Made(host=IDLE))))


def test_a_busy_server_is_not_excused_by_a_stated_line() -> None:
    busy = a_case(Made(host=FULL_OF_SERVER))
    assert line_full.RULE.judge(at_limits(busy, ("line_bytes_per_s", 41e6))) is None
