"""Huge pages are compared only where the kernel keeps some."""

from __future__ import annotations

import pytest

from loadstone.experiments.checks import Machine
from loadstone.experiments.file import parse_experiment
from loadstone.model.exit_codes import ExitCode
from loadstone.model.experiment import Experiment
from loadstone.recipes.filling import fill_to_look_at
from loadstone.recipes.huge_pages import NotEvaluated, check_huge_pages
from loadstone.recipes.recipe import recipe

NONE = "MemTotal: 8000000 kB\nHugePages_Total:       0\nHugePages_Free:        0\n"
SOME = NONE.replace("0\nHugePages_Free", "200\nHugePages_Free")
TARGETS = ("off=postgresql://bench@db1/sbtest", "on=postgresql://bench@db2/sbtest")


def asked(*given: str) -> Experiment:
    filled = fill_to_look_at(recipe("huge-pages"), given, quick=True)
    machine = Machine(is_root=True, cores=4)
    return parse_experiment(filled.text, filled.name, machine).experiment


@pytest.mark.parametrize("meminfo", [NONE, "", "MemTotal: 8000000 kB\n"])
def test_without_huge_pages_it_is_not_evaluated(meminfo: str) -> None:
    with pytest.raises(NotEvaluated, match="not evaluated: this machine's kernel keeps no") as why:
        check_huge_pages(asked(), meminfo)
    assert why.value.exit_code == ExitCode.NOT_SUPPORTED


def test_with_some_the_server_says_whether_they_are_enough() -> None:
    check_huge_pages(asked(), SOME)


def test_other_machines_may_have_them() -> None:
    check_huge_pages(asked(*TARGETS), NONE)
    check_huge_pages(asked(*TARGETS[1:]), NONE)
