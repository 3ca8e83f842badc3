"""A run from its command line to its report."""

from __future__ import annotations

import secrets
from dataclasses import replace

from pydantic import ValidationError

from loadstone import engine
from loadstone.dropin.company import beside_others
from loadstone.dropin.keeping import keeper_of
from loadstone.lab.step.order import steps_of
from loadstone.lab.tables.inspect import check_descriptors
from loadstone.model.engine_plan import step_document
from loadstone.model.observe_request import Observing
from loadstone.model.target import Endpoint
from loadstone.pgbench import before, log, planning, running, transaction_log
from loadstone.pgbench.commands import at_place, check_protocol, commands_of
from loadstone.pgbench.connecting import endpoint_of
from loadstone.pgbench.errors import Failed
from loadstone.pgbench.planning import Planned
from loadstone.pgbench.reporting import Tables
from loadstone.pgbench.running import Run
from loadstone.pgbench.session import session
from loadstone.pgbench.settings import Benchmark

_SEEDS = 2**63


def run(asked: Benchmark) -> int:
    """Run a benchmark; returns the exit code.

    Raises:
        Failed: it could not start.
        TargetError: so many clients need more file descriptors than this process may have.
        StoreError: the run's folder cannot be written.
    """
    if asked.seed is not None:
        log.note(f"setting random seed to {asked.seed}")
    commands = [commands_of(script) for script in asked.scripts]
    for script, texts in zip(asked.scripts, commands, strict=True):
        check_protocol(script, texts, asked.protocol)
    endpoint = endpoint_of(asked.place)
    _check_scripts(asked, endpoint)
    if asked.debug:
        log.note(_debugging(asked, endpoint))
    check_descriptors(asked.clients)
    found = _before(asked, endpoint)
    planned = _planned(asked, endpoint, found)
    with (
        beside_others([endpoint], asked.clients),
        transaction_log.opened(asked, planned.scripts, planned.draws) as lines,
        keeper_of(asked.out, planned.plan, [endpoint], Observing(on=True)) as keeper,
    ):
        return running.drive(Run(asked, planned, endpoint, found, commands, lines, keeper))


def _check_scripts(asked: Benchmark, endpoint: Endpoint) -> None:
    """Let the engine check each script before anything reaches the server.

    Raises:
        Failed: it cannot run one of them.
    """
    for script in asked.scripts:
        alone = replace(asked, scripts=(replace(script, weight=1),))
        plan = _planned(alone, endpoint, Tables(scale=1)).plan
        try:
            engine.check_plan(step_document(plan, steps_of(plan)[0], [endpoint]))
        except engine.PlanRefused as error:
            why = error.message.removeprefix(f"{planning.NAME}: ")
            raise Failed(at_place(script, why)) from error


def _before(asked: Benchmark, endpoint: Endpoint) -> Tables:
    with session(endpoint, "setup") as opened:
        print(before.head(opened), flush=True)
        found = before.look(opened, asked)
        before.vacuum(opened, asked)
    return found


def _planned(asked: Benchmark, endpoint: Endpoint, found: Tables) -> Planned:
    seed = secrets.randbelow(_SEEDS) if asked.seed is None else asked.seed
    try:
        return planning.plan_of(asked, endpoint, found.scale, seed)
    except ValidationError as error:
        first = error.errors()[0]
        raise Failed(f"invalid value for {first['loc'][-1]}: {first['msg'].lower()}") from error


def _debugging(asked: Benchmark, endpoint: Endpoint) -> str:
    target = endpoint.target
    host = target.socket.parent if target.socket else target.host
    work = (
        f"nxacts: {asked.transactions}" if asked.transactions else f"duration: {asked.duration_s}"
    )
    return (
        f"pghost: {host} pgport: {target.tcp_port} nclients: {asked.clients} {work}"
        f" dbName: {target.database}"
    )
