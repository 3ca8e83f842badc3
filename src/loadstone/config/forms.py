"""The forms in which values of a file are written, as JSON schemas for editors.

Each is made from what its parser uses (units, words, expressions), so that the two cannot differ. A
form may accept what the parser refuses, where a schema cannot say why; never the other way round.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import WithJsonSchema

from loadstone.model.quantity import NUMBER

Form = dict[str, Any]
"""A JSON schema (draft 7)."""

NOTHING: Form = {"not": {}}
"""No value: the key does not belong there."""

TEXT: Form = {"type": "string", "pattern": r"\S"}


def form(schema: Form) -> WithJsonSchema:
    """Annotates a type whose parser a schema cannot be made of."""
    return WithJsonSchema(schema)


def any_of(*forms: Form) -> Form:
    """A value of any of these forms."""
    return {"anyOf": list(forms)}


def matching(pattern: str) -> Form:
    """A text that matches as a whole; spaces around it do not matter."""
    return {"type": "string", "pattern": rf"^\s*(?:{pattern})\s*$"}


def list_of(item: Form, **more: object) -> Form:
    """A list of at least one."""
    return {"type": "array", "items": item, "minItems": 1, **more}


def in_any_case(words: Iterable[str]) -> str:
    """An expression for these words in capitals or not: JSON schema has no flag for that."""
    return "|".join(
        "".join(
            f"[{sign.lower()}{sign.upper()}]" if sign.isalpha() else re.escape(sign)
            for sign in word
        )
        for word in words
    )


def listed_words(words: Iterable[str]) -> Form:
    """Words in one text, with commas between."""
    word = rf"\s*(?:{in_any_case(words)})\s*"
    return matching(f"{word}(?:,{word})*")


def quantity(units: Mapping[str, float]) -> str:
    """An expression for a number with one of the units, as `model.quantity.scaled` reads it."""
    digits = NUMBER.replace(r"\d+", r"\d[\d_]*")
    named = [unit for unit in units if unit]
    unit = f"(?:{in_any_case(sorted(named, key=len, reverse=True))})"
    if "" in units:
        unit = f"(?:{unit})?" if named else ""
    return rf"(?:{digits})\s*{unit}"


def scaled(
    units: Mapping[str, float],
    *,
    above_zero: bool = True,
    most: float | None = None,
    whole: bool = False,
) -> Form:
    """A number, or a text with its unit; without a unit a text or number has the unit without name.

    `most` is for numbers alone: an expression cannot compute.
    """
    pattern = quantity(units)
    if above_zero:
        pattern = f"(?=.*[1-9]){pattern}"
    if "" not in units:
        return matching(pattern)
    number: Form = {"type": "integer" if whole else "number"}
    number |= {"minimum": 1} if whole else {"exclusiveMinimum" if above_zero else "minimum": 0}
    if most is not None:
        number["maximum"] = most
    return any_of(number, matching(pattern))


def whole(least: int | None = None, most: int | None = None) -> Form:
    """A whole number between limits, which are included."""
    found: Form = {"type": "integer"}
    limits = {"minimum": least, "maximum": most}
    return found | {key: limit for key, limit in limits.items() if limit is not None}


def pair(item: Form) -> Form:
    """A range: its lowest and its highest value."""
    return list_of(item, minItems=2, maxItems=2)


def exactly_one(keys: Sequence[str]) -> Form:
    """Of these keys a table has exactly one."""
    return {"oneOf": [{"required": [key]} for key in keys]}
