"""Experiments that search simulated servers of known capacity, without any load."""

from __future__ import annotations

import random
from collections.abc import Callable

from analyse.made import a_step
from loadstone.analyse.repeat_until import more_wanted
from loadstone.analyse.searches import searching
from loadstone.experiments.order import More, order
from loadstone.experiments.schedule import PlannedStep
from loadstone.model.experiment import Experiment, Factor, Level, SandboxChoice
from loadstone.model.plan import Step, WorkloadSpec
from loadstone.model.result import StepResult
from loadstone.model.search import Objective, SearchPlan

P99 = Objective(figure="p99", relation="<", limit_ms=10.0)
RATE, PEAK = SearchPlan(objective=P99), SearchPlan(peak=True, most_users=64)

Server = Callable[[Step], StepResult]


def made(search: SearchPlan = RATE, *, restart: bool = False, **changes: object) -> Experiment:
    """Two variants, `server=a` and `server=b`."""
    kind = "startup" if restart else "dynamic"
    levels = (Level(name="a"), Level.model_validate({"name": "b", kind: {"sync_binlog": "0"}}))
    given: dict[str, object] = {
        "name": "x",
        "sandbox": SandboxChoice(),
        "workloads": (WorkloadSpec(name="w", tables=1, table_size=1),),
        "factors": (Factor(name="server", levels=levels),),
        "ladder": (64,) if search.objective else (1,),
        "search": search,
        "repeats": 6,
    }
    return Experiment.model_validate(given | changes)


def answer(step: Step, capacity: float) -> StepResult:
    """The answer of a server that meets the objective up to its capacity, which 8 users reach."""
    tps = min(capacity, capacity / 8 * step.concurrency)
    late = step.rate is not None and step.rate.rate > tps
    if step.rate is not None:
        tps = min(tps, step.rate.rate)
    found = a_step(users=step.concurrency, rate=step.rate, tps=tps, p99_ms=50.0 if late else 5.0)
    said = {"step": step.number, "variant": step.variant, "workload": step.workload}
    return found.model_copy(update=said | {"repeat": step.repeat})


def servers(noise: float = 0.0, seed: int = 1, **capacity: float) -> Server:
    """One server for each level; each of its steps is faster or slower by at most the noise."""
    chance = random.Random(seed)

    def drive(step: Step) -> StepResult:
        name = step.variant.removeprefix("server=")
        return answer(step, capacity[name] * (1 + noise * chance.uniform(-1, 1)))

    return drive


def carried_out(
    experiment: Experiment,
    server: Server,
    done: list[StepResult],
    most: int = 10_000,
    more: More | None = None,
) -> list[PlannedStep]:
    """Run at most `most` steps and return them; `done` grows by their results."""
    going = searching(experiment)
    assert going is not None
    planned: list[PlannedStep] = []
    wanted = more or more_wanted(experiment)
    for each in order(experiment, done, wanted, lambda number, why: None, going.choose):
        if len(planned) == most:
            break
        planned.append(each)
        done.append(server(each.step))
    return planned
