"""A recipe as text: its question, its plan and its parameters."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Group, RenderableType
from rich.text import Text

from loadstone.experiments.checks import Machine
from loadstone.experiments.file import parse_experiment
from loadstone.experiments.schedule import plan_time, schedule
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import Message, say, say_in
from loadstone.model.numbers import NOTHING
from loadstone.recipes.filling import Filled
from loadstone.recipes.recipe import Recipe
from loadstone.report.experiment import head, time_lines
from loadstone.report.lines import Line, lines_of, spaced
from loadstone.report.table import Table, table_of

ANY_MACHINE = Machine(is_root=True, cores=10_000)
"""Limits of this machine are reported when the recipe is run."""


def described(filled: Filled, words: Language = ENGLISH) -> RenderableType:
    """Everything to know before it is run; the caller prints the experiment file after it.

    Raises:
        ExperimentRefused: the given values do not make an experiment.
    """
    recipe = filled.recipe
    experiment = parse_experiment(filled.text, filled.name, ANY_MACHINE).experiment
    steps = schedule(experiment)
    parts: list[RenderableType] = [
        Line(f"{recipe.name}: {words(recipe.title)}", "bold"),
        Text(),
        Line(words(recipe.question)),
    ]
    parts.append(Line(words(say("It needs {needs}", needs=recipe.needs))))
    if recipe.needs_root:
        parts.append(Line(words(_of_root(recipe))))
    parts += [Text(), Line(words(say("Seen in the field:")))]
    parts += lines_of(f"- {words(each.field)}" for each in filled.expect)
    parts += [Text(), Line(words(say("Plan:")))]
    parts += lines_of(head(experiment, words))
    parts += lines_of(time_lines(experiment, steps, plan_time(experiment, steps), words))
    parts += [
        Text(),
        Line(words(say("Parameters, for --set:"))),
        spaced(_parameters(filled, words)),
    ]
    parts.append(Line(words(say("Experiment:"))))
    return Group(*parts)


def _of_root(recipe: Recipe) -> Message:
    other = recipe.without_root
    instead = other.about if other else say("otherwise give it targets")
    return say("Only root can make {what}; {instead}.", what=recipe.needs_root, instead=instead)


def _parameters(filled: Filled, words: Language) -> Table:
    rows = []
    for name, each in filled.recipe.parameter.items():
        full, quick = each.default(quick=False), each.default(quick=True)
        values = (value or NOTHING for value in (filled.values[name], full, quick))
        rows.append((name, *values, words(each.about)))
    heads = (
        say("parameter"),
        say("now"),
        say_in("recipe", "full"),
        say("--quick"),
        say("meaning"),
    )
    return replace(table_of([words(each) for each in heads], rows, text=len(heads)), top=True)
