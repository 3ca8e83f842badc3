"""An experiment: the matrix of verdicts, and what its variants differ in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadstone.analyse.comparison import CellTable, Compared, Comparison, Row
from loadstone.analyse.ladder import middle_step
from loadstone.model.experiment import Experiment, Level
from loadstone.model.figure import Count
from loadstone.model.language import Language
from loadstone.model.message import Message, say, say_in
from loadstone.model.numbers import NOTHING, count, pct, rate, signed
from loadstone.report.breakdowns import breakdowns_of_variants
from loadstone.report.experiment import (
    cell_name,
    lacks_interval,
    missed,
    users_at_peak,
    variants_of,
)
from loadstone.report.marks import NO_INTERVAL
from loadstone.report.markup import Markup, cell, element, folded, paragraph
from loadstone.report.names import VERDICT_WORDS, comparison_count
from loadstone.report.sections.context import ReportContext
from loadstone.report.table import table_of

_LOOKS = {
    "faster": ("▲", "good"),
    "slower": ("▼", "bad"),
    "no difference": ("=", "unknown"),
    "not enough evidence": ("?", "unknown"),
}
"""A sign and a class for each verdict, since colour alone is not enough."""


def matrix_title(found: Comparison) -> Message:
    """The title of the section; nothing differs where there is one variant."""
    return say("The matrix") if len(variants_of(found)) == 1 else say("What differs: the matrix")


def matrix_section(context: ReportContext) -> Markup:
    """Cells by variants, each compared with the first level of its factor."""
    words, found = context.words, context.run.comparison
    experiment = context.run.asked.experiment if context.run.asked else None
    if found is None or experiment is None:
        return Markup("")
    is_one = len(variants_of(found)) == 1
    figures = folded(
        words(say("All figures") if is_one else say("All figures and verdicts")),
        *(_cell_table(each, words) for each in found.cells),
    )
    if is_one:
        about = (
            say("Events a second that the searches found. With one variant nothing is compared.")
            if experiment.search
            else say("TPS of each cell. With one variant nothing is compared.")
        )
        parts = [
            paragraph(words(about), "about"),
            _matrix(found, words),
            *_breakdowns(found, words),
            figures,
        ]
        return context.section("matrix", words(matrix_title(found)), *parts)
    parts = [
        paragraph(words(_of_verdicts(experiment)), "about"),
        _matrix(found, words),
        *_breakdowns(found, words),
        element("h3", words(say("What the variants differ in"))),
        _factors(experiment, words),
        figures,
        paragraph(_corrected(found, words), "note"),
    ]
    return context.section("matrix", words(matrix_title(found)), *parts)


def _of_verdicts(experiment: Experiment) -> Message:
    if experiment.search:
        return say(
            "Events a second that each variant's searches found for each workload, with the "
            "verdict against the first level of its factor, the effect and its interval."
        )
    return say(
        "TPS of each variant in each cell, with the verdict against the first level of its "
        "factor, the effect and its interval."
    )


def _matrix(found: Comparison, words: Language) -> Markup:
    variants = variants_of(found)
    heads = (words(say("cell")), *variants)
    return table_of(heads, (_matrix_row(each, variants, words) for each in found.cells)).html()


def _matrix_row(found: CellTable, variants: Sequence[str], words: Language) -> list[str]:
    rows = {row.variant: row for row in found.rows}
    compared: dict[str, list[Compared]] = {}
    for one in found.compared:
        compared.setdefault(one.contrast.b, []).append(one)
    cells: list[str] = [cell_name(found.cell, found.search, words)]
    for variant in variants:
        row = rows.get(variant)
        if row is None:
            cells.append(NOTHING)
            continue
        mean = rate(row.mean.value if row.mean else None)
        said = [_judged(one, words) for one in compared.get(variant, ())]
        cells.append(cell(mean, *said))
    return cells


def _judged(one: Compared, words: Language) -> Markup:
    """`▲ +12 % (+9 % to +15 %) faster`."""
    sign, look = _LOOKS[one.verdict.word]
    effect = one.verdict.effect
    figures = ""
    if effect is not None:
        figures = f" {signed(effect.relative)}"
        if effect.interval is not None:
            low, high = signed(effect.interval.low), signed(effect.interval.high)
            figures += f" ({low} … {high})"
    said = f"{sign} {words(VERDICT_WORDS[one.verdict.word])}{figures}"
    return element("span", said, class_=f"word {look}", title=_against(one, words))


def _against(one: Compared, words: Language) -> str:
    return words(say("{b} against {a}", b=one.contrast.b, a=one.contrast.a))


def _cell_table(found: CellTable, words: Language) -> Markup:
    search = found.search
    measured = (
        (words(say("searches")), words(say("found /s")))
        if search
        else (words(say("steps")), words(say("TPS")))
    )
    users = (words(say("users")),) if search and search.peak else ()
    heads = (
        words(say("variant")), *measured, words(say("95 % interval")), words(say("CV within")),
        words(say("CV between")),
        words(say("p95, ms")), words(say("p99, ms")), *users,
    )  # fmt: skip
    lines = [words(_standing(one, words)) for one in found.compared]
    return element(
        "div",
        element("h4", cell_name(found.cell, found.search, words)),
        table_of(
            heads, ((*_row(row), *(users_at_peak(row) for _ in users)) for row in found.rows)
        ).html(),
        *([paragraph(words(NO_INTERVAL), "note")] if lacks_interval(found.rows) else []),
        *(paragraph(line) for line in (*missed(found, words), *lines)),
    )


def _breakdowns(found: Comparison, words: Language) -> Iterator[Markup]:
    """Workloads of mixes, and phases, by variant."""
    for each in found.cells:
        for one in breakdowns_of_variants(each.rows, words):
            title: str = one.title
            if len(found.cells) > 1:
                named = cell_name(each.cell, each.search, words)
                title = say("{title} ({cell})", title=title, cell=named)
            yield element("h3", words(title))
            yield one.html()


def _standing(one: Compared, words: Language) -> Message:
    return say(
        "{against}: {verdict}; {units} units, {left_out} of them left out.",
        against=_against(one, words),
        verdict=one.verdict.said,
        units=Count(one.pairs),
        left_out=Count(one.verdict.units_left_out),
    )


def _row(row: Row) -> list[str]:
    interval = row.mean.of_a_rate if row.mean else None
    response = middle_step(row.steps).latency.response if row.steps else None
    return [
        row.variant,
        count(len(row.searches or row.steps)),
        rate(row.mean.value if row.mean else None),
        NOTHING if interval is None else f"{rate(interval.low)} … {rate(interval.high)}",
        pct(row.variation.within),
        pct(row.variation.between),
        str(response.figure("p95")) if response else NOTHING,
        str(response.figure("p99")) if response else NOTHING,
    ]


def _factors(experiment: Experiment, words: Language) -> Markup:
    rows = [
        (factor.name, level.name, "; ".join(_changes(level)) or NOTHING)
        for factor in experiment.factors
        for level in factor.levels
    ]
    return table_of(
        (words(say("factor")), words(say_in("factor", "level")), words(say("changes"))),
        rows,
        text=3,
    ).html()


def _changes(level: Level) -> Iterator[str]:
    """All settings that a level changes."""
    yield from (f"{name} = {value}" for name, value in level.variables.items())
    yield from (f"session {name} = {value}" for name, value in level.per_session.items())
    for part in (level.client, level.sandbox, level.cgroup, level.network):
        if part is not None:
            told = part.model_dump(mode="json", exclude_defaults=True)
            yield from (f"{name}: {value}" for name, value in told.items())
    if level.target is not None:
        yield level.target.place


def _corrected(found: Comparison, words: Language) -> str:
    each = comparison_count(found.comparisons)
    if found.sequential:
        return words(
            say(
                "Verdicts and intervals hold at all looks together, corrected for {each} by "
                "Bonferroni's method.",
                each=each,
            )
        )
    return words(
        say(
            "Verdicts, p-values and intervals are corrected for {each} by Holm's method.",
            each=each,
        )
    )
