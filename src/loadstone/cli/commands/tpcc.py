"""`loadstone tpcc check`: whether the tables of TPC-C are consistent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from loadstone.cli.options.connection import Connection, connection_options
from loadstone.cli.options.types import Parsed, json_option

if TYPE_CHECKING:
    from loadstone.lab.tables.tpcc_consistency import Verdict

_LAST = 12


class ConditionList(Parsed[tuple[int, ...]]):
    """`1-4`, `all`, `2,5-7`."""

    name = "conditions"

    def read(self, text: str) -> tuple[int, ...]:
        """The numbers in rising order."""
        if text == "all":
            return tuple(range(1, _LAST + 1))
        numbers: set[int] = set()
        for part in text.split(","):
            first, dash, last = part.strip().partition("-")
            if not first.isdecimal() or (dash and not last.isdecimal()):
                raise ValueError(f"{text!r} is none of 1-4, 2,5-7 and all")
            low, high = int(first), int(last) if dash else int(first)
            if not 1 <= low <= high <= _LAST:
                raise ValueError(f"{part.strip()}: conditions have the numbers 1 to {_LAST}")
            numbers.update(range(low, high + 1))
        return tuple(sorted(numbers))


@click.group()
def tpcc() -> None:
    """Commands for the tables of the workload tpcc."""


@tpcc.command()
@connection_options
@click.option(
    "--conditions",
    type=ConditionList(),
    default="1-4",
    show_default=True,
    help="Consistency conditions to check; all: include those that join all orders.",
)
@json_option
def check(connection: Connection, conditions: tuple[int, ...], as_json: bool) -> int:
    """Check the consistency conditions of TPC-C (clause 3.3.2); exit code 10 if one does not hold.

    Changes nothing, and may run beside a load. Not an audit.
    """
    if not connection.given:
        raise click.UsageError("say which server to check with --target")
    from loadstone.lab.tables.tpcc_consistency import verdicts
    from loadstone.model.exit_codes import ExitCode

    endpoint = connection.endpoint()
    found: list[Verdict] = []
    for verdict in verdicts(endpoint, conditions):
        found.append(verdict)
        if not as_json:
            click.echo(_line(verdict))
    broken = [str(verdict.condition) for verdict in found if not verdict.holds]
    if as_json:
        shown = {"version": 1, "target": endpoint.target.url, "holds": not broken}
        conditions_found = [verdict.model_dump(mode="json") for verdict in found]
        click.echo(json.dumps(shown | {"conditions": conditions_found}, indent=2))
    if not broken:
        return ExitCode.OK
    from loadstone.cli.errors import tell

    which = f"condition {broken[0]} does" if len(broken) == 1 else _several(broken)
    tell(
        f"{which} not hold in {endpoint.target.database} at {endpoint.target.place}",
        "rows were lost, or something else writes to these tables",
    )
    return ExitCode.INCONSISTENT


def _several(numbers: list[str]) -> str:
    return f"conditions {', '.join(numbers[:-1])} and {numbers[-1]} do"


def _line(verdict: Verdict) -> str:
    from loadstone.model.numbers import duration

    state = "holds " if verdict.holds else "BROKEN"
    lines = [f"{verdict.condition:>2}  {state}  {verdict.says}  ({duration(verdict.seconds)})"]
    for example in verdict.examples:
        values = ", ".join(f"{name} {value or 'null'}" for name, value in example.items())
        lines.append(f"            {values}")
    if verdict.more:
        lines.append("            and more")
    return "\n".join(lines)
