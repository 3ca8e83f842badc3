"""What a person asks for on the page, checked, as a command line of `loadstone`.

Every value becomes `--option=VALUE`, one word, so no value can be read as another option. Nothing
here names a file: workloads, bundled templates, recipes and kinds of servers are taken by their
names only, as the person at the browser need not be the owner of this machine's files.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, TypeAdapter, model_validator

from loadstone.model.frozen import DEFERRED, Frozen
from loadstone.model.message import say
from loadstone.model.target_url import without_passwords_in
from loadstone.workloads.bundled import ENDING, bundled

THROWAWAY = "throwaway"
"""The target that is a server which the run starts itself, and removes."""

_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
_LONGEST_URL = 500


def _without_control(text: str) -> str:
    if not text.isprintable():
        raise ValueError(say("there are control characters in it"))
    return text


def _no_path(text: str) -> str:
    if "/" in text or "\\" in text:
        raise ValueError(say("a path is not accepted on the page: use the command line"))
    return _without_control(text)


def _workload(text: str) -> str:
    """A built-in workload, or a bundled template as `NAME.toml`.

    Raises:
        ValueError: the command would take it as the name of a file.
    """
    if not text.endswith(ENDING):
        return text
    if text.removesuffix(ENDING) not in bundled():
        raise ValueError(
            say("no template of that name is bundled: one of your own is for the command line")
        )
    # `find_template` takes a file of the working folder first, and commands are started there.
    if os.path.lexists(text):
        raise ValueError(
            say(
                "a file in the folder where the page's server runs has the name of the template, "
                "and would be driven in its place: use the command line"
            )
        )
    return text


def target_text(text: str) -> str:
    """A target as the page takes it.

    Raises:
        ValueError: it is no URL, or has a password.
    """
    if text == THROWAWAY:
        return text
    _without_control(text)
    if not re.match(r"^[a-z]+://\S+$", text):
        raise ValueError(say("write {example}", example="mysql://user@host:3306/schema"))
    if without_passwords_in(text) != text or re.search(r"[?&]password=", text):
        raise ValueError(
            say("leave the password out: it is read where the page's server runs, as by a command")
        )
    return text


Name = Annotated[str, Field(pattern=_NAME)]
BuiltIn = Annotated[str, Field(pattern=_NAME.replace(".", ""))]
"""A recipe: what has a dot is a file."""
Driven = Annotated[
    str, Field(pattern=rf"{_NAME[:-1].replace('.', '')}(\.toml)?$"), AfterValidator(_workload)
]
"""A built-in workload, or a bundled template: `shop.toml`."""
Value = Annotated[str, Field(max_length=200), AfterValidator(_no_path)]
Load = Annotated[str, Field(max_length=200), AfterValidator(_without_control)]
"""A ladder, a rate, an objective or a time: `1..4000/10` has a slash, and none of them a path."""
TargetText = Annotated[str, Field(max_length=_LONGEST_URL), AfterValidator(target_text)]


class RunForm(Frozen):
    """A workload over a ladder, at a rate, or searched for an objective."""

    kind: Literal["run"] = "run"
    target: TargetText = THROWAWAY
    server: Value = ""
    """The kind of the throwaway server: `mysql`; empty for any that is installed."""
    workload: Driven
    options: dict[Name, Value] = Field(default={}, max_length=50)
    """Options of the workload that differ from its defaults."""
    concurrency: Load = ""
    rate: Load = ""
    objective: Load = ""
    duration: Load = ""
    warmup: Load = ""
    tables: Load = ""
    table_size: Load = ""
    name: Value = ""
    prove: bool = False
    """Whether its findings are proved at its end."""
    yes: bool = False

    @model_validator(mode="after")
    def _is_provable(self) -> Self:
        if self.prove and self.workload.endswith(ENDING):
            raise ValueError(say("findings about a template are not proved: begin without that"))
        return self

    def words(self, runs: Path) -> tuple[str, ...]:
        """The arguments of `loadstone`, without those for a dry run."""
        given = (
            ("server", self.server),
            ("concurrency", self.concurrency),
            ("rate", self.rate),
            ("slo", self.objective),
            ("duration", self.duration),
            ("warmup", self.warmup),
            ("tables", self.tables),
            ("table-size", self.table_size),
            ("name", self.name),
        )
        options = (f"--set-option={name}={value}" for name, value in self.options.items())
        switches = [*(["--prove"] if self.prove else []), *(["--yes"] if self.yes else [])]
        return (
            "run", self.workload, *_at(self.target), *_given(given), *options, *switches, _out(runs)
        )  # fmt: skip

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets that it reaches."""
        return (self.target,)


class RecipeForm(Frozen):
    """A recipe, with values for its parameters."""

    kind: Literal["recipe"]
    recipe: BuiltIn
    quick: bool = True
    given: dict[Name, Annotated[str, Field(max_length=_LONGEST_URL)]] = Field(
        default={}, max_length=50
    )
    """Values of parameters that differ from the defaults."""
    yes: bool = False

    def words(self, runs: Path) -> tuple[str, ...]:
        """The arguments of `loadstone`, without those for a dry run."""
        given = (f"--set={name}={value}" for name, value in self.given.items())
        switches = [*(["--quick"] if self.quick else []), *(["--yes"] if self.yes else [])]
        return ("recipes", "run", self.recipe, *given, *switches, _out(runs))


class ProveForm(Frozen):
    """The proofs of a run's findings: its load again, with and without each remedy."""

    kind: Literal["prove"]
    run: Annotated[str, Field(min_length=1, max_length=255, pattern=r"^[^/\\\x00.-][^/\\\x00]*$")]
    time: Load = ""
    """The limit of all trials together; empty: the command's own."""
    yes: bool = False

    def words(self, runs: Path) -> tuple[str, ...]:
        """The arguments of `loadstone`, without those for a dry run."""
        switches = ["--yes"] if self.yes else []
        time = _given((("prove-time", self.time),))
        return ("diagnose", self.run, "--prove", *time, *switches, _out(runs))


Form = Annotated[RunForm | RecipeForm | ProveForm, Field(discriminator="kind")]
_FORM: TypeAdapter[RunForm | RecipeForm | ProveForm] = TypeAdapter(Form, config=DEFERRED)


def form_of(document: object) -> RunForm | RecipeForm | ProveForm:
    """The form in a request.

    Raises:
        ValidationError: a value is missing, unknown or not acceptable.
    """
    return _FORM.validate_python(document)


def command_line(words: Sequence[str]) -> str:
    """The command as it can be copied into a shell."""
    return shlex.join(("loadstone", *words))


def _at(target: str) -> tuple[str, ...]:
    return () if target == THROWAWAY else (f"--target={target}",)


def _given(options: Sequence[tuple[str, str]]) -> Iterator[str]:
    return (f"--{name}={value.strip()}" for name, value in options if value.strip())


def _out(runs: Path) -> str:
    return f"--out={runs}"
