"""The engine's workloads, and previews of what a plan would do."""

from __future__ import annotations

from typing import Literal

from pydantic import TypeAdapter

from loadstone.engine.native import native, planning
from loadstone.model.frozen import Frozen
from loadstone.model.pgbench import ListedCommand
from loadstone.model.plan import OptionValue


class WorkloadInfo(Frozen):
    """A built-in workload of the engine."""

    name: str
    summary: str
    options: dict[str, OptionValue | None]
    writes: bool
    layout: Literal["sbtest", "bulk", "hot", "ledger", "tpcc", "template"]
    """`template`: not built in, but from a file."""


class Sample(Frozen):
    """An event of a template as it would be executed."""

    transaction: str
    statements: tuple[str, ...]
    """Statements with values for their parameters; values that would be read are `<NAME>`."""

    more: int
    """The number of statements that are not shown."""


def check_plan(plan: str) -> None:
    """Let the engine check a plan without starting anything.

    Raises:
        PlanRefused: the plan cannot be run.
    """
    with planning():
        native().check_plan(plan)


def workloads() -> dict[str, WorkloadInfo]:
    """The built-in workloads by name, in the engine's order."""
    found = TypeAdapter(list[WorkloadInfo]).validate_json(native().workloads())
    return {workload.name: workload for workload in found}


def pgbench_commands(script: str) -> tuple[ListedCommand, ...]:
    """The commands of a script of pgbench, by the numbers that records have of them.

    Raises:
        PlanRefused: it is no script; the message has the line.
    """
    with planning():
        found = native().pgbench_commands(script)
    return TypeAdapter(tuple[ListedCommand, ...]).validate_json(found)


def samples(plan: str, count: int) -> tuple[Sample, ...]:
    """Return that many sample events of a step's plan whose workload is a template.

    Raises:
        PlanRefused: the plan cannot be run.
    """
    with planning():
        found = native().samples(plan, count)
    return TypeAdapter(tuple[Sample, ...]).validate_json(found)
