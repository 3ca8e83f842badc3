"""An experiment as text: a table of variants for each cell, and what may be said of each factor."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from loadstone.analyse.comparison import CellTable, Compared, Comparison, Row
from loadstone.analyse.effects import Effect
from loadstone.analyse.experimental_units import Cell
from loadstone.analyse.ladder import middle_step
from loadstone.analyse.verdict import Verdict
from loadstone.experiments.schedule import PlannedStep, PlanTime
from loadstone.model.experiment import Experiment
from loadstone.model.language import ENGLISH
from loadstone.model.numbers import NOTHING, asked, count, duration, number_of, pct, rate, signed
from loadstone.model.plan import WarmupAuto
from loadstone.model.result import Result, StepResult
from loadstone.model.search import MOST_STEPS, SearchPlan
from loadstone.report.breakdowns import breakdowns_of_variants
from loadstone.report.columns import columns_tables
from loadstone.report.notes import of_the_cores, step_notes
from loadstone.report.table import Table, table_of

_ORDER_SHOWN = 24
_BESIDE = "what loading the tables and restarting for fresh data takes"
_MIDDLE = "p95, p99: middle step"


def outcome(
    experiment: Experiment, result: Result, found: Comparison, warnings: Sequence[str] = ()
) -> RenderableType:
    """What came of it; `warnings` are what makes a comparison unfair, and stand before it."""
    parts: list[RenderableType] = [Text(f"warning  {line}", style="bold") for line in warnings]
    parts += [Text(line) for line in head(experiment)]
    parts.append(Text(_progress(result)))
    for table in found.cells:
        parts.append(Text())
        parts.append(Text(cell_name(table.cell, table.search), style="bold"))
        parts.append(Padding(_table(table), (0, 0, 1, 0)))
        parts += [Text(line) for line in _missed(table)]
        parts += [Text(line) for each in table.compared for line in sentences(each)]
        for one in breakdowns_of_variants(table.rows, ENGLISH):
            parts += [Text(), Text(f"{one.title}:"), one]
    if experiment.columns and found.cells:
        parts.append(Text())
        parts += columns_tables(experiment.columns, found.cells)
    else:
        parts.append(Text())
    parts += [Text(f"note  {line}") for line in _notes(experiment, result, found)]
    return Group(*parts)


def head(experiment: Experiment) -> Iterator[str]:
    """What varies, and how it is measured."""
    yield f"{experiment.name}: {number_of(len(experiment.variants), 'variant')}"
    for factor in experiment.factors:
        yield f"  {factor.name}: {', '.join(level.name for level in factor.levels)}"
    if experiment.search:
        yield f"  searched for: {_sought(experiment.search)}"
    repeats = number_of(experiment.repeats, "repeat")
    at_least = "at least " if experiment.until else ""
    yield f"{duration(experiment.duration_s)} a step {_warmup(experiment)}, {at_least}{repeats}"


def _sought(search: SearchPlan) -> str:
    if search.peak and search.objective:
        return f"the fewest users at the peak, and with them the {_goal(search)}"
    return f"the {_goal(search)}"


def _warmup(experiment: Experiment) -> str:
    if isinstance(experiment.warmup, WarmupAuto):
        return "with automatic warm-up"
    return f"after {duration(experiment.warmup.warmup_s)} warm-up"


def _progress(result: Result) -> str:
    planned = result.run.steps_planned
    of_all = f" of {count(planned)}" if planned else ""
    done = f"{count(result.run.steps_finished)}{of_all} steps"
    return f"{result.run.state}, {done}"


def cell_name(cell: Cell, search: SearchPlan | None = None) -> str:
    """`oltp_read_write, 64 users, 1,000 events/s due`; of searches `oltp_read_write, peak`."""
    workload, users, due = cell
    if search:
        return f"{workload}, {_goal(search)}"
    said = f"{workload}, {number_of(users, 'user')}"
    return f"{said}, {asked(due)} events/s due" if due else said


def _goal(search: SearchPlan) -> str:
    """What a search compares variants by."""
    return f"highest rate with {search.objective}" if search.objective else "peak"


def _missed(found: CellTable) -> Iterator[str]:
    for row in found.rows:
        if row.missed and found.search:
            of_all = f"{count(row.missed)} of {number_of(len(row.searches), 'search', 'searches')}"
            yield f"{row.variant}: {of_all} found no rate with {found.search.objective}"


def _table(found: CellTable) -> Table:
    search = found.search
    measured = ("searches", "found\n/s") if search else ("steps", "tps")
    figures = (*measured, "±\n95 %", "CV\nwithin", "CV\nbetween", "p95\nms", "p99\nms")
    users = ("users",) if search and search.peak else ()
    rows = ((*_cells(row), *(users_at_peak(row) for _ in users)) for row in found.rows)
    return table_of(("variant", *figures, *users), rows, least=5)


def users_at_peak(row: Row) -> str:
    """The fewest of them, as the searches of a variant found."""
    return NOTHING if row.users is None else count(row.users)


def _cells(row: Row) -> list[str]:
    half = None
    if row.mean and row.mean.interval:
        half = (row.mean.interval.high - row.mean.interval.low) / 2
    response = middle_step(row.steps).latency.response if row.steps else None
    return [
        row.variant,
        count(len(row.searches or row.steps)),
        rate(row.mean.value if row.mean else None),
        rate(half),
        pct(row.variation.within),
        pct(row.variation.between),
        rate(response.p95 if response else None),
        rate(response.p99 if response else None),
    ]


def sentences(found: Compared) -> Iterator[str]:
    """`durability=relaxed against durability=full: faster` and what that stands on."""
    verdict = found.verdict
    yield f"{found.contrast.b} against {found.contrast.a}: {verdict}"
    if verdict.effect:
        yield f"  {_effect(verdict.effect)}{_chance(verdict)}"
    if verdict.units_left_out:
        why = ", ".join(f"{reason} {count(n)}" for reason, n in sorted(verdict.left_out.items()))
        yield f"  {count(verdict.units_left_out)} of {count(found.pairs)} units left out: {why}"


def _effect(effect: Effect) -> str:
    said = f"{signed(effect.relative)}"
    if effect.interval is None:
        return f"{said}, {number_of(effect.units, 'unit')}: too few for an interval"
    low, high = signed(effect.interval.low), signed(effect.interval.high)
    sure = f"{100 * effect.interval.confidence:g} %"
    units = number_of(effect.units, "unit")
    return f"{said} ({sure}: {low} to {high}; {effect.interval.method}, {units})"


def _chance(verdict: Verdict) -> str:
    if verdict.p_difference is None:
        return ""
    # A small sample says nothing of how small it is.
    said = "below 0.0001" if verdict.p_difference < 1e-4 else f"{verdict.p_difference:.2g}"
    return f", p {said} corrected"


def _notes(experiment: Experiment, result: Result, found: Comparison) -> Iterator[str]:
    yield from result.run.notes
    yield from _of_steps(result.steps)
    what = "found" if experiment.search else "tps"
    yield f"{what} is the mean of the units that count with Student's t interval; {_MIDDLE}"
    if experiment.columns:
        yield "what server and host did is the median of the steps; - was not evaluated"
    if not found.comparisons:
        return
    each = number_of(found.comparisons, "comparison")
    if found.sequential:
        yield f"verdicts hold at all looks together, corrected for {each} by Bonferroni"
    else:
        yield f"p-values and verdicts are corrected for {each} by Holm; intervals are of one cell"


def _of_steps(steps: Sequence[StepResult]) -> Iterator[str]:
    """What steps have in common but for its numbers is told once, with how many say so."""
    yield from of_the_cores(steps)
    told: dict[str, list[tuple[int, str]]] = {}
    for step in steps:
        for line in step_notes(step):
            told.setdefault(re.sub(r"[\d.,]+", "#", line), []).append((step.step, line))
    for (number, line), *others in told.values():
        more = f" (and {number_of(len(others), 'step')} more)" if others else ""
        yield f"step {number}{more}: {line}"


def plan_of(experiment: Experiment, steps: Sequence[PlannedStep], time: PlanTime) -> RenderableType:
    """What would be done, in which order, and how long it takes."""
    lines = [*head(experiment), ""]
    lines += _order(experiment, steps)
    return Text("\n".join([*lines, "", *time_lines(experiment, steps, time)]))


def _order(experiment: Experiment, steps: Sequence[PlannedStep]) -> Iterator[str]:
    yield from (_planned(experiment, step) for step in steps[:_ORDER_SHOWN])
    if len(steps) > _ORDER_SHOWN:
        yield f"  and {count(len(steps) - _ORDER_SHOWN)} more, in the same manner"


def time_lines(
    experiment: Experiment, steps: Sequence[PlannedStep], time: PlanTime
) -> Iterator[str]:
    """How many steps there are, and how long they take."""
    starts = f", {number_of(time.starts, 'start')} of a server" if time.starts else ""
    least = "at least " if experiment.until else ""
    if experiment.search:
        searches = number_of(len(steps), "search", "searches")
        each = f"{least}{searches} of at most {MOST_STEPS} steps{starts}: {duration(time.total_s)}"
        yield f"{each} at most, and {_BESIDE}"
    else:
        steps_ = number_of(len(steps), "step")
        yield f"{steps_}{starts}: {least}{duration(time.total_s)}, and {_BESIDE}"
    if experiment.until:
        known = f"plus or minus {100 * experiment.until.half_width:g} %"
        limit = duration(experiment.until.time_limit_s)
        yield f"then more until effects are known to {known}, for {limit} at most"


def _planned(experiment: Experiment, planned: PlannedStep) -> str:
    step = planned.step
    fresh = "  data as at first" if planned.fresh else ""
    what, cell = "search", step.workload
    if experiment.search is None:
        what, cell = "step", cell_name((step.workload, step.concurrency, step.rate))
    return (
        f"  {what} {step.number:>3}  block {planned.block:>2}  unit {planned.unit:>2}  "
        f"{step.variant}  {cell}{fresh}"
    )
