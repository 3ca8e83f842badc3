"""`loadstone prepare` and `loadstone cleanup`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from loadstone.cli.help.command import command, option, options_in
from loadstone.cli.help.sections import Section
from loadstone.cli.language import in_words
from loadstone.cli.options.cluster import machine_options
from loadstone.cli.options.connection import Connection, connection_options
from loadstone.cli.options.tpcc import check_distribution, check_sizes, tpcc_options
from loadstone.cli.options.types import SIZE, TABLES, DistributionSpec
from loadstone.cli.options.workload_source import template_of, workload_given
from loadstone.model.message import Joined, Message, counted, say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from loadstone.lab.tables.load import TablesOf
    from loadstone.model.engine_plan import Layout
    from loadstone.model.records import LoadEnd
    from loadstone.model.target import Target

_TABLES = 10
_TABLE_SIZE = 10_000
_NO_BINLOG = "SET SESSION sql_log_bin = 0"
_NO_TARGET = say("name the server with --target mysql://user@host:3306/schema")

_table = options_in(Section.TABLES)
_yes_option = option(
    "--yes",
    is_flag=True,
    help=say("Allow this on another machine's server, or in a schema that holds other tables."),
)


@command(
    help=say(
        "Create and load the tables of WORKLOAD.\n\n"
        "WORKLOAD is built in or a template file; by default the tables of all oltp_ workloads are"
        " created. The same command continues a load that was interrupted."
    ),
    examples=(
        (
            say("ten tables of a million rows each"),
            "loadstone prepare oltp_read_write --target mysql://user@host/schema --table-size 1m",
        ),
        (
            say("a hundred warehouses for tpcc"),
            "loadstone prepare tpcc --target mysql://user@host/schema --warehouses 100",
        ),
    ),
)
@click.argument("workload", default="oltp_read_write")
@connection_options
@_table("--tables", type=TABLES, help=say("Number of tables. [default: 10]"))
@_table("--table-size", type=SIZE, help=say("Rows per table. [default: 10k]"))
@tpcc_options
@option(
    "--parallel",
    type=click.IntRange(1, 1024),
    help=say("Number of parallel connections. [default: two per core]"),
)
@machine_options
@option(
    "--method",
    type=click.Choice(["auto", "infile", "insert"]),
    default="auto",
    show_default=True,
    help=say(
        "Load with LOAD DATA LOCAL (infile) or multi-row INSERT; auto uses infile if the server"
        " allows it."
    ),
)
@_table(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=0,
    show_default=True,
    help=say("Seed of the random rows."),
)
@_table(
    "--distribution",
    type=DistributionSpec(),
    default="special",
    show_default=True,
    help=say("Distribution of the values in column k."),
)
@_table(
    "--storage-engine",
    metavar="ENGINE",
    help=say("Storage engine of the tables. [default: innodb]"),
)
@_table(
    "--secondary-index/--no-secondary-index",
    default=True,
    help=say("Create the index on column k. [default: create]"),
)
@_table(
    "--auto-increment/--no-auto-increment",
    default=True,
    help=say("Let the server assign ids with AUTO_INCREMENT. [default: auto-increment]"),
)
@option(
    "--no-binlog",
    is_flag=True,
    help=say(
        "Do not write the tables and their rows to the binary log, which needs the right to set"
        " sql_log_bin. Replicas then do not have these tables: replication stops at the first"
        " write of a later load."
    ),
)
@_yes_option
def prepare(workload: str, connection: Connection, yes: bool, **asked: Any) -> None:
    """Create and load tables."""
    template = template_of(workload)
    kind = workload_given(workload, template).layout
    check_sizes(kind, asked)
    check_distribution(kind, asked["distribution"])
    if template and not template.tables:
        raise click.UsageError(say("{file} defines no tables", file=workload))
    if not connection.given:
        raise click.UsageError(_NO_TARGET)

    from loadstone.cli.progress.load import announce
    from loadstone.cli.terminal import Terminal
    from loadstone.families import refuse_foreign
    from loadstone.lab.protection.first_contact import look_before_load
    from loadstone.lab.tables.load import layout_for, layout_of
    from loadstone.model.engine_plan import Layout, LoadPlan
    from loadstone.model.plan import Session
    from loadstone.runner.backend import load_backend
    from loadstone.runner.tables import Filling, fill
    from loadstone.sandbox import sandbox_at
    from loadstone.servers.guard import Consent

    of_families = _of_families(asked)
    asked["storage_engine"] = (
        asked["storage_engine"] or Layout.model_fields["storage_engine"].default
    )
    of_plan = {"method": asked.pop("method"), "seed": asked.pop("seed")}
    if asked.pop("no_binlog"):
        of_plan["session"] = Session(init_sql=(_NO_BINLOG,))
    cluster, parallel = asked.pop("cluster"), asked.pop("parallel")
    tables, size = asked.pop("tables") or _TABLES, asked.pop("table_size") or _TABLE_SIZE
    warehouses = asked.pop("warehouses") or int(kind == "tpcc")
    endpoint = connection.endpoint()
    refuse_foreign(endpoint.target.family, of_families)
    if template:
        from loadstone.workloads.templates.explain import check_loadable
        from loadstone.workloads.templates.file import form_for

        template = form_for(template, workload, endpoint.target.family)
        check_loadable(template, workload, endpoint)
        layout = layout_of(template, asked["storage_engine"])
    else:
        made = layout_for(kind, tables, size, warehouses)
        layout = Layout.model_validate(made.model_dump() | asked)
    consent = Consent(yes=yes, sandbox=sandbox_at(endpoint.target) is not None)
    with load_backend(cluster, endpoint.target, parallel, announce) as loads:
        for note in look_before_load([endpoint], yes=yes):
            announce(say("note: {note}", note=note))
        of_plan |= {"layout": layout, "parallel": loads.parallel}
        plan = LoadPlan.model_validate(of_plan)
        view = Terminal(inserts=plan.method == "insert")
        end = fill(plan, endpoint, Filling(consent, loads.begin), view)
    click.echo(in_words(_ready(endpoint.target, layout, end)))


def _of_families(asked: Mapping[str, Any]) -> tuple[str, ...]:
    """The given options that mean something for servers of some families only."""
    engine = () if asked["storage_engine"] is None else ("--storage-engine",)
    binlog = ("--no-binlog",) if asked["no_binlog"] else ()
    return (*engine, *binlog, f"--method {asked['method']}")


def _ready(target: Target, layout: Layout, end: LoadEnd) -> Message:
    from loadstone.model.figure import Count, Rate, Seconds

    if not end.rows:
        return say(
            "ready in {schema} at {server}: {tables}, empty, as the load fills them itself",
            schema=target.database,
            server=target.place,
            tables=_described(layout),
        )
    if not end.rows_loaded:
        return say(
            "ready in {schema} at {server}: {tables}, {rows}; all of them were there already",
            schema=target.database,
            server=target.place,
            tables=_described(layout),
            rows=counted("1 row", "{number} rows", end.rows),
        )
    ready = say(
        "ready in {schema} at {server}: {tables}, {rows}; {loaded} loaded in {time} by {method}",
        schema=target.database,
        server=target.place,
        tables=_described(layout),
        rows=counted("1 row", "{number} rows", end.rows),
        loaded=Count(end.rows_loaded),
        time=Seconds(end.seconds),
        method=end.method,
    )
    if not end.seconds:
        return ready
    return say("{ready}, {rate} rows/s", ready=ready, rate=Rate(end.rows_loaded / end.seconds))


def _described(layout: Layout) -> Message:
    if layout.warehouses:
        return counted("1 warehouse", "{number} warehouses", layout.warehouses)
    return counted("1 table", "{number} tables", layout.tables)


@command(
    help=say(
        "Drop the tables that Loadstone created. Other tables are never touched.\n\n"
        "With WORKLOAD, built in or a template file, only those that prepare creates for it; all"
        " oltp_ workloads share theirs."
    ),
    examples=(
        (
            say("only the tables of tpcc"),
            "loadstone cleanup tpcc --target mysql://user@host/schema",
        ),
    ),
)
@click.argument("workload", required=False)
@connection_options
@option("--sysbench-tables", is_flag=True, help=say("Also drop tables that sysbench created."))
@option("--dry-run", is_flag=True, help=say("Show what would be dropped; change nothing."))
@_yes_option
def cleanup(
    workload: str | None,
    connection: Connection,
    sysbench_tables: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Drop the tables that Loadstone created."""
    of = _tables_of(workload) if workload else None
    if not connection.given:
        raise click.UsageError(_NO_TARGET)

    from loadstone.lab.tables.load import Cleaning, look_at_cleanup
    from loadstone.lab.tables.load import cleanup as drop
    from loadstone.sandbox import sandbox_at
    from loadstone.servers.guard import Consent

    endpoint = connection.endpoint()
    consent = Consent(yes=yes, sandbox=sandbox_at(endpoint.target) is not None)
    wanted = Cleaning(consent, of_sysbench=sysbench_tables, of=of)
    refused = None
    if dry_run:
        decision, refused = look_at_cleanup(endpoint, wanted)
    else:
        decision = drop(endpoint, wanted)
    click.echo(in_words(_dropped(endpoint.target, decision.drops, dry_run=dry_run)))
    if theirs := decision.leaves_of_sysbench:
        said = say(
            "left alone, made by `sysbench prepare`: {tables} (`sysbench ... cleanup` or"
            " --sysbench-tables drops them)",
            tables=_in_order(theirs),
        )
        click.echo(in_words(said), err=True)
    if decision.leaves:
        click.echo(
            in_words(say("left alone: {tables}", tables=_in_order(decision.leaves))), err=True
        )
    if refused:
        why = Joined([one for one in (refused.message, refused.hint) if one], "clauses")
        click.echo(in_words(say("cleanup would refuse this now: {why}", why=why)), err=True)


def _tables_of(workload: str) -> TablesOf:
    template = template_of(workload)
    layout = workload_given(workload, template).layout
    if template and not template.tables:
        raise click.UsageError(say("{file} defines no tables", file=workload))
    from loadstone.lab.tables.load import tables_made_for

    return tables_made_for(layout, template)


def _dropped(target: Target, tables: Sequence[str], *, dry_run: bool) -> Message:
    place = {"schema": target.database, "server": target.place}
    if not tables:
        return say("nothing to drop in {schema} at {server}", **place)
    names = _in_order(tables)
    if dry_run:
        return say("would be dropped from {schema} at {server}: {tables}", tables=names, **place)
    return say("dropped from {schema} at {server}: {tables}", tables=names, **place)


def _in_order(tables: Sequence[str]) -> Joined:
    """Names in the order of people, who count: `sbtest2` before `sbtest10`."""
    parts = {name: re.split(r"(\d+)", name) for name in tables}
    return Joined(
        sorted(
            tables, key=lambda name: [int(one) if one.isdecimal() else one for one in parts[name]]
        )
    )
