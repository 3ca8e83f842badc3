"""Texts for people: templates with values, so that they can be translated.

A message *is* its English text (a `str`), and keeps the template and the values that it was made
from:

    say("{share} of the users' time waits for row locks", share=Percent(0.41))

Code that knows no language prints it as it is. `loadstone.model.language` translates it with the
catalogue of another language, by its template (gettext's `msgid`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any, Self

from loadstone.model.figure import Count, Figure

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler
    from pydantic_core import core_schema


class Message(str):
    """A text with its template and values; a text without a template is the same in all languages.

    It is equal to its English text, like any `str`.
    """

    __slots__ = ("context", "number", "plural", "template", "values")

    template: str
    values: Mapping[str, Any]
    context: str | None
    plural: str | None
    number: int | None

    def __new__(
        cls,
        template: str,
        values: Mapping[str, Any] | None = None,
        *,
        context: str | None = None,
        plural: str | None = None,
        number: int | None = None,
    ) -> Self:
        """`plural` is the template if `number` is not 1; `context` separates equal templates."""
        values = values or {}
        chosen = template if plural is None or number == 1 else plural
        made = super().__new__(cls, filled(chosen, {key: str(one) for key, one in values.items()}))
        made.template, made.values, made.context = template, values, context
        made.plural, made.number = plural, number
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Let copies and pickles keep the template and values."""
        return _made, (self.template, self.values, self.context, self.plural, self.number)

    def as_json(self) -> dict[str, Any]:
        """The template and values, for programs and for a later translation."""
        shown: dict[str, Any] = {"id": self.template}
        if self.values:
            shown["values"] = {name: _value_as_json(one) for name, one in self.values.items()}
        for name in ("context", "plural", "number"):
            if (one := getattr(self, name)) is not None:
                shown[name] = one
        return shown

    @classmethod
    def from_json(cls, shown: Mapping[str, Any]) -> Self:
        """The message from the result of `as_json`.

        Raises:
            ValueError: it does not describe a message.
        """
        try:
            template = shown["id"]
            if not isinstance(template, str):
                raise TypeError(f"{template!r} is no text")
            values = {name: _value_from_json(one) for name, one in shown.get("values", {}).items()}
            return cls(
                template,
                values,
                context=shown.get("context"),
                plural=shown.get("plural"),
                number=shown.get("number"),
            )
        except (AttributeError, KeyError, TypeError) as error:
            raise ValueError(f"not a message: {error}") from error

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: object, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Treat it as a string in JSON; `WithMessages` keeps the template next to it."""
        # Imported here, as the command line's help uses messages and must not wait for pydantic.
        from pydantic_core import core_schema

        # Wraps the string's validator, as `WithMessages` puts messages into data from JSON.
        return core_schema.no_info_wrap_validator_function(
            cls._of,
            core_schema.str_schema(),
            serialization=core_schema.plain_serializer_function_ser_schema(
                str, return_schema=core_schema.str_schema()
            ),
        )

    @classmethod
    def _of(cls, text: object, as_string: Callable[[object], str]) -> Message:
        return text if isinstance(text, Message) else cls(as_string(text))


class Joined:
    """Several values as one: `a, b`; `a or b`; `one; another`; sentence after sentence."""

    __slots__ = ("by", "parts")

    def __init__(self, parts: Iterable[Any], by: str = "list") -> None:
        """Join parts; `by` is `list`, `choices`, `clauses` or `sentences`."""
        self.parts, self.by = tuple(parts), by

    def joined(self, text_of: Callable[[Any], str], said: Callable[[Message], str]) -> str:
        """The parts, each written by `text_of`, joined in the language of `said`."""
        text = ""
        for part in self.parts:
            other = text_of(part)
            text = said(_JOINS[self.by]({"first": text, "second": other})) if text else other
        return text

    def __str__(self) -> str:
        return self.joined(str, str)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Joined) and (self.by, self.parts) == (other.by, other.parts)

    def __hash__(self) -> int:
        return hash((self.by, self.parts))


def say(template: str, /, **values: Any) -> Message:
    """Make a message. The template must be a literal, so that it can be collected.

    Values of placeholders are figures (`Figure`: a number with its unit), other messages, several
    values (`Joined`), or names that are the same in every language.
    """
    return Message(template, values)


def say_in(context: str, template: str, /, **values: Any) -> Message:
    """As `say`, for a short text whose meaning depends on the context."""
    return Message(template, values, context=context)


_JOINS: Mapping[str, Callable[[Mapping[str, Any]], Message]] = {
    "list": lambda both: say_in("joined", "{first}, {second}", **both),
    "choices": lambda both: say_in("joined", "{first} or {second}", **both),
    "clauses": lambda both: say_in("joined", "{first}; {second}", **both),
    "sentences": lambda both: say_in("joined", "{first} {second}", **both),
}
"""These are messages too: languages have different commas, and spaces between sentences or none."""


def counted(one: str, many: str, /, number: int, **values: Any) -> Message:
    """Make a message about one or several things; `{number}` is their number."""
    values["number"] = Count(number)
    return Message(one, values, plural=many, number=number)


def sentences(first: Message, *others: Message) -> Message:
    """Join sentences into one message."""
    return _one("sentences", first, others)


def listed(first: Message, *others: Message) -> Message:
    """Join messages into one: `a, b`."""
    return _one("list", first, others)


def clauses(first: Message, *others: Message) -> Message:
    """Join messages into one: `one; another`."""
    return _one("clauses", first, others)


def plain(text: str) -> Message:
    """A text without a template: from a server or a user, or one that was kept as text."""
    return text if isinstance(text, Message) else Message(text)


def filled(template: str, values: Mapping[str, str]) -> str:
    """Fill in the values; a template without values may contain braces."""
    return template.format_map(values) if values else template


def user_count(number: int) -> Message:
    """`64 users`."""
    return counted("1 user", "{number} users", number)


def _one(by: str, first: Message, others: Iterable[Message]) -> Message:
    return reduce(lambda one, other: _JOINS[by]({"first": one, "second": other}), others, first)


def _made(
    template: str, values: Any, context: str | None, plural: str | None, number: int | None
) -> Message:
    return Message(template, values, context=context, plural=plural, number=number)


def _value_as_json(value: Any) -> Any:
    match value:
        case Message():
            return value.as_json()
        case Joined():
            return {value.by: [_value_as_json(part) for part in value.parts]}
        case Figure():
            return {value.kind: value.value}
        case None | int() | float():
            return value
        case _:
            return str(value)


def _value_from_json(shown: Any) -> Any:
    if not isinstance(shown, dict):
        return shown
    if "id" in shown:
        return Message.from_json(shown)
    [(kind, value)] = shown.items()
    if kind in _JOINS:
        return Joined((_value_from_json(part) for part in value), kind)
    if kind not in Figure.kinds:
        raise ValueError(f"no kind of figure: {kind}")
    return Figure.kinds[kind](value)
