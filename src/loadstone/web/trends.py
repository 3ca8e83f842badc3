"""The trend of a folder's runs, as `loadstone runs trend` finds it, with a figure of each level."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from loadstone.analyse.history import By, Series, Turn, histories, peaks
from loadstone.analyse.matrix import ComparisonError
from loadstone.analyse.metrics import METRICS, TPS
from loadstone.analyse.paired_sides import Run, as_run
from loadstone.model.message import Message, plain, say
from loadstone.report.comparison_document import change_document
from loadstone.report.figures.trend import (
    ABOUT_RATES,
    ABOUT_RESPONSE,
    AT_LEVEL,
    AT_PEAK,
    RATES,
    RESPONSE,
    trend_figure,
)
from loadstone.report.trend import said_of_differences, said_of_turn
from loadstone.runs.errors import StoreError
from loadstone.runs.reader import read_run
from loadstone.runs.selection import Selection
from loadstone.web.localize import translations

FIGURES = ("tps", "p95", "p99")
"""The metrics that are followed, as `--metric` takes them."""

_RESPONSE = FIGURES[1:]
_BY: By = "target"


def trend_of(folders: Sequence[Path]) -> dict[str, Any]:
    """The levels that several of the runs have, in the order of `loadstone runs trend`.

    Raises:
        ComparisonError: there are no two runs that can be read.
    """
    runs, left_out = _read(folders)
    if len(runs) < 2:
        raise ComparisonError(
            say("a trend needs several runs, and these are {number}", number=len(runs))
        )
    highest = {(each.name, each.workload, each.variant): each for each in peaks(runs, _BY)}
    levels: dict[tuple[str, Message], dict[str, Series]] = {}
    for series in histories(runs, [METRICS[name] for name in FIGURES], _BY):
        if len(series.points) > 1:
            levels.setdefault((series.name, series.where), {})[series.metric.name] = series
    shown = [_Level(of, highest) for of in levels.values()]
    return {
        "runs": len(runs),
        "left_out": left_out,
        "levels": [level.document() for level in shown],
        "told": translations([text for level in shown for text in level.said()]),
    }


def command_words(selection: Selection, runs: Path) -> tuple[str, ...]:
    """The arguments of `loadstone` that print the same trend."""
    given = (
        ("named", selection.name),
        ("workload", selection.workload),
        ("target", selection.target),
        ("label", selection.label),
    )
    options = (f"--{name}={value.strip()}" for name, value in given if value.strip())
    metrics = (f"--metric={name}" for name in FIGURES)
    return ("runs", "trend", *options, *metrics, f"--by={_BY}", "--peak", f"--out={runs}")


def _read(folders: Sequence[Path]) -> tuple[list[Run], list[str]]:
    """The runs, and the names of those that cannot be read."""
    runs: list[Run] = []
    left_out: list[str] = []
    for folder in folders:
        try:
            runs.append(as_run(folder.name, read_run(folder, seconds=False)))
        except StoreError:
            left_out.append(folder.name)
    return runs, left_out


class _Level:
    """One level of the runs of one name: its series, and that of the peak."""

    def __init__(
        self, series: dict[str, Series], highest: dict[tuple[str, str, str], Series]
    ) -> None:
        self._of = series
        self._any = next(iter(series.values()))
        self._peak = highest.get((self._any.name, self._any.workload, self._any.variant))

    def document(self) -> dict[str, Any]:
        rates = [(AT_PEAK, self._peak)] if self._peak else []
        rates += [(AT_LEVEL, self._of[TPS.name])] if TPS.name in self._of else []
        response = [(plain(name), self._of[name]) for name in _RESPONSE if name in self._of]
        return {
            "name": self._any.name,
            "level": self._any.where,
            "series": [_row(each) for each in self._series()],
            "rates": {"option": trend_figure(rates, RATES), "about": ABOUT_RATES},
            "response": {"option": trend_figure(response, RESPONSE), "about": ABOUT_RESPONSE}
            if response
            else None,
        }

    def said(self) -> list[Message]:
        """All its texts that have translations."""
        turns = [(series, turn) for series in self._series() for turn in series.turns]
        places = [series.where for series in self._series()]
        return [*places, *(text for each in turns for text in _said(*each))]

    def _series(self) -> list[Series]:
        return [*([self._peak] if self._peak else []), *self._of.values()]


def _row(series: Series) -> dict[str, Any]:
    runs = [point.run for point in series.points]
    return {
        "where": series.where,
        "metric": series.metric.name,
        "kind": series.metric.kind,
        "points": len(runs),
        "first": series.points[0].value,
        "newest": series.points[-1].value,
        "mean": fmean(series.levels()[-1]),
        "left_out": series.left_out,
        "changes": [
            {
                **change_document(turn.point, runs),
                "before_run": runs[turn.point.at - 1],
                "worse": (turn.point.relative < 0) == series.metric.higher_is_better,
                "said": _said(series, turn),
            }
            for turn in series.turns
        ],
    }


def _said(series: Series, turn: Turn) -> list[Message]:
    return [said_of_turn(series, turn), *([said_of_differences(turn)] if turn.differs else [])]
