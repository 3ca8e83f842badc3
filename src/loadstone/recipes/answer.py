"""Whether what the field saw is seen here: shown, the opposite, or not shown.

Nothing is inferred from a single step. Of rates the experiment's own verdicts are quoted. Of other
figures one side must lie above the other in every repeat, by more than the experiment's margin:
with three repeats of each side chance alone does that once in twenty times (R. A. Fisher's exact
permutation test), with four once in seventy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from loadstone.analyse import derived_figures
from loadstone.analyse.comparison import CellTable, Compared, Comparison, Row
from loadstone.analyse.ladder import quotable
from loadstone.config.values import bits_per_s
from loadstone.model.columns import Column
from loadstone.model.experiment import Experiment
from loadstone.model.numbers import digits, number_of, pct, rate, signed
from loadstone.model.recipe import RecipeAsked
from loadstone.model.result import StepResult
from loadstone.recipes.filling import Filled, fill
from loadstone.recipes.recipe import Expectation, RecipeRefused, recipe
from loadstone.report.columns import HEADS
from loadstone.report.comparing import SWINGS, SWINGS_MORE
from loadstone.report.experiment import cell_name

LEAST_REPEATS = 3
"""With fewer a figure that is higher each time is higher by chance too often."""

NOT_SHOWN = "not shown here"
NOT_EVALUATED = "not evaluated"
_NOTHING = "nothing was compared"
_NO_STEP = "no step may be quoted"


@dataclass(frozen=True)
class Found:
    """What a recipe's experiment came to."""

    experiment: Experiment
    comparison: Comparison

    @property
    def cells(self) -> Sequence[CellTable]:
        """In the order of the file."""
        return self.comparison.cells


def answer_of(asked: RecipeAsked, experiment: Experiment, comparison: Comparison) -> Iterator[str]:
    """The answer of a run that was carried out, now or long ago."""
    try:
        filled = fill(recipe(asked.name), asked.given, quick=asked.quick, is_root=asked.as_root)
    except RecipeRefused:  # it was one of another version
        yield f"note  no answer: the recipe {asked.name} has changed since"
        return
    yield from answer(filled, Found(experiment, comparison))
    if filled.note:
        yield f"note  {filled.note}"


def answer(filled: Filled, found: Found) -> Iterator[str]:
    """What the field saw, and whether it is so here, with what that stands on."""
    for expected in filled.expect:
        yield f"field {expected.field}"
        head, details = _said(expected, filled, found)
        if len(details) == 1:
            yield f"here  {head}: {details[0]}"
        else:
            yield f"here  {head}"
            yield from (f"      {line}" for line in details)


Said = tuple[str, Sequence[str]]
"""Whether it is so, and the figures, one for each comparison."""


def _said(expected: Expectation, filled: Filled, found: Found) -> Said:
    match expected.kind:
        case "verdict":
            return _verdicts(expected, found)
        case "column":
            return _columns(expected, found)
        case "ladder":
            return _ladder(expected, found)
        case "line":
            return _line(expected, filled, found)
        case "costs":
            return _costs(found)
        case "swings":
            return _swings(expected, found)


def _verdicts(expected: Expectation, found: Found) -> Said:
    """The verdicts of one level against the factor's first, what was expected before the rest."""
    judged = [
        (each, cell) for cell in found.cells for each in cell.compared if _is_of(expected, each)
    ]
    if not judged:
        return NOT_SHOWN, [_NOTHING]
    told = [_verdict(each, cell, found) for each, cell in judged]
    if expected.word is None:
        return f"{expected.level} against the first", told
    words = [each.verdict.word for each, _ in judged]
    shown = words.count(expected.word)
    opposite = {"faster": "slower", "slower": "faster"}[expected.word]
    if shown:
        head = "shown" if shown == len(words) else f"shown in {shown} of {len(words)} comparisons"
    else:
        head = "the opposite" if opposite in words else NOT_SHOWN
    return head, told


def _is_of(expected: Expectation, compared: Compared) -> bool:
    wanted = f"{expected.factor}={expected.level}"
    return compared.contrast.factor == expected.factor and wanted in compared.contrast.b.split(",")


def _verdict(each: Compared, cell: CellTable, found: Found) -> str:
    effect = each.verdict.effect
    by = f", {signed(effect.relative)}" if effect else ""
    return f"{_where(cell, each.contrast.b, found)}: {each.verdict}{by}"


def _where(cell: CellTable, variant: str, found: Found) -> str:
    """The cell, and the variant where there is more than one factor."""
    name = cell_name(cell.cell) if _workloads(found) > 1 else _users(cell)
    return f"{variant}, {name}" if len(found.experiment.factors) > 1 else name


def _workloads(found: Found) -> int:
    return len({each.cell[0] for each in found.cells})


def _users(cell: CellTable) -> str:
    return number_of(cell.cell[1], "user")


def _columns(expected: Expectation, found: Found) -> Said:
    """A figure of one level against that of the factor's first."""
    assert expected.column is not None, "a test sees to it"
    told: list[tuple[bool | None, str]] = []
    for cell in found.cells:
        rows = {row.variant: row for row in cell.rows}
        for each in cell.compared:
            if not _is_of(expected, each):
                continue
            a, b = rows[each.contrast.a], rows[each.contrast.b]
            is_so = _differs(expected, a, b, found.experiment.rules.margin)
            values = [_figure(expected.column, row) for row in (a, b)]
            users = cell_name(cell.cell) if _workloads(found) > 1 else _users(cell)
            told.append(
                (is_so, f"{users}: {values[0]} with {a.variant}, {values[1]} with {b.variant}")
            )
    return _together(expected, told)


def _ladder(expected: Expectation, found: Found) -> Said:
    """A figure at the fewest users against that at the most."""
    assert expected.column is not None, "a test sees to it"
    told: list[tuple[bool | None, str]] = []
    for workload in dict.fromkeys(cell.cell[0] for cell in found.cells):
        cells = sorted(
            (cell for cell in found.cells if cell.cell[0] == workload),
            key=lambda cell: cell.cell[1],
        )
        first, last = cells[0], cells[-1]
        ends = {row.variant: row for row in last.rows}
        for row in first.rows:
            if first is last or row.variant not in ends:
                continue
            end = ends[row.variant]
            is_so = _differs(expected, row, end, found.experiment.rules.margin)
            who = f"{row.variant}: " if len(first.rows) > 1 else ""
            values = [_figure(expected.column, each) for each in (row, end)]
            said = f"{who}{values[0]} with {_users(first)}, {values[1]} with {_users(last)}"
            told.append((is_so, said))
    return _together(expected, told)


def _together(expected: Expectation, told: Sequence[tuple[bool | None, str]]) -> Said:
    if not told:
        return NOT_SHOWN, [_NOTHING]
    known = [is_so for is_so, _ in told if is_so is not None]
    head = _shown(known) if known else NOT_EVALUATED
    assert expected.column is not None, "a test sees to it"
    return f"{head}: {named(expected.column)}", [line for _, line in told]


def named(column: Column) -> str:
    """A column's head in one line: `transactions/sync`."""
    return " ".join(HEADS[column].replace("-\n", "").split()).replace(" /", "/")


def _figure(column: Column, row: Row) -> str:
    return rate(derived_figures.value(column, _good(row)))


def _differs(expected: Expectation, a: Row, b: Row, margin: float) -> bool | None:
    """Whether B lies beyond A in each repeat and by the margin; `None`: too little was seen."""
    assert expected.column is not None, "a test sees to it"
    first, second = (_values(expected.column, row) for row in (a, b))
    if min(len(first), len(second)) < LEAST_REPEATS:
        return None
    low, high = (first, second) if expected.rises else (second, first)
    return max(low) < min(high) and median(high) > (1 + margin) * median(low)


def _values(column: Column, row: Row) -> list[float]:
    found = (derived_figures.of_step(column, step) for step in _good(row))
    return [value for value in found if value is not None]


def _good(row: Row) -> list[StepResult]:
    return [step for step in row.steps if quotable(step)]


def _line(expected: Expectation, filled: Filled, found: Found) -> Said:
    """What a line of that speed would carry of this workload, by the bytes that were counted."""
    assert expected.rate is not None, "a test sees to it"
    speed = bits_per_s(filled.values[expected.rate])
    told = []
    for cell in found.cells:
        for row in cell.rows:
            steps = _good(row)
            mbit = derived_figures.value("line_mbit", steps)
            if not mbit or row.mean is None:
                continue
            most = row.mean.value * speed / (mbit * 1e6)
            where = f"{row.variant}, " if len(cell.rows) > 1 else ""
            told.append(
                f"{where}{cell_name(cell.cell)}: {digits(row.mean.value)} tps are "
                f"{digits(mbit)} Mbit/s, so the line carries {digits(most)} tps at most"
            )
    if not told:
        return NOT_SHOWN, [_NO_STEP]
    return f"a line of {filled.values[expected.rate]}, without what TCP and IP add", told


def _costs(found: Found) -> Said:
    """What an event waits for with the most users, by variant."""
    last = max(found.cells, key=lambda cell: cell.cell[1], default=None)
    told = [_cost(row) for row in last.rows if _good(row)] if last else []
    if not told or last is None:
        return NOT_SHOWN, [_NO_STEP]
    return f"what an event takes with {_users(last)}", told


def _cost(row: Row) -> str:
    return (
        f"{row.variant}: {_figure('response_ms', row)} ms, of which {_figure('lock_ms', row)} wait "
        f"for the row and {_figure('flush_ms', row)} for the log's flush; "
        f"{_figure('server_us', row)} µs of the server's CPU"
    )


def _swings(expected: Expectation, found: Found) -> Said:
    """How much the seconds within steps of a level vary, beside those of the factor's first."""
    told: list[tuple[bool, str]] = []
    for cell in found.cells:
        rows = {row.variant: row for row in cell.rows}
        for each in cell.compared:
            if not _is_of(expected, each):
                continue
            a, b = rows[each.contrast.a], rows[each.contrast.b]
            if min(len(a.within), len(b.within)) < LEAST_REPEATS:
                continue
            even, uneven = median(a.within), median(b.within)
            is_so = uneven >= max(SWINGS, SWINGS_MORE * even) and min(b.within) > max(a.within)
            told.append(
                (
                    is_so,
                    f"{cell_name(cell.cell)}: seconds vary by {pct(even)} of the mean with "
                    f"{a.variant}, by {pct(uneven)} with {b.variant}",
                )
            )
    if not told:
        return NOT_EVALUATED, [f"no level has {LEAST_REPEATS} repeats that count"]
    return _shown([is_so for is_so, _ in told]), [line for _, line in told]


def _shown(known: Sequence[bool]) -> str:
    """Of some comparisons."""
    if not any(known):
        return NOT_SHOWN
    return "shown" if all(known) else f"shown in {sum(known)} of {len(known)}"
