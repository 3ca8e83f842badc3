"""Makes the engine's documents (docs/engine.md) from a plan; the only place that adds passwords."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import NonNegativeInt, PositiveInt

from loadstone.model.error_codes import POSTGRESQL
from loadstone.model.frozen import Frozen
from loadstone.model.plan import (
    Arrival,
    Closed,
    ConnectPolicy,
    Distribution,
    MixMember,
    Phase,
    Plan,
    ScriptSpec,
    Session,
    Special,
    Step,
    WorkloadSpec,
)
from loadstone.model.target import Endpoint
from loadstone.model.template import LoadedTable


class Layout(Frozen):
    """The tables that a load creates."""

    tables: PositiveInt = 10
    table_size: PositiveInt = 10_000
    storage_engine: str = "innodb"
    secondary_index: bool = True
    auto_increment: bool = True
    distribution: Distribution = Special()
    kind: Literal["sbtest", "bulk", "hot", "products", "orders", "ledger", "tpcc", "template"] = (
        "sbtest"
    )
    warehouses: NonNegativeInt = 0
    """The number of warehouses of `tpcc`."""

    foreign_keys: bool = False
    """Whether the tables of `tpcc` refer to each other."""

    partitions: NonNegativeInt = 0
    """The number of partitions, by warehouse, of the tables of `tpcc`; 0: none."""

    template: tuple[LoadedTable, ...] = ()
    """The tables of a template."""


class LoadPlan(Frozen):
    """The request for a bulk load."""

    layout: Layout = Layout()
    parallel: PositiveInt = 4
    method: Literal["auto", "infile", "insert"] = "auto"
    seed: int = 0
    connect: ConnectPolicy = ConnectPolicy()
    session: Session = Session()
    continues: tuple[str, ...] | None = None
    """Tables that may exist already and are completed; `None`: any of them."""

    marks: dict[str, str] = {}
    """Comments by table name: the one a new table gets, or that an existing one must have."""


def step_document(
    plan: Plan, step: Step, endpoints: Sequence[Endpoint], *, calls_init: bool = True
) -> str:
    """The step's plan for `engine.start`.

    `calls_init`: a script's `init()` and `done()` are called by the step's first user.
    """
    drive = plan.drive
    document: dict[str, Any] = {
        "targets": [endpoint.for_engine() for endpoint in endpoints],
        "protocol": drive.protocol,
        "users": step.concurrency,
        "arrival": _arrival(drive.arrival, step),
        "stop": _stop(plan),
        "connect": drive.connect.model_dump(mode="json"),
        "session": drive.session.model_dump(mode="json"),
        "on_error": drive.on_error,
        "restart_on": drive.restart_on,
        "max_tries": drive.max_tries,
        "tries_within_s": drive.tries_within_s,
        "drain_s": drive.drain_s,
        "per_user": drive.per_user,
        "pauses_s": drive.pauses_s,
        "figures_by_command": drive.figures_by_command,
        "event_log": drive.event_log,
        "event_log_share": drive.event_log_share,
        "reconnect_after": drive.reconnect_after,
        "idle": drive.idle,
        "phases": [_stretch(phase) for phase in plan.phases],
        "shards": drive.shards_for(step.concurrency),
        # Each step draws different keys: else the second of two oltp_delete steps finds no row.
        "seed": (drive.seed + step.number - 1) % 2**63,
        "tag": step.tag,
    }
    document |= _what_to_do(plan, step, endpoints)
    if not calls_init:
        document["script"]["calls_init"] = False
    return json.dumps(document)


def _what_to_do(plan: Plan, step: Step, endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    if plan.workload.script:
        return {"script": script_document(plan.workload.script, endpoints)}
    if plan.mix:
        return {"members": [_member(member) for member in plan.mix]}
    workload = _workload(plan.workload) | {"name": step.workload, "book": book_of(plan, step)}
    return {"workload": workload}


def book_of(plan: Plan, step: Step) -> int:
    """The number that marks a step's entries in the tables of `ledger`; 0 for other workloads."""
    return plan.workload.book + step.number if plan.workload.book else 0


def _workload(workload: WorkloadSpec) -> dict[str, Any]:
    return workload.model_dump(mode="json", exclude={"script", "mix"})


def _member(member: MixMember) -> dict[str, Any]:
    return member.model_dump(mode="json", exclude={"workload"}) | {
        "workload": _workload(member.workload)
    }


def _stretch(phase: Phase) -> dict[str, float]:
    begin, end = phase.levels
    return {"seconds": phase.seconds, "from": begin, "to": end}


def script_document(script: ScriptSpec, endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """The script's part of the plan, with the first server's password, which a script may need."""
    document = script.model_dump(mode="json")
    if endpoints:
        passwords = {"mysql_password": "", "pgsql_password": ""}
        is_postgresql = endpoints[0].target.family == POSTGRESQL
        own = "pgsql_password" if is_postgresql else "mysql_password"
        document["general"] |= passwords | {own: endpoints[0].credentials.reveal()}
    return document


def _stop(plan: Plan) -> dict[str, Any]:
    times = {"warmup_s": plan.warmup_s, "duration_s": plan.duration_s}
    if plan.events is None:
        return {"kind": "time"} | times
    of_each_user = plan.events_of_each_user
    return {"kind": "events", "events": plan.events, "of_each_user": of_each_user} | times


def _arrival(arrival: Arrival, step: Step) -> dict[str, Any]:
    """The arrival process: an open loop has the run's schedule and the step's rate."""
    if isinstance(arrival, Closed) or step.rate is None:
        # A search tries the closed loop first, to find the range.
        closed = arrival if isinstance(arrival, Closed) else Closed()
        return closed.model_dump(mode="json")
    document = arrival.model_dump(mode="json")
    document["rate"] = step.rate.rate
    if step.rate.to is not None:
        document["ramp"] = {"to": step.rate.to, "over_s": step.rate.over_s}
    return document


def load_document(plan: LoadPlan, endpoint: Endpoint) -> str:
    """The plan for `engine.load`."""
    return json.dumps({"target": endpoint.for_engine()} | plan.model_dump(mode="json"))
