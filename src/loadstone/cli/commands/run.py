"""`loadstone run WORKLOAD`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from loadstone.cli.commands.sandbox import sandbox_options
from loadstone.cli.options.cluster import cluster_options
from loadstone.cli.options.connection import Connection, connection_options
from loadstone.cli.options.gates import Gates, gate_options
from loadstone.cli.options.live import Beside, beside_options
from loadstone.cli.options.mix import is_mix, members_of
from loadstone.cli.options.observe import observing_options
from loadstone.cli.options.protection import protection_options
from loadstone.cli.options.prove import proving_options_of_a_run
from loadstone.cli.options.tpcc import tpcc_options
from loadstone.cli.options.types import (
    BACKLOG,
    CONNECT_TIME,
    DURATION,
    SIZE,
    TABLES,
    THINK_TIME,
    WORD,
    Charset,
    DistributionSpec,
    LadderOrAuto,
    ObjectiveSpec,
    Phases,
    Rates,
    WarmupTime,
    out_option,
    result_json_option,
    strict_option,
)
from loadstone.cli.options.workload import WorkloadCommand

if TYPE_CHECKING:
    from pathlib import Path

    from loadstone.model.prove_request import Proving
    from loadstone.model.target import Endpoint
    from loadstone.runner.finished import Finished
    from loadstone.runner.request import Request
    from loadstone.runner.view import View

_MOST_IDLE = 1_000_000
_AT_ONCE = click.IntRange(1, 1_000_000)
_ISOLATION = ["read-uncommitted", "read-committed", "repeatable-read", "serializable"]


@click.command(cls=WorkloadCommand)
@click.argument("workloads", nargs=-1, required=True, metavar="WORKLOAD...")
@connection_options
@click.option(
    "--concurrency",
    type=LadderOrAuto(),
    help="Numbers of users to try: 1,8,64, 1..128 (doubling) or 1..4000/10 (ten levels); auto: find"
    " the fewest that reach the peak. [default: 1; open loop: 64]",
)
@click.option(
    "--slo",
    "objective",
    type=ObjectiveSpec(),
    help="Find the highest rate that meets an objective, such as p99<10ms (also p99.9, mean, max).",
)
@click.option("--rate", "rates", type=Rates(), help="Open loop: events per second, on a schedule.")
@click.option(
    "--arrivals",
    type=click.Choice(["poisson", "uniform"]),
    help="Gaps between events, with --rate. [default: poisson]",
)
@click.option(
    "--max-backlog", type=BACKLOG, help="Most due events that may wait. [default: 100000]"
)
@click.option("--duration", type=DURATION, help="Measured time per step. [default: 30s]")
@click.option("--warmup", type=WarmupTime(), help="Unmeasured time before it. [default: 5s]")
@click.option(
    "--phases",
    type=Phases(),
    help='How the load goes over a step: "warm 60s 16, ramp 2m 16..256, spike 30s 1k"; N/s is a'
    " rate.",
)
@click.option(
    "--repeats",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="Runs of each step.",
)
@click.option("--tables", type=TABLES, help="Number of tables. [default: those that exist]")
@click.option("--table-size", type=SIZE, help="Rows per table. [default: as loaded]")
@tpcc_options
@click.option(
    "--prepared/--text", default=True, help="Use prepared statements or the text protocol."
)
@click.option(
    "--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help="Random seed."
)
@click.option(
    "--shards",
    type=click.IntRange(1, 1024),
    help="Event loops. [default: one per 16 users, up to one per core, or half of that on the"
    " server's own host]",
)
@click.option(
    "--connect-at-once", type=_AT_ONCE, default=64, show_default=True, help="Parallel connects."
)
@click.option(
    "--connect-timeout", type=CONNECT_TIME, default="10s", show_default=True, help="Per attempt."
)
@click.option(
    "--connect-retries",
    type=click.IntRange(0, 1000),
    default=5,
    show_default=True,
    help="Attempts after a failed one.",
)
@click.option(
    "--reconnect",
    "reconnect_after",
    type=click.IntRange(1, 2**32 - 1),
    metavar="N",
    help="Reconnect each user after N transactions.",
)
@click.option(
    "--idle",
    type=click.IntRange(0, _MOST_IDLE),
    default=0,
    metavar="N",
    help="Extra idle connections to hold open.",
)
@click.option(
    "--on-error",
    type=click.Choice(["restart", "continue", "stop"]),
    help="On errors: restart after deadlocks and lock waits, count and continue, or stop."
    " [default: restart; with --timeline continue]",
)
@click.option(
    "--timeline",
    is_flag=True,
    help="Failover drill: report outages by user and second, reconnect ten times per second.",
)
@click.option(
    "--init-sql", type=WORD, multiple=True, metavar="SQL", help="SQL to run on each new connection."
)
@click.option(
    "--isolation",
    type=click.Choice(_ISOLATION, case_sensitive=False),
    help="Isolation level of the sessions. [default: the server's]",
)
@click.option(
    "--charset",
    type=Charset(),
    default="utf8mb4",
    show_default=True,
    help="Character set of the connections.",
)
@sandbox_options
@click.option(
    "--storage-engine", default="innodb", help="Storage engine of a throwaway server's tables."
)
@click.option(
    "--think-time", type=THINK_TIME, default="0s", help="Pause between two events of a user."
)
@click.option(
    "--distribution",
    type=DistributionSpec(),
    default="special",
    show_default=True,
    help="Distribution of the keys that are accessed.",
)
@click.option(
    "--set-option",
    "workload_options",
    multiple=True,
    metavar="NAME=VALUE",
    help="Workload option; point_selects=5 here is the same as --point-selects 5.",
)
@cluster_options
@observing_options
@protection_options
@gate_options
@proving_options_of_a_run
@beside_options
@strict_option
@result_json_option
@out_option
@click.option("--name", help="Name of the run. [default: the workload's]")
def run(
    workloads: tuple[str, ...],
    connection: Connection,
    gates: Gates,
    beside: Beside,
    strict: bool,
    as_json: bool,
    **given: Any,
) -> int:
    """Run WORKLOAD, one step for each number of users, and record everything.

    WORKLOAD is built in, or a TOML file (docs/templates.md). Several are carried
    out at once: NAME:users=2 has users of its own, NAME:weight=9 a share of the others' events.
    More after the colon: as=NAME, think=TIME, tables, table_size, distribution, and the workload's
    options, as oltp_read_only:as=report,users=2,range_size=10k (docs/mixes.md).

    Without a target, a throwaway server is started, loaded and removed.
    """
    from loadstone.cli.options.run import RunOptions, check, check_place, request_from
    from loadstone.cli.terminal import Terminal
    from loadstone.runner.request import check_request

    asked = RunOptions(**given)
    members = members_of(workloads) if is_mix(workloads) else ()
    check(asked, members, connection)
    request = request_from(workloads, members, asked)
    check_request(request, connection.count)
    check_place(request, connection)
    ending = _Ending(gates, asked.proving, as_json=as_json, strict=strict)
    with beside(request.out) as begun:
        return _run(request, connection, Terminal(quiet=as_json, begun=begun), ending)


@dataclass(frozen=True)
class _Ending:
    """What is done with a run that is over."""

    gates: Gates
    proving: Proving | None
    as_json: bool
    strict: bool


def _run(request: Request, connection: Connection, view: View, ending: _Ending) -> int:
    from loadstone.runner.run import run as drive
    from loadstone.runner.run import throwaway

    if connection.given:
        endpoints = connection.endpoints()
        return _end(drive(request, endpoints, view), endpoints[0], view, ending)
    with throwaway(request, view, connection.for_sandbox) as server:
        finished = drive(request, [server.endpoint], view, server.notes)
        return _end(finished, server.endpoint, view, ending)


def _end(finished: Finished, endpoint: Endpoint, view: View, ending: _Ending) -> int:
    """Show it, judge it, and put its findings to the proof while its server is there."""
    from loadstone.cli.ending import end, exit_code, judged, show

    proving, as_json = ending.proving, ending.as_json
    if proving is None or finished.result.run.state != "finished":
        return end(finished, as_json=as_json, strict=ending.strict, gates=ending.gates)
    if not as_json:
        show(finished.result, finished.folder, as_json=False)
    code = exit_code(finished, strict=ending.strict)
    gated = judged(ending.gates, finished.result, as_json=as_json)
    return _prove(finished.folder, proving, endpoint, view, as_json=as_json) or code or gated


def _prove(run: Path, proving: Proving, endpoint: Endpoint, view: View, *, as_json: bool) -> int:
    """Put the findings of the run that has just ended to the proof; the exit code.

    A JSON document of the run is shown also where that fails.
    """
    from loadstone.cli.ending import show
    from loadstone.cli.errors import tell_left
    from loadstone.model.errors import LoadstoneError
    from loadstone.model.exit_codes import ExitCode
    from loadstone.report.findings import not_tried_lines
    from loadstone.report.findings import proved as proved_lines
    from loadstone.runner.prove import prove
    from loadstone.runs import run_folder

    try:
        found = prove(run, proving, lambda target: endpoint, view)
    except LoadstoneError:
        if as_json:
            show(run_folder.load(run), run, as_json=True)
        raise
    if as_json:
        show(found.result, run, as_json=True)
    else:
        for line in (*proved_lines(found.result.proofs), *not_tried_lines(found.not_tried)):
            click.echo(line)
    interrupted = ExitCode.INTERRUPTED if found.interrupted else ExitCode.OK
    return tell_left(found.left) or interrupted
