"""Parses option values as sysbench does: some strictly, others like C's `strtol`."""

from __future__ import annotations

import re

from loadstone.model.digits import whole_number

_INT = range(-(2**31), 2**31)
_TRUE = ("on", "true", "1")
_FALSE = ("off", "false", "0")
_TLS_MODES = ("disabled", "preferred", "required", "verify-ca", "verify-identity")
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def strict_int(text: str) -> int | None:
    """A 32-bit integer with nothing after it; `None` where the text is not one.

    An empty text is 0, and leading blanks are ignored.
    """
    if not re.fullmatch(r"\s*[+-]?[0-9]+|", text):
        return None
    number = whole_number(text or "0")
    return number if number in _INT else None


def lenient_int(text: str) -> int:
    """The whole number at the start of the text; 0 if there is none."""
    found = re.match(r"\s*[+-]?[0-9]+", text)
    return whole_number(found[0]) if found else 0


def lenient_float(text: str) -> float:
    """The number at the start of the text, which may have a fraction; 0 if there is none."""
    found = re.match(r"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?", text, re.IGNORECASE)
    return float(found[0]) if found else 0.0


def size(text: str) -> int:
    """`64K` in bytes; 0 if the text is no size. Text after the unit is ignored: `64KB`."""
    found = re.match(r"\s*([0-9]+)([KMGT]|$)", text, re.IGNORECASE)
    return whole_number(found[1]) * _UNITS[found[2].upper()] if found else 0


def switch(text: str | None) -> bool | None:
    """`on`, `true`, `1` and their opposites; an empty text is on; `None`: neither."""
    if text is None or text in _TRUE:
        return True
    return False if text in _FALSE else None


def tls_mode(text: str) -> str | None:
    """The mode that `--mysql-ssl` selects: a switch in 1.0, a word in 1.1; `None`: neither."""
    on = switch(text)
    if on is not None:
        return "required" if on else "disabled"
    mode = text.lower().replace("_", "-")
    return mode if mode in _TLS_MODES else None


def words(text: str) -> list[str]:
    """The parts of a comma-separated list."""
    return [part.strip() for part in text.split(",") if part.strip()]
