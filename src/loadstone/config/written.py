"""Tables of a TOML file as types, which pydantic reads; its errors become our messages.

A field is a key, its type determines the valid values, and its first example is the suggestion if
the key is missing. All problems of a file are found at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
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

from loadstone.config.kinds import OneOrMore
from loadstone.config.lines import Path
from loadstone.config.problems import ExperimentRefused, Problems, document_of
from loadstone.config.values import InvalidValue, shown
from loadstone.model.hints import write, write_one_of
from loadstone.model.message import Joined, Message, say
from loadstone.model.nearest import nearest, nearest_or_all
from loadstone.model.refusals import reason_of

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
W = TypeVar("W", bound="Written")

Fault = tuple[Path, str, str]
"""The place, the problem, and what to write instead."""

_TOLD = "told"
"""The type of errors that already have our messages."""

_MANY = 10
"""With that many valid words, messages do not list them."""

_SAID: Mapping[str, Callable[[str, Mapping[str, Any]], Message]] = {
    "int_type": lambda value, _: say("{value} is not a whole number", value=value),
    "float_type": lambda value, _: say("{value} is not a number", value=value),
    "greater_than_equal": lambda value, limit: say(
        "{value} is below {limit}", value=value, limit=f"{limit['ge']:,}"
    ),
    "less_than_equal": lambda value, limit: say(
        "{value} is above {limit}", value=value, limit=f"{limit['le']:,}"
    ),
    "greater_than": lambda value, limit: say(
        "{value} is not above {limit}", value=value, limit=f"{limit['gt']:,}"
    ),
    "less_than": lambda value, limit: say(
        "{value} is not below {limit}", value=value, limit=f"{limit['lt']:,}"
    ),
    "list_type": lambda value, _: not_a_list(value),
    "too_short": lambda value, _: not_a_list(value),
}
"""The message for an invalid value, by the type of pydantic's error; its context has the limits."""


def not_a_list(value: str) -> Message:
    """The message for a value that is not a list, or an empty list."""
    return say("{value} is not a list of at least one", value=value)


class Written(BaseModel):
    """A table as people write it: values are not converted, and unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    @property
    def given(self) -> dict[str, Any]:
        """The keys and values of the file; defaults come from the type that is made of it."""
        return {name: getattr(self, name) for name in self.model_fields_set}

    def part(self, made: type[M], **more: object) -> M:
        """Build a type from those keys that it has, and from `more`."""
        given = {name: value for name, value in self.given.items() if name in made.model_fields}
        return made.model_validate(given | more)

    def unfit(self) -> Iterator[Fault]:
        """Yield faults of values that are valid alone, but not together."""
        yield from ()

    @classmethod
    def together(cls) -> dict[str, Any]:
        """What `unfit` refuses, as far as a JSON schema can say it (`config.schema`)."""
        return {}

    def misplaced(
        self, keys: Iterable[str], write: str, what: str | None = None
    ) -> Iterator[Fault]:
        """Yield faults for those of the keys that are set, but valid only elsewhere."""
        given = {self._key(name) for name in self.model_fields_set}
        said = what or say("there is no such key")
        yield from (((each,), said, write) for each in keys if each in given)

    @classmethod
    def keys(cls) -> list[str]:
        """The keys that the table may have."""
        return [cls._key(name) for name in cls.model_fields]

    @classmethod
    def _key(cls, name: str) -> str:
        """The name of a field in the file."""
        return cls.model_fields[name].alias or name

    @model_validator(mode="wrap")
    @classmethod
    def _told(cls, table: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Translate errors here, where the valid alternatives are known."""
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
                return path[:-1], say("no {key}", key=str(path[-1])), cls._example(path)
            case "extra_forbidden":
                return path, reason_of(error), nearest_or_all(str(path[-1]), cls.keys())
            case "too_short" if isinstance(given, dict):
                return path, say("it is empty"), cls._example(path)
            case "model_type" | "dict_type":
                return path, *_no_table(given)
            case "literal_error":
                words = re.findall(r"'([^']*)'", context["expected"])
                return path, *_not_one_of(given, words)
            case "bool_type":
                said = say("{value} is neither true nor false", value=shown(given))
                return path, said, say("write true or false")
        if made := _SAID.get(error["type"]):
            return path, made(shown(given), context), cls._example(path)
        return path, reason_of(error), cls._example(path)

    @classmethod
    def _example(cls, path: Path) -> Message:
        for name, field in cls.model_fields.items():
            if path[:1] == (cls._key(name),) and field.examples:
                return write(field.examples[0])
        return say("docs/experiments.md and docs/templates.md say what may be there")


def _no_table(given: object) -> tuple[Message, Message]:
    """Why something is not a table, and what to write."""
    if isinstance(given, list):
        return say("a list is not a table"), say("write [name] where [[name]] makes a list")
    said = say("{value} is not a table", value=shown(given))
    return said, say("write a table: keys with their values")


def _not_one_of(given: object, words: list[str]) -> tuple[Message, Message]:
    """The message for a word that is none of these, and what to write instead."""
    known = Joined(f'"{word}"' for word in words)
    hint = nearest(str(given), words) or write_one_of(known.parts)
    if len(words) < _MANY:
        return say("{value} is not one of {known}", value=shown(given), known=known), hint
    said = say(
        "{value} is not one of the {number} that there are", value=shown(given), number=len(words)
    )
    return said, hint


def refusal(faults: Iterable[Fault]) -> ValidationError:
    """An error for a validator that may find several faults, or must name a key."""
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
    """A validator for a field that is written as one type and becomes another."""
    return PlainValidator(
        lambda given: made(**written.model_validate(given).given), json_schema_input_type=written
    )


Tables = Annotated[
    list[T],
    BeforeValidator(lambda given: [given] if isinstance(given, dict) else given),
    OneOrMore(),
]
"""Tables of `[[name]]`; a single one may also be `[name]`."""


def read(
    written: type[W], text: str, file: str, refused: type[ExperimentRefused]
) -> tuple[W, Problems]:
    """Parse a file, with the lines of its keys; `file` is its name in messages.

    Raises:
        ExperimentRefused: of the kind `refused`, with all problems.
    """
    document, problems = document_of(text, file, refused)
    return read_document(written, (document, problems), file, refused), problems


def read_document(
    written: type[W],
    found: tuple[Mapping[str, Any], Problems],
    file: str,
    refused: type[ExperimentRefused],
    context: object = None,
) -> W:
    """Parse the tables of a file; `context` is what its validators need to know besides.

    Raises:
        ExperimentRefused: of the kind `refused`, with all problems.
    """
    document, problems = found
    try:
        return written.model_validate(document, context=context)
    except ValidationError as error:
        for each in error.errors(include_url=False):
            # pydantic marks an error in a table's name, as opposed to its contents, like this.
            path = each["loc"][:-1] if each["loc"][-1:] == ("[key]",) else each["loc"]
            problems.add(path, each["ctx"]["what"], each["ctx"]["write"])
        raise refused(file, problems.found) from None
