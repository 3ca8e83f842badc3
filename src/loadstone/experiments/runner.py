"""The steps of an experiment, each measured on its variant's server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from loadstone.experiments.order import More, Searching, order
from loadstone.experiments.schedule import PlannedStep
from loadstone.experiments.servers import ReadyServer, Servers
from loadstone.experiments.variants import drive_of, step_plan
from loadstone.lab.step.loop import Measured
from loadstone.lab.step.runner import Lab, drive_step
from loadstone.lab.tables.inspect import InspectedTarget
from loadstone.model.experiment import Experiment, Variant
from loadstone.model.plan import Drive, Plan
from loadstone.model.result import StepResult
from loadstone.model.search import VariantSearch
from loadstone.observe.sampler import Sampling
from loadstone.workloads.scripts.general import with_general_options

Look = Callable[[Sequence[InspectedTarget], float], Sampling | None]
"""Starts to read the counters of servers and hosts, given the run's start; `None`: none are read.
"""

Describe = Callable[[str, ReadyServer], None]
"""Records the surroundings of a variant's servers, given its name."""


class CpuBudget(Protocol):
    """Decides how many processors drive the load of each variant."""

    def drive(self, experiment: Experiment, variant: Variant, *, beside: str | None) -> Drive:
        """The load settings of a variant; the family is its server's, if that is local."""


@dataclass(frozen=True)
class LocalCpus:
    """The processors of this machine that drive the load."""

    cores: int
    users_a_shard: int

    def drive(self, experiment: Experiment, variant: Variant, *, beside: str | None) -> Drive:
        """The load settings; a server on this machine gets half of the cores."""
        drive = drive_of(experiment, variant, self.cores, self.users_a_shard)
        return drive if beside is None else drive.beside_the_server(beside)


@dataclass(frozen=True)
class GeneratorCpus:
    """The processors of each machine of a cluster that drive the load."""

    cpus: int

    def drive(self, experiment: Experiment, variant: Variant, *, beside: str | None) -> Drive:
        """The load settings; they depend only on the processors reserved for the load."""
        return drive_of(experiment, variant, self.cpus, users_a_shard=1)


@dataclass(frozen=True)
class ExperimentContext:
    """The inputs of an experiment's run."""

    experiment: Experiment
    servers: Servers
    lab: Lab
    """Its endpoints and sampling are replaced for each step."""
    look: Look
    pace: CpuBudget
    describe: Describe | None = None


class OfExperiment:
    """Measures the steps of an experiment, each on its variant's server: a `StepSource`."""

    def __init__(
        self, bench: ExperimentContext, more: More, searching: Searching | None = None
    ) -> None:
        self._bench = bench
        self._more = more
        self._searching = searching
        self._order: Iterator[PlannedStep] | None = None

    def following(self, done: Sequence[StepResult]) -> PlannedStep | None:
        """The next step that is not in `done`."""
        if self._order is None:
            # It reads `done` itself whenever it decides whether more steps are needed.
            bench = self._bench
            choose = self._searching.choose if self._searching else None
            self._order = order(bench.experiment, done, self._more, bench.lab.more_steps, choose)
        return next(self._order, None)

    def measure(self, planned: PlannedStep) -> Measured:
        """Measure on the step's server, restored if planned; reset its variables afterwards."""
        return _measure(self._bench, planned)

    def outcome(self, done: Sequence[StepResult]) -> tuple[VariantSearch, ...] | None:
        """The results of the searches; `None` if the experiment does not search."""
        return self._searching.conclude(done) if self._searching else None


def _measure(bench: ExperimentContext, planned: PlannedStep) -> Measured:
    told = bench.servers.told
    known = len(told.notes)
    try:
        standing = bench.servers.stand(planned)
        plan = plan_of(bench, planned, standing)
        return Measured(_measure_staged(bench, planned, standing, plan), plan.targets)
    finally:
        for note in told.notes[known:]:
            bench.lab.note(note)


def _measure_staged(
    bench: ExperimentContext, planned: PlannedStep, standing: ReadyServer, plan: Plan
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


def plan_of(bench: ExperimentContext, planned: PlannedStep, standing: ReadyServer) -> Plan:
    """The plan that the step is a part of."""
    experiment = bench.experiment
    variant = next(each for each in experiment.variants if each.name == planned.step.variant)
    family = standing.targets[0].family
    drive = bench.pace.drive(experiment, variant, beside=family if standing.beside else None)
    drive = drive.at(family, [one.facts.flavour for one in standing.looked])
    workload = bench.servers.workload(planned.step.workload)
    if bench.servers.only_reads_by_file(workload):
        drive = drive.reading(family)
    plan = step_plan(experiment, workload, standing.targets, drive)
    if workload.script:
        return with_general_options(plan, planned.step.concurrency, planned.step.rate)
    return plan
