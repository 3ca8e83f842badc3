"""Colours and dashes that all figures share, on light and on dark ground.

M. Okabe and K. Ito, "Color Universal Design", 2008: eight colours that people with any kind of
colour vision tell apart. On white their yellow and sky blue are too pale for lines and come last;
on black blue and black are too dark and are left out. Lines differ in their dashes as well, so a
print without colour can be read.
"""

from __future__ import annotations

from typing import Any

from loadstone.report.tokens import Theme, tokens

BLUE, SKY = tokens("light")["accent"], tokens("dark")["accent"]
"""What was measured has the accent of the page."""

VERMILION, GREEN, PURPLE = "#D55E00", "#009E73", "#CC79A7"
ORANGE, YELLOW = "#E69F00", "#F0E442"

MEASURED = BLUE
LINES = (VERMILION, GREEN, PURPLE, ORANGE, SKY, "#7A6FBE", "#8C6D31", "#4D4D4D")
ON_LIGHT = (MEASURED, *LINES)
ON_DARK = (SKY, ORANGE, GREEN, PURPLE, YELLOW, VERMILION, "#A9A1DD", "#C5A86A", "#B3B3B3")

MARK = VERMILION
"""Errors, outages and thresholds, on either ground."""

DASHES: tuple[str | list[int], ...] = ("dashed", "dotted", [8, 3, 2, 3], [12, 4])

QUIET = "#8c959f"
"""Shading inside a picture, visible on either ground; text has the theme's colours."""

CIVIDIS = ("#00224e", "#2a3f6d", "#575d6d", "#7d7c78", "#a59c74", "#d2c060", "#fee838")
"""From few to many. J. R. Nuñez, C. R. Anderton, R. S. Renslow, "Optimizing colormaps with
consideration for color vision deficiency", PLoS ONE 13(7), 2018."""


def line_style(number: int) -> dict[str, Any]:
    """The dashes of a line by its number, from 0; with the theme's colours no two look alike."""
    return {"type": DASHES[number % len(DASHES)], "width": 1.5}


def themes() -> dict[str, dict[str, Any]]:
    """ECharts' themes by name; figures leave colours to them."""
    return {
        "light": _theme(ON_LIGHT, "light"),
        "dark": _theme(ON_DARK, "dark"),
    }


def _theme(colours: tuple[str, ...], theme: Theme) -> dict[str, Any]:
    ink, quiet, line, ground = (tokens(theme)[one] for one in ("text", "quiet", "line", "float"))
    axis = {
        "axisLine": {"lineStyle": {"color": quiet}},
        "axisTick": {"lineStyle": {"color": quiet}},
        "axisLabel": {"color": quiet},
        "nameTextStyle": {"color": quiet},
        "splitLine": {"lineStyle": {"color": line}},
    }
    return {
        "color": list(colours),
        "backgroundColor": "transparent",
        "textStyle": {"color": ink, "fontFamily": tokens(theme)["font"]},
        "title": {"textStyle": {"color": ink}, "subtextStyle": {"color": quiet}},
        "legend": {
            "textStyle": {"color": ink},
            "pageTextStyle": {"color": quiet},
            "inactiveColor": line,
        },
        "tooltip": {
            "backgroundColor": ground,
            "borderColor": quiet,
            "textStyle": {"color": ink},
            "axisPointer": {
                "lineStyle": {"color": quiet},
                "label": {"color": ground, "backgroundColor": quiet},
            },
        },
        "dataZoom": {"textStyle": {"color": quiet}, "borderColor": line},
        # Without an outline, which the library makes of the lines' colour.
        "markLine": {"label": {"color": quiet, "textBorderWidth": 0}},
        "markArea": {"label": {"color": quiet}},
        "visualMap": {"textStyle": {"color": quiet}},
        **dict.fromkeys(("valueAxis", "logAxis", "categoryAxis", "timeAxis"), axis),
    }
