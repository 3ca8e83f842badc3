"""A history as text: a line a series, its picture where it changed, and each change."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from rich.console import Console, ConsoleOptions
from rich.text import Text

from loadstone.analyse.gates import Check
from loadstone.analyse.history import Series, Turn, judged
from loadstone.model.figure import Change, Count
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import Joined, Message, counted, say, say_in
from loadstone.model.numbers import count
from loadstone.report.comparison_document import change_document, check_document
from loadstone.report.gates import figure_of, value_of
from loadstone.report.lines import unbroken
from loadstone.report.table import table_of
from loadstone.report.table_section import Section

_DOTS = 72
"""The most dots of a picture, which a narrow console has fewer of."""

_LABEL = 10
_HEIGHT = 8
_NAMED = 6
"""The most differences named at a change; the rest are counted."""


def sections(
    found: Sequence[Series], words: Language = ENGLISH, gated: Collection[str] = ()
) -> list[Section]:
    """The table, then the series that changed; `gated`: the figures that gates are about."""
    heads = (
        say("runs of"), say("level"), say_in("trend", "figure"), say("runs"), say("first"),
        say("newest"), say("mean of\nits level"), say_in("trend", "changes"),
    )  # fmt: skip
    rows = tuple(
        (
            series.name,
            words(series.where),
            series.metric.name,
            count(len(series.points)),
            value_of(series.metric, series.points[0].value, words),
            value_of(series.metric, series.points[-1].value, words),
            value_of(series.metric, fmean(series.levels()[-1]), words),
            count(len(series.turns)),
        )
        for series in found
        if len(series.points) > 1
    )
    made = [Section("", (), table_of([words(head) for head in heads], rows, text=3))]
    made += [_changed(series, words) for series in found if series.turns]
    lines = tuple(words(say("note  {note}", note=line)) for line in notes(found, gated))
    return [*made, Section("", lines, apart=True)]


def _changed(series: Series, words: Language) -> Section:
    title = say(
        "{metric} of {name}: {where}",
        metric=series.metric.name,
        name=series.name,
        where=series.where,
    )
    lines = tuple(line for turn in series.turns for line in _turn(series, turn, words))
    picture = Picture(tuple(series.values), tuple(turn.point.at for turn in series.turns))
    return Section(words(title), lines, in_text=(picture,))


def _turn(series: Series, turn: Turn, words: Language) -> Iterator[str]:
    yield words(said_of_turn(series, turn))
    if turn.differs:
        yield f"  {words(said_of_differences(turn))}"


def said_of_turn(series: Series, turn: Turn) -> Message:
    """By how much the level changed, from which run on."""
    point = turn.point
    before, after = (figure_of(series.metric, each) for each in (point.before, point.after))
    worse = (point.relative < 0) == series.metric.higher_is_better
    return say(
        "{change} ({direction}) from {run} on: {before} before, {after} after, p {p}",
        change=Change(point.relative),
        direction=say("worse") if worse else say("better"),
        run=series.points[point.at].run,
        before=before,
        after=after,
        p=f"{point.p_value:.1g}",
    )


def said_of_differences(turn: Turn) -> Message:
    """What else differs between the runs before and after it."""
    named, rest = Joined(turn.differs[:_NAMED]), len(turn.differs[_NAMED:])
    if rest:
        return say("differs there: {named} and {number} more", named=named, number=Count(rest))
    return say("differs there: {named}", named=named)


@dataclass(frozen=True)
class Picture:
    """The values of a series as dots, as many next to each other as a console has room for."""

    values: Sequence[float]
    turns: Sequence[int]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        """The lines of the picture."""
        dots = max(min(_DOTS, options.max_width - _LABEL - 1), 1)
        return map(unbroken, figure(self.values, self.turns, dots))


def figure(values: Sequence[float], turns: Sequence[int], dots: int = _DOTS) -> Iterator[str]:
    """Dots over time from the lowest to the highest value, a bar at each change of level.

    Where there are more values than dots, a dot is the mean of neighbours.
    """
    columns = min(len(values), dots)
    edges = [round(at * len(values) / columns) for at in range(columns + 1)]
    means = [fmean(values[begin:end]) for begin, end in zip(edges, edges[1:], strict=False)]
    low, high = min(means), max(means)
    step = (high - low) / (_HEIGHT - 1) or 1.0
    marks = {max(at for at in range(columns) if edges[at] <= turn) for turn in turns}
    for row in reversed(range(_HEIGHT)):
        line = "".join(
            "•" if round((mean - low) / step) == row else "│" if at in marks else " "
            for at, mean in enumerate(means)
        )
        label = {0: f"{low:.4g}", _HEIGHT - 1: f"{high:.4g}"}.get(row, "")
        yield f"{label:>{_LABEL}} {line}".rstrip()


def notes(found: Sequence[Series], gated: Collection[str] = ()) -> Iterator[Message]:
    """Notes on how changes were found, and on what was not examined."""
    yield say(
        "changes of level by E-divisive means with Student's t test at 0.001, as Apache Otava "
        "finds them: docs/comparing.md"
    )
    single = sum(len(series.points) == 1 for series in found)
    if single:
        yield counted(
            "1 series of a single run not shown",
            "{number} series of a single run not shown",
            single,
        )
    left_out = max((series.left_out for series in found), default=0)
    if left_out:
        yield counted(
            "up to 1 run left out: no step finished and settled",
            "up to {number} runs left out: no step finished and settled",
            left_out,
        )
    asked = [series for series in found if series.metric.name in gated]
    kept = {series.name for series in judged(asked)}
    names = dict.fromkeys(series.name for series in asked if series.name not in kept)
    if names:
        yield say(
            "left out of the gates, as no run there has their figure: {names}", names=Joined(names)
        )


def trend_document(found: Sequence[Series], checks: Sequence[Check]) -> dict[str, Any]:
    """A history as data: docs/comparing.md names the fields."""
    return {
        "version": 1,
        "series": [_document(series) for series in found],
        "gates": [check_document(check) for check in checks],
    }


def _document(series: Series) -> dict[str, Any]:
    runs = [point.run for point in series.points]
    return {
        "name": series.name,
        "level": series.where,
        "metric": series.metric.name,
        "left_out": series.left_out,
        "points": [
            {"run": point.run, "started_at": point.started_at, "value": point.value}
            for point in series.points
        ],
        "changes": [
            {**change_document(turn.point, runs), "differs": list(turn.differs)}
            for turn in series.turns
        ],
    }
