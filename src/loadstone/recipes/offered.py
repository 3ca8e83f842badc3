"""The recipes as forms for the live page."""

from __future__ import annotations

from collections.abc import Sequence

from loadstone.recipes.listed import how_long
from loadstone.recipes.recipe import NAMES, Recipe, recipe
from loadstone.web.begin.offers import Question, RecipeOffer


def recipes_offered() -> Sequence[RecipeOffer]:
    """All recipes, in the order of docs/recipes.md."""
    return [_offered(recipe(name)) for name in NAMES]


def _offered(asked: Recipe) -> RecipeOffer:
    questions = tuple(
        Question(
            name=name,
            about=each.about,
            kind=each.kind,
            full=each.default(quick=False),
            quick=each.default(quick=True),
            choices=tuple(each.choices),
        )
        for name, each in asked.parameter.items()
    )
    return RecipeOffer(
        name=asked.name,
        title=asked.title,
        question=asked.question,
        needs=asked.needs,
        lasts=how_long(asked, quick=False),
        lasts_quick=how_long(asked, quick=True),
        questions=questions,
    )
