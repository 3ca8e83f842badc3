"""Where a user's second goes: a bar for each level, divided into places."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from loadstone.analyse.ladder import Level
from loadstone.model.account import Place
from loadstone.model.language import Language
from loadstone.model.message import say
from loadstone.model.result import StepResult
from loadstone.report.account import (
    PERCENT_OF_TIME,
    REST,
    UNNAMED,
    Row,
    account_rows,
    accounted,
    level_name,
)
from loadstone.report.figures.figure import Figure, Narrow, Option, axis, short
from loadstone.report.figures.palette import BLUE, GREEN, ORANGE, PURPLE, QUIET, SKY, VERMILION

COLOURS: Mapping[Place, str] = {
    "idle": "#c9d1d9",
    "generator": "#a3acb5",
    "answer unread": "#5f6873",
    "connecting": "#b08d57",
    "way": ORANGE,
    "on core": BLUE,
    "waiting for a core": SKY,
    "in the server": "#3f7fb5",
    "disk read": GREEN,
    "disk write": "#4cc3a0",
    "row lock": VERMILION,
    "table lock": "#a33c00",
    "log sync": PURPLE,
    "binlog sync": "#a05a85",
    "commit": "#dfa9c6",
    "commit delay": "#7a4a9e",
    "replica": "#b39ddb",
    "admission": "#8c6d31",
    "latch": "#e08a5b",
    "sending": "#d9b64c",
    "paused": "#7d7c78",
    "other": "#a9a1dd",
}
"""Places of a kind have like colours; the legend, the order and the table tell them apart."""

ABOUT = say(
    "A bar for each level: the users' time, divided into the places where they spend it. What no "
    "place holds is unnamed."
)
"""What the figure shows."""

_IN_A_LINE = 3
"""The fewest entries of the legend that are next to each other, with the longest names."""

_LINE_PX = 24
_BARS_PX = 364
"""The height of a line of the legend, and of all below the legend."""

_LABELLED = 0.06
"""A smaller part of a bar has no room for its figure."""


def account_figure(ladder: Sequence[Level], words: Language) -> Figure | None:
    """A bar for each level that has an account; `None` if none has."""
    steps = accounted(ladder)
    accounts = [step.account for step in steps if step.account is not None]
    if not accounts:
        return None
    series = [_part(row, words) for row in account_rows(accounts)]
    top, narrow_top = _legend_px(len(series), _IN_A_LINE), _legend_px(len(series), 1)
    users = {"type": "category", "data": [level_name(step, words) for step in steps]}
    option = {
        "tooltip": {"trigger": "axis", "axisPointer": {"type": "shadow"}},
        "legend": {"top": 0, "type": "plain"},
        "grid": {"left": 84, "right": 28, "top": top, "bottom": 52},
        "xAxis": {**axis("value", _axis(steps, words)), **users},
        "yAxis": axis("value", words(PERCENT_OF_TIME), max=100, nameGap=44),
        "series": series,
    }
    return Figure(
        words(say("Where a user's second goes")),
        option,
        words(ABOUT),
        height_px=_BARS_PX + top,
        narrow=Narrow(
            560, _BARS_PX + narrow_top, {"grid": {"top": narrow_top, "left": 56, "right": 12}}
        ),
    )


def _legend_px(entries: int, in_a_line: int) -> int:
    """The height of a legend, with the gap below it."""
    return _LINE_PX * math.ceil(entries / in_a_line) + 16


def _part(row: Row, words: Language) -> Option:
    colour = COLOURS[row.place] if row.place else COLOURS["other"] if row.name == REST else QUIET
    faint = row.name == UNNAMED
    return {
        "name": words(row.name),
        "type": "bar",
        "stack": "account",
        "barMaxWidth": 72,
        "itemStyle": {"color": colour, "opacity": 0.35 if faint else 1},
        "data": [_bar(share) for share in row.shares],
    }


def _bar(share: float) -> Option:
    percent = short(round(100 * share, 1))
    return {"value": percent, "label": {"show": share >= _LABELLED, "formatter": "{c}"}}


def _axis(steps: Sequence[StepResult], words: Language) -> str:
    return words(say("rate/s")) if any(step.rate for step in steps) else words(say("users"))
