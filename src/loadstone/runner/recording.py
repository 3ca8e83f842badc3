"""Starts a run's folder with the request and the surroundings of the run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadstone import __version__, engine
from loadstone.experiments.runner import Look
from loadstone.lab.machine.environment import target_environment
from loadstone.lab.machine.generator_ceilings import generator_ceilings
from loadstone.lab.step.order import steps_of
from loadstone.lab.tables.inspect import InspectedTarget, observable
from loadstone.model.experiment import Experiment
from loadstone.model.limits import Limits, values_of
from loadstone.model.message import Message
from loadstone.model.observe_request import Observing
from loadstone.model.plan import Plan, Step
from loadstone.model.recipe import RecipeAsked
from loadstone.model.target import Target
from loadstone.observe.sampler import Sampling
from loadstone.observe.sources import Sources, sources_for
from loadstone.runs import run_folder
from loadstone.runs.environment import of_this_machine
from loadstone.runs.recorder import Asked, Recorder
from loadstone.sandbox import Sandbox, sandbox_at
from loadstone.sandbox.programs import PROGRAMS


@dataclass(frozen=True)
class Place:
    """Where a run is stored, and the command line that it records."""

    out: Path
    """The folder of runs."""
    command_line: tuple[str, ...]
    commanded: float | None = None
    """When the command was given, on the monotonic clock; `None`: as the run begins."""


@dataclass(frozen=True)
class ExperimentAsked:
    """What the folder of an experiment records in addition to that of a plain run."""

    experiment: Experiment
    steps: tuple[Step, ...] | None
    """All steps, if they are known beforehand."""
    mark: str
    """The mark of its tables."""
    recipe: RecipeAsked | None = None
    data_device: str | None = None
    """The disk with the data of all its servers."""
    limits: Limits = Limits()
    """The limits of its servers' hosts that the user states."""


def begin_run(
    plan: Plan,
    looked: Sequence[InspectedTarget],
    place: Place,
    sources: Sources | None = None,
    of: ExperimentAsked | None = None,
) -> Recorder:
    """Create the run's folder and return its recorder.

    `sources`: what is read from the servers' hosts, if that is the same for all steps; `of`: the
    additional facts of an experiment.

    Raises:
        StoreError: it cannot be written.
    """
    steps = None if plan.search else steps_of(plan)
    asked = Asked(
        loadstone=__version__,
        engine=engine.build_info(),
        command_line=place.command_line,
        plan=plan,
        steps=of.steps if of else steps,
        experiment=of.experiment if of else None,
        mark=of.mark if of else None,
        recipe=of.recipe if of else None,
        ceilings=generator_ceilings(plan),
    )
    path = run_folder.create(place.out, plan.name, time.time())
    recorder = Recorder(path, asked, [one.facts.version for one in looked])
    if place.commanded is not None:
        recorder.prepared_since(place.commanded)
    device = sources.data_device if sources else (of.data_device if of else None)
    limits = sources.limits if sources else (of.limits if of else Limits())
    more = {"targets": target_environment(looked, sources), "limits": values_of(limits)}
    recorder.environment(_environment(path, looked, device) | more)
    return recorder


def _environment(
    path: Path, looked: Sequence[InspectedTarget], data_device: str | None
) -> dict[str, Any]:
    targets = [one.endpoint.target for one in looked]
    found = [(target, sandbox) for target in targets if (sandbox := sandbox_at(target))]
    places = {"runs": path}
    if found:
        places["sandbox"] = found[0][1].datadir
    return {
        "version": 1,
        "generator": of_this_machine(places),
        "sandbox": _sandbox_facts(*found[0]) if found else None,
        "data_device": data_device,
    }


def _sandbox_facts(target: Target, sandbox: Sandbox) -> dict[str, Any]:
    pooler = sandbox.state.pooler
    between = pooler if pooler and pooler.is_at(target) else None
    return {
        "name": sandbox.name,
        "server": described(sandbox),
        "datadir": str(sandbox.datadir),
        "settings": sandbox.settings,
        "pooler": {"name": between.name, "settings": between.settings} if between else None,
    }


def described(sandbox: Sandbox) -> str:
    """The server's name and version: `MariaDB 10.11.14`."""
    return labelled(sandbox.state.family, sandbox.flavour, sandbox.version)


def labelled(family: str, flavour: str, version: str) -> str:
    """A server program's name and version: `MariaDB 10.11.14`."""
    return f"{PROGRAMS[family].labels.get(flavour, flavour)} {version}"


def sampling_of(sources: Sources, began: float) -> Sampling | None:
    """A sampler of all steps' sources from the start of the run; `None` if there are none."""
    return Sampling(sources.watched, began) if sources.watched else None


def looking(observing: Observing, note: Callable[[Message], None]) -> Look:
    """A sampler of each step's own servers and hosts; each note about them is reported once."""
    told: set[str] = set()

    def look(looked: Sequence[InspectedTarget], began: float) -> Sampling | None:
        if not observing.on:
            return None
        sources = sources_for([observable(one) for one in looked], observing)
        for line in sources.notes:
            if line not in told:
                told.add(line)
                note(line)
        return Sampling(sources.watched, began)

    return look
