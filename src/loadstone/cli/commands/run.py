"""`loadstone run WORKLOAD`."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from loadstone.cli.commands.sandbox import sandbox_options, settings_of
from loadstone.cli.options.cluster import cluster_asked, cluster_options
from loadstone.cli.options.connection import Connection, connection_options
from loadstone.cli.options.gates import Gates, check_gates, junit_option, threshold_option
from loadstone.cli.options.live import beside_options, shown_beside
from loadstone.cli.options.mix import Member, is_mix, ladder_of, members_of
from loadstone.cli.options.observe import observing_options
from loadstone.cli.options.phases import Phases, check_phases, rates_of, seconds_of
from loadstone.cli.options.protection import protection_options
from loadstone.cli.options.prove import proving_options_of_a_run
from loadstone.cli.options.tpcc import check_sizes, tpcc_options
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
    Rates,
    WarmupTime,
    out_option,
)
from loadstone.cli.options.workload import WorkloadCommand, options_of
from loadstone.cli.options.workload_source import check_charset, template_of, workload_given
from loadstone.lab.step.shards import USERS_A_SHARD, cores

if TYPE_CHECKING:
    from loadstone.cli.request import Request
    from loadstone.model.cluster import ClusterAsked
    from loadstone.model.plan import Arrival, Drive, Phase
    from loadstone.model.search import SearchPlan
    from loadstone.model.target import Endpoint

# In an open loop users are who may wait at the same time: enough of them for most servers.
_USERS_OF_A_RATE = 64
# Measured with point select on this many users: below it a second event loop costs more CPU per
# statement than it takes off the first.
_MOST_IDLE = 1_000_000
_AT_ONCE = click.IntRange(1, 1_000_000)
# The longest wait before a connection is tried again; as short as a drill wants it, the wait is no
# part of the outage that is told.
_BACKOFF_S = 1.0
_DRILL_BACKOFF_S = 0.1
# A wait of a second is one that somebody notices.
_PAUSES_S = 1.0
# Together below 53: whoever reads result.json or run.json as doubles sees the same number.
_BOOK_BITS = 32
_STEP_BITS = 20
_ISOLATION = ["read-uncommitted", "read-committed", "repeatable-read", "serializable"]


@click.command(cls=WorkloadCommand)
@click.argument("workloads", nargs=-1, required=True, metavar="WORKLOAD...")
@connection_options
@click.option(
    "--concurrency",
    type=LadderOrAuto(),
    help="Users to try; auto: the fewest that reach the peak. [default: 1; in an open loop 64]",
)
@click.option(
    "--slo",
    "objective",
    type=ObjectiveSpec(),
    help="The highest rate that holds it, as p99<10ms; p99.9, mean and max are as good.",
)
@click.option("--rate", "rates", type=Rates(), help="Open loop: events a second, by a schedule.")
@click.option(
    "--arrivals",
    type=click.Choice(["poisson", "uniform"]),
    help="Gaps between events, with --rate. [default: poisson]",
)
@click.option("--max-backlog", type=BACKLOG, help="Due events that may wait. [default: 100000]")
@click.option("--duration", type=DURATION, help="Of a step. [default: 30s]")
@click.option("--warmup", type=WarmupTime(), help="Before it. [default: 5s]")
@click.option(
    "--phases",
    type=Phases(),
    help='How the load goes over a step: "warm 60s 16, ramp 2m 16..256, spike 30s 1k"; N/s is a'
    " rate.",
)
@click.option("--repeats", type=click.IntRange(1, 1000), default=1, show_default=True)
@click.option("--tables", type=TABLES, help="[default: as many as there are]")
@click.option("--table-size", type=SIZE, help="[default: as large as they are]")
@tpcc_options
@click.option("--prepared/--text", default=True, help="Prepared statements, or the text protocol.")
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True)
@click.option(
    "--shards",
    type=click.IntRange(1, 1024),
    help="Event loops. [default: one for 16 users; at most one a core, half of that beside the"
    " server]",
)
@click.option("--connect-at-once", type=_AT_ONCE, default=64, show_default=True)
@click.option("--connect-timeout", type=CONNECT_TIME, default="10s", show_default=True)
@click.option("--connect-retries", type=click.IntRange(0, 1000), default=5, show_default=True)
@click.option(
    "--reconnect",
    "reconnect_after",
    type=click.IntRange(1, 2**32 - 1),
    metavar="N",
    help="A new connection after each N transactions of a user.",
)
@click.option(
    "--idle",
    type=click.IntRange(0, _MOST_IDLE),
    default=0,
    metavar="N",
    help="Connections beside the users' that are held and say nothing.",
)
@click.option(
    "--on-error",
    type=click.Choice(["restart", "continue", "stop"]),
    help="Restart after deadlocks and lock waits, count all and go on, or stop at any."
    " [default: restart; with --timeline continue]",
)
@click.option(
    "--timeline",
    is_flag=True,
    help="A failover drill: outages by user and second, connecting again every tenth of a second.",
)
@click.option("--init-sql", type=WORD, multiple=True, metavar="SQL", help="For each connection.")
@click.option("--isolation", type=click.Choice(_ISOLATION, case_sensitive=False))
@click.option("--charset", type=Charset(), default="utf8mb4", show_default=True)
@sandbox_options
@click.option("--storage-engine", default="innodb", help="Of a throwaway server's tables.")
@click.option("--think-time", type=THINK_TIME, default="0s", help="Between two events.")
@click.option("--distribution", type=DistributionSpec(), default="special", show_default=True)
@click.option(
    "--set-option",
    "workload_options",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of the workload; --point-selects 5 says the same as point_selects=5 here.",
)
@cluster_options
@observing_options
@protection_options
@threshold_option
@junit_option
@proving_options_of_a_run
@beside_options
@click.option("--strict", is_flag=True, help="Exit code 5 when the generator was the limit.")
@click.option("--json", "as_json", is_flag=True, help="result.json on stdout, nothing else.")
@out_option
@click.option("--name", help="Of the run. [default: the workload's]")
def run(workloads: tuple[str, ...], connection: Connection, **asked: Any) -> int:
    """Drive WORKLOAD, a step for each number of users, and keep what was seen.

    WORKLOAD is one of the program's own, or a TOML file (docs/templates.md). Several are carried
    out at once: NAME:users=2 has users of its own, NAME:weight=9 a share of the others' events.
    More after the colon: as=NAME, think=TIME, tables, table_size, distribution, and the workload's
    options, as oltp_read_only:as=report,users=2,range_size=10k (docs/mixes.md).

    Without a target, a throwaway server is started, filled and removed.
    """
    if asked["proving"] and not asked["observing"].on:
        raise click.UsageError("--prove wants findings, and they rest on what is observed")
    if connection.files_without_target:
        option = connection.files_without_target[0]
        raise click.UsageError(f"{option} is for a server of yours: say which with --target")
    members = members_of(workloads) if is_mix(workloads) else ()
    _check_loop(asked)
    check_phases(asked)
    _check_cluster(connection, asked)
    _check_alone(members, asked)
    gates = Gates(asked["thresholds"], asked["junit"])
    check_gates(gates.thresholds, gates.junit)
    request = _mixed(members, asked) if members else _request(workloads[0], asked)
    if request.proving and connection.count > 1:
        raise click.UsageError("--prove takes one --target: what is changed is changed on one")

    from loadstone.cli.carry import Hooks, run_against, run_in_sandbox
    from loadstone.cli.request import check_request

    check_request(request, connection.count)
    for one in request.alone:
        if not connection.given and one.template and not one.template.tables:
            raise click.UsageError(f"{one.file} has no tables of its own: say where with --target")
    if connection.given and (request.foreign_keys or request.partitions):
        raise click.UsageError(
            "--foreign-keys and --partition are how tables are made: give them to prepare"
        )
    if connection.given and (request.server or request.settings):
        raise click.UsageError("--server and --set are for a throwaway server: leave --target out")
    with shown_beside(asked["live"], asked["metrics"], request.out) as begun:
        hooks = Hooks(gates, begun, _prove_of(request))
        if not connection.given:
            return run_in_sandbox(request, connection, hooks)
        return run_against(request, connection.endpoints(), hooks=hooks)


def _prove_of(request: Request) -> Callable[[Path, Endpoint], int] | None:
    """What puts the findings of the run to the proof when it is over, if that is asked for."""
    if request.proving is None:
        return None
    from loadstone.cli.proving import prove_run

    return partial(prove_run, request.proving, as_json=request.as_json)


def _check_cluster(connection: Connection, asked: dict[str, Any]) -> None:
    """Other machines do not reach a server that only this one has."""
    if asked["cluster"] is None:
        return
    if not connection.given:
        said = "a throwaway server cannot be reached from other machines: say which with --target"
        raise click.UsageError(f"--cluster: {said}")
    if asked["proving"]:
        raise click.UsageError("--prove drives from this machine: leave --cluster out")


def _check_alone(members: tuple[Member, ...], asked: dict[str, Any]) -> None:
    """What wants one workload, or a load that stays as it is."""
    if not members and not asked["phases"]:
        return
    what = "several workloads at once" if members else "--phases"
    if is_search(asked):
        option = "--slo" if asked["objective"] else "--concurrency auto"
        raise click.UsageError(f"{option} looks for a level, and {what} has none: leave one out")
    if asked["proving"]:
        raise click.UsageError(f"--prove drives one workload at one level: not {what}")
    if asked["cluster"] is not None:
        raise click.UsageError(f"--cluster: {what} is driven by one machine: leave one out")
    if members and asked["workload_options"]:
        option = asked["workload_options"][0]
        raise click.UsageError(
            f"{option}: which of the workloads has it? Write it there, as"
            f" {members[0].workload}:{option}"
        )


def _check_loop(asked: dict[str, Any]) -> None:
    """An open loop and a closed one have options that make no sense in the other."""
    if asked["rates"] and asked["objective"]:
        raise click.UsageError("--slo looks for a rate itself: leave --rate out")
    if is_search(asked) and (asked["repeats"] > 1 or len(asked["concurrency"] or ()) > 1):
        raise click.UsageError("a search repeats steps and chooses levels itself: give one level")
    if is_search(asked) and asked["protection"].max_load:
        raise click.UsageError(
            "--max-load: a search looks for what the server can do, and a load that is held back"
            " says nothing of that: leave it out, or --abort-if"
        )
    if not is_open(asked):
        for name, option in (("arrivals", "--arrivals"), ("max_backlog", "--max-backlog")):
            if asked[name] is not None:
                raise click.UsageError(f"{option} is for an open loop: say how much with --rate")
    elif asked["think_time"]:
        raise click.UsageError("--think-time is for a closed loop: with --rate no user decides")


def is_open(asked: dict[str, Any]) -> bool:
    """Whether events are to be due by a schedule."""
    by_phases = bool(asked["phases"]) and asked["phases"][0].rate is not None
    return asked["rates"] is not None or asked["objective"] is not None or by_phases


def is_search(asked: dict[str, Any]) -> bool:
    """Whether the levels follow from what the steps show."""
    return asked["objective"] is not None or asked["concurrency"] == ()


def _mixed(members: tuple[Member, ...], asked: dict[str, Any]) -> Request:
    """Several workloads at once, each of them a request of its own."""
    from loadstone.cli.request import MixedIn

    if (is_open(asked) or asked["phases"]) and all(member.users for member in members):
        what = "phases" if asked["phases"] else "the events of an open loop"
        raise click.UsageError(
            f"{what} are for workloads without users of their own: write one of them without users="
        )
    ladder = ladder_of(members, _ladder_asked(asked), _few(asked))
    pool = tuple(users - sum(member.users or 0 for member in members) for users in ladder)
    mixed = []
    for member in members:
        alone = _request(member.workload, member.asked(asked))
        if alone.book:
            raise click.UsageError(f"{member.workload} is run alone: leave the others out")
        levels = (member.users,) if member.users else pool
        mixed.append(
            MixedIn(
                name=member.name,
                users=member.users,
                weight=member.weight,
                think_s=member.think_s,
                request=alone.model_copy(update={"ladder": levels}),
            )
        )
    name = "+".join(member.name for member in members)
    return mixed[0].request.model_copy(
        update={
            "name": asked["name"] or name,
            "workload": name,
            "writes": any(one.request.writes for one in mixed),
            "ladder": ladder,
            "mix": tuple(mixed),
        }
    )


def _ladder_asked(asked: dict[str, Any]) -> tuple[int, ...] | None:
    """The users of each step, as far as somebody said so."""
    phases: tuple[Phase, ...] | None = asked["phases"]
    if phases and phases[0].users:
        return (int(max(max(phase.levels) for phase in phases)),)
    return asked["concurrency"] or None


def _few(asked: dict[str, Any]) -> int:
    return _USERS_OF_A_RATE if is_open(asked) else 1


def _request(workload: str, asked: dict[str, Any]) -> Request:
    from loadstone.cli.request import Request

    template = template_of(workload)
    known = workload_given(workload, template)
    if template:
        check_charset(template, workload, asked["charset"])
    cluster = cluster_asked(asked)
    check_sizes(known.layout, asked)
    sizes = ("tables", "table_size", "warehouses", "foreign_keys", "partitions")
    same = (*sizes, "repeats", "distribution", "storage_engine")
    return Request(
        name=asked["name"] or known.name,
        workload=known.name,
        file=workload if template else None,
        template=template,
        layout=known.layout,
        writes=known.writes,
        options=options_of(known, asked["workload_options"]),
        ladder=_ladder_asked(asked) or (_few(asked),),
        rates=rates_of(asked),
        search=_search(asked),
        book=_new_book() if known.layout == "ledger" else 0,
        drive=_drive(asked, cluster),
        cluster=cluster,
        out=asked["out"],
        observing=asked["observing"],
        protection=asked["protection"],
        proving=asked["proving"],
        yes=asked["yes"],
        as_json=asked["as_json"],
        strict=asked["strict"],
        server=asked["server"],
        settings=settings_of(asked["settings"]),
        **seconds_of(asked),
        **{name: asked[name] for name in same},
    )


def _drive(asked: dict[str, Any], cluster: ClusterAsked | None) -> Drive:
    from loadstone.model.plan import ConnectPolicy, Drive, Session

    # On other machines the processors that were set aside decide, not those of this one.
    shards = asked["shards"] or (cluster.cpus_per_generator if cluster else None)
    drill = asked["timeline"]
    return Drive(
        protocol="prepared" if asked["prepared"] else "text",
        arrival=_arrival(asked),
        connect=ConnectPolicy(
            at_once=asked["connect_at_once"],
            timeout_s=asked["connect_timeout"],
            retries=asked["connect_retries"],
            longest_backoff_s=_DRILL_BACKOFF_S if drill else _BACKOFF_S,
        ),
        session=Session(
            init_sql=tuple(asked["init_sql"]),
            isolation=asked["isolation"],
            charset=asked["charset"],
        ),
        on_error=asked["on_error"] or ("continue" if drill else "restart"),
        pauses_s=_PAUSES_S if drill else None,
        reconnect_after=asked["reconnect_after"],
        idle=asked["idle"],
        seed=asked["seed"],
        shards=shards or cores(),
        users_a_shard=1 if shards else USERS_A_SHARD,
        shards_asked=shards is not None,
    )


def _arrival(asked: dict[str, Any]) -> Arrival:
    from loadstone.model.plan import Closed, Open

    if not is_open(asked):
        return Closed(think_s=asked["think_time"])
    given = {"gaps": asked["arrivals"], "max_backlog": asked["max_backlog"]}
    return Open(**{name: value for name, value in given.items() if value is not None})


def _search(asked: dict[str, Any]) -> SearchPlan | None:
    from loadstone.model.search import SearchPlan

    if not is_search(asked):
        return None
    return SearchPlan(objective=asked["objective"], peak=asked["concurrency"] == ())


def _new_book() -> int:
    """Far apart from all others, so that a step's number can be added."""
    return (secrets.randbits(_BOOK_BITS) + 1) << _STEP_BITS
