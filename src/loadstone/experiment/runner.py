"""Carries an experiment out: each step on its variant's server, into one run folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from loadstone.experiment.order import More, order
from loadstone.experiment.schedule import PlannedStep
from loadstone.experiment.servers import Servers, Standing
from loadstone.experiment.variants import drive_of, step_plan
from loadstone.lab.step.failures import as_error
from loadstone.lab.step.runner import MOST_REPEATS, Lab, drive_step
from loadstone.lab.tables.inspect import Looked
from loadstone.model.errors import LoadstoneError
from loadstone.model.experiment import Experiment, Variant
from loadstone.model.plan import Drive, Plan
from loadstone.model.result import Result, StepResult, StepState
from loadstone.observe.sampler import Sampling
from loadstone.runs.errors import StoreError

Look = Callable[[Sequence[Looked], float], Sampling | None]
"""Begins to read the counters of servers and hosts, given the run's begin; `None`: nobody looks."""

Describe = Callable[[str, Standing], None]
"""Keeps what surrounds a variant's servers, given its name."""


class Pacing(Protocol):
    """How the load of each variant is driven."""

    def drive(self, experiment: Experiment, variant: Variant, *, beside: bool) -> Drive:
        """The load of a variant; `beside`: its server is on this machine."""


@dataclass(frozen=True)
class Pace:
    """How much of this machine drives the load."""

    cores: int
    users_a_shard: int

    def drive(self, experiment: Experiment, variant: Variant, *, beside: bool) -> Drive:
        """The load of a variant; `beside` its server it leaves half of the cores to that."""
        drive = drive_of(experiment, variant, self.cores, self.users_a_shard)
        return drive.beside_the_server() if beside else drive


@dataclass(frozen=True)
class PaceOfGenerators:
    """How much of each machine of a cluster drives the load."""

    cpus: int

    def drive(self, experiment: Experiment, variant: Variant, *, beside: bool) -> Drive:
        """The load of a variant: the processors that were set aside decide, and nothing else."""
        return drive_of(experiment, variant, self.cpus, users_a_shard=1)


@dataclass(frozen=True)
class Bench:
    """What an experiment is carried out with."""

    experiment: Experiment
    servers: Servers
    lab: Lab
    """Its endpoints and sampling are those of each step."""
    look: Look
    pace: Pacing
    describe: Describe | None = None


@dataclass(frozen=True)
class Carried:
    """An experiment that is over: its result, and what ended it before its time."""

    result: Result
    error: LoadstoneError | None = None


def carry_out(bench: Bench, more: More, before: Sequence[StepResult] = ()) -> Carried:
    """Drive all steps that `before` does not have; one that fails or is stopped is the last.

    Raises:
        StoreError: the run cannot be written any more; what was written is kept.
    """
    done = list(before)
    lab = bench.lab
    state: StepState = "finished"
    error: LoadstoneError | None = None
    try:
        try:
            for planned in order(bench.experiment, done, more, lab.note):
                if lab.interrupts.asked:
                    state = "stopped"
                    break
                ended, plan = _measure_unless_lost(bench, planned)
                done.append(ended)
                if ended.error:
                    error = as_error(ended.error, plan.targets)
                if ended.state != "finished":
                    state = ended.state
                    break
        except StoreError:
            raise
        except LoadstoneError as failure:
            lab.note(f"ended early: {failure.message}")
            state, error = "failed", failure
        return Carried(lab.recorder.end_run(state), error)
    except StoreError as failure:
        lab.recorder.give_up(failure.message)
        raise
    finally:
        lab.recorder.close()


def _measure_unless_lost(bench: Bench, planned: PlannedStep) -> tuple[StepResult, Plan]:
    """One step, and once more under its number where it was lost to what is not the server's.

    A step's number says which part it plays, so what was lost is discarded, as in a run that is
    taken up.
    """
    lab = bench.lab
    for _ in range(MOST_REPEATS):
        ended, plan = _measure(bench, planned)
        if not lab.drives_again(ended) or lab.interrupts.asked:
            return ended, plan
        why = f": {ended.error.message}" if ended.error else ""
        lab.note(f"step {ended.step} is measured anew{why}")
    return _measure(bench, planned)


def _measure(bench: Bench, planned: PlannedStep) -> tuple[StepResult, Plan]:
    """One step: its server as it should be, its variables set, and put back after it."""
    told = bench.servers.told
    known = len(told.notes)
    try:
        standing = bench.servers.stand(planned)
        plan = plan_of(bench, planned, standing)
        return _measure_staged(bench, planned, standing, plan), plan
    finally:
        for note in told.notes[known:]:
            bench.lab.note(note)


def _measure_staged(
    bench: Bench, planned: PlannedStep, standing: Standing, plan: Plan
) -> StepResult:
    with standing.staged():
        if bench.describe:
            bench.describe(planned.step.variant, standing)
        sampling = bench.look(standing.looked, bench.lab.recorder.began)
        try:
            lab = replace(
                bench.lab,
                endpoints=standing.endpoints,
                sampling=sampling,
                conditions=standing.conditions(plan),
            )
            return drive_step(plan, planned.step, lab)
        finally:
            if sampling:
                sampling.close()


def plan_of(bench: Bench, planned: PlannedStep, standing: Standing) -> Plan:
    """The plan that the step is a part of."""
    experiment = bench.experiment
    variant = next(each for each in experiment.variants if each.name == planned.step.variant)
    drive = bench.pace.drive(experiment, variant, beside=standing.beside)
    workload = bench.servers.workload(planned.step.workload)
    return step_plan(experiment, workload, standing.targets, drive)
