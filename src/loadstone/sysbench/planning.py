"""Makes the engine's plan from a command line."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from loadstone import engine
from loadstone.lab.step.script_command import command_plan
from loadstone.lab.step.shards import USERS_A_SHARD, cores
from loadstone.model.engine_plan import Layout, LoadPlan
from loadstone.model.error_codes import IGNORED_BY_SCRIPTS, POSTGRESQL
from loadstone.model.plan import (
    Arrival,
    Closed,
    ConnectPolicy,
    Distribution,
    Drive,
    Open,
    Plan,
    Rate,
    WarmupSeconds,
    WorkloadSpec,
)
from loadstone.model.quantity import LONGEST_S
from loadstone.model.target import Target
from loadstone.sysbench.errors import Fatal
from loadstone.sysbench.oltp.tests import STATEMENT_COUNTS, Bundled
from loadstone.sysbench.settings import HIGHEST_RATE, Settings, seed_of
from loadstone.sysbench.targets import family_of_driver
from loadstone.workloads.scripts import values
from loadstone.workloads.scripts.given import Values

# sysbench gives up when 131,072 events wait; here the limit only protects memory.
_MOST_WAITING = 10_000_000
_RETRIES = 3
# The parameters of distributions, by the names that they have in a plan.
_RANDOM_OPTIONS = {
    "iterations": "--rand-spec-iter",
    "percent": "--rand-spec-pct",
    "hits": "--rand-spec-res",
    "h": "--rand-pareto-h",
    "exponent": "--rand-zipfian-exp",
}
_MOST_LOADING = 64
_MOST_SHARDS = 1024


def plan_of(
    name: str,
    workload: WorkloadSpec,
    settings: Settings,
    given: Values,
    targets: Sequence[Target],
) -> Plan:
    """The plan of a run.

    Raises:
        Fatal: a value cannot be used.
    """
    shards, users_a_shard = _threads(settings, given)
    try:
        drive = Drive(
            protocol=_protocol(given),
            arrival=_arrival(settings),
            connect=ConnectPolicy(retries=_RETRIES),
            restart_on=restart_on(given),
            drain_s=_drain_s(settings),
            per_user=True,
            seed=seed_of(settings),
            shards=shards,
            users_a_shard=users_a_shard,
            shards_asked=given.switch("lua_threads"),
        )
        return Plan(
            name=name,
            targets=tuple(targets),
            workload=workload,
            ladder=(settings.threads,),
            rates=(Rate(rate=_kept_rate(settings)),) if settings.rate else (),
            duration_s=settings.time_s or LONGEST_S,
            events=settings.events or None,
            warmup=WarmupSeconds(warmup_s=settings.warmup_s),
            drive=(
                drive.beside_the_server(targets[0].family)
                if any(target.is_local for target in targets)
                else drive
            ),
        )
    except ValidationError as error:
        raise Fatal(_told(error)) from error


def command_of(
    workload: WorkloadSpec,
    settings: Settings,
    given: Values,
    targets: Sequence[Target],
    users: int,
) -> Plan:
    """The plan of a script's command: this many users run it, for as long as it takes.

    Raises:
        Fatal: a value cannot be used.
    """
    try:
        drive = Drive(
            protocol=_protocol(given),
            connect=ConnectPolicy(retries=_RETRIES),
            restart_on=restart_on(given),
            seed=seed_of(settings),
        )
        return command_plan(workload, targets, users, drive)
    except ValidationError as error:
        raise Fatal(_told(error)) from error


def _threads(settings: Settings, given: Values) -> tuple[int, int]:
    """The maximum number of event loops, and how many users share one.

    Raises:
        Fatal: each user is to have its own thread, and there are too many of them.
    """
    if not given.switch("lua_threads"):
        return cores(), USERS_A_SHARD
    if settings.threads > _MOST_SHARDS:
        raise Fatal(f"--lua-threads is for at most {_MOST_SHARDS} threads")
    return settings.threads, 1


def _protocol(given: Values) -> Literal["prepared", "text"]:
    return "text" if given.text("db_ps_mode") == "disable" else "prepared"


def workload_of(test: Bundled, settings: Settings, given: Values) -> WorkloadSpec:
    """What a thread does; options that the workload does not use are ignored, as in sysbench.

    Raises:
        Fatal: a value cannot be used.
    """
    known = engine.workloads()[test.workload].options
    options: dict[str, Any] = {}
    for name in known:
        if name in test.known_options():
            is_switch = isinstance(known[name], bool)
            options[name] = given.switch(name) if is_switch else given.integer(name)
        if name in STATEMENT_COUNTS:
            # A negative number is none, as in sysbench.
            options[name] = max(options[name], 0)
    try:
        return WorkloadSpec(
            name=test.workload,
            tables=tables_of(test, settings, given),
            table_size=_table_size(test, given),
            options=options,
            distribution=distribution_of(given),
        )
    except ValidationError as error:
        raise Fatal(_told(error)) from error


def load_of(test: Bundled, settings: Settings, given: Values) -> LoadPlan:
    """The tables that `prepare` makes.

    Raises:
        Fatal: a value cannot be used.
    """
    is_bulk = test.layout == "bulk"
    try:
        layout = Layout(
            tables=tables_of(test, settings, given),
            table_size=max(_table_size(test, given), 1),
            storage_engine="innodb" if is_bulk else given.text("mysql_storage_engine"),
            secondary_index=not is_bulk and given.switch("create_secondary"),
            auto_increment=not is_bulk and given.switch("auto_inc"),
            distribution=distribution_of(given),
            kind=test.layout,
        )
        return LoadPlan(
            layout=layout,
            parallel=_connections(settings.threads),
            seed=seed_of(settings),
            connect=ConnectPolicy(retries=_RETRIES),
        )
    except ValidationError as error:
        raise Fatal(_told(error)) from error


def _connections(threads: int) -> int:
    """Number of connections: two a core, which keeps most servers busy (sysbench: one a table)."""
    return min(max(threads, 2 * (os.cpu_count() or 1)), _MOST_LOADING)


def distribution_of(given: Values) -> Distribution:
    """The distribution of ids.

    Raises:
        Fatal: its parameters are out of their range.
    """
    kind = given.text("rand_type")
    parameters: dict[str, dict[str, Any]] = {
        "special": {
            "iterations": given.integer("rand_spec_iter"),
            "percent": given.integer("rand_spec_pct"),
            "hits": given.integer("rand_spec_res"),
        },
        "gaussian": {"iterations": given.integer("rand_spec_iter")},
        "pareto": {"h": given.number("rand_pareto_h")},
        "zipfian": {"exponent": given.number("rand_zipfian_exp")},
    }
    adapter: TypeAdapter[Distribution] = TypeAdapter(Distribution)
    try:
        return adapter.validate_python({"kind": kind} | parameters.get(kind, {}))
    except ValidationError as error:
        raise Fatal(_told(error, _RANDOM_OPTIONS)) from error


def restart_on(given: Values) -> Literal["all"] | tuple[str, ...]:
    """The errors of `--mysql-ignore-errors`: numbers, or all. The other driver has fixed ones."""
    if family_of_driver(given) == POSTGRESQL:
        return IGNORED_BY_SCRIPTS[POSTGRESQL]
    words = given.words("mysql_ignore_errors")
    if "all" in words:
        return "all"
    return tuple(str(number) for number in sorted({values.lenient_int(word) for word in words}))


def _kept_rate(settings: Settings) -> int:
    """The rate, or the engine's highest: a run whose rate is out of reach ends at its start."""
    return HIGHEST_RATE if settings.is_rate_out_of_reach else settings.rate


def _arrival(settings: Settings) -> Arrival:
    return Open(max_backlog=_MOST_WAITING) if settings.rate else Closed()


def _drain_s(settings: Settings) -> float:
    if settings.forced_shutdown_s is None:
        return LONGEST_S
    return settings.forced_shutdown_s - settings.time_s


def tables_of(test: Bundled, settings: Settings, given: Values) -> int:
    """The number of tables, below 1 if there are none; each thread of `bulk_insert` has its own."""
    return settings.threads if test.layout == "bulk" else given.integer("tables")


def _table_size(test: Bundled, given: Values) -> int:
    return 1 if test.layout == "bulk" else given.integer("table_size")


def _told(error: ValidationError, options: Mapping[str, str] = MappingProxyType({})) -> str:
    first = error.errors()[0]
    name = str(first["loc"][-1])
    name = options.get(name, name)
    return f"Invalid value for {name}: {first['input']} ({first['msg'].lower()})"
