"""Numbers as people write them for a server's variables."""

from __future__ import annotations

import re

_SIZES = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}


def number(text: str) -> int | float | None:
    """The number that a text such as `1G`, `20` or `0.5` stands for; `None` for a word."""
    sized = re.fullmatch(r"(-?\d+)([kmgt]?)", text.strip().lower())
    if sized:
        return int(sized[1]) * _SIZES[sized[2]]
    return float(text) if re.fullmatch(r"-?\d*\.\d+", text.strip()) else None
