"""`loadstone prepare` and `loadstone cleanup`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from loadstone.cli.options.cluster import machine_options
from loadstone.cli.options.connection import Connection, connection_options
from loadstone.cli.options.tpcc import check_sizes, tpcc_options
from loadstone.cli.options.types import SIZE, TABLES, DistributionSpec
from loadstone.cli.options.workload_source import template_of, workload_given

if TYPE_CHECKING:
    from loadstone.model.engine_plan import Layout

_TABLES = 10
_TABLE_SIZE = 10_000
_NO_TARGET = "say which server: --target mysql://user@host:3306/schema"


@click.command()
@click.argument("workload", default="oltp_read_write")
@connection_options
@click.option("--tables", type=TABLES, help="Number of tables. [default: 10]")
@click.option("--table-size", type=SIZE, help="Rows per table. [default: 10k]")
@tpcc_options
@click.option(
    "--parallel", type=click.IntRange(1, 1024), help="Parallel connections. [default: two per core]"
)
@machine_options
@click.option(
    "--method",
    type=click.Choice(["auto", "infile", "insert"]),
    default="auto",
    show_default=True,
    help="LOAD DATA LOCAL, multi-row INSERT, or the first that the server allows.",
)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True)
@click.option(
    "--distribution", type=DistributionSpec(), default="special", help="Distribution of column k."
)
@click.option("--storage-engine", default="innodb", show_default=True)
@click.option("--secondary-index/--no-secondary-index", default=True, help="Create the index on k.")
@click.option(
    "--auto-increment/--no-auto-increment",
    default=True,
    help="Let the server assign ids (AUTO_INCREMENT).",
)
@click.option(
    "--yes",
    is_flag=True,
    help="Allow this on another machine, or in a schema that holds other tables.",
)
def prepare(workload: str, connection: Connection, yes: bool, **asked: Any) -> None:
    """Create and load the tables of WORKLOAD (default: those of all oltp_ workloads) or of a file.

    The same command continues a load that was stopped.
    """
    template = template_of(workload)
    kind = workload_given(workload, template).layout
    check_sizes(kind, asked)
    if template and not template.tables:
        raise click.UsageError(f"{workload} has no tables to make")
    if not connection.given:
        raise click.UsageError(_NO_TARGET)

    from loadstone.cli.progress.load import announce
    from loadstone.cli.terminal import Terminal
    from loadstone.lab.protection.first_contact import look_before_load
    from loadstone.lab.tables.load import layout_for, layout_of
    from loadstone.model.engine_plan import Layout, LoadPlan
    from loadstone.model.numbers import count, digits, duration, number_of
    from loadstone.runner.backend import load_backend
    from loadstone.runner.tables import Filling, fill
    from loadstone.sandbox import sandbox_at
    from loadstone.servers.guard import Consent

    of_plan = {"method": asked.pop("method"), "seed": asked.pop("seed")}
    cluster, parallel = asked.pop("cluster"), asked.pop("parallel")
    tables, size = asked.pop("tables") or _TABLES, asked.pop("table_size") or _TABLE_SIZE
    warehouses = asked.pop("warehouses") or int(kind == "tpcc")
    if template:
        layout = layout_of(template, asked["storage_engine"])
    else:
        made = layout_for(kind, tables, size, warehouses)
        layout = Layout.model_validate(made.model_dump() | asked)
    endpoint = connection.endpoint()
    if template:
        from loadstone.workloads.templates.explain import check_loadable

        check_loadable(template, workload, endpoint)
    consent = Consent(yes=yes, sandbox=sandbox_at(endpoint.target) is not None)
    with load_backend(cluster, endpoint.target, parallel, announce) as loads:
        for note in look_before_load([endpoint], yes=yes):
            announce(f"note: {note}")
        of_plan |= {"layout": layout, "parallel": loads.parallel}
        plan = LoadPlan.model_validate(of_plan)
        end = fill(plan, endpoint, Filling(consent, loads.begin), Terminal())
    speed = f", {digits(end.rows_loaded / end.seconds)} rows/s" if end.seconds else ""
    click.echo(
        f"ready in {endpoint.target.database} at {endpoint.target.place}: "
        f"{_described(layout)}, {number_of(end.rows, 'row')}; "
        f"{count(end.rows_loaded)} loaded in {duration(end.seconds)} by {end.method}{speed}"
    )


def _described(layout: Layout) -> str:
    from loadstone.model.numbers import number_of

    if layout.warehouses:
        return number_of(layout.warehouses, "warehouse")
    return number_of(layout.tables, "table")


@click.command()
@connection_options
@click.option("--sysbench-tables", is_flag=True, help="Also drop tables that sysbench made.")
@click.option("--dry-run", is_flag=True, help="Show what would be dropped; change nothing.")
@click.option(
    "--yes",
    is_flag=True,
    help="Allow this on another machine, or in a schema that holds other tables.",
)
def cleanup(connection: Connection, sysbench_tables: bool, dry_run: bool, yes: bool) -> None:
    """Drop the tables that Loadstone made."""
    if not connection.given:
        raise click.UsageError(_NO_TARGET)

    from loadstone.lab.tables.load import Cleaning, look_at_cleanup
    from loadstone.lab.tables.load import cleanup as drop
    from loadstone.sandbox import sandbox_at
    from loadstone.servers.guard import Consent

    endpoint = connection.endpoint()
    consent = Consent(yes=yes, sandbox=sandbox_at(endpoint.target) is not None)
    wanted = Cleaning(consent, of_sysbench=sysbench_tables)
    refused = None
    if dry_run:
        decision, refused = look_at_cleanup(endpoint, wanted)
    else:
        decision = drop(endpoint, wanted)
    place = f"{endpoint.target.database} at {endpoint.target.place}"
    done = "would be dropped" if dry_run else "dropped"
    if decision.drops:
        click.echo(f"{done} from {place}: {', '.join(decision.drops)}")
    else:
        click.echo(f"nothing to drop in {place}")
    if theirs := decision.leaves_of_sysbench:
        said = f"left alone, as sysbench made them: {', '.join(theirs)} (--sysbench-tables)"
        click.echo(said, err=True)
    if decision.leaves:
        click.echo(f"left alone: {', '.join(decision.leaves)}", err=True)
    if refused:
        click.echo(f"as it is now, cleanup refuses: {refused.message}; {refused.hint}", err=True)
