"""How sysbench reads the values of options: here strictly, there as C's `strtol` does."""

from __future__ import annotations

import re

_INT = range(-(2**31), 2**31)
_TRUE = ("on", "true", "1")
_FALSE = ("off", "false", "0")
_TLS_MODES = ("disabled", "preferred", "required", "verify-ca", "verify-identity")
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def strict_int(text: str) -> int | None:
    """A whole number of 32 bits and nothing after it; `None` where it is not one.

    An empty text is 0, and blanks before the number do no harm.
    """
    if not re.fullmatch(r"\s*[+-]?[0-9]+|", text):
        return None
    number = int(text or "0")
    return number if number in _INT else None


def lenient_int(text: str) -> int:
    """The number that the text begins with; 0 where it begins with none."""
    found = re.match(r"\s*[+-]?[0-9]+", text)
    return int(found[0]) if found else 0


def lenient_float(text: str) -> float:
    """The same of numbers with a fraction."""
    found = re.match(r"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?", text, re.IGNORECASE)
    return float(found[0]) if found else 0.0


def size(text: str) -> int:
    """`64K` in bytes; 0 where the text is no size. What follows the unit is passed over: `64KB`."""
    found = re.match(r"\s*([0-9]+)([KMGT]|$)", text, re.IGNORECASE)
    return int(found[1]) * _UNITS[found[2].upper()] if found else 0


def switch(text: str | None) -> bool | None:
    """`on`, `true`, `1` and their opposites; on where nothing is given; `None`: neither."""
    if text is None or text in _TRUE:
        return True
    return False if text in _FALSE else None


def tls_mode(text: str) -> str | None:
    """The mode that `--mysql-ssl` means: a switch in 1.0, a word in 1.1; `None`: neither."""
    on = switch(text)
    if on is not None:
        return "required" if on else "disabled"
    mode = text.lower().replace("_", "-")
    return mode if mode in _TLS_MODES else None


def words(text: str) -> list[str]:
    """The parts of a list, which commas separate."""
    return [part.strip() for part in text.split(",") if part.strip()]
