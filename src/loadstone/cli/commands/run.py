"""`loadstone run WORKLOAD`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from loadstone.cli.commands.sandbox import sandbox_options
from loadstone.cli.help.command import command, option, options_in
from loadstone.cli.help.sections import Section
from loadstone.cli.language import current
from loadstone.cli.options.cluster import cluster_options
from loadstone.cli.options.connection import Connection, options_of_driven_targets
from loadstone.cli.options.gates import Gates, gate_options
from loadstone.cli.options.live import Beside, beside_options
from loadstone.cli.options.mix import is_mix, members_of
from loadstone.cli.options.observe import observing_options
from loadstone.cli.options.protection import protection_options
from loadstone.cli.options.prove import proving_options_of_a_run
from loadstone.cli.options.tpcc import tpcc_options
from loadstone.cli.options.types import (
    ADDRESSES,
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
    name_option,
    out_option,
    result_json_option,
    strict_option,
)
from loadstone.cli.options.workload import WorkloadCommand
from loadstone.model.message import say

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


_load = options_in(Section.LOAD)
_shape = options_in(Section.SHAPE)
_table = options_in(Section.TABLES)
_connection = options_in(Section.CONNECTIONS)


@command(
    cls=WorkloadCommand,
    help=say(
        "Run WORKLOAD at each number of users, one step per number, and record everything. Without"
        " --target a throwaway server is started, loaded and removed.\n\n"
        "WORKLOAD is built in (oltp_read_write, tpcc, ...) or a TOML file of your own"
        " (docs/templates.md). Several workloads run at the same time: NAME:users=2 has its own"
        " users, NAME:weight=9 a share of the events of all others. After the colon a workload also"
        " takes as=NAME, think=TIME, tables, table_size, distribution and its own options"
        " (docs/mixes.md)."
    ),
    examples=(
        (
            say("a throwaway server at 1, 8 and 64 users"),
            "loadstone run oltp_read_write --concurrency 1,8,64",
        ),
        (
            say("your own server, whose tables `loadstone prepare` created"),
            "loadstone run oltp_read_write --target mysql://user@host/schema --concurrency 1..128",
        ),
        (
            say("the highest rate at which p99 stays below 10 ms"),
            "loadstone run oltp_point_select --slo 'p99<10ms'",
        ),
        (
            say("look first: what it will do to your server"),
            "loadstone run oltp_read_write --target mysql://user@host/schema --dry-run",
        ),
        (
            say("two workloads at the same time"),
            "loadstone run oltp_read_write oltp_read_only:as=report,users=2",
        ),
    ),
)
@click.argument("workloads", nargs=-1, required=True, metavar="WORKLOAD...")
@options_of_driven_targets
@_load(
    "--concurrency",
    type=LadderOrAuto(),
    metavar="1,8,64|1..64|auto",
    help=say(
        "Numbers of users, one step each: 1,8,64; 1..128 (doubling); 1..4000/10 (ten levels). auto:"
        " find the fewest users that reach the peak. [default: 1; with --rate or --slo 64]"
    ),
)
@_load(
    "--slo",
    "objective",
    type=ObjectiveSpec(),
    help=say(
        "Find the highest rate that meets an objective such as p99<10ms; also p99.9, mean, max."
    ),
)
@_load(
    "--rate",
    "rates",
    type=Rates(),
    help=say(
        "Open loop: start this many events per second on a schedule, however long answers take."
        " N..M/TIME rises evenly from N to M within TIME; several rates are a step each."
    ),
)
@_shape(
    "--arrivals",
    type=click.Choice(["poisson", "uniform"]),
    help=say("With --rate: random or even gaps between events. [default: poisson]"),
)
@_shape(
    "--max-backlog",
    type=BACKLOG,
    help=say(
        "With --rate: let at most this many due events wait; skip and count the others. [default:"
        " 100000]"
    ),
)
@_load("--duration", type=DURATION, help=say("Measured time per step. [default: 30s]"))
@_load(
    "--warmup",
    type=WarmupTime(),
    metavar="TIME|auto",
    help=say(
        "Time before each measurement that does not count; auto: until the rate has settled."
        " [default: 5s]"
    ),
)
@_shape(
    "--phases",
    type=Phases(),
    help=say(
        'Vary the load within a step: "warm 60s 16, ramp 2m 16..256, spike 30s 1k" are names, times'
        " and users; N/s instead of users is a rate."
    ),
)
@_load(
    "--repeats",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help=say("How often each step is repeated."),
)
@_table(
    "--tables",
    type=TABLES,
    help=say("Number of tables to use. [default: all existing ones; 10 on a throwaway server]"),
)
@_table(
    "--table-size",
    type=SIZE,
    help=say("Rows per table to use. [default: all rows; 10k on a throwaway server]"),
)
@tpcc_options
@_shape(
    "--prepared/--text",
    default=None,
    help=say("Use prepared statements or the text protocol. [default: prepared]"),
)
@_shape(
    "--protocol",
    type=click.Choice(["prepared", "text", "extended", "pipelined"]),
    help=say(
        "How statements are sent: the same as --prepared or --text, or on PostgreSQL extended"
        " (parsed for each execution, with parameters) or pipelined (prepared, and those of a"
        " transaction that need no earlier answer at once)."
    ),
)
@_shape(
    "--seed",
    type=click.IntRange(0, 2**63 - 1),
    default=0,
    show_default=True,
    help=say("Seed of the random numbers."),
)
@_shape(
    "--shards",
    type=click.IntRange(1, 1024),
    help=say(
        "Threads that drive the load. [default: one per 16 users, at most one per core; half of"
        " that on the server's own host, but two with PostgreSQL]"
    ),
)
@_connection(
    "--connect-at-once",
    type=_AT_ONCE,
    default=64,
    show_default=True,
    help=say("Open at most this many connections at the same time."),
)
@_connection(
    "--connect-timeout",
    type=CONNECT_TIME,
    default="10s",
    show_default=True,
    help=say("Time limit for each attempt to connect."),
)
@_connection(
    "--connect-retries",
    type=click.IntRange(0, 1000),
    default=5,
    show_default=True,
    help=say("Attempts to connect after the first one fails."),
)
@_connection(
    "--source-address",
    type=ADDRESSES,
    default=(),
    metavar="ADDRESS[,...]",
    help=say(
        "Addresses of this machine that connections over TCP leave from, in turn: each has some"
        " 28,000 ports for a server. [default: the system's choice]"
    ),
)
@_connection(
    "--reconnect",
    "reconnect_after",
    type=click.IntRange(1, 2**32 - 1),
    metavar="N",
    help=say("Each user reconnects after N transactions. [default: never]"),
)
@_connection(
    "--idle",
    type=click.IntRange(0, _MOST_IDLE),
    default=0,
    metavar="N",
    help=say("Keep N extra idle connections open. [default: 0]"),
)
@_connection(
    "--on-error",
    type=click.Choice(["restart", "continue", "stop"]),
    help=say(
        "restart: repeat a transaction after deadlocks and lock wait timeouts, stop at other"
        " errors; continue: count all errors and go on; stop: stop at the first error. [default:"
        " restart; with --timeline continue]"
    ),
)
@_connection(
    "--timeline",
    is_flag=True,
    help=say(
        "For failover drills: report outages per user and second, and try to reconnect ten times"
        " per second."
    ),
)
@_connection(
    "--init-sql",
    type=WORD,
    multiple=True,
    metavar="SQL",
    help=say("Run this statement on each new connection. May be repeated."),
)
@_connection(
    "--isolation",
    type=click.Choice(_ISOLATION, case_sensitive=False),
    help=say("Isolation level of the sessions. [default: the server's]"),
)
@_connection(
    "--charset",
    type=Charset(),
    default="utf8mb4",
    show_default=True,
    help=say("Character set of the connections."),
)
@sandbox_options
@_table(
    "--storage-engine",
    rare=True,
    metavar="ENGINE",
    help=say("Storage engine of the tables on a throwaway server. [default: innodb]"),
)
@_shape(
    "--think-time",
    type=THINK_TIME,
    default="0s",
    show_default=True,
    help=say("Pause of each user between two events."),
)
@_shape(
    "--distribution",
    type=DistributionSpec(),
    default="special",
    show_default=True,
    help=say("Distribution of the keys that are accessed: uniform, special, zipfian:exponent=0.8."),
)
@_shape(
    "--set-option",
    "workload_options",
    multiple=True,
    metavar="NAME=VALUE",
    help=say(
        "Option of the workload; --set-option point_selects=5 is the same as --point-selects 5."
        " May be repeated."
    ),
)
@cluster_options
@observing_options
@protection_options
@gate_options
@proving_options_of_a_run
@option(
    "--dry-run",
    is_flag=True,
    section=Section.RESULT,
    help=say(
        "Show what the run will do to its servers and how long it takes; start nothing. Asks the"
        " servers, and fails where the run would be refused."
    ),
)
@beside_options
@strict_option
@result_json_option
@out_option
@name_option(unnamed=say("Name of the run. [default: the workload's name]"))
def run(
    workloads: tuple[str, ...],
    connection: Connection,
    gates: Gates,
    beside: Beside,
    dry_run: bool,
    strict: bool,
    as_json: bool,
    **given: Any,
) -> int:
    """Run a workload."""
    from loadstone.cli.ending import interrupted_before_load
    from loadstone.cli.options.run import RunOptions, check, check_place, request_from
    from loadstone.cli.terminal import Terminal
    from loadstone.runner.request import check_request

    asked = RunOptions(**given)
    members = members_of(workloads) if is_mix(workloads) else ()
    check(asked, members, connection)
    request = request_from(workloads, members, asked, connection)
    check_request(request, connection.count)
    check_place(request, connection)
    if dry_run:
        if as_json:
            raise click.UsageError(say("--dry-run prints text: leave --json out"))
        _show_outlook(request, connection)
        return 0
    ending = _Ending(gates, asked.proving, as_json=as_json, strict=strict)
    with beside(request.out) as audience:
        view = Terminal(quiet=as_json, audience=audience)
        with interrupted_before_load(view):
            return _run(request, connection, view, ending)


def _show_outlook(request: Request, connection: Connection) -> None:
    """Print what the run will do; stdout gets a line for each act."""
    from loadstone.cli.screen import show_lines
    from loadstone.runner.outlook import outlook

    endpoints = connection.endpoints() if connection.given else ()
    show_lines(outlook(request, endpoints))


@dataclass(frozen=True)
class _Ending:
    """What to do at the end of a run."""

    gates: Gates
    proving: Proving | None
    as_json: bool
    strict: bool


def _run(request: Request, connection: Connection, view: View, ending: _Ending) -> int:
    from loadstone.runner.run import run as drive
    from loadstone.runner.run import throwaway

    if connection.given:
        endpoints = connection.endpoints(noted=True)
        return _end(drive(request, endpoints, view), endpoints[0], view, ending)
    with throwaway(request, view, connection.for_sandbox) as server:
        finished = drive(request, [server.endpoint], view, server.notes)
        return _end(finished, server.endpoint, view, ending)


def _end(finished: Finished, endpoint: Endpoint, view: View, ending: _Ending) -> int:
    """Show the result, judge it, and prove its findings while its server still runs."""
    from loadstone.cli.ending import end, exit_code, judged, show_finished

    proving, as_json = ending.proving, ending.as_json
    if proving is None or finished.result.run.state != "finished":
        return end(finished, as_json=as_json, strict=ending.strict, gates=ending.gates)
    if not as_json:
        show_finished(finished, as_json=False)
    code = exit_code(finished, strict=ending.strict)
    gated = judged(ending.gates, finished.result, as_json=as_json)
    return _prove(finished.folder, proving, endpoint, view, as_json=as_json) or code or gated


def _prove(run: Path, proving: Proving, endpoint: Endpoint, view: View, *, as_json: bool) -> int:
    """Prove the findings of the run that has just ended; returns the exit code.

    The run's JSON document is shown even if that fails.
    """
    from loadstone.cli.ending import show
    from loadstone.cli.errors import tell_left
    from loadstone.cli.screen import show_lines
    from loadstone.model.errors import LoadstoneError
    from loadstone.model.exit_codes import ExitCode
    from loadstone.report.findings import not_tried_lines
    from loadstone.report.findings import proved as proved_lines
    from loadstone.runner.prove import TooShort, prove
    from loadstone.runs import run_folder

    try:
        found = prove(run, proving, lambda target: endpoint, view)
    except TooShort as short:  # the run is done, and stands
        view.announce(short.message)
        if as_json:
            show(run_folder.load(run), run, as_json=True)
        return ExitCode.OK
    except LoadstoneError:
        if as_json:
            show(run_folder.load(run), run, as_json=True)
        raise
    if as_json:
        show(found.result, run, as_json=True)
    else:
        words = current()
        proofs = proved_lines(found.result.proofs, words)
        show_lines((*proofs, *not_tried_lines(found.not_tried, words)))
    interrupted = ExitCode.INTERRUPTED if found.interrupted else ExitCode.OK
    return tell_left(found.left) or interrupted
