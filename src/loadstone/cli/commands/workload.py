"""`loadstone workload check`, `list` and `show`; what is made of logs is in `traffic`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from loadstone.cli.commands import traffic
from loadstone.cli.options.connection import Connection, connection_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from loadstone.engine import Sample
    from loadstone.model.template import Table, Template, Transaction
    from loadstone.workloads.templates.explain import Explained

_SAMPLES = 5


@click.group()
def workload() -> None:
    """Templates: workloads of your own SQL in a TOML file (docs/templates.md)."""


for _command in (
    traffic.from_digest,
    traffic.from_slowlog,
    traffic.from_generallog,
    traffic.replay,
):
    workload.add_command(_command)


@workload.command()
@click.argument("file")
@connection_options
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True)
def check(file: str, connection: Connection, seed: int) -> None:
    """Explain FILE, and show five events of it; with a target also how the server reaches rows.

    Nothing is carried out: the server is asked for EXPLAIN of each statement, of each once.
    """
    from loadstone.cli.options.workload_source import template_of
    from loadstone.servers.sanitize import plain
    from loadstone.workloads.templates.explain import check_loadable, explain, samples

    template = template_of(file)
    if template is None:
        raise click.UsageError(f"{file} is no template: their files end with .toml")
    shown = samples(template, _SAMPLES, seed)
    for line in (*_described(template), *_sampled(shown)):
        click.echo(plain(line))
    if not connection.given:
        return
    endpoint = connection.endpoint()
    check_loadable(template, file, endpoint)
    click.echo(f"\nHow {endpoint.target.place} reaches the rows")
    for one in explain(template, file, endpoint):
        for line in _explained(one):
            click.echo(plain(line))


@workload.command(name="list")
def list_() -> None:
    """List the bundled templates."""
    from loadstone.workloads.bundled import bundled, text_of_bundled
    from loadstone.workloads.templates.file import parse_template

    for name in bundled():
        click.echo(f"{name:<14} {parse_template(text_of_bundled(name), f'{name}.toml').about}")


@workload.command()
@click.argument("name")
def show(name: str) -> None:
    """Print a bundled template, to copy: loadstone workload show shop > mine.toml."""
    from loadstone.model.nearest import nearest_or_all
    from loadstone.workloads.bundled import bundled, text_of_bundled

    if name not in bundled():
        near = nearest_or_all(name, bundled())
        raise click.UsageError(f"no template is named {name}: {near}")
    click.echo(text_of_bundled(name), nl=False)


def _described(template: Template) -> Iterator[str]:
    yield f"{template.name}: {template.about}" if template.about else template.name
    if template.tables:
        yield "\nTables"
    for table in template.tables:
        yield f"  {_table(table)}"
    yield "\nTransactions"
    total = sum(one.weight for one in template.spec.transactions)
    for one in template.spec.transactions:
        yield f"  {one.name:<20} {100 * one.weight / total:5.1f} %  {_transaction(one)}"


def _table(table: Table) -> str:
    from loadstone.model.numbers import count, number_of

    names = table.names
    name = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
    rows = number_of(table.rows, "row") if len(names) == 1 else f"{count(table.rows)} rows each"
    columns = ", ".join(column.name for column in table.columns)
    keys = [f"({', '.join(key)})" for key in (table.primary_key, *table.indexes)]
    others = f"; indexes: {', '.join(keys[1:])}" if keys[1:] else ""
    return f"{name}: {rows}; {columns}; primary key: {keys[0]}{others}"


def _transaction(one: Transaction) -> str:
    from loadstone.model.numbers import duration, number_of

    sent = sum(statement.repeat for statement in one.statements)
    around = "each for itself" if one.autocommit else "between BEGIN and COMMIT"
    think = f", then {duration(one.think_s)} of thinking" if one.think_s else ""
    return f"{number_of(sent, 'statement')} {around}{think}"


def _sampled(shown: tuple[Sample, ...]) -> Iterator[str]:
    yield f"\n{len(shown)} events; <name> stands for what would have been read"
    for sample in shown:
        yield f"  {sample.transaction}"
        for statement in sample.statements:
            yield f"    {statement}"
        if sample.more:
            yield f"    and {sample.more} more"


def _explained(one: Explained) -> Iterator[str]:
    from loadstone.model.numbers import number_of

    yield f"  {one.transaction}, statement {one.number}: {one.sql}"
    for access in one.access:
        how = f"{access.how} {access.key}".strip()
        if access.how == "ALL":
            # Of rows that are written, none read, EXPLAIN says ALL too, and no number.
            how = "rows are written" if access.rows is None else "the whole table"
        rows = "" if access.rows is None else f", {number_of(access.rows, 'row')}"
        yield f"    {access.table}: {how}{rows}"
    if not one.access:
        yield "    no plan to show"
