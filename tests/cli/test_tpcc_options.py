"""Which options tpcc accepts on the command line, without a server."""

from __future__ import annotations

from typing import Any

import click
import pytest

from loadstone.cli.commands.tpcc import ConditionList
from loadstone.cli.options.tpcc import check_distribution, check_sizes
from loadstone.model.distribution import Special, Uniform

NOTHING = {
    "tables": None,
    "table_size": None,
    "warehouses": None,
    "foreign_keys": False,
    "partitions": 0,
}


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1-4", (1, 2, 3, 4)),
        ("all", tuple(range(1, 13))),
        ("2, 5-7", (2, 5, 6, 7)),
        ("3,3,1", (1, 3)),
    ],
)
def test_conditions_are_numbers_and_ranges(text: str, numbers: tuple[int, ...]) -> None:
    assert ConditionList().convert(text, None, None) == numbers


@pytest.mark.parametrize("text", ["", "0", "13", "4-2", "1-", "-3", "x", "1;2", "1-4-5"])
def test_other_conditions_are_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"1-4|1 to 12"):
        ConditionList().convert(text, None, None)


@pytest.mark.parametrize(
    ("layout", "asked", "words"),
    [
        (
            "tpcc",
            {"tables": 2},
            "--tables: tpcc has fixed tables: set their size with --warehouses",
        ),
        ("tpcc", {"table_size": 10}, "--table-size: tpcc has fixed tables"),
        ("sbtest", {"warehouses": 2}, "--warehouses: this is only for tpcc"),
        ("hot", {"foreign_keys": True}, "--foreign-keys: this is only for tpcc"),
        ("bulk", {"partitions": 4}, "--partition: this is only for tpcc"),
        (
            "tpcc",
            {"foreign_keys": True, "partitions": 4},
            "partitioned tables cannot have foreign keys",
        ),
        ("template", {"tables": 2}, "--tables: a template defines its tables in its file"),
        ("template", {"warehouses": 2}, "--warehouses: a template defines its tables"),
    ],
)
def test_sizes_that_a_workload_has_not_are_refused(
    layout: str, asked: dict[str, Any], words: str
) -> None:
    with pytest.raises(click.UsageError, match=words):
        check_sizes(layout, NOTHING | asked)


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        ("tpcc", "--distribution: tpcc draws its rows as TPC-C requires .*more warehouses"),
        ("template", "--distribution: a template defines in its file"),
        ("hot", "--distribution: only the workloads of sysbench's tables"),
    ],
)
def test_a_distribution_that_has_no_effect_is_refused(layout: str, words: str) -> None:
    with pytest.raises(click.UsageError, match=words):
        check_distribution(layout, Uniform())
    check_distribution(layout, Special())
    check_distribution("sbtest", Uniform())


def test_sizes_that_it_has_are_taken() -> None:
    check_sizes("tpcc", NOTHING | {"warehouses": 3, "foreign_keys": True})
    check_sizes("tpcc", NOTHING | {"partitions": 8})
    check_sizes("sbtest", NOTHING | {"tables": 3, "table_size": 10})
