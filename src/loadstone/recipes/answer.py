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

from loadstone.analyse import columns
from loadstone.analyse.comparison import CellTable, Compared, Comparison, Row
from loadstone.analyse.ladder import quotable
from loadstone.lab.experiment_values import bits_per_s
from loadstone.model.columns import Column
from loadstone.model.experiment import Experiment
from loadstone.model.result import StepResult
from loadstone.recipes.filling import Filled
from loadstone.recipes.recipe import Expectation
from loadstone.report.columns import HEADS
from loadstone.report.experiment import cell_name, signed
from loadstone.report.numbers import digits, number_of, rate

LEAST_REPEATS = 3
"""With fewer a figure that is higher each time is higher by chance too often."""

NOT_SHOWN = "not shown here"


@dataclass(frozen=True)
class Found:
    """What a recipe's experiment came to."""

    experiment: Experiment
    comparison: Comparison

    @property
    def cells(self) -> Sequence[CellTable]:
        """In the order of the file."""
        return self.comparison.cells


def answer(filled: Filled, found: Found) -> Iterator[str]:
    """What the field saw, and whether it is so here: two lines for each."""
    for expected in filled.expect:
        yield f"field {expected.field}"
        yield f"here  {_said(expected, filled, found)}"


def _said(expected: Expectation, filled: Filled, found: Found) -> str:
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


def _verdicts(expected: Expectation, found: Found) -> str:
    """The verdicts of one level against the factor's first, what was expected before the rest."""
    judged = [
        (each, cell) for cell in found.cells for each in cell.compared if _is_of(expected, each)
    ]
    if not judged:
        return f"{NOT_SHOWN}: nothing was compared"
    told = "; ".join(_verdict(each, cell, found) for each, cell in judged)
    if expected.word is None:
        return told
    words = [each.verdict.word for each, _ in judged]
    shown = words.count(expected.word)
    opposite = {"faster": "slower", "slower": "faster"}[expected.word]
    if shown:
        head = "shown" if shown == len(words) else f"shown in {shown} of {len(words)} comparisons"
    else:
        head = "the opposite" if opposite in words else NOT_SHOWN
    return f"{head}: {told}"


def _is_of(expected: Expectation, compared: Compared) -> bool:
    wanted = f"{expected.factor}={expected.level}"
    return compared.contrast.factor == expected.factor and wanted in compared.contrast.b.split(",")


def _verdict(each: Compared, cell: CellTable, found: Found) -> str:
    effect = each.verdict.effect
    by = f", {signed(effect.relative)}" if effect else ""
    return f"{_where(cell, each.contrast.b, found)}: {each.verdict}{by}"


def _where(cell: CellTable, variant: str, found: Found) -> str:
    """The cell, and the variant where there is more than one factor."""
    workloads = len({each.cell[0] for each in found.cells})
    name = cell_name(cell.cell) if workloads > 1 else number_of(cell.cell[1], "user")
    return f"{variant}, {name}" if len(found.experiment.factors) > 1 else name


def _columns(expected: Expectation, found: Found) -> str:
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
            where = _where(cell, each.contrast.b, found)
            told.append((is_so, f"{where}: {_pair(expected.column, a, b)}"))
    return _together(expected, told)


def _ladder(expected: Expectation, found: Found) -> str:
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
            users = " and ".join(number_of(each.cell[1], "user") for each in (first, last))
            pair = _pair(expected.column, row, end)
            told.append((is_so, f"{who}{pair} with {users}"))
    return _together(expected, told)


def _together(expected: Expectation, told: Sequence[tuple[bool | None, str]]) -> str:
    if not told:
        return f"{NOT_SHOWN}: nothing was compared"
    known = [is_so for is_so, _ in told if is_so is not None]
    if not known:
        head = "not evaluated"
    elif not any(known):
        head = NOT_SHOWN
    else:
        head = "shown" if all(known) else f"shown in {sum(known)} of {len(known)}"
    assert expected.column is not None, "a test sees to it"
    return f"{head}: {named(expected.column)}, {'; '.join(line for _, line in told)}"


def named(column: Column) -> str:
    """As the table heads it, in one line: `transactions/sync`."""
    return " ".join(HEADS[column].replace("-\n", "").split()).replace(" /", "/")


def _pair(column: Column, a: Row, b: Row) -> str:
    values = [rate(columns.value(column, _good(row))) for row in (a, b)]
    return f"{values[0]} and {values[1]}"


def _differs(expected: Expectation, a: Row, b: Row, margin: float) -> bool | None:
    """Whether B lies beyond A in each repeat and by the margin; `None`: too little was seen."""
    assert expected.column is not None, "a test sees to it"
    first, second = (_values(expected.column, row) for row in (a, b))
    if min(len(first), len(second)) < LEAST_REPEATS:
        return None
    low, high = (first, second) if expected.rises else (second, first)
    return max(low) < min(high) and median(high) > (1 + margin) * median(low)


def _values(column: Column, row: Row) -> list[float]:
    found = (columns.of_step(column, step) for step in _good(row))
    return [value for value in found if value is not None]


def _good(row: Row) -> list[StepResult]:
    return [step for step in row.steps if quotable(step)]


def _line(expected: Expectation, filled: Filled, found: Found) -> str:
    """What a line of that speed would carry of this workload, by the bytes that were counted."""
    assert expected.rate is not None, "a test sees to it"
    speed = bits_per_s(filled.values[expected.rate])
    told = []
    for cell in found.cells:
        for row in cell.rows:
            steps = _good(row)
            mbit = columns.value("line_mbit", steps)
            if not mbit or row.mean is None:
                continue
            most = row.mean.value * speed / (mbit * 1e6)
            where = f"{row.variant}, " if len(cell.rows) > 1 else ""
            told.append(
                f"{where}{cell_name(cell.cell)}: {digits(row.mean.value)} tps are "
                f"{digits(mbit)} Mbit/s, so it carries {digits(most)} tps at most"
            )
    if not told:
        return f"{NOT_SHOWN}: no step may be quoted"
    return f"{'; '.join(told)} (without what TCP and IP add)"


def _costs(found: Found) -> str:
    """What an event waits for with the most users, by variant."""
    last = max(found.cells, key=lambda cell: cell.cell[1], default=None)
    told = [_cost(row) for row in last.rows if _good(row)] if last else []
    if not told or last is None:
        return f"{NOT_SHOWN}: no step may be quoted"
    return f"{number_of(last.cell[1], 'user')}: {'; '.join(told)}"


def _cost(row: Row) -> str:
    def ms(column: Column) -> str:
        return rate(columns.value(column, _good(row)))

    return (
        f"{row.variant}: of {ms('response_ms')} ms an event {ms('lock_ms')} wait for the row and "
        f"{ms('flush_ms')} for the log's flush, and the server's CPU works {ms('server_us')} µs"
    )
