"""Colours and dashes that all figures share."""

from __future__ import annotations

MEASURED = "#0072B2"
LINES = ("#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A6FBE", "#8C6D31", "#4D4D4D")
DASHES = ("dashed", "dotted", [8, 3, 2, 3], [12, 4])


def line_style(number: int) -> dict[str, object]:
    """The look of the line of that number, from 0: no two of the first eight look the same."""
    return {
        "color": LINES[number % len(LINES)],
        "type": DASHES[number % len(DASHES)],
        "width": 1.5,
    }
