"""Runs a command of a script that drives no events: `prepare`, `cleanup`, or one of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from loadstone import engine
from loadstone.lab.step.follow import follow
from loadstone.lab.step.interrupts import Interrupts
from loadstone.lab.step.order import steps_of
from loadstone.model.engine_plan import step_document
from loadstone.model.plan import Drive, Plan, WarmupSeconds, WorkloadSpec
from loadstone.model.quantity import LONGEST_S
from loadstone.model.records import StepRecord
from loadstone.model.target import Endpoint, Target

_MOST_SHARDS = 64


def command_plan(
    workload: WorkloadSpec, targets: Sequence[Target], users: int, drive: Drive
) -> Plan:
    """A plan in which that many users run the command, for as long as it takes."""
    # As many threads as with sysbench: such commands build rows, and sleep.
    shards = min(users, _MOST_SHARDS)
    return Plan(
        name=workload.name,
        targets=tuple(targets),
        workload=workload,
        ladder=(users,),
        duration_s=LONGEST_S,
        warmup=WarmupSeconds(warmup_s=0),
        drive=drive.model_copy(update={"drain_s": 0.0, "shards": shards}),
    )


def run_command(
    plan: Plan,
    endpoints: Sequence[Endpoint],
    take: Callable[[StepRecord], bool],
    interrupts: Interrupts,
) -> None:
    """Hand each record of the command to `take`, until it returns that this was the last one.

    Raises:
        EngineError: as `follow`.
    """
    document = step_document(plan, steps_of(plan)[0], endpoints)
    follow(engine.start(document), take, interrupts)
