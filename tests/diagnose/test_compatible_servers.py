"""On servers that only speak the protocol, what MySQL's own counters would say is not evaluated."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diagnose.examples import EXAMPLES, Example
from diagnose.healthy import a_case
from loadstone.diagnosis.all_rules import COMMON_RULES, RULES_OF
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.diagnose import diagnosis_of
from loadstone.model.compatible import COMPATIBLE

OF_MYSQL = [rule for rule in RULES_OF["mysql"] if rule not in COMMON_RULES]
COUNTED = {rule.cause for rule in OF_MYSQL if rule.reads != "client"}
OF_FILES = {rule.cause for rule in OF_MYSQL if rule.reads == "files"}
WITHOUT = [name for name, server in COMPATIBLE.items() if not server.has_counters]


def at(flavour: str, case: Case) -> Case:
    return replace(case, environment={"targets": [{"flavour": flavour}]})


def lacking(case: Case, server: str) -> set[str]:
    """The causes that are not evaluated because of the server that it is."""
    found = diagnosis_of(case).not_evaluated
    return {one.cause for one in found if f"(this is {server})" in one.needs}


@pytest.mark.parametrize("flavour", WITHOUT)
def test_rules_about_other_servers_are_not_evaluated_there(flavour: str) -> None:
    name = COMPATIBLE[flavour].name
    assert lacking(at(flavour, a_case()), name) == COUNTED
    assert {"redo-log-small", "row-locks", "working-set"} <= COUNTED
    assert not {"errors", "deadlocks", "connections-refused"} & COUNTED


@pytest.mark.parametrize(
    "example",
    [example for example in EXAMPLES if example.rule.cause in COUNTED],
    ids=[example.cause for example in EXAMPLES if example.rule.cause in COUNTED],
)
def test_counters_under_a_known_name_name_no_cause_there(example: Example) -> None:
    found = diagnosis_of(at("tidb", example.fires)).findings
    assert example.cause not in [finding.cause for finding in found]


def test_aurora_has_counters_but_no_files_of_its_own() -> None:
    assert lacking(at("aurora", a_case()), "Aurora") == OF_FILES
    assert {"redo-log-small", "commit-flush", "io-capacity-low"} <= OF_FILES
    assert "row-locks" not in OF_FILES


@pytest.mark.parametrize("flavour", ["mysql", "mariadb", "percona", "other", ""])
def test_on_the_familys_own_servers_and_unknown_ones_all_rules_are_applied(flavour: str) -> None:
    found = diagnosis_of(at(flavour, a_case()))
    assert found == diagnosis_of(a_case())
