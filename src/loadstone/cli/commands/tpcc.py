"""`loadstone tpcc check`: whether the tables of TPC-C are consistent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from loadstone.cli.help.command import group, option
from loadstone.cli.language import in_words
from loadstone.cli.options.connection import Connection, connection_options
from loadstone.cli.options.types import Parsed, json_option
from loadstone.model.figure import Seconds
from loadstone.model.message import Joined, Message, counted, say

if TYPE_CHECKING:
    from loadstone.lab.tables.tpcc_consistency import Verdict
    from loadstone.model.target import Target

_LAST = 12


class ConditionList(Parsed[tuple[int, ...]]):
    """`1-4`, `all`, `2,5-7`."""

    name = "conditions"
    takes_list = True

    def read(self, text: str) -> tuple[int, ...]:
        """The numbers in ascending order."""
        if text == "all":
            return tuple(range(1, _LAST + 1))
        numbers: set[int] = set()
        for part in text.split(","):
            first, dash, last = part.strip().partition("-")
            if not first.isdecimal() or (dash and not last.isdecimal()):
                raise ValueError(say("'{text}' is not a list such as 1-4, 2,5-7 or all", text=text))
            low, high = int(first), int(last) if dash else int(first)
            if not 1 <= low <= high <= _LAST:
                raise ValueError(
                    say(
                        "{numbers}: conditions have the numbers 1 to {last}",
                        numbers=part.strip(),
                        last=_LAST,
                    )
                )
            numbers.update(range(low, high + 1))
        return tuple(sorted(numbers))


@group(help=say("Check the tables of the workload tpcc."))
def tpcc() -> None:
    """The tables of TPC-C."""


@tpcc.command(
    help=say(
        "Check the consistency conditions of TPC-C (clause 3.3.2); exit code 10 if one does not"
        " hold.\n\n"
        "Changes nothing, and may run during a load. This is not an audit."
    )
)
@connection_options
@option(
    "--conditions",
    type=ConditionList(),
    default="1-4",
    show_default=True,
    help=say(
        "Numbers of the conditions to check, from 1 to 12. all: includes those that read all"
        " orders, which takes long."
    ),
)
@json_option
def check(connection: Connection, conditions: tuple[int, ...], as_json: bool) -> int:
    """Check the consistency of the tables."""
    if not connection.given:
        raise click.UsageError(say("name the server with --target"))
    from loadstone.cli.screen import show_lines
    from loadstone.lab.tables.tpcc_consistency import foreign_keys, verdicts
    from loadstone.model.exit_codes import ExitCode

    endpoint = connection.endpoint()
    found: list[Verdict] = []
    for verdict in verdicts(endpoint, conditions):
        found.append(verdict)
        if not as_json:
            show_lines(_lines(verdict))
    keys = foreign_keys(endpoint)
    broken = [str(verdict.condition) for verdict in found if not verdict.holds]
    if as_json:
        shown = {"version": 1, "target": endpoint.target.url, "holds": not broken}
        conditions_found = [verdict.model_dump(mode="json") for verdict in found]
        shown |= {"foreign_keys": keys, "conditions": conditions_found}
        click.echo(json.dumps(shown, indent=2))
    else:
        click.echo(in_words(_enforced(keys)))
    if not broken:
        return ExitCode.OK
    from loadstone.cli.errors import tell

    tell(
        _broken(broken, endpoint.target),
        say("rows were lost, or something else writes to these tables"),
    )
    return ExitCode.INCONSISTENT


def _enforced(keys: int) -> Message:
    if not keys:
        return say("no foreign keys")
    return counted("1 foreign key", "{number} foreign keys", keys)


def _broken(numbers: list[str], target: Target) -> Message:
    return counted(
        "condition {conditions} does not hold in {schema} at {server}",
        "conditions {conditions} do not hold in {schema} at {server}",
        len(numbers),
        conditions=Joined(numbers),
        schema=target.database,
        server=target.place,
    )


def _lines(verdict: Verdict) -> list[str]:
    state = in_words(say("holds ") if verdict.holds else say("BROKEN"))
    seconds = Seconds(verdict.seconds)
    lines = [f"{verdict.condition:>2}  {state}  {in_words(verdict.says)}  ({seconds})"]
    for example in verdict.examples:
        values = ", ".join(f"{name} {value or 'null'}" for name, value in example.items())
        lines.append(f"            {values}")
    if verdict.more:
        lines.append(f"            {in_words(say('and more'))}")
    return lines
