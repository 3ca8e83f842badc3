"""`loadstone workload check`, `list` and `show`; templates from logs are in `traffic`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from loadstone.cli.commands import traffic
from loadstone.cli.help.command import group, option
from loadstone.cli.language import in_words
from loadstone.cli.options.connection import Connection, connection_options
from loadstone.model.figure import Count, Seconds
from loadstone.model.message import Joined, Message, counted, plain, say, say_in

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from loadstone.engine import Sample
    from loadstone.model.template import Table, Template, Transaction
    from loadstone.servers.statements import Access
    from loadstone.workloads.templates.explain import Explained

_SAMPLES = 5


@group(
    help=say(
        "Check, list and record templates: workloads of your own SQL in a TOML file"
        " (docs/templates.md)."
    )
)
def workload() -> None:
    """Templates."""


for _command in (
    traffic.from_digest,
    traffic.from_slowlog,
    traffic.from_generallog,
    traffic.from_csvlog,
    traffic.from_jsonlog,
    traffic.replay,
):
    workload.add_command(_command)


@workload.command(
    help=say(
        "Explain the template in FILE and show five sample events; with --target, also how the"
        " server accesses the rows.\n\n"
        "Executes none of its statements: the server only gets one EXPLAIN for each."
    )
)
@click.argument("file")
@connection_options
@option(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=0,
    show_default=True,
    help=say("Seed of the sample events."),
)
def check(file: str, connection: Connection, seed: int) -> None:
    """Explain a template."""
    from loadstone.cli.options.workload_source import template_of
    from loadstone.cli.screen import show_lines
    from loadstone.lab.tables.of_template import check_tables
    from loadstone.servers.sanitize import plain as printable
    from loadstone.workloads.templates.explain import (
        check_loadable,
        check_statements,
        explain,
        samples,
    )
    from loadstone.workloads.templates.file import form_for

    template = template_of(file)
    if template is None:
        raise click.UsageError(
            say(
                "{file} is not a template, whose name ends with .toml; {command} has some to copy",
                file=file,
                command="`loadstone workload list`",
            )
        )
    endpoint = connection.endpoint() if connection.given else None
    if endpoint is not None:
        template = form_for(template, file, endpoint.target.family)
    shown = samples(template, _SAMPLES, seed)
    show_lines(line for text in _described(template) for line in printable(text).split("\n"))
    for line in _sampled(shown):
        click.echo(printable(line))
    if endpoint is None:
        return
    check_loadable(template, file, endpoint)
    check_statements(template, file, endpoint)
    check_tables(template, file, endpoint)
    click.echo()
    click.echo(in_words(say("How {server} accesses the rows", server=endpoint.target.place)))
    for one in explain(template, file, endpoint):
        for line in _explained(one):
            click.echo(printable(line))


@workload.command(name="list", help=say("List the built-in workloads and the bundled templates."))
def list_() -> None:
    """List the built-in workloads and the bundled templates."""
    from loadstone import engine
    from loadstone.cli.screen import show_lines
    from loadstone.workloads.bundled import bundled, text_of_bundled
    from loadstone.workloads.templates.file import parse_template

    built_in = {one.name: one.summary for one in engine.workloads().values()}
    templates = {
        name: parse_template(text_of_bundled(name), f"{name}.toml").about for name in bundled()
    }
    width = max(map(len, (*built_in, *templates)))
    runs = say("Built in, run with {command}:", command="loadstone run NAME")
    show_lines((in_words(runs), *_named(built_in, width)))
    click.echo()
    command = "loadstone workload show NAME > NAME.toml"
    copied = say("Templates, to be copied with {command}:", command=command)
    show_lines((in_words(copied), *_named(templates, width)))


def _named(abouts: Mapping[str, str], width: int) -> Iterator[str]:
    return (f"  {name:<{width}}  {about}" for name, about in abouts.items())


@workload.command(
    help=say("Print the bundled template NAME, to copy and change."),
    examples=((say("a copy of your own"), "loadstone workload show shop > mine.toml"),),
)
@click.argument("name")
def show(name: str) -> None:
    """Print a bundled template."""
    from loadstone.model.nearest import nearest_or_all
    from loadstone.workloads.bundled import bundled, text_of_bundled

    if name not in bundled():
        near = nearest_or_all(name, bundled())
        raise click.UsageError(say("no template is named {name}: {near}", name=name, near=near))
    click.echo(text_of_bundled(name), nl=False)


def _described(template: Template) -> Iterator[str]:
    yield f"{template.name}: {template.about}" if template.about else template.name
    if template.tables:
        yield f"\n{in_words(say('Tables'))}"
    for table in template.tables:
        yield f"  {in_words(_table(table))}"
    yield f"\n{in_words(say('Transactions'))}"
    total = sum(one.weight for one in template.spec.transactions)
    longest = max(len(one.name) for one in template.spec.transactions)
    for one in template.spec.transactions:
        share = in_words(say_in("unit", "{number} %", number=f"{100 * one.weight / total:.1f}"))
        yield f"  {one.name:<{longest}}  {share:>7}  {in_words(_transaction(one))}"


def _table(table: Table) -> Message:
    names = table.names
    keys = [f"({', '.join(key)})" for key in (table.primary_key, *table.indexes)]
    told = {
        "columns": Joined(column.name for column in table.columns),
        "keys": say("primary key: {key}", key=keys[0])
        if not keys[1:]
        else say("primary key: {key}; indexes: {indexes}", key=keys[0], indexes=Joined(keys[1:])),
    }
    if len(names) == 1:
        rows = counted("1 row", "{number} rows", table.rows)
        return say("{table}: {rows}; {columns}; {keys}", table=names[0], rows=rows, **told)
    return say(
        "{first} to {last}: {rows} rows each; {columns}; {keys}",
        first=names[0],
        last=names[-1],
        rows=Count(table.rows),
        **told,
    )


def _transaction(one: Transaction) -> Message:
    sent = sum(statement.repeat for statement in one.statements)
    said = (
        counted("1 statement in autocommit", "{number} statements, each in autocommit", sent)
        if one.autocommit
        else counted(
            "1 statement between BEGIN and COMMIT",
            "{number} statements between BEGIN and COMMIT",
            sent,
        )
    )
    if not one.think_s:
        return said
    return say("{statements}, then a pause of {time}", statements=said, time=Seconds(one.think_s))


def _sampled(shown: tuple[Sample, ...]) -> Iterator[str]:
    said = counted(
        "1 event; <name> stands for a value that would be read from the server",
        "{number} events; <name> stands for a value that would be read from the server",
        len(shown),
    )
    yield f"\n{in_words(said)}"
    for sample in shown:
        yield f"  {sample.transaction}"
        for statement in sample.statements:
            yield f"    {statement}"
        if sample.more:
            yield f"    {in_words(say('and {more} more', more=sample.more))}"


def _explained(one: Explained) -> Iterator[str]:
    statement = say(
        "{transaction}, statement {number}", transaction=one.transaction, number=one.number
    )
    yield f"  {in_words(statement)}: {one.sql}"
    for access in one.access:
        yield f"    {access.table}: {in_words(_access(access))}"
    if not one.access:
        yield f"    {in_words(say('no plan to show'))}"


def _access(access: Access) -> Message:
    how: Message | str = f"{access.how} {access.key}".strip()
    if access.how == "ALL":
        # EXPLAIN shows ALL without a number for rows that are only written, too.
        how = say("rows are written") if access.rows is None else say("the whole table")
    if access.rows is None:
        return plain(how)
    rows = counted("1 row", "{number} rows", access.rows)
    return say("{how}, {rows}", how=how, rows=rows)
