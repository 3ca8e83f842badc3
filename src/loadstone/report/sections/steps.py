"""Each step: its seconds, its latencies, and what went wrong in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loadstone.analyse.ladder import middle_step, shape
from loadstone.model.figure import Count, Rate
from loadstone.model.language import Language
from loadstone.model.message import say
from loadstone.model.numbers import NOTHING, count, digits
from loadstone.model.result import StepResult
from loadstone.report.figures.account_course import course_figure
from loadstone.report.figures.latency import heat_figure, percentile_figure
from loadstone.report.figures.series import series_figure
from loadstone.report.figures.thinning import Thinned
from loadstone.report.generators import figures_of, name_of
from loadstone.report.latencies import StepLatencies
from loadstone.report.markup import Markup, element, folded, list_of, paragraph
from loadstone.report.names import CLASSES, GENERATORS_HEADS, STATES
from loadstone.report.notes import drill_notes, step_notes
from loadstone.report.sections.context import ReportContext
from loadstone.report.step_panels import Panel, Seconds
from loadstone.report.table import table_of

MOST_STEPS = 40
"""The most steps shown second by second; with more, the middle repeats come first."""

_COLUMNS_IN_ALL = 4200
_MOST_COLUMNS = 600
_FEWEST_COLUMNS = 60
"""Pairs of points of a line: a page of forty steps is not larger than one of seven."""

_HEAT_IN_ALL = 630
_MOST_HEAT = 90
_FEWEST_HEAT = 16
"""Columns of a heat map, likewise."""

_ROWS_IN_ALL = 300
_MOST_ROWS = 48
_FEWEST_ROWS = 8
"""Rows of the tables of seconds, likewise."""


def steps_section(context: ReportContext) -> Markup:
    """A part for each step, the best one's open."""
    words = context.words
    shown = shown_steps(context)
    run = context.run
    seconds = Seconds(run.load, run.server, run.host, words, run.attached)
    room = _Room.for_steps(len(shown))
    latencies = run.latencies([step.step for step in shown], room.heat)
    best = _best(context)
    parts = [
        paragraph(
            words(
                say(
                    "Each step second by second: load, server and host on one time axis. "
                    "Zoom with the slider, Ctrl and the wheel, or the keys; the heat map "
                    "follows."
                )
            ),
            "about",
        )
    ]
    left = len(context.result.steps) - len(shown)
    if left:
        parts.append(
            paragraph(
                words(
                    say(
                        "{number} further steps are not drawn; their seconds are in the run's "
                        "folder.",
                        number=left,
                    )
                ),
                "note",
            )
        )
    for step in shown:
        inside = _of_step(context, step, (seconds, latencies.get(step.step), room))
        parts.append(_folded(context, step, inside, is_open=step.step == best))
    return context.section("steps", words(say("Step by step")), *parts)


def shown_steps(context: ReportContext) -> list[StepResult]:
    """All of them, or the middle repeat of each level where they are too many."""
    steps = list(context.result.steps)
    if len(steps) <= MOST_STEPS:
        return steps
    middle = {middle_step(level.steps).step for ladder in context.ladders for level in ladder}
    return [step for step in steps if step.step in middle][:MOST_STEPS]


def _best(context: ReportContext) -> int | None:
    """The step of the first ladder's peak; of a run without load the first."""
    if not context.ladders:
        return context.result.steps[0].step if context.result.steps else None
    ladder = context.ladders[0]
    found = shape(ladder)
    return middle_step((found.peak if found else ladder[0]).steps).step


def _folded(
    context: ReportContext, step: StepResult, inside: Iterator[Markup], *, is_open: bool
) -> Markup:
    words, title = context.words, context.step_name(step)
    if step.tps is not None:
        title = words.pair(title, words(say("{tps} TPS", tps=Rate(step.tps))))
    if step.state != "finished":
        title = words(say("{name} ({facts})", name=title, facts=STATES[step.state]))
    summary = element("summary", title)
    return element("details", summary, *inside, class_="step", open=is_open)


@dataclass(frozen=True)
class _Room:
    """What a step may take of a page."""

    columns: int
    heat: int
    rows: int

    @classmethod
    def for_steps(cls, steps: int) -> _Room:
        def each(fewest: int, in_all: int, most: int) -> int:
            return min(max(fewest, in_all // max(steps, 1)), most)

        return cls(
            columns=each(_FEWEST_COLUMNS, _COLUMNS_IN_ALL, _MOST_COLUMNS),
            heat=each(_FEWEST_HEAT, _HEAT_IN_ALL, _MOST_HEAT),
            rows=each(_FEWEST_ROWS, _ROWS_IN_ALL, _MOST_ROWS),
        )


_Known = tuple[Seconds, StepLatencies | None, _Room]
"""The frames, the step's histograms, and its share of the page."""


def _of_step(context: ReportContext, step: StepResult, known: _Known) -> Iterator[Markup]:
    words = context.words
    seconds, latencies, room = known
    group = f"step-{step.step}"
    yield from _notes(step, words)
    if step.generators:
        yield folded(
            words(say("The machines that drove it (! saturated)")), _generators(step, words)
        )
    panels = seconds.panels(step)
    if panels:
        figure, thinned = series_figure(panels, step, words, room.columns, group)
        yield element("h3", words(say("Second by second")))
        yield paragraph(words.sentences(figure.about, _thinned(thinned, words)), "about")
        yield context.figures.place(figure)
        yield folded(words(say("The same as a table of means")), _table(panels, words, room.rows))
    else:
        yield paragraph(words(say("Nothing was recorded second by second.")), "note")
    if course := course_figure(step, words, group):
        yield element("h3", course.title)
        yield paragraph(course.about, "about")
        yield context.figures.place(course)
    if latencies is None:
        return
    heat, curve = heat_figure(latencies, words, group), percentile_figure(latencies, words)
    for each in (heat, curve):
        if each is not None:
            yield element("h3", each.title)
            yield paragraph(each.about, "about")
            yield context.figures.place(each)
    yield folded(words(say("Percentiles as a table")), _percentiles(step, words))


def _thinned(thinned: Thinned, words: Language) -> str:
    """A sentence on how far the seconds were thinned."""
    if thinned.by_column == 1:
        return words(say("All {seconds} seconds are drawn.", seconds=Count(thinned.seconds)))
    return words(
        say(
            "{seconds} seconds are drawn as {columns} columns, each with the lowest "
            "and the highest of its {each} seconds.",
            seconds=Count(thinned.seconds),
            columns=Count(-(-thinned.seconds // thinned.by_column)),
            each=Count(thinned.by_column),
        )
    )


def _notes(step: StepResult, words: Language) -> Iterator[Markup]:
    """What a reader should know, errors and outages among it."""
    if lines := [*map(words, step_notes(step)), *map(words, drill_notes(step))]:
        yield element("div", element("b", words(say("Notes"))), list_of(lines))


def _generators(step: StepResult, words: Language) -> Markup:
    """The machines of a cluster."""
    rows = [(name_of(one), *figures_of([one])) for one in step.generators]
    return table_of([words(head) for head in GENERATORS_HEADS.values()], rows).html()


def _percentiles(step: StepResult, words: Language) -> Markup:
    heads = (
        words(say("latency, ms")),
        words(say("events")),
        "min",
        words(say("mean")),
        "p50",
        "p90",
        "p95",
        "p99",
        "p99.9",
        "max",
    )
    named = [
        (words(say("response time")), step.latency.response),
        (words(say("service time")), step.latency.service),
        *((words(CLASSES.get(name, name)), each) for name, each in step.statements.items()),
        *([(words(say("opening a connection")), step.connect)] if step.connect else []),
        *(
            (words(say("failed with {code}", code=code)), each)
            for code, each in step.error_latency.items()
        ),
    ]
    rows = [
        (
            name,
            count(each.count),
            *(
                str(each.figure(figure))
                for figure in ("min", "mean", "p50", "p90", "p95", "p99", "p999", "max")
            ),
        )
        for name, each in named
    ]
    return table_of(heads, rows).html()


def _table(panels: Sequence[Panel], words: Language, rows: int) -> Markup:
    """A table of means over at most `rows` stretches of time."""
    import numpy as np

    end = max(float(panel.times[-1]) for panel in panels)
    edges = np.linspace(0.0, end, min(rows, max(int(end), 1)) + 1)
    heads = [words(say("seconds"))]
    columns: list[list[str]] = []
    for panel in panels:
        place = np.clip(np.searchsorted(edges, panel.times) - 1, 0, len(edges) - 2)
        for name, values in panel.lines.items():
            title = say("{name} ({facts})", name=name, facts=panel.title)
            heads.append(words(title) if name != panel.title else name)
            known = ~np.isnan(values)
            counts = np.bincount(place[known], minlength=len(edges) - 1)
            sums = np.bincount(place[known], values[known], minlength=len(edges) - 1)
            columns.append(
                [
                    digits(total / times) if times else NOTHING
                    for total, times in zip(sums.tolist(), counts.tolist(), strict=True)
                ]
            )
    times = [f"{begin:.0f}..{stop:.0f}" for begin, stop in zip(edges, edges[1:], strict=False)]
    return table_of(heads, zip(times, *columns, strict=True)).html()
