"""The options that say how large TPC-C's tables are and how they are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from loadstone.cli.options.types import with_options

_Command = TypeVar("_Command", bound=Callable[..., Any])

_MOST_WAREHOUSES = 1_000_000
_MOST_PARTITIONS = 8192

_OPTIONS = (
    click.option(
        "--warehouses",
        type=click.IntRange(1, _MOST_WAREHOUSES),
        help="tpcc: number of warehouses. [default: those that exist; 1 in new tables]",
    ),
    click.option(
        "--foreign-keys", is_flag=True, help="tpcc: make foreign keys between the tables."
    ),
    click.option(
        "--partition",
        "partitions",
        type=click.IntRange(0, _MOST_PARTITIONS),
        default=0,
        help="tpcc: partition the tables by warehouse, into N parts.",
    ),
)


_SIZES = {"tables": "--tables", "table_size": "--table-size"}
_OF_TPCC = {
    "warehouses": "--warehouses",
    "foreign_keys": "--foreign-keys",
    "partitions": "--partition",
}
_OWN_TABLES = "tpcc has tables of its own: say how many --warehouses"
_TABLES_OF_FILE = "a template's file says what tables it has: change rows and copies there"
_OTHER_TABLES = "only the tables of tpcc have that: others take --tables and --table-size"


def tpcc_options(command: _Command) -> _Command:
    """Give a command all of them."""
    return with_options(command, _OPTIONS)  # type: ignore[no-any-return]


def check_sizes(layout: str, asked: Mapping[str, Any]) -> None:
    """Whether the sizes that were given are those that the workload has.

    Raises:
        UsageError: TPC-C has warehouses, all others have tables; or servers have not both of what
            was asked for.
    """
    unfit, why = (_SIZES, _OWN_TABLES) if layout == "tpcc" else (_OF_TPCC, _OTHER_TABLES)
    if layout == "template":
        unfit, why = _SIZES | _OF_TPCC, _TABLES_OF_FILE
    for name, option in unfit.items():
        if asked[name]:
            raise click.UsageError(f"{option}: {why}")
    if asked["foreign_keys"] and asked["partitions"]:
        raise click.UsageError(
            "--foreign-keys and --partition: servers have no foreign keys on partitioned tables"
        )
