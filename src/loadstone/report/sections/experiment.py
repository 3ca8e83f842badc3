"""An experiment: the matrix of verdicts, and what its variants differ in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadstone.analyse.comparison import CellTable, Compared, Comparison, Row
from loadstone.analyse.ladder import middle_step
from loadstone.model.experiment import Experiment, Level
from loadstone.model.numbers import NOTHING, asked, count, pct, rate, signed
from loadstone.report.breakdowns import breakdowns_of_variants
from loadstone.report.experiment import users_at_peak
from loadstone.report.markup import Markup, cell, element, folded, paragraph
from loadstone.report.sections.context import ReportContext
from loadstone.report.table import table_of
from loadstone.report.words import Messages

_LOOKS = {
    "faster": ("▲", "good"),
    "slower": ("▼", "bad"),
    "no difference": ("=", "unknown"),
    "not enough evidence": ("?", "unknown"),
}
"""A sign and a class for each word: colour alone says nothing."""


def matrix_section(context: ReportContext) -> Markup:
    """Cells by variants, each against the first level of its factor."""
    words, found = context.words, context.run.comparison
    experiment = context.run.asked.experiment if context.run.asked else None
    if found is None or experiment is None:
        return Markup("")
    parts = [
        paragraph(words.matrix_of_searches if experiment.search else words.matrix_about, "about"),
        _matrix(found, words),
        *_breakdowns(found, words),
        element("h3", words.variants_differ_in),
        _factors(experiment, words),
        folded(words.table_of_cells, *(_cell_table(each, words) for each in found.cells)),
        paragraph(_corrected(found, words), "note"),
    ]
    return context.section("matrix", words.matrix, *parts)


def _matrix(found: Comparison, words: Messages) -> Markup:
    variants = list(dict.fromkeys(row.variant for each in found.cells for row in each.rows))
    heads = (words.cell, *variants)
    return table_of(heads, (_matrix_row(each, variants, words) for each in found.cells)).html()


def _matrix_row(found: CellTable, variants: Sequence[str], words: Messages) -> list[str]:
    rows = {row.variant: row for row in found.rows}
    compared: dict[str, list[Compared]] = {}
    for one in found.compared:
        compared.setdefault(one.contrast.b, []).append(one)
    cells: list[str] = [cell_name(found, words)]
    for variant in variants:
        row = rows.get(variant)
        if row is None:
            cells.append(NOTHING)
            continue
        mean = rate(row.mean.value if row.mean else None)
        said = [_judged(one, words) for one in compared.get(variant, ())]
        cells.append(cell(mean, *said))
    return cells


def _judged(one: Compared, words: Messages) -> Markup:
    """`▲ +12 % (+9 % to +15 %) faster`."""
    sign, look = _LOOKS[one.verdict.word]
    effect = one.verdict.effect
    figures = ""
    if effect is not None:
        figures = f" {signed(effect.relative)}"
        if effect.interval is not None:
            low, high = signed(effect.interval.low), signed(effect.interval.high)
            figures += f" ({low} … {high})"
    said = f"{sign} {words.verdict_words[one.verdict.word]}{figures}"
    return element("span", said, class_=f"word {look}", title=_against(one, words))


def _against(one: Compared, words: Messages) -> str:
    return words.against.format(b=one.contrast.b, a=one.contrast.a)


def cell_name(found: CellTable, words: Messages) -> str:
    """Workload, users, rate."""
    workload, users, due = found.cell
    if found.search:
        objective = found.search.objective
        goal = words.goal_rate.format(objective=objective) if objective else words.goal_peak
        return words.list_comma.join((workload, goal))
    parts = [workload, words.users(users)]
    if due:
        parts.append(words.due_rate.format(rate=asked(due)))
    return words.list_comma.join(parts)


def _cell_table(found: CellTable, words: Messages) -> Markup:
    search = found.search
    measured = (words.searches_head, words.found_head) if search else (words.steps_head, words.tps)
    users = (words.users_axis,) if search and search.peak else ()
    heads = (
        words.variant, *measured, words.interval_95, words.cv_within, words.cv_between,
        words.p95_ms, words.p99_ms, *users,
    )  # fmt: skip
    lines = [
        words.verdict_line.format(
            against=_against(one, words),
            word=words.verdict_words[one.verdict.word],
            units=count(one.pairs),
            left_out=count(one.verdict.units_left_out),
        )
        + _more(one, words)
        for one in found.compared
    ]
    return element(
        "div",
        element("h4", cell_name(found, words)),
        table_of(
            heads, ((*_row(row), *(users_at_peak(row) for _ in users)) for row in found.rows)
        ).html(),
        *(paragraph(line) for line in (*_missed(found, words), *lines)),
    )


def _breakdowns(found: Comparison, words: Messages) -> Iterator[Markup]:
    """Workloads of mixes, and phases, by variant."""
    for each in found.cells:
        for one in breakdowns_of_variants(each.rows, words):
            of_cell = f" ({cell_name(each, words)})" if len(found.cells) > 1 else ""
            yield element("h3", one.title + of_cell)
            yield one.html()


def _missed(found: CellTable, words: Messages) -> Iterator[str]:
    """Searches that ended without a rate that holds the objective."""
    for row in found.rows:
        if row.missed and found.search:
            yield words.searches_missed.format(
                variant=row.variant,
                number=count(row.missed),
                searches=count(len(row.searches)),
                objective=found.search.objective,
            )


def _more(one: Compared, words: Messages) -> str:
    """How much more evidence it would take."""
    if one.verdict.word != "not enough evidence" or one.verdict.more is None:
        return ""
    return f" {words.more_repeats.format(number=one.verdict.more)}"


def _row(row: Row) -> list[str]:
    interval = row.mean.interval if row.mean else None
    response = middle_step(row.steps).latency.response if row.steps else None
    return [
        row.variant,
        count(len(row.searches or row.steps)),
        rate(row.mean.value if row.mean else None),
        NOTHING if interval is None else f"{rate(interval.low)} … {rate(interval.high)}",
        pct(row.variation.within),
        pct(row.variation.between),
        rate(response.p95 if response else None),
        rate(response.p99 if response else None),
    ]


def _factors(experiment: Experiment, words: Messages) -> Markup:
    rows = [
        (factor.name, level.name, "; ".join(_changes(level)) or NOTHING)
        for factor in experiment.factors
        for level in factor.levels
    ]
    return table_of((words.factor, words.level, words.changes), rows, text=3).html()


def _changes(level: Level) -> Iterator[str]:
    """Everything that a level changes."""
    yield from (f"{name} = {value}" for name, value in level.variables.items())
    for part in (level.client, level.sandbox, level.cgroup, level.network):
        if part is not None:
            told = part.model_dump(mode="json", exclude_defaults=True)
            yield from (f"{name}: {value}" for name, value in told.items())
    if level.target is not None:
        yield level.target.place


def _corrected(found: Comparison, words: Messages) -> str:
    said = words.corrected_sequential if found.sequential else words.corrected_holm
    return said.format(number=found.comparisons)
