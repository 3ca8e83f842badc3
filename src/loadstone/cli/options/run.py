"""The options of `loadstone run` as one value: checked, and turned into a request."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from loadstone.cli.commands.sandbox import settings_of
from loadstone.cli.options.connection import Connection
from loadstone.cli.options.mix import Member, ladder_of
from loadstone.cli.options.tpcc import check_distribution, check_sizes
from loadstone.cli.options.workload import options_of
from loadstone.cli.options.workload_source import check_charset, template_of, workload_given
from loadstone.config.phases import rates_of, seconds_of, users_of
from loadstone.lab.step.shards import USERS_A_SHARD, cores
from loadstone.model.distribution import not_drawn
from loadstone.model.message import say
from loadstone.model.plan import USERS_OF_A_RATE, Closed, ConnectPolicy, Drive, Open, Session
from loadstone.model.search import SearchPlan
from loadstone.runner.request import MixedIn, Request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from loadstone.model.cluster import ClusterAsked
    from loadstone.model.observe_request import Observing
    from loadstone.model.plan import (
        Arrival,
        Distribution,
        Phase,
        Rate,
        StatementProtocol,
        Warmup,
    )
    from loadstone.model.protection import Protection
    from loadstone.model.prove_request import Proving
    from loadstone.model.search import Objective

# Together below 53 bits, so that programs that read result.json as doubles get the exact number.
_BOOK_BITS = 32
_STEP_BITS = 20


@dataclass(frozen=True)
class RunOptions:
    """The options of `run`, each parsed by its type; `None` if it was left out."""

    concurrency: tuple[int, ...] | None
    """Virtual users of each step; empty: search for the fewest that reach the peak."""
    objective: Objective | None
    rates: tuple[Rate, ...] | None
    arrivals: Literal["poisson", "uniform"] | None
    max_backlog: int | None
    duration: float | None
    """Seconds."""
    warmup: Warmup | None
    phases: tuple[Phase, ...] | None
    repeats: int
    tables: int | None
    table_size: int | None
    warehouses: int | None
    foreign_keys: bool
    partitions: int
    prepared: bool | None
    protocol: StatementProtocol | None
    seed: int
    shards: int | None
    connect_at_once: int
    connect_timeout: float
    """Seconds."""
    connect_retries: int
    source_address: tuple[str, ...]
    reconnect_after: int | None
    idle: int
    on_error: Literal["restart", "continue", "stop"] | None
    timeline: bool
    init_sql: tuple[str, ...]
    isolation: str | None
    charset: str
    server: str | None
    settings: tuple[str, ...]
    storage_engine: str | None
    think_time: float
    """Seconds."""
    distribution: Distribution
    workload_options: tuple[str, ...]
    cluster: ClusterAsked | None
    observing: Observing
    protection: Protection
    proving: Proving | None
    yes: bool
    out: Path
    name: str | None

    @property
    def is_open(self) -> bool:
        """Whether events are due by a schedule."""
        by_phases = self.phases is not None and self.phases[0].rate is not None
        return self.rates is not None or self.objective is not None or by_phases

    @property
    def is_search(self) -> bool:
        """Whether the levels depend on the results of the steps."""
        return self.objective is not None or self.concurrency == ()

    @property
    def sizes(self) -> dict[str, object]:
        """The sizes of tables, by the option's name."""
        names = ("tables", "table_size", "warehouses", "foreign_keys", "partitions")
        return {name: getattr(self, name) for name in names}

    def of_member(self, member: Member) -> RunOptions:
        """The options for one workload of a mix, with its own values."""
        return replace(self, workload_options=member.options, **member.sizes)


def request_from(
    workloads: tuple[str, ...],
    members: tuple[Member, ...],
    asked: RunOptions,
    connection: Connection,
) -> Request:
    """The request of the command line.

    Raises:
        UsageError: an option does not fit the workload, or another option.
    """
    request = mixed_of(members, asked) if members else request_of(workloads[0], asked)
    given = {
        "--storage-engine": asked.storage_engine,
        "--mysqld-exporter": asked.observing.server_exporter,
        "--compression": connection.compression,
    }
    update = {
        "of_families": tuple(option for option, value in given.items() if value),
        "is_proved": asked.proving is not None,
    }
    return request.model_copy(update=update)


def check(asked: RunOptions, members: tuple[Member, ...], connection: Connection) -> None:
    """Check that the options fit each other.

    Raises:
        UsageError: two of them mean the same, or contradict each other.
    """
    if asked.proving and not asked.observing.on:
        raise click.UsageError(say("--prove needs findings, and they need --observe"))
    if connection.files_without_target:
        option = connection.files_without_target[0]
        raise click.UsageError(say("{option} needs --target", option=option))
    if asked.protocol is not None and asked.prepared is not None:
        raise click.UsageError(
            say("--protocol: --prepared or --text already defines it: leave one out")
        )
    _check_loop(asked)
    _check_phases(asked)
    _check_cluster(connection, asked)
    _check_alone(members, asked)
    if asked.proving and connection.count > 1:
        raise click.UsageError(
            say("--prove takes one --target: it changes variables of one server")
        )


def check_place(request: Request, connection: Connection) -> None:
    """Check that the request fits where it is driven.

    Raises:
        UsageError: it has a target and an option for throwaway servers, or the other way round.
    """
    for one in request.alone:
        if not connection.given and one.template and not one.template.tables:
            raise click.UsageError(
                say(
                    "{file} defines no tables: name a server that has them with --target",
                    file=one.file,
                )
            )
    if connection.given and (request.foreign_keys or request.partitions):
        raise click.UsageError(
            say(
                "--foreign-keys and --partition take effect when tables are created: pass them to"
                " loadstone prepare"
            )
        )
    if connection.given and (request.server or request.settings):
        raise click.UsageError(
            say("--server and --set are for a throwaway server: leave --target out")
        )


def _check_phases(asked: RunOptions) -> None:
    """Refuse options that phases replace: the length of a step, and its users or events."""
    if asked.phases is None:
        return
    said = (
        (asked.duration, "--duration"), (asked.warmup, "--warmup"), (asked.rates, "--rate")
    )  # fmt: skip
    for given, option in said:
        if given is not None:
            raise click.UsageError(
                say("{option}: --phases already defines it: leave one out", option=option)
            )
    if asked.phases[0].users and asked.concurrency:
        raise click.UsageError(
            say("--concurrency: --phases already defines the users: leave one out")
        )
    if len(asked.concurrency or ()) > 1:
        raise click.UsageError(
            say("--concurrency: with --phases give one number of users, who share their events")
        )


def _check_cluster(connection: Connection, asked: RunOptions) -> None:
    """Refuse a throwaway server: other machines cannot reach one on this machine."""
    if asked.cluster is None:
        return
    if not connection.given:
        raise click.UsageError(
            say(
                "--cluster needs --target: other machines cannot reach a throwaway server on this"
                " one"
            )
        )
    if asked.proving:
        raise click.UsageError(say("--prove drives from this machine: leave --cluster out"))


def _check_alone(members: tuple[Member, ...], asked: RunOptions) -> None:
    """Refuse options that need a single workload, or a load that stays the same."""
    if not members and not asked.phases:
        return
    if asked.is_search:
        option = "--slo" if asked.objective else "--concurrency auto"
        raise click.UsageError(
            say("{option} cannot search with several workloads at once", option=option)
            if members
            else say("{option} cannot search with --phases: leave one out", option=option)
        )
    if asked.proving:
        raise click.UsageError(
            say("--prove cannot drive several workloads at once")
            if members
            else say("--prove cannot drive --phases: leave one out")
        )
    if members and asked.workload_options:
        option = asked.workload_options[0]
        raise click.UsageError(
            say(
                "{option}: write it with the workload that it is for, such as {workload}:{option}",
                option=option,
                workload=members[0].workload,
            )
        )


def _check_loop(asked: RunOptions) -> None:
    """Refuse options of the open loop for a closed one, and the other way round."""
    if asked.rates and asked.objective:
        raise click.UsageError(say("--slo searches for the rate itself: leave --rate out"))
    if asked.is_search and (asked.repeats > 1 or len(asked.concurrency or ()) > 1):
        raise click.UsageError(
            say(
                "a search chooses levels and repeats steps itself: leave --repeats out, and give"
                " --concurrency at most one number"
            )
        )
    if asked.is_search and asked.protection.max_load:
        raise click.UsageError(
            say(
                "--max-load: a search needs the server's full throughput, and a paused load does"
                " not show it: leave --max-load out, or use --abort-if"
            )
        )
    if not asked.is_open:
        closed = ((asked.arrivals, "--arrivals"), (asked.max_backlog, "--max-backlog"))
        for given, option in closed:
            if given is not None:
                raise click.UsageError(
                    say("{option} is for an open loop: add --rate", option=option)
                )
    elif asked.think_time:
        raise click.UsageError(
            say("--think-time is for a closed loop: with --rate or --slo a schedule starts events")
        )


def mixed_of(members: tuple[Member, ...], asked: RunOptions) -> Request:
    """The request for several workloads at once, each of them a request of its own."""
    if (asked.is_open or asked.phases) and all(member.users for member in members):
        raise click.UsageError(
            say("--phases needs a workload without users of its own: write one without users=")
            if asked.phases
            else say(
                "an open loop needs a workload without users of its own: write one without users="
            )
        )
    ladder = ladder_of(members, _ladder_asked(asked), _few(asked))
    pool = tuple(users - sum(member.users or 0 for member in members) for users in ladder)
    mixed = []
    for member in members:
        # What is asked of all is for those members that draw by it.
        alone = _request_of(
            member.workload, asked.of_member(member), checks="distribution" in member.sizes
        )
        if alone.book:
            raise click.UsageError(
                say("{workload} can only run alone: leave the others out", workload=member.workload)
            )
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
    _check_drawn(mixed, asked.distribution)
    name = "+".join(member.name for member in members)
    return mixed[0].request.model_copy(
        update={
            "name": asked.name or name,
            "workload": name,
            "writes": any(one.request.writes for one in mixed),
            "ladder": ladder,
            "mix": tuple(mixed),
        }
    )


def _check_drawn(mixed: Sequence[MixedIn], asked: Distribution) -> None:
    """Check that at least one member draws by what is asked of all of them."""
    layouts = [one.request.layout for one in mixed]
    if all(map(not_drawn, layouts)):
        check_distribution(layouts[0], asked)


def _ladder_asked(asked: RunOptions) -> tuple[int, ...] | None:
    """The users of each step, if any were given."""
    return users_of(asked.phases or ()) or asked.concurrency or None


def _few(asked: RunOptions) -> int:
    return USERS_OF_A_RATE if asked.is_open else 1


def request_of(workload: str, asked: RunOptions) -> Request:
    """The request for one workload, by its name or its file."""
    return _request_of(workload, asked, checks=True)


def _request_of(workload: str, asked: RunOptions, *, checks: bool) -> Request:
    """`checks`: the distribution was asked of this workload."""
    template = template_of(workload)
    known = workload_given(workload, template)
    if template:
        check_charset(template, workload, asked.charset)
    check_sizes(known.layout, asked.sizes)
    if checks:
        check_distribution(known.layout, asked.distribution)
    return Request(
        name=asked.name or known.name,
        workload=known.name,
        file=workload if template else None,
        template=template,
        layout=known.layout,
        writes=known.writes,
        options=options_of(known, asked.workload_options),
        ladder=_ladder_asked(asked) or (_few(asked),),
        rates=rates_of(asked.phases, asked.rates),
        search=_search(asked),
        book=_new_book() if known.layout == "ledger" else 0,
        drive=_drive(asked),
        cluster=asked.cluster,
        out=asked.out,
        observing=asked.observing,
        protection=asked.protection,
        yes=asked.yes,
        server=asked.server,
        settings=settings_of(asked.settings),
        **seconds_of(asked.phases, asked.duration, asked.warmup),
        tables=asked.tables,
        table_size=asked.table_size,
        warehouses=asked.warehouses,
        foreign_keys=asked.foreign_keys,
        partitions=asked.partitions,
        repeats=asked.repeats,
        distribution=asked.distribution,
        storage_engine=asked.storage_engine or Request.model_fields["storage_engine"].default,
    )


def _drive(asked: RunOptions) -> Drive:
    # On other machines the reserved processors decide, not those of this machine.
    shards = asked.shards or (asked.cluster.cpus_per_generator if asked.cluster else None)
    usual = Drive.of_drill() if asked.timeline else Drive()
    return Drive(
        protocol=asked.protocol or ("text" if asked.prepared is False else "prepared"),
        arrival=_arrival(asked),
        connect=ConnectPolicy(
            at_once=asked.connect_at_once,
            timeout_s=asked.connect_timeout,
            retries=asked.connect_retries,
            longest_backoff_s=usual.connect.longest_backoff_s,
            source_addresses=asked.source_address,
        ),
        session=Session(
            init_sql=tuple(asked.init_sql),
            isolation=asked.isolation,
            charset=asked.charset,
        ),
        on_error=asked.on_error or usual.on_error,
        pauses_s=usual.pauses_s,
        reconnect_after=asked.reconnect_after,
        idle=asked.idle,
        seed=asked.seed,
        shards=shards or cores(),
        users_a_shard=1 if shards else USERS_A_SHARD,
        shards_asked=shards is not None,
    )


def _arrival(asked: RunOptions) -> Arrival:
    if not asked.is_open:
        return Closed(think_s=asked.think_time)
    default = Open()
    return Open(
        gaps=asked.arrivals or default.gaps,
        max_backlog=default.max_backlog if asked.max_backlog is None else asked.max_backlog,
    )


def _search(asked: RunOptions) -> SearchPlan | None:
    if not asked.is_search:
        return None
    return SearchPlan(objective=asked.objective, peak=asked.concurrency == ())


def _new_book() -> int:
    """A random number, far from all others, so that a step's number can be added."""
    return (secrets.randbits(_BOOK_BITS) + 1) << _STEP_BITS
