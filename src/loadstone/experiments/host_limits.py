"""Finds what a well-formed experiment needs and this machine lacks, before anything starts."""

from __future__ import annotations

from itertools import product

from loadstone import engine
from loadstone.config.lines import Path
from loadstone.config.problems import ExperimentRefused, Problems
from loadstone.engine import PlanRefused
from loadstone.experiments.file import ExperimentFile
from loadstone.experiments.variants import drive_of, step_plan
from loadstone.families import some_target
from loadstone.model.engine_plan import step_document
from loadstone.model.experiment import NetworkLimit, SandboxChoice
from loadstone.model.message import say
from loadstone.model.plan import Step
from loadstone.model.target import Endpoint
from loadstone.sandbox import SandboxError, find_server, instance, network
from loadstone.sandbox.state import sandboxes_folder

_KEYS = {"bits_per_s": "rate", "delay_s": "delay"}
"""Names of a line's limits in a file."""


def check_limits(file: ExperimentFile) -> None:
    """Check that root folders of servers, control groups and limited lines are possible here.

    Raises:
        ExperimentRefused: one of them is not.
    """
    faults = Problems(file.lines)
    experiment = file.experiment
    if experiment.sandbox:
        _check_root(("sandbox",), experiment.sandbox, None, faults)
    for factor in experiment.factors:
        for level in factor.levels:
            path = ("factor", factor.name, level.name)
            if level.sandbox:
                _check_root((*path, "sandbox"), level.sandbox, experiment.sandbox, faults)
            why = instance.why_not(level.cgroup, sandboxes_folder()) if level.cgroup else None
            if why:
                faults.add((*path, "cgroup"), why, say("leave it out on this machine"))
            if level.network:
                _check_line((*path, "network"), level.network, faults)
    if faults.found:
        raise ExperimentRefused(file.name, faults.found)


def _check_root(
    path: Path, choice: SandboxChoice, base: SandboxChoice | None, faults: Problems
) -> None:
    """Check that the folder has such a server, and that it starts."""
    if choice.root is None:
        return
    try:
        find_server(choice.server or (base.server if base else None), choice.root)
    except SandboxError as error:
        faults.add((*path, "root"), error.message, error.hint or say("give another folder"))


def _check_line(path: Path, limit: NetworkLimit, faults: Problems) -> None:
    refused = network.why_not(limit)
    if refused:
        part, why = refused
        at = (*path, _KEYS[part]) if part else path
        faults.add(
            at, why, say("leave it out, or use a machine behind such a line as another target")
        )


def check_plans(file: ExperimentFile) -> None:
    """Check each workload's values with the engine, for each way in which statements are sent.

    Raises:
        ExperimentRefused: it refuses one.
    """
    faults = Problems(file.lines)
    experiment = file.experiment
    drives = [drive_of(experiment, variant, 1, 1) for variant in experiment.variants]
    by_protocol = {drive.protocol: drive for drive in reversed(drives)}
    for drive, (at, workload) in product(by_protocol.values(), enumerate(experiment.workloads)):
        if ("workload", at) in faults.paths:
            continue
        target = some_target(drive.protocol)
        plan = step_plan(experiment, workload, [target], drive)
        step = Step(
            number=1,
            workload=workload.name,
            concurrency=experiment.ladder[0] + workload.own_users,
            rate=experiment.rates[0] if experiment.rates else None,
        )
        try:
            engine.check_plan(step_document(plan, step, [Endpoint(target=target)]))
        except PlanRefused as error:
            write = error.hint or say("see docs/experiments.md for what is allowed there")
            faults.add(("workload", at), error.message, write)
    if faults.found:
        raise ExperimentRefused(file.name, faults.found)
