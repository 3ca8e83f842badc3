"""Whole numbers of any length in what users type."""

from __future__ import annotations

import re

_MOST = 30
"""More digits are out of every range, and Python refuses to read some thousands of them."""


def whole_number(digits: str) -> int:
    """The number that these digits, with blanks and a sign before them or not, stand for.

    Of a very long one only the begin is read: it is out of range all the same.
    """
    sign, rest = re.fullmatch(r"\s*([+-]?)0*([0-9]+)", digits).groups()  # type: ignore[union-attr]
    return int(sign + rest[:_MOST])
