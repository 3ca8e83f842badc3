"""An experiment as text: a table of variants for each cell, and the verdict on each factor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from loadstone.analyse.comparison import CellTable, Compared, Comparison, Row
from loadstone.analyse.effects import Effect
from loadstone.analyse.experimental_units import Cell
from loadstone.analyse.ladder import middle_step
from loadstone.analyse.verdict import REASONS, Spoiled, Verdict
from loadstone.experiments.schedule import PlannedStep, PlanTime
from loadstone.model.asked_rate import asked
from loadstone.model.experiment import Experiment
from loadstone.model.figure import Change, Count, General, Seconds
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import Joined, Message, counted, say, user_count
from loadstone.model.numbers import NOTHING, count, pct, rate
from loadstone.model.plan import WarmupAuto
from loadstone.model.result import Result
from loadstone.model.search import MOST_STEPS, SearchPlan
from loadstone.report.breakdowns import breakdowns_of_variants
from loadstone.report.columns import columns_tables
from loadstone.report.lines import Line, lines_of, spaced
from loadstone.report.marks import NO_INTERVAL
from loadstone.report.names import (
    RUN_STATES,
    comparison_count,
    method_name,
    repeat_count,
    search_count,
    step_count,
    unit_count,
    variant_count,
)
from loadstone.report.notes import notes_of, run_notes
from loadstone.report.step_table import INTERVAL
from loadstone.report.table import Column, Table, table_of

_ORDER_SHOWN = 24

_USUAL_REPEATS = 6
"""The usual number of repeats of an experiment: few enough for an hour, enough for an interval."""


def outcome(
    experiment: Experiment,
    result: Result,
    found: Comparison,
    warnings: Sequence[str] = (),
    words: Language = ENGLISH,
) -> RenderableType:
    """The outcome, preceded by the `warnings` about what makes the comparison unfair."""
    unfair = (words(say("warning  {warning}", warning=line)) for line in warnings)
    parts: list[RenderableType] = [*lines_of(unfair, "bold")]
    parts += lines_of((*head(experiment, words), words.value(_progress(result))))
    for table in found.cells:
        parts += _cell(table, words)
    if experiment.columns and found.cells:
        parts.append(Text())
        parts += columns_tables(experiment.columns, found.cells, words)
    else:
        parts.append(Text())
    for line in _notes(experiment, result, found, words):
        parts.append(Line(words(say("note  {note}", note=line))))
    return Group(*parts)


def variants_of(found: Comparison) -> list[str]:
    """Their names, in the order of the cells."""
    return list(dict.fromkeys(row.variant for each in found.cells for row in each.rows))


def _cell(table: CellTable, words: Language) -> Iterator[RenderableType]:
    yield Text()
    yield Line(cell_name(table.cell, table.search, words), "bold")
    yield spaced(_table(table, words))
    yield from lines_of(missed(table, words))
    yield from lines_of(line for each in table.compared for line in sentences(each, words))
    for one in breakdowns_of_variants(table.rows, words):
        yield Text()
        yield Line(words(say("{title}:", title=one.title)))
        yield one


def head(experiment: Experiment, words: Language = ENGLISH) -> Iterator[str]:
    """What varies, and how it is measured."""
    yield words.pair(experiment.name, words(variant_count(len(experiment.variants))))
    for factor in experiment.factors:
        levels = Joined(level.name for level in factor.levels)
        yield f"  {words.pair(factor.name, words.value(levels))}"
    if experiment.search:
        yield f"  {words(_sought(experiment.search))}"
    yield words.value(Joined((_timing(experiment), _repeats(experiment))))


def _sought(search: SearchPlan) -> Message:
    goal = _goal(search)
    if search.peak and search.objective:
        return say(
            "searched for: the fewest users at the peak, and with them the {goal}", goal=goal
        )
    return say("searched for: the {goal}", goal=goal)


def _timing(experiment: Experiment) -> Message:
    seconds = Seconds(experiment.duration_s)
    if isinstance(experiment.warmup, WarmupAuto):
        return say("{duration} a step with automatic warm-up", duration=seconds)
    return say(
        "{duration} a step after {warmup} warm-up",
        duration=seconds,
        warmup=Seconds(experiment.warmup.warmup_s),
    )


def _repeats(experiment: Experiment) -> Message:
    repeats = repeat_count(experiment.repeats)
    return say("at least {number}", number=repeats) if experiment.until else repeats


def _progress(result: Result) -> Joined:
    finished, planned = result.run.steps_finished, result.run.steps_planned
    done = step_count(finished)
    if planned and finished > planned:
        done = say(
            "{done} steps, {more} of them beyond the plan",
            done=Count(finished),
            more=Count(finished - planned),
        )
    elif planned:
        done = say("{done} of {planned} steps", done=Count(finished), planned=Count(planned))
    return Joined((RUN_STATES[result.run.state], done))


def cell_name(cell: Cell, search: SearchPlan | None = None, words: Language = ENGLISH) -> str:
    """`oltp_read_write, 64 users, 1,000 events/s due`; of searches `oltp_read_write, peak`."""
    workload, users, due = cell
    if search:
        return words.value(Joined((workload, _goal(search))))
    parts: list[str] = [workload, user_count(users)]
    if due:
        parts.append(say("{rate} events/s due", rate=asked(due)))
    return words.value(Joined(parts))


def _goal(search: SearchPlan) -> Message:
    """The goal by which a search compares variants."""
    if search.objective:
        return say("highest rate with {objective}", objective=str(search.objective))
    return say("peak")


def missed(found: CellTable, words: Language = ENGLISH) -> Iterator[str]:
    """Sentences on searches that found no rate within the objective."""
    for row in found.rows:
        if row.missed and found.search:
            said = say(
                "{variant}: {number} of {searches} found no rate with {objective}",
                variant=row.variant,
                number=Count(row.missed),
                searches=search_count(len(row.searches)),
                objective=str(found.search.objective),
            )
            yield words(said)


def _table(found: CellTable, words: Language) -> Table:
    search = found.search
    measured = (say("searches"), say("found\n/s")) if search else (say("steps"), say("tps"))
    heads = [
        say("variant"), *measured, INTERVAL, say("CV\nwithin"), say("CV\nbetween"),
        say("p95\nms"), say("p99\nms"),
    ]  # fmt: skip
    with_users = bool(search and search.peak)
    heads += [say("users")] if with_users else []
    rows = ([*_cells(row), *([users_at_peak(row)] if with_users else [])] for row in found.rows)
    return table_of([words(one) for one in heads], rows, least=5)


def lacks_interval(rows: Iterable[Row]) -> bool:
    """Whether some row's interval would reach zero, and is left out."""
    return any(row.mean and row.mean.interval and not row.mean.of_a_rate for row in rows)


def users_at_peak(row: Row) -> str:
    """The fewest users at the peak, over the searches of a variant."""
    return NOTHING if row.users is None else count(row.users)


def _cells(row: Row) -> list[str]:
    interval = row.mean.of_a_rate if row.mean else None
    half = (interval.high - interval.low) / 2 if interval else None
    response = middle_step(row.steps).latency.response if row.steps else None
    return [
        row.variant,
        count(len(row.searches or row.steps)),
        rate(row.mean.value if row.mean else None),
        rate(half),
        pct(row.variation.within),
        pct(row.variation.between),
        str(response.figure("p95")) if response else NOTHING,
        str(response.figure("p99")) if response else NOTHING,
    ]


def sentences(found: Compared, words: Language = ENGLISH) -> Iterator[str]:
    """`durability=relaxed against durability=full: faster`, and the figures behind it."""
    verdict = found.verdict
    against = words(say("{b} against {a}", b=found.contrast.b, a=found.contrast.a))
    yield words.pair(against, words(verdict.said))
    if verdict.effect:
        yield f"  {words.value(Joined((_effect(verdict.effect), *_chance(verdict))))}"
    if verdict.units_left_out:
        said = say(
            "{number} of {all} units left out: {reasons}",
            number=Count(verdict.units_left_out),
            all=Count(found.pairs),
            reasons=left_out(verdict.left_out),
        )
        yield f"  {words(said)}"


def left_out(reasons: Mapping[Spoiled, int]) -> Joined:
    """`client-bound 2, unsteady 1`."""
    return Joined(
        say("{reason} {number}", reason=REASONS[reason], number=Count(number))
        for reason, number in sorted(reasons.items())
    )


def _effect(effect: Effect) -> Message:
    fields = {"effect": Change(effect.relative), "units": unit_count(effect.units)}
    if effect.interval is None:
        return say("{effect}, {units}: too few for an interval", **fields)
    return say(
        "{effect} ({confidence} %: {low} to {high}; {method}, {units})",
        confidence=General(100 * effect.interval.confidence),
        low=Change(effect.interval.low),
        high=Change(effect.interval.high),
        method=method_name(effect.interval.method),
        **fields,
    )


def _chance(verdict: Verdict) -> Iterator[Message]:
    if verdict.p_difference is None:
        return
    if verdict.p_difference < _SMALLEST_P:
        yield say("corrected p below {p}", p=f"{_SMALLEST_P:.4f}")
    else:
        yield say("corrected p {p}", p=f"{verdict.p_difference:.2g}")


_SMALLEST_P = 1e-4
"""Below this, the exact p-value of a small sample means nothing."""


def _notes(
    experiment: Experiment, result: Result, found: Comparison, words: Language
) -> Iterator[str]:
    yield from map(words, run_notes(result.run))
    yield from map(words, notes_of(result.steps))
    yield from map(words, _of_figures(experiment, found))


def _of_figures(experiment: Experiment, found: Comparison) -> Iterator[Message]:
    if experiment.search:
        yield say(
            "found/s is the mean of the units that count with Student's t interval; p95 and p99 "
            "are of the middle step"
        )
    else:
        yield say(
            "tps is the mean of the units that count with Student's t interval; p95 and p99 are "
            "of the middle step"
        )
    if lacks_interval(row for table in found.cells for row in table.rows):
        yield NO_INTERVAL
    if experiment.columns:
        yield say("figures of server and host are medians over the steps; - was not evaluated")
    if not found.comparisons:
        return
    verdicts = [one.verdict for table in found.cells for one in table.compared]
    if any(one.word == "not enough evidence" and one.more is None for one in verdicts):
        yield say(
            "for more evidence run it again with repeats = {usual} or more in its file, or as a "
            "recipe with --set repeats={usual}",
            usual=_USUAL_REPEATS,
        )
    yield say(
        "an effect is the geometric mean of the ratios within each unit, so that it may differ "
        "from the ratio of the means above"
    )
    each = comparison_count(found.comparisons)
    if found.sequential:
        yield say(
            "verdicts and intervals hold at all looks together, corrected for {each} by "
            "Bonferroni's method",
            each=each,
        )
    else:
        yield say(
            "verdicts, p-values and intervals are corrected for {each} by Holm's method",
            each=each,
        )


def plan_of(
    experiment: Experiment,
    steps: Sequence[PlannedStep],
    time: PlanTime,
    words: Language = ENGLISH,
) -> RenderableType:
    """The planned steps, in order, and how long they take."""
    parts: list[RenderableType] = [*lines_of(head(experiment, words)), Text()]
    parts.append(_order(experiment, steps[:_ORDER_SHOWN], words))
    if rest := len(steps[_ORDER_SHOWN:]):
        more = counted("and 1 more like these", "and {number} more like these", rest)
        parts.append(Line(words(more)))
    return Group(*parts, Text(), *lines_of(time_lines(experiment, steps, time, words)))


def _order(experiment: Experiment, steps: Sequence[PlannedStep], words: Language) -> Table:
    first = say("search") if experiment.search else say("step")
    numbers = (Column(words(each)) for each in (first, say("block"), say("unit")))
    # A variant's name is there to be copied.
    variant = Column(words(say("variant")), is_text=True, folds=False)
    columns = [*numbers, variant, Column(words(say("load")), is_text=True)]
    if any(planned.fresh for planned in steps):
        columns.append(Column("", is_text=True))
    rows = (_planned(experiment, planned, words)[: len(columns)] for planned in steps)
    return Table(tuple(columns), tuple(rows), top=True)


def _planned(experiment: Experiment, planned: PlannedStep, words: Language) -> tuple[str, ...]:
    step = planned.step
    load = cell_name((step.workload, step.concurrency, step.rate), None, words)
    return (
        str(step.number),
        str(planned.block),
        str(planned.unit),
        step.variant,
        step.workload if experiment.search else load,
        words(say("data restored first")) if planned.fresh else "",
    )


def time_lines(
    experiment: Experiment,
    steps: Sequence[PlannedStep],
    time: PlanTime,
    words: Language = ENGLISH,
) -> Iterator[str]:
    """How many steps there are, and how long they take."""
    parts: list[Message] = [
        counted(
            "1 search of at most {most} steps",
            "{number} searches of at most {most} steps",
            len(steps),
            most=MOST_STEPS,
        )
        if experiment.search
        else step_count(len(steps))
    ]
    if time.starts:
        parts.append(counted("1 start of a server", "{number} starts of a server", time.starts))
    fields = {"what": Joined(parts), "duration": Seconds(time.total_s)}
    if experiment.search:
        said = say(
            "{what}: {duration} at most, and what loading the tables and restarting for fresh "
            "data takes",
            **fields,
        )
    elif experiment.until:
        said = say(
            "{what}: at least {duration}, and what loading the tables and restarting for fresh "
            "data takes",
            **fields,
        )
    else:
        said = say(
            "{what}: {duration}, and what loading the tables and restarting for fresh data takes",
            **fields,
        )
    yield words(said)
    if experiment.until:
        yield words(
            say(
                "then more until effects are known to ± {width} %, for at most {limit}",
                width=General(100 * experiment.until.half_width),
                limit=Seconds(experiment.until.time_limit_s),
            )
        )
