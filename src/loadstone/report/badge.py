"""A run's highest rate as a badge: a small SVG image for a page of a repository."""

from __future__ import annotations

from collections.abc import Iterable

from loadstone.analyse.ladder import Level, levels
from loadstone.model.numbers import rate
from loadstone.model.result import StepResult
from loadstone.report.marks import marked_level
from loadstone.report.markup import Markup, element

_HEIGHT = 20
_LETTER = 7
"""Pixels of an average character of the font; `textLength` makes each text exactly as wide."""
_MARGIN = 6
_NAME, _GOOD, _DOUBTFUL = "#444", "#2a78c2", "#8a8a8a"


def as_badge(steps: Iterable[StepResult], name: str) -> str:
    """The badge: what was run, and its highest rate in events a second.

    It is grey where the tables mark the rate as doubtful, with the same marks, and where no step
    has a rate that can be quoted.
    """
    best = _best(levels(steps))
    marks = marked_level(best) if best else ""
    shown = f"{rate(best.tps.mean)}{marks} tps" if best and best.tps else "no rate"
    colour = _GOOD if best and not marks else _DOUBTFUL
    return f"{_drawn(name, shown, colour)}\n"


def _best(known: Iterable[Level]) -> Level | None:
    rated = [level for level in known if level.tps]
    return max(rated, key=lambda level: level.tps.mean if level.tps else 0.0, default=None)


def _drawn(name: str, shown: str, colour: str) -> Markup:
    left, right = _width(name), _width(shown)
    return element(
        "svg",
        element("title", f"{name}: {shown}"),
        _box(0, left, _NAME),
        _box(left, right, colour),
        _text(0, left, name),
        _text(left, right, shown),
        xmlns="http://www.w3.org/2000/svg",
        width=str(left + right),
        height=str(_HEIGHT),
        role="img",
    )


def _width(text: str) -> int:
    return len(text) * _LETTER + 2 * _MARGIN


def _box(left: int, width: int, colour: str) -> Markup:
    return element("rect", x=str(left), width=str(width), height=str(_HEIGHT), fill=colour)


def _text(left: int, width: int, text: str) -> Markup:
    return element(
        "text",
        text,
        x=str(left + _MARGIN),
        y="14",
        fill="#fff",
        textLength=str(width - 2 * _MARGIN),
        font_family="Verdana, DejaVu Sans, sans-serif",
        font_size="11",
    )
