"""The type of a recipe, and those that exist: package data, read when needed."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Annotated, Literal

from pydantic import BeforeValidator

from loadstone.model.columns import Column
from loadstone.model.error_codes import Family as FamilyName
from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.frozen import Frozen
from loadstone.model.message import Message, say
from loadstone.model.nearest import nearest

NAMES = (
    "group-commit",
    "thread-pool",
    "network",
    "tls",
    "sort-buffer",
    "three-databases",
    "os-upgrade",
    "flash-sale",
    "sale-day",
    "durability",
    "prepared-or-text",
    "socket-or-tcp",
    "versions",
    "instance-size",
    "pooler",
    "checkpoints",
    "wal-compression",
    "work-mem",
    "huge-pages",
)
"""The names, in the order of docs/recipes.md; each is a file next to this one."""

Kind = Literal[
    "bytes",
    "choice",
    "cores",
    "count",
    "even",
    "ladder",
    "phases",
    "place",
    "rate",
    "server",
    "size",
    "time",
    "tls-version",
    "warmup",
    "workload",
]
"""The kinds of parameters; `values.READERS` reads each."""


def _in_one_line(text: str) -> str:
    return " ".join(text.split())


class RecipeRefused(LoadstoneError):
    """A recipe or a value that does not exist; nothing was started."""

    exit_code = ExitCode.USAGE


class Parameter(Frozen):
    """A parameter that the user can set; values are text, as for `--set`."""

    kind: Kind
    about: Message
    full: str
    """The default of the full form: the value of the field study."""
    quick: str | None = None
    """The default for a machine of two cores and five minutes; `None`: as `full`."""
    choices: dict[str, dict[str, str]] = {}
    """The values of a choice, each with its replacements in the experiment, by name."""
    sandbox: str = ""
    """The text in the experiment for a throwaway server, if the parameter is a place."""
    table: str = ""
    """The level that a place's target URL belongs to; empty: the file's own target."""
    root: str | None = None
    """The text for the folder that a place's server sees as `/`, as `${folder}`."""

    example: str = ""
    """The example for a required place, when the recipe is only displayed."""

    def default(self, *, quick: bool) -> str:
        """The value if none is set."""
        return self.quick if quick and self.quick is not None else self.full


class Expectation(Frozen):
    """The field's result, and how to recognize it here."""

    field: Message
    """A sentence with the field's figures."""
    kind: Literal["verdict", "column", "ladder", "line", "costs", "swings"]
    factor: str | None = None
    level: str | None = None
    """The level that is compared with the factor's first (`verdict`, `column`, `swings`)."""
    word: Literal["faster", "slower"] | None = None
    """The word that `verdict` expects; `None`: any."""
    column: Column | None = None
    rises: bool = True
    """Whether the figure is expected to be higher, or lower (`column`, `ladder`)."""
    rate: str | None = None
    """The parameter that is the line's speed (`line`)."""


class OfFamily(Frozen):
    """What a recipe is for the servers of one family."""

    question: Annotated[Message | None, BeforeValidator(_in_one_line)] = None
    """Its question there; `None`: the recipe's."""
    text: dict[str, str] = {}
    """Replacements in the experiment, by name."""
    expect: tuple[Expectation, ...] | None = None
    """The field's result there; `None`: the recipe's."""


class WithoutRoot(Frozen):
    """What is done if the user is not root."""

    about: Message
    experiment: str
    expect: tuple[Expectation, ...] = ()


class Recipe(Frozen):
    """A question, and the experiment that answers it."""

    name: str
    title: Message
    question: Annotated[Message, BeforeValidator(_in_one_line)]
    """The question, a paragraph."""
    needs: Message
    """The requirements on a machine, besides the throwaway servers."""
    needs_root: Message | None = None
    """What only root can make; not needed if all of its places are targets."""
    experiment: str
    """The text of an experiment file with `${parameter}` for values."""
    parameter: dict[str, Parameter]
    expect: tuple[Expectation, ...]
    without_root: WithoutRoot | None = None
    family: dict[FamilyName, OfFamily]
    """The families whose servers it can be about."""

    def about(self, family: str) -> Recipe:
        """The recipe for the servers of a family that it has."""
        theirs = self.family[family]
        update: dict[str, object] = {}
        if theirs.question is not None:
            update["question"] = theirs.question
        if theirs.expect is not None:
            update["expect"] = theirs.expect
        return self.model_copy(update=update)


def recipe(name: str) -> Recipe:
    """The recipe of that name.

    Raises:
        RecipeRefused: there is none.
    """
    if name not in NAMES:
        hint = nearest(name, NAMES) or say("loadstone recipes list shows them")
        raise RecipeRefused(say("there is no recipe {name}", name=name), hint)
    text = files(__package__).joinpath(f"{name}.toml").read_text("utf-8")
    return Recipe.model_validate({"name": name, **tomllib.loads(text)})


def places_of(recipe: Recipe) -> list[str]:
    """The parameters that name its servers."""
    return [name for name, each in recipe.parameter.items() if each.kind == "place"]
