"""Makes the text of an experiment file from a recipe and the given values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Template

from loadstone.model.message import Joined, Message, say
from loadstone.model.nearest import nearest_or_all
from loadstone.model.target_url import family_in
from loadstone.recipes.recipe import Expectation, Recipe, RecipeRefused, places_of
from loadstone.recipes.values import families_of, is_target, read
from loadstone.sandbox.programs import makers_of


@dataclass(frozen=True)
class Filled:
    """A recipe with a value for each parameter."""

    recipe: Recipe
    quick: bool
    values: Mapping[str, str]
    """The values as they were written."""
    text: str
    """The text of the experiment file."""
    expect: tuple[Expectation, ...]
    note: Message | None = None
    """What differs from the recipe, and why."""

    @property
    def name(self) -> str:
        """The file's name in messages."""
        return f"recipe {self.recipe.name}"


def fill(recipe: Recipe, given: Sequence[str], *, quick: bool, is_root: bool) -> Filled:
    """Fill `key=value` texts and defaults into the experiment.

    Raises:
        RecipeRefused: a key or value does not exist, or the recipe needs root.
    """
    values = _values(recipe, given, quick=quick)
    family = _family(recipe, values)
    recipe, parts = recipe.about(family), _parts(recipe, values, family)
    if recipe.needs_root and not is_root and not _is_given(recipe, values):
        other = recipe.without_root
        if other is None:
            said = say(
                "{recipe} needs {what}, which only root can make",
                recipe=recipe.name,
                what=recipe.needs_root,
            )
            raise RecipeRefused(said, _spared(recipe))
        text = Template(other.experiment).substitute(parts)
        return Filled(recipe, quick, values, text.strip() + "\n", other.expect, other.about)
    text = Template(recipe.experiment).substitute(parts)
    return Filled(recipe, quick, values, text.strip() + "\n", recipe.expect)


def fill_to_look_at(recipe: Recipe, given: Sequence[str], *, quick: bool) -> Filled:
    """The recipe filled as for root, with an example where a value is required.

    Raises:
        RecipeRefused: a key or value does not exist.
    """
    values = _values(recipe, given, quick=quick)
    family = _family(recipe, values)
    shown = [
        f"{name}={value or _example(recipe.parameter[name].example, family)}"
        for name, value in values.items()
    ]
    return fill(recipe, shown, quick=quick, is_root=True)


def _example(text: str, family: str) -> str:
    """An example as it is for the servers of a family: a URL has its scheme."""
    _, separator, rest = text.partition("://")
    return f"{family}://{rest}" if separator and family_in(text) != family else text


def _values(recipe: Recipe, given: Sequence[str], *, quick: bool) -> dict[str, str]:
    values = {name: each.default(quick=quick) for name, each in recipe.parameter.items()}
    return values | _taken_apart(recipe, given)


def _family(recipe: Recipe, values: Mapping[str, str]) -> str:
    """The family of all servers that the values name; without any, the recipe's first.

    Raises:
        RecipeRefused: they are of several families, or of one that the recipe is not about.
    """
    named = {family_in(values[place]) for place in places_of(recipe) if is_target(values[place])}
    if not _is_given(recipe, values):
        servers = (families_of(each, values[name]) for name, each in recipe.parameter.items())
        named |= {family for families in servers for family in families}
    if len(named) > 1:
        raise RecipeRefused(
            say(
                "{recipe} compares servers of one family, and these are of several: {servers}",
                recipe=recipe.name,
                servers=Joined(map(makers_of, sorted(named))),
            ),
            _of_that_family(recipe),
        )
    family = next(iter(named), next(iter(recipe.family)))
    if family not in recipe.family:
        raise RecipeRefused(
            say(
                "{recipe} is about {servers}, not about {others}",
                recipe=recipe.name,
                servers=Joined(map(makers_of, recipe.family)),
                others=makers_of(family),
            ),
            say("loadstone recipes list says what each is about"),
        )
    return family


def _of_that_family(recipe: Recipe) -> Message:
    """What names the server that it starts itself."""
    servers = [name for name, each in recipe.parameter.items() if each.kind == "server"]
    options = " ".join(f"--set {name}=SERVER" for name in servers)
    return say("name the servers that it starts as well, as in {options}", options=options)


def _parts(recipe: Recipe, values: Mapping[str, str], family: str) -> dict[str, str]:
    """The replacements in the experiment, by name.

    Those of a family and choices may contain plain values, and places all of them: each is filled
    in turn.
    """
    parts: dict[str, str] = {}
    for kinds in (None, "choice", "place"):
        if kinds == "place":
            theirs = recipe.family[family].text
            parts |= {name: Template(text).substitute(parts) for name, text in theirs.items()}
        for name, each in recipe.parameter.items():
            if (each.kind if each.kind in ("choice", "place") else None) != kinds:
                continue
            found = read(name, each, values[name])
            fills = kinds is not None
            parts |= {
                key: Template(part).substitute(parts) if fills else part
                for key, part in found.items()
            }
    return parts


def _taken_apart(recipe: Recipe, given: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in given:
        key, equals, value = text.partition("=")
        name = key.strip().replace("-", "_")
        if not equals or not value.strip():
            raise RecipeRefused(say("--set {text}: write key=value", text=text))
        if name not in recipe.parameter:
            hint = nearest_or_all(name, recipe.parameter)
            said = say("{recipe} has no parameter {name}", recipe=recipe.name, name=name)
            raise RecipeRefused(said, hint)
        if name in found:
            raise RecipeRefused(say("--set {name} is there twice", name=name), say("leave one out"))
        found[name] = value.strip()
    return found


def _is_given(recipe: Recipe, values: Mapping[str, str]) -> bool:
    """Whether each place is a target, so that root is not needed."""
    places = places_of(recipe)
    return bool(places) and all(is_target(values[name]) for name in places)


def _spared(recipe: Recipe) -> Message:
    ways = " ".join(f"--set {name}=mysql://user@host/schema" for name in places_of(recipe))
    return say("run it as root, or against existing servers: {options}", options=ways)
