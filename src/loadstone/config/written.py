"""Tables of a TOML file as types: pydantic reads them, and what it refuses is told in our words.

A field is a key, its type says what may be written there, and its first example what to write where
it is missing. All that is wrong with a file is found at once.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ModelWrapValidatorHandler,
    PlainValidator,
    ValidationError,
    model_validator,
)
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from loadstone.config.lines import Path, lines_of
from loadstone.config.problems import ExperimentRefused, Problem, Problems, not_toml
from loadstone.config.values import InvalidValue, shown
from loadstone.model.nearest import nearest, nearest_or_all

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
W = TypeVar("W", bound="Written")

Fault = tuple[Path, str, str]
"""Where it is, what is wrong, and what to write."""

_TOLD = "told"
"""The type of errors that are in our words."""

_MANY = 10
"""So many words are not told where one of them is near."""

_SAID = {
    "int_type": "is no whole number",
    "float_type": "is no number",
    "greater_than_equal": "is below {ge:,}",
    "less_than_equal": "is above {le:,}",
    "greater_than": "is not above {gt:,}",
    "less_than": "is not below {lt:,}",
    "list_type": "is no list of at least one",
    "too_short": "is no list of at least one",
}
"""What pydantic has against a value, by the type of its error."""


class Written(BaseModel):
    """A table as people write it: nothing is converted unasked, and each key is known."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    @property
    def given(self) -> dict[str, Any]:
        """What stands in the file; the rest is left to the defaults of what is made of it."""
        return {name: getattr(self, name) for name in self.model_fields_set}

    def part(self, made: type[M], **more: object) -> M:
        """What is made of those keys that the type has, and of what else it has."""
        given = {name: value for name, value in self.given.items() if name in made.model_fields}
        return made.model_validate(given | more)

    def unfit(self) -> Iterator[Fault]:
        """What does not go together, though each value may stand there."""
        yield from ()

    def misplaced(
        self, keys: Iterable[str], write: str, what: str = "there is no such key"
    ) -> Iterator[Fault]:
        """Those of the keys that are there, and are known elsewhere only."""
        given = {self._key(name) for name in self.model_fields_set}
        yield from (((each,), what, write) for each in keys if each in given)

    @classmethod
    def _key(cls, name: str) -> str:
        """How a field is called in the file."""
        return cls.model_fields[name].alias or name

    @model_validator(mode="wrap")
    @classmethod
    def _told(cls, table: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Here it is known what else could have been written; further out it is not."""
        try:
            found = handler(table)
        except ValidationError as error:
            raise refusal(map(cls._fault, error.errors(include_url=False))) from None
        if faults := list(found.unfit()):
            raise refusal(faults)
        return found

    @classmethod
    def _fault(cls, error: ErrorDetails) -> Fault:
        path, given = error["loc"], error["input"]
        context = error.get("ctx", {})
        match error["type"]:
            case str(kind) if kind == _TOLD:
                return path, context["what"], context["write"]
            case "value_error" if isinstance(unfit := context["error"], InvalidValue):
                return path, unfit.what, unfit.write
            case "missing":
                return path[:-1], f"no {path[-1]}", cls._example(path)
            case "extra_forbidden":
                return (
                    path,
                    "there is no such key",
                    nearest_or_all(str(path[-1]), map(cls._key, cls.model_fields)),
                )
            case "too_short" if isinstance(given, dict):
                return path, "nothing stands below it", cls._example(path)
            case "model_type" | "dict_type":
                return path, f"{shown(given)} is no table", "write a table: keys with their values"
            case "literal_error":
                words = re.findall(r"'([^']*)'", context["expected"])
                known = ", ".join(f'"{word}"' for word in words)
                write = nearest(str(given), words) or f"write one of {known}"
                some = known if len(words) < _MANY else f"{len(words)} that there are"
                return path, f"{shown(given)} is not one of {some}", write
            case "bool_type":
                return path, f"{shown(given)} is neither true nor false", "write true or false"
        if said := _SAID.get(error["type"]):
            return path, f"{shown(given)} {said.format(**context)}", cls._example(path)
        return path, error["msg"].removeprefix("Value error, "), cls._example(path)

    @classmethod
    def _example(cls, path: Path) -> str:
        for name, field in cls.model_fields.items():
            if path[:1] == (cls._key(name),) and field.examples:
                return f"write {field.examples[0]}"
        return "docs/experiments.md and docs/templates.md say what may stand there"


def refusal(faults: Iterable[Fault]) -> ValidationError:
    """The error that a validator raises where more than one thing may be wrong, or a key of it."""
    return ValidationError.from_exception_data(
        "table",
        [
            InitErrorDetails(
                type=PydanticCustomError(_TOLD, "{what}", {"what": what, "write": write}),
                loc=path,
                input=None,
            )
            for path, what, write in faults
        ],
    )


def table(written: type[Written], made: Callable[..., object]) -> PlainValidator:
    """For a field that is written as the one, and becomes the other."""
    return PlainValidator(lambda given: made(**written.model_validate(given).given))


Tables = Annotated[
    list[T], BeforeValidator(lambda given: [given] if isinstance(given, dict) else given)
]
"""Tables of `[[name]]`; `[name]` is as good where there is only one."""


def read(
    written: type[W], text: str, file: str, refused: type[ExperimentRefused]
) -> tuple[W, Problems]:
    """What a file says, and where its keys stand; `file` is how messages call it.

    Raises:
        ExperimentRefused: of the kind `refused`, with all that is wrong.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise refused(file, [not_toml(str(error), text)]) from error
    except RecursionError:
        fault = Problem(1, "", "it is nested too deeply", "write lists of values only")
        raise refused(file, [fault]) from None
    problems = Problems(lines_of(text))
    try:
        return written.model_validate(document), problems
    except ValidationError as error:
        for each in error.errors(include_url=False):
            # pydantic marks so that the name of a table is meant, and not what is in it.
            path = each["loc"][:-1] if each["loc"][-1:] == ("[key]",) else each["loc"]
            problems.add(path, each["ctx"]["what"], each["ctx"]["write"])
        raise refused(file, problems.found) from None
