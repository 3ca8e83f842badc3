"""Examines the targets before any load, so that what would fail later is reported first."""

from __future__ import annotations

import math
import resource
from collections.abc import Sequence
from typing import Any

from loadstone.families import connect, family_of
from loadstone.lab.protection.whereabouts import accepted_by, is_throwaway
from loadstone.lab.tables.discover import Data, Wanted, find_data, tables_for
from loadstone.lab.variables.in_effect import Stated, check_in_effect, set_on
from loadstone.model.compatible import COMPATIBLE
from loadstone.model.figure import Count, Seconds
from loadstone.model.frozen import Frozen
from loadstone.model.message import Message, counted, say, user_count
from loadstone.model.plan import Plan, Session, WorkloadSpec
from loadstone.model.target import Endpoint, Target
from loadstone.observe.local import data_device
from loadstone.observe.locate import data_folder, find_server_process
from loadstone.observe.sources import Observable
from loadstone.servers.connection import Timeouts
from loadstone.servers.errors import TargetError
from loadstone.servers.facts import Between, ServerFacts

_DESCRIPTORS_BESIDE_USERS = 512
"""The looks at a server's threads keep up to 390 files open (observe/looker.py)."""

_STATEMENTS_A_TABLE = {"oltp_read_write": 9, "oltp_read_only": 5, "oltp_write_only": 4}
# On each connection: 34, and one for each of the ten districts.
_STATEMENTS_OF_TPCC = 44
_SECRET_WORDS = (
    "password", "passphrase", "secret", "_auth", "token", "credential", "conninfo",
)  # fmt: skip


class InspectedTarget(Frozen):
    """Facts about one target."""

    endpoint: Endpoint
    facts: ServerFacts
    data: Data
    connect_s: float | None = None
    """Seconds that another connection may take; `None` for an imaginary server."""
    wanted: Wanted | None = None
    """The tables that were looked for, if any were."""


def inspect_target(endpoint: Endpoint, wanted: Wanted, timeout_s: float) -> InspectedTarget:
    """Log in, and look for the workload's tables.

    Raises:
        GuardError: the workload writes, and the tables or their neighbours may be somebody's.
        TargetError: the target cannot be reached, refuses the login, or has no such tables.
    """
    target = endpoint.target
    with connect(endpoint, Timeouts(connect_s=timeout_s), database=None) as connection:
        facts = family_of(target).describe_server(connection, target)
        data = find_data(connection, target, _consenting(wanted, endpoint))
    return InspectedTarget(
        endpoint=endpoint, facts=facts, data=data, connect_s=timeout_s, wanted=wanted
    )


def confirm_all(looked: Sequence[InspectedTarget]) -> None:
    """Call `confirm_tables` for all targets that are written to.

    Raises:
        GuardError, TargetError: as `confirm_tables`.
    """
    for one in looked:
        if one.wanted and one.wanted.writes:
            confirm_tables(one.endpoint, one.wanted)


def confirm_tables(endpoint: Endpoint, wanted: Wanted) -> None:
    """Check, right before a load, that the tables which it writes to are unchanged.

    Raises:
        GuardError: somebody has replaced the tables since they were examined.
        TargetError: the target cannot be reached, or the tables are gone.
    """
    with connect(endpoint, database=None) as connection:
        tables_for(connection, endpoint.target, _consenting(wanted, endpoint))


def _consenting(wanted: Wanted, endpoint: Endpoint) -> Wanted:
    """Add consent for a throwaway server, which holds nobody's data."""
    if not is_throwaway(endpoint):
        return wanted
    consent = wanted.consent.model_copy(update={"sandbox": True})
    return wanted.model_copy(update={"consent": consent})


def look_at_server(endpoint: Endpoint) -> InspectedTarget:
    """Log in, whatever tables there are.

    Raises:
        TargetError: the target cannot be reached, or refuses the login.
    """
    with connect(endpoint, database=None) as connection:
        facts = family_of(endpoint.target).describe_server(connection, endpoint.target)
    return InspectedTarget(endpoint=endpoint, facts=facts, data=Data(tables=0, table_size=0))


def common_data(looked: Sequence[InspectedTarget]) -> Data:
    """The data that users spread over several targets can all use."""
    notes = [note for one in looked for note in one.data.notes]
    sizes = {(one.data.tables, one.data.table_size, one.data.warehouses) for one in looked}
    if len(sizes) > 1:
        notes.append(
            say("the targets differ in tables or rows; the smallest numbers of all are used")
        )
    return Data(
        tables=min(one.data.tables for one in looked),
        table_size=min(one.data.table_size for one in looked),
        warehouses=min(one.data.warehouses for one in looked),
        notes=tuple(notes),
    )


def observable(looked: InspectedTarget) -> Observable:
    """The target in the form that the samplers need."""
    facts = looked.facts
    return Observable(looked.endpoint, facts.variables, facts.started_s)


def common_device(looked: Sequence[InspectedTarget]) -> str | None:
    """The device with the data of all these servers; `None`: several, or none of this machine."""
    devices = {_device(one) for one in looked}
    return devices.pop() if len(devices) == 1 else None


def _device(looked: InspectedTarget) -> str | None:
    variables = looked.facts.variables
    target = looked.endpoint.target
    found = find_server_process(target, variables, looked.facts.started_s)
    ours = looked.endpoint.credentials.source.startswith("sandbox ")
    if found is None and not ours:  # the name of its folder means nothing here
        return None
    pid = found.pid if found else None
    return data_device(data_folder(target, variables, pid), pid)


def check(
    plan: Plan, looked: Sequence[InspectedTarget], *, writes: bool, observed: bool = False
) -> list[Message]:
    """Check that the whole ladder fits; returns notes about what may become a problem.

    Raises:
        TargetError: it does not fit.
    """
    users = max(plan.ladder)
    idle = math.ceil(plan.drive.idle / len(looked))
    if plan.cluster is None:
        check_descriptors(users + plan.drive.idle)
    share = math.ceil(users / len(looked))
    notes = []
    for one in looked:
        check_connections(one, share, beside=int(observed), idle=idle)
        if writes and one.facts.read_only:
            raise TargetError(
                "statement_failed",
                say(
                    "{place} is read-only, and {workload} writes",
                    place=one.endpoint.target.place,
                    workload=plan.workload.name,
                ),
                say("is it a replica? use its source"),
            )
        if one.connect_s is not None:
            notes += try_session(one, plan.drive.session, one.connect_s)
        notes += prepared_statements_note(plan, one, share)
        notes += compatible_note(one)
        notes += proxy_note(one)
    return notes


def compatible_note(looked: InspectedTarget) -> list[Message]:
    """A note on a server that only speaks the protocol, and lacks what rules are about."""
    server = COMPATIBLE.get(looked.facts.flavour)
    if server is None or server.has_counters:
        return []
    return [
        say(
            "{place} is {server}: causes that need MySQL's or MariaDB's own counters are not"
            " evaluated",
            place=looked.endpoint.target.place,
            server=server.name,
        )
    ]


def proxy_note(looked: InspectedTarget) -> list[Message]:
    """A note on what stands between the users and the server whose figures are read."""
    target, facts = looked.endpoint.target, looked.facts
    if not facts.is_passed_on:
        return _readdressed_note(target) if facts.is_readdressed else []
    between, place = facts.between, target.place
    if between is None or between.name is None:
        said = say(
            "{place} passes statements on to a server, as a proxy does: its own work is part of all"
            " latencies, and what is observed is whichever server answers",
            place=place,
        )
    else:
        said = say(
            "{place} is {proxy}, which passes statements on to a server: its own work is part of"
            " all latencies, and what is observed is whichever server answers",
            place=place,
            proxy=between.name,
        )
    return [said, *_between_notes(between, place)] if between else [said]


def _between_notes(between: Between, place: str) -> list[Message]:
    """How fast it answers, and what it does not keep."""
    notes = [
        say(
            "{place} sent its greeting {greeting} after the connection opened; its fastest ping"
            " took {ping}, and the fastest SELECT 1 {statement}",
            place=place,
            greeting=Seconds(between.greeting_s),
            ping=Seconds(between.ping_s),
            statement=Seconds(between.statement_s),
        )
    ]
    if between.shares_sessions:
        notes.append(
            say(
                "{place} gives a session with locks to other clients, too: commands that make or"
                " drop tables there do not notice this run",
                place=place,
            )
        )
    return notes


def _readdressed_note(target: Target) -> list[Message]:
    """The program of this machine that passes connections on, or that something else does."""
    program = accepted_by(target)
    if program:
        return [
            say(
                "{program} accepts the connections to {place} and passes them on: its own work is"
                " part of all latencies",
                program=program,
                place=target.place,
            )
        ]
    return [
        say(
            "the server behind {place} sees its clients at other ports than they have: a proxy or"
            " an address translation is in between, and its work is part of all latencies",
            place=target.place,
        )
    ]


def try_session(looked: InspectedTarget, session: Session, timeout_s: float) -> list[Message]:
    """Set on one connection what each connection of the load will set.

    Through a proxy it is also tried whether that holds in all transactions; returns notes on it.

    Raises:
        GuardError, NotInEffect: as `check_in_effect`.
        TargetError: the server refuses a statement; the error names the option, quotes the server.
    """
    endpoint, facts = looked.endpoint, looked.facts
    if facts.is_passed_on:
        return check_in_effect(endpoint, session, timeout_s)
    statements = family_of(endpoint.target).session_statements(session)
    with connect(endpoint, Timeouts(connect_s=timeout_s)) as connection:
        set_on(connection, endpoint.target, [Stated(*each) for each in statements])
    return []


def check_connections(looked: InspectedTarget, users: int, beside: int = 0, idle: int = 0) -> None:
    """Check that the server accepts that many more connections, in addition to our other ones.

    Each of the users has one connection; the idle ones send nothing.

    Raises:
        TargetError: it does not.
    """
    most, connected = looked.facts.max_connections, looked.facts.connected
    if most is None or connected is None:
        return
    in_use = connected - 1 + beside  # the connection of the query is closed before the load begins
    if users + idle > most - in_use:
        target = looked.endpoint.target
        told = {
            "what": counted("1 user does not fit", "{number} users do not fit", users)
            if not idle
            else say(
                "{users} and {idle} idle ones do not fit", users=user_count(users), idle=Count(idle)
            ),
            "place": target.place,
            "most": most,
        }
        raise family_of(target).too_many_connections(
            say(
                "{what}: {place} has max_connections {most}, {used} of them in use",
                used=in_use,
                **told,
            )
            if in_use > 0
            else say("{what}: {place} has max_connections {most}", **told),
            users + idle + in_use + 10,
            say("a lower --concurrency or --idle") if idle else say("a lower --concurrency"),
        )


def check_descriptors(connections: int) -> None:
    """Check that this process may open that many sockets; raises its limit as far as it may.

    Raises:
        TargetError: it may not.
    """
    needed = connections + _DESCRIPTORS_BESIDE_USERS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard == resource.RLIM_INFINITY or hard >= needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
        return
    raise TargetError(
        "descriptors",
        counted(
            "1 connection needs {needed} file descriptors, and the limit is {limit}",
            "{number} connections need {needed} file descriptors, and the limit is {limit}",
            connections,
            needed=Count(needed),
            limit=Count(hard),
        ),
        say(
            "raise it in this shell, then start again: ulimit -n {needed} (root may)",
            needed=needed,
        ),
    )


def prepared_statements_note(plan: Plan, looked: InspectedTarget, users: int) -> list[Message]:
    """A note with the arithmetic of the limit on prepared statements, if it may be exceeded."""
    known = family_of(looked.endpoint.target).words.prepared_limit
    if known is None:
        return []
    limit = looked.facts.variables.get(known[0], "")
    if plan.drive.protocol != "prepared" or not limit.isdigit():
        return []
    if plan.mix:
        return _prepared_by_a_mix(plan, known, int(limit), users)
    statements = _STATEMENTS_A_TABLE.get(plan.workload.name, 1)
    tables = plan.workload.tables
    if plan.workload.warehouses:
        statements, tables = _STATEMENTS_OF_TPCC, 1
    most = statements * tables * users
    if most <= int(limit):
        return []
    return [
        say(
            "up to {most} prepared statements ({statements} × {tables} × {users}) may exceed "
            "{variable} {limit} (error {code}): raise it, or use --text",
            most=Count(most),
            statements=statements,
            tables=counted("1 table", "{number} tables", tables),
            users=user_count(users),
            variable=known[0],
            limit=Count(int(limit)),
            code=known[1],
        )
    ]


def _prepared_by_a_mix(plan: Plan, known: tuple[str, str], limit: int, users: int) -> list[Message]:
    """A note on a mix, whose users prepare the statements of all workloads that they may draw."""

    def statements(workload: WorkloadSpec) -> int:
        if workload.warehouses:
            return _STATEMENTS_OF_TPCC
        return _STATEMENTS_A_TABLE.get(workload.name, 1) * workload.tables

    drawn = sum(statements(one.workload) for one in plan.mix if not one.users)
    own = sum(statements(one.workload) * one.users for one in plan.mix if one.users)
    most = drawn * max(users - plan.users_of_members, 0) + own
    if most <= limit:
        return []
    return [
        say(
            "up to {most} prepared statements may exceed {variable} {limit} (error {code}): "
            "raise it, or use --text",
            most=Count(most),
            variable=known[0],
            limit=Count(limit),
            code=known[1],
        )
    ]


def server_environment(looked: Sequence[InspectedTarget]) -> list[dict[str, Any]]:
    """The targets' part of environment.json: versions and all variables, secrets blanked."""
    return [
        {
            "target": one.endpoint.target.url,
            "version": one.facts.version,
            "comment": one.facts.comment,
            "flavour": one.facts.flavour,
            "encrypted": one.facts.encrypted,
            "connected": one.facts.connected,
            "thread_pool": one.facts.thread_pool,
            "variables": {
                name: _blanked(name, value) for name, value in one.facts.variables.items()
            },
            "not_default": one.facts.not_default,
        }
        for one in looked
    ]


def _blanked(name: str, value: str) -> str:
    """The value, blanked if the variable holds a secret (`wsrep_sst_auth` is user:password)."""
    has_secret = any(word in name.lower() for word in _SECRET_WORDS)
    harmless = value.upper() in ("", "ON", "OFF", "YES", "NO") or value.isdigit()
    return "***" if has_secret and not harmless else value
