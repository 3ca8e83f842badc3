"""The workloads that the engine has, and what a plan would do with one."""

from __future__ import annotations

from typing import Literal

from pydantic import TypeAdapter

from loadstone.engine.native import native, planning
from loadstone.model.frozen import Frozen
from loadstone.model.plan import OptionValue


class WorkloadInfo(Frozen):
    """A workload that the engine has."""

    name: str
    summary: str
    options: dict[str, OptionValue | None]
    writes: bool
    layout: Literal["sbtest", "bulk", "hot", "ledger", "tpcc", "template"]
    """`template`: it is none of the engine's, but of a file."""


class Sample(Frozen):
    """An event of a template as it would be executed."""

    transaction: str
    statements: tuple[str, ...]
    """With values for their parameters; what would have been read is `<its name>`."""

    more: int
    """Statements that are not shown."""


def check_plan(plan: str) -> None:
    """Have the engine look at a plan without beginning anything.

    Raises:
        PlanRefused: the plan cannot be run.
    """
    with planning():
        native().check_plan(plan)


def workloads() -> dict[str, WorkloadInfo]:
    """The workloads by name, in the engine's order."""
    found = TypeAdapter(list[WorkloadInfo]).validate_json(native().workloads())
    return {workload.name: workload for workload in found}


def samples(plan: str, count: int) -> tuple[Sample, ...]:
    """That many events of a step's plan whose workload is a template.

    Raises:
        PlanRefused: the plan cannot be run.
    """
    with planning():
        found = native().samples(plan, count)
    return TypeAdapter(tuple[Sample, ...]).validate_json(found)
