"""Which diagnoses count as right, wrong and void, and that sizes are repeatable from a seed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from faults import verdict
from faults.case import Case, Draw, Effect, Fault, Server, together
from faults.catalogue import CASES, PAIRS, healthy, healthy_case
from faults.drive import Carried
from faults.scene import Used

QUIET = Used(busy=0.6, others=0.02, stolen=0.0, busiest=0.7)
SEED = 7


def carried(
    case: Case, *named: str, bites: bool = True, used: Used = QUIET, group: str = "wait"
) -> Carried:
    findings: tuple[dict[str, Any], ...] = tuple(
        {"cause": cause, "group": group, "sentence": "", "share": 0.5} for cause in named
    )
    server = case.servers[0]
    return Carried(
        case=case,
        server=server,
        fault=case.make(Draw.of(SEED, case.name, server)),
        effect=Effect("12 waits", bites),
        used=used,
        tps=(100.0,),
        findings=findings,
        run="run",
        took_s=10.0,
    )


def case_of(name: str) -> Case:
    return next(case for case in (*CASES, *PAIRS) if case.name == name)


def test_the_injected_cause_must_come_first() -> None:
    hot = case_of("hot-row")
    assert verdict.outcome(carried(hot, "row-locks", "cpu-bound")) == "right"
    assert verdict.outcome(carried(hot, "cpu-bound", "row-locks")) == "wrong"
    assert verdict.outcome(carried(hot)) == "wrong"


def test_a_fault_without_effect_counts_neither_way() -> None:
    hot = case_of("hot-row")
    without = carried(hot, "cpu-bound", bites=False)
    assert verdict.outcome(without) == "void"
    assert verdict.right_share([without]) is None
    assert verdict.right_share([without, carried(hot, "row-locks")]) == 1.0


def test_a_fault_that_costs_next_to_nothing_does_not_count() -> None:
    def found(*without: float) -> verdict.Outcome:
        one = replace(carried(case_of("tls"), "cpu-bound"), tps_without=without)
        return verdict.outcome(one)

    assert found(125.0) == "wrong"
    assert found(105.0) == "void"


def test_a_pair_is_right_with_either_cause() -> None:
    pair = case_of("missing-index+hog")
    assert verdict.outcome(carried(pair, "missing-index")) == "right"
    assert verdict.outcome(carried(pair, "noisy-neighbour")) == "right"
    assert verdict.outcome(carried(pair, "tls")) == "wrong"


def test_a_healthy_server_may_be_full_and_have_notes() -> None:
    case = healthy_case(1)
    full = Used(busy=0.6, others=0.02, stolen=0.0, busiest=0.97)
    assert verdict.outcome(carried(case, "commit-flush", group="note")) == "right"
    assert verdict.outcome(carried(case, "cpu-bound", group="ceiling", used=full)) == "right"
    assert verdict.false_findings(carried(case, "cpu-bound", group="ceiling")) == ["cpu-bound"]
    assert verdict.outcome(carried(case, "row-locks", used=full)) == "wrong"


def test_a_neighbour_that_is_really_there_may_be_named() -> None:
    disturbed = Used(busy=0.97, others=0.4, stolen=0.0, busiest=0.97)
    assert verdict.outcome(carried(healthy_case(1), "noisy-neighbour", used=disturbed)) == "right"
    assert verdict.outcome(carried(healthy_case(1), "noisy-neighbour")) == "wrong"
    hidden = carried(case_of("hot-row"), "noisy-neighbour", "row-locks", used=disturbed)
    assert verdict.outcome(hidden) == "right"
    assert verdict.by_others([hidden, carried(case_of("hot-row"), "row-locks")]) == 1


def test_nine_in_ten_must_be_right_and_no_healthy_server_accused() -> None:
    hot = case_of("hot-row")
    right, wrong = carried(hot, "row-locks"), carried(hot, "tls")
    assert verdict.is_good([right] * 9 + [wrong])
    assert not verdict.is_good([right] * 8 + [wrong])
    assert not verdict.is_good([right, carried(healthy_case(1), "tls")])


def test_the_matrix_shows_what_was_named_instead() -> None:
    hot, pool = case_of("hot-row"), case_of("tiny-pool")
    everything = [
        carried(hot, "row-locks"),
        carried(hot, "cpu-bound"),
        carried(pool, "working-set"),
        carried(healthy_case(1), "tls"),
        carried(healthy_case(2)),
    ]
    assert verdict.confusion(everything) == {
        "row-locks": {"right": 1, "cpu-bound": 1},
        "working-set": {"right": 1},
        "nothing wrong": {"tls": 1, "right": 1},
    }
    lines = verdict.matrix(everything).splitlines()
    assert re.split(r"[ |]{2,}", lines[0].strip("| ")) == [
        "injected",
        "named first",
        "cpu-bound",
        "tls",
    ]
    assert lines[2].startswith("| row-locks ")


def sizes(seed: int) -> list[str]:
    found = []
    for case in (*CASES, healthy_case(1), healthy_case(2)):
        for server in case.servers:
            fault = case.make(Draw.of(seed, case.name, server))
            found.append(f"{fault.size} {fault.load} {fault.settings}")
    return found


def test_a_seed_draws_the_same_sizes_again_and_another_one_others() -> None:
    assert sizes(SEED) == sizes(SEED)
    assert sum(a != b for a, b in zip(sizes(SEED), sizes(SEED + 1), strict=True)) > len(CASES) / 2


def test_both_faults_of_a_pair_are_set() -> None:
    draw = Draw.of(SEED, "pair", "mariadb")
    both = together(case_of("tiny-pool").make(draw), case_of("general-log").make(draw))
    assert {"innodb_buffer_pool_size", "general_log"} <= both.settings.keys()
    assert set(both.causes) == {"working-set", "general-log"}


def made(server: Server) -> list[Fault]:
    return [case.make(Draw.of(SEED, case.name, server)) for case in CASES if server in case.servers]


@pytest.mark.parametrize("server", ["mariadb", "mysql"])
def test_each_cause_is_one_that_the_diagnosis_may_name(server: Server) -> None:
    told = Path(__file__).parents[2].joinpath("docs/diagnosis.md").read_text()
    for fault in made(server):
        assert [cause for cause in fault.causes if f"`{cause}`" not in told] == []


def test_each_cause_of_postgresql_is_one_that_the_diagnosis_may_name() -> None:
    docs = Path(__file__).parents[2] / "docs"
    told = "".join((docs / name).read_text() for name in ("diagnosis.md", "postgresql.md"))
    for fault in made("postgresql"):
        assert [cause for cause in fault.causes if f"`{cause}`" not in told] == []


def test_there_are_enough_cases_and_healthy_loads_of_all_kinds() -> None:
    assert len(CASES) >= 16
    loads = [healthy(Draw.of(SEED, f"healthy-{number}", "mariadb")).load for number in range(40)]
    assert len({load.workload for load in loads}) == 6
    assert {1, 2} <= {len(load.ladder) for load in loads}
