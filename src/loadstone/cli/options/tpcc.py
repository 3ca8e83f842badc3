"""The options for the size of the TPC-C tables and how they are created."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from loadstone.cli.help.command import options_in
from loadstone.cli.help.sections import Section
from loadstone.cli.options.types import with_options
from loadstone.model.distribution import Distribution, Special, not_drawn
from loadstone.model.message import say, say_in

_Command = TypeVar("_Command", bound=Callable[..., Any])

_MOST_WAREHOUSES = 1_000_000
_MOST_PARTITIONS = 8192

_option = options_in(Section.TABLES)

_OPTIONS = (
    _option(
        "--warehouses",
        type=click.IntRange(1, _MOST_WAREHOUSES),
        help=say(
            "For tpcc: number of warehouses. [default: all existing ones; 1 when the tables are"
            " created]"
        ),
    ),
    _option(
        "--foreign-keys",
        is_flag=True,
        rare=True,
        help=say("For tpcc: create foreign keys between the tables."),
    ),
    _option(
        "--partition",
        "partitions",
        rare=True,
        type=click.IntRange(0, _MOST_PARTITIONS),
        default=0,
        metavar="N",
        help=say("For tpcc: partition the tables by warehouse into N parts. [default: 0, none]"),
    ),
)


_SIZES = {"tables": "--tables", "table_size": "--table-size"}
_OF_TPCC = {
    "warehouses": "--warehouses",
    "foreign_keys": "--foreign-keys",
    "partitions": "--partition",
}
_OWN_TABLES = say("tpcc has fixed tables: set their size with --warehouses")
_TABLES_OF_FILE = say("a template defines its tables in its file: change rows and copies there")
_OTHER_TABLES = say("this is only for tpcc: other workloads take --tables and --table-size")


def tpcc_options(command: _Command) -> _Command:
    """Add them all to a command."""
    return with_options(command, _OPTIONS)  # type: ignore[no-any-return]


def check_distribution(layout: str, asked: Distribution) -> None:
    """Check that the workload draws by the given distribution; the default is given to all.

    Raises:
        UsageError: it does not, so the option would have no effect.
    """
    if asked != Special() and (why := not_drawn(layout)):
        what, write = why
        said = say("{wrong}: {write}", wrong=what, write=write)
        raise click.UsageError(
            say_in("joined", "{first}: {second}", first="--distribution", second=said)
        )


def check_sizes(layout: str, asked: Mapping[str, Any]) -> None:
    """Check that the given sizes are those that the workload has.

    Raises:
        UsageError: TPC-C has warehouses, all others have tables; or two options exclude each
            other.
    """
    unfit, why = (_SIZES, _OWN_TABLES) if layout == "tpcc" else (_OF_TPCC, _OTHER_TABLES)
    if layout == "template":
        unfit, why = _SIZES | _OF_TPCC, _TABLES_OF_FILE
    for name, option in unfit.items():
        if asked[name]:
            raise click.UsageError(say_in("joined", "{first}: {second}", first=option, second=why))
    if asked["foreign_keys"] and asked["partitions"]:
        raise click.UsageError(
            say("--foreign-keys and --partition: partitioned tables cannot have foreign keys")
        )
