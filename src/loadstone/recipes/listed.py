"""All recipes as a table: the question of each, and how long it takes."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from loadstone.experiments.file import parse_experiment
from loadstone.experiments.schedule import plan_time, schedule
from loadstone.model.figure import Seconds
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import Message, say, say_in
from loadstone.model.numbers import roughly
from loadstone.recipes.described import ANY_MACHINE
from loadstone.recipes.filling import fill_to_look_at
from loadstone.recipes.recipe import NAMES, Recipe, recipe
from loadstone.report.lines import Line
from loadstone.report.table import Column, Table
from loadstone.sandbox.programs import PROGRAMS, makers_of


def listed(words: Language = ENGLISH) -> RenderableType:
    """A row for each recipe, and what its times do not include."""
    head = Column(words(say("recipe")), is_text=True, folds=False)
    question = Column(words(say("question")), is_text=True)
    about = Column(words(say("servers")), is_text=True)
    times = (
        Column(words(each), is_text=True, folds=False)
        for each in (say_in("recipe", "full"), say("--quick"))
    )
    rows = (_row(each, words) for each in map(recipe, NAMES))
    note = say(
        "The times are those of the steps and of the starts of servers; loading the tables and "
        "restarting for fresh data come on top."
    )
    return Group(Table((head, question, about, *times), tuple(rows)), Text(), Line(words(note)))


def _row(asked: Recipe, words: Language) -> tuple[str, ...]:
    title = asked.title
    if asked.needs_root:
        title = say("{title} (as root, or with targets)", title=title)
    times = (words(how_long(asked, quick=quick)) for quick in (False, True))
    about = words(say("all")) if len(asked.family) == len(PROGRAMS) else makers_of(*asked.family)
    return asked.name, words(title), about, *times


def how_long(asked: Recipe, *, quick: bool) -> Message:
    """How long its plan takes with the defaults; `recipes show` and `--dry-run` have it exactly."""
    filled = fill_to_look_at(asked, (), quick=quick)
    experiment = parse_experiment(filled.text, filled.name, ANY_MACHINE).experiment
    time = Seconds(roughly(plan_time(experiment, schedule(experiment)).total_s))
    if experiment.search:
        return say("at most {time}", time=time)
    if experiment.until:
        return say("at least {time}", time=time)
    return say("about {time}", time=time)
