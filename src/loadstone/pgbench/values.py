"""Numbers and names as pgbench reads them from its command line."""

from __future__ import annotations

import math
import re

from loadstone.model.digits import whole_number
from loadstone.pgbench.errors import Failed

HIGHEST = 2**31 - 1

_WHOLE = re.compile(r"\s*[+-]?[0-9]+")
_LEADING = re.compile(r"[ \t\n\v\f\r]*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")
_NAME = re.compile(r"[A-Za-z_\u0080-\U0010ffff][0-9A-Za-z_\u0080-\U0010ffff]*")


def whole(text: str) -> int | None:
    """A whole number; `None`: it is none."""
    return whole_number(text) if _WHOLE.fullmatch(text) else None


def number(text: str, option: str, least: int = 1, most: int = HIGHEST) -> int:
    """The argument of an option that takes a whole number.

    Raises:
        Failed: it is none, or out of range.
    """
    found = whole(text)
    if found is None:
        raise Failed(f'invalid value "{text}" for option {option}')
    if not least <= found <= most:
        raise Failed(f"{option} must be in range {least}..{most}")
    return found


def leading(text: str) -> float:
    """The number at the begin of a text, as C's atof reads it; 0 if there is none."""
    found = _LEADING.match(text)
    return float(found[1]) if found else 0.0


def positive(text: str, called: str, most: float = math.inf) -> float:
    """The argument of an option that takes a number above 0, whatever stands behind that.

    Raises:
        Failed: it is none, or not in that range.
    """
    found = leading(text)
    if not (0 < found <= most and math.isfinite(found)):
        raise Failed(f'invalid {called}: "{text}"')
    return found


def definition(text: str) -> tuple[str, str]:
    """Name and value of `-D NAME=VALUE`.

    Raises:
        Failed: it is no such pair, or a variable cannot have that name.
    """
    name, _, value = text.partition("=")
    if not name or not value:
        raise Failed(f'invalid variable definition: "{text}"')
    if not _NAME.fullmatch(name):
        raise Failed(f'option: invalid variable name: "{name}"')
    return name, value
