"""Turns pydantic's validation errors into messages, as its own texts are English only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from loadstone.model.message import Message, plain, say, say_in

_REASONS: Mapping[str, Callable[[Mapping[str, Any]], Message]] = {
    "missing": lambda _: say("it is missing"),
    "extra_forbidden": lambda _: say("there is no such key"),
    "int_type": lambda _: say("it must be a whole number"),
    "int_parsing": lambda _: say("it must be a whole number"),
    "int_from_float": lambda _: say("it must be a whole number"),
    "float_type": lambda _: say("it must be a number"),
    "float_parsing": lambda _: say("it must be a number"),
    "finite_number": lambda _: say("it must be a finite number"),
    "bool_type": lambda _: say("it must be true or false"),
    "bool_parsing": lambda _: say("it must be true or false"),
    "string_type": lambda _: say("it must be a text"),
    "string_too_short": lambda limit: say(
        "it must have at least {least} characters", least=_number(limit["min_length"])
    ),
    "string_too_long": lambda limit: say(
        "it must have at most {most} characters", most=_number(limit["max_length"])
    ),
    "string_pattern_mismatch": lambda limit: say(
        "it must match {pattern}", pattern=limit["pattern"]
    ),
    "greater_than_equal": lambda limit: say(
        "it must be {least} or more", least=_number(limit["ge"])
    ),
    "less_than_equal": lambda limit: say("it must be {most} or less", most=_number(limit["le"])),
    "greater_than": lambda limit: say("it must be above {limit}", limit=_number(limit["gt"])),
    "less_than": lambda limit: say("it must be below {limit}", limit=_number(limit["lt"])),
    "literal_error": lambda known: say("it must be one of {known}", known=known["expected"]),
    "list_type": lambda _: say("it must be a list"),
    "tuple_type": lambda _: say("it must be a list"),
    "too_short": lambda limit: say(
        "it must have at least {least} elements", least=_number(limit["min_length"])
    ),
    "too_long": lambda limit: say(
        "it must have at most {most} elements", most=_number(limit["max_length"])
    ),
    "dict_type": lambda _: say("it must be a table"),
    "model_type": lambda _: say("it must be a table"),
    "model_attributes_type": lambda _: say("it must be a table"),
    "union_tag_not_found": lambda known: say("it must have a {key}", key=known["discriminator"]),
    "union_tag_invalid": lambda known: say(
        "its {key} must be one of {known}",
        key=known["discriminator"],
        known=known["expected_tags"],
    ),
    "json_invalid": lambda known: say("it is not JSON: {reason}", reason=known["error"]),
}
"""Messages by the type of pydantic's error, whose context has the limits."""


def first_refusal(error: ValidationError) -> Message:
    """The place and the reason of the first fault: `form.run.users: it must be a number`."""
    first = error.errors(include_input=False, include_url=False)[0]
    reason = reason_of(first)
    if not first["loc"]:
        return reason
    place = ".".join(str(part) for part in first["loc"])
    return say_in("joined", "{first}: {second}", first=place, second=reason)


def reason_of(error: ErrorDetails) -> Message:
    """What is wrong with a value; messages of our own validators are kept unchanged."""
    context = error.get("ctx", {})
    if error["type"] in ("value_error", "assertion_error"):
        return message_of(context["error"])
    if known := _REASONS.get(error["type"]):
        return known(context)
    return plain(f"{error['msg'][:1].lower()}{error['msg'][1:]}")


def message_of(error: Exception) -> Message:
    """The message that an error was raised with; `str(error)` would lose its template."""
    return plain(error.args[0]) if error.args else plain(type(error).__name__)


def _number(limit: float) -> str:
    return f"{limit:,}" if isinstance(limit, int) else f"{limit:g}"
