"""A recipe as text: its question, its plan and its parameters."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from loadstone.experiments.checks import Machine
from loadstone.experiments.file import parse_experiment
from loadstone.experiments.schedule import plan_time, schedule
from loadstone.model.numbers import NOTHING
from loadstone.recipes.filling import Filled
from loadstone.recipes.recipe import Recipe
from loadstone.report.experiment import head, time_lines
from loadstone.report.table import Table, table_of

_ANY_MACHINE = Machine(is_root=True, cores=10_000)
"""What this one lacks is told when the recipe is carried out."""


def described(filled: Filled) -> RenderableType:
    """All that there is to know before it is carried out; its experiment file comes after it.

    Raises:
        ExperimentRefused: what was set makes no experiment.
    """
    recipe = filled.recipe
    experiment = parse_experiment(filled.text, filled.name, _ANY_MACHINE).experiment
    steps = schedule(experiment)
    parts: list[RenderableType] = [
        Text(f"{recipe.name}: {recipe.title}", style="bold"),
        Text(),
        Text(" ".join(recipe.question.split())),
    ]
    parts.append(Text(f"It wants {recipe.needs}"))
    if recipe.needs_root:
        parts.append(Text(_of_root(recipe)))
    parts += [Text(), Text("Seen in the field:")]
    parts += [Text(f"- {each.field}") for each in filled.expect]
    parts += [Text(), Text("Plan:")]
    parts += [Text(line) for line in head(experiment)]
    parts += [Text(line) for line in time_lines(experiment, steps, plan_time(experiment, steps))]
    parts += [Text(), Text("Parameters, for --set:"), Padding(_parameters(filled), (0, 0, 1, 0))]
    parts.append(Text("Experiment:"))
    return Group(*parts)


def _of_root(recipe: Recipe) -> str:
    other = recipe.without_root
    instead = other.about if other else "otherwise give it targets"
    return f"Only root can make {recipe.needs_root}; {instead}."


def _parameters(filled: Filled) -> Table:
    rows = []
    for name, each in filled.recipe.parameter.items():
        full, quick = each.default(quick=False), each.default(quick=True)
        values = (value or NOTHING for value in (filled.values[name], full, quick))
        rows.append((name, *values, each.about))
    heads = ("parameter", "now", "full", "--quick", "is")
    return replace(table_of(heads, rows, text=len(heads)), top=True)
