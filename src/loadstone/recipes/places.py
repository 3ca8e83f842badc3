"""Which of a recipe's servers a target takes the place of, and which recipes no target can have."""

from __future__ import annotations

from collections.abc import Sequence

from loadstone.model.experiment import Experiment
from loadstone.model.message import Joined, Message, say
from loadstone.recipes.recipe import Recipe, RecipeRefused, places_of
from loadstone.runner.experiment import NoConsent, losing_commits


def with_target(recipe: Recipe, given: Sequence[str], target: str | None) -> tuple[str, ...]:
    """The `key=value` texts, with the target as the value of the recipe's only server.

    Raises:
        RecipeRefused: the recipe has none that could be replaced, or several.
    """
    if target is None:
        return tuple(given)
    places = places_of(recipe)
    if not places:
        raise RecipeRefused(
            say("{recipe} measures only servers that it starts itself", recipe=recipe.name)
        )
    if len(places) > 1:
        raise RecipeRefused(
            say(
                "{recipe} compares {number} servers, so it cannot be about one alone",
                recipe=recipe.name,
                number=str(len(places)),
            ),
            say(
                "without --target it starts them itself; about servers of yours: {options}",
                options=options_for(recipe),
            ),
        )
    return (*given, f"{places[0]}={target}")


def options_for(recipe: Recipe) -> str:
    """The options that ask it of existing servers."""
    places = places_of(recipe)
    if len(places) == 1:
        return "--target URL"
    return " ".join(f"--set {name}=URL" for name in places)


def check_targets(recipe: Recipe, experiment: Experiment) -> None:
    """Refuse a target on which the recipe is never run, whatever the user agrees to.

    Raises:
        NoConsent: it would set variables there that keep the commits of others.
    """
    risky = losing_commits(experiment)
    if risky is None:
        return
    target, names = risky
    raise NoConsent(
        say(
            "{recipe} cannot be about {place}: it sets {variables}, and a crash in that time could"
            " lose commits of others",
            recipe=recipe.name,
            place=target.place,
            variables=Joined(names),
        ),
        say("without --target it runs on a throwaway server"),
    )


def said_of_throwaways(recipe: Recipe, servers: Sequence[str]) -> Message:
    """On which throwaway servers it runs, and how to ask it of others."""
    fields = {"servers": Joined(servers), "options": options_for(recipe)}
    if len(servers) == 1:
        return say(
            "on a throwaway server ({servers}), removed afterwards; about a server of yours:"
            " {options}",
            **fields,
        )
    return say(
        "on throwaway servers ({servers}), removed afterwards; about servers of yours: {options}",
        **fields,
    )
