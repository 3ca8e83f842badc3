"""What a well-formed experiment asks for that cannot be done here: told before anything starts."""

from __future__ import annotations

from loadstone import engine
from loadstone.engine import PlanRefused
from loadstone.lab.experiment_faults import ExperimentRefused, Faults
from loadstone.lab.experiment_file import ExperimentFile
from loadstone.lab.variants import drive_of, step_plan
from loadstone.model.engine_plan import step_document
from loadstone.model.plan import Step
from loadstone.model.target import Endpoint, Target
from loadstone.sandbox.instance import why_not
from loadstone.sandbox.state import sandboxes_folder

_NO_NETWORK = (
    "a limited network is not built yet",
    "leave it out, or take a machine behind such a network as another target",
)
_NO_ROOT_FOLDER = (
    "a sandbox in another root folder is not built yet",
    "leave root out, or start that server by hand and take it as another target",
)


def check_limits(file: ExperimentFile) -> None:
    """Control groups that this kernel has not, and what is not built yet.

    Raises:
        ExperimentRefused: something of that was asked for.
    """
    faults = Faults(file.lines)
    experiment = file.experiment
    if experiment.sandbox and experiment.sandbox.root:
        faults.add(("sandbox", "root"), *_NO_ROOT_FOLDER)
    for factor in experiment.factors:
        for level in factor.levels:
            path = ("factor", factor.name, level.name)
            if level.network:
                faults.add((*path, "network"), *_NO_NETWORK)
            if level.sandbox and level.sandbox.root:
                faults.add((*path, "sandbox", "root"), *_NO_ROOT_FOLDER)
            why = why_not(level.cgroup, sandboxes_folder()) if level.cgroup else None
            if why:
                faults.add((*path, "cgroup"), why, "leave it out on this machine")
    if faults.found:
        raise ExperimentRefused(file.name, faults.found)


def check_plans(file: ExperimentFile) -> None:
    """What the engine says of each workload's values.

    Raises:
        ExperimentRefused: it refuses one.
    """
    faults = Faults(file.lines)
    experiment = file.experiment
    drive = drive_of(experiment, experiment.variants[0], 1, 1)
    for at, workload in enumerate(experiment.workloads):
        plan = step_plan(experiment, workload, [Target()], drive)
        step = Step(
            number=1,
            workload=workload.name,
            concurrency=experiment.ladder[0],
            rate=experiment.rates[0] if experiment.rates else None,
        )
        try:
            engine.check_plan(step_document(plan, step, [Endpoint(target=Target())]))
        except PlanRefused as error:
            write = error.hint or "see docs/experiments.md for what may stand there"
            faults.add(("workload", at), error.message, write)
    if faults.found:
        raise ExperimentRefused(file.name, faults.found)
