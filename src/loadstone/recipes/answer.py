"""Whether the field's result is seen here: shown, the opposite, no difference, undecided, not so.

Nothing is inferred from a single step. For rates the experiment's own verdicts are quoted. For
other figures one side must be above the other in every repeat, by more than the experiment's
margin: with three repeats of each side chance alone does that once in twenty times (R. A. Fisher's
exact permutation test), with four once in seventy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

from loadstone.analyse import derived_figures
from loadstone.analyse.comparison import CellTable, Compared, Comparison, Row
from loadstone.analyse.ladder import quotable
from loadstone.analyse.verdict import Verdict
from loadstone.config.values import bits_per_s
from loadstone.model.columns import Column
from loadstone.model.experiment import Experiment
from loadstone.model.figure import Change, Count, Percent, Rate
from loadstone.model.message import Joined, Message, say, user_count
from loadstone.model.recipe import RecipeAsked
from loadstone.model.result import StepResult
from loadstone.recipes.filling import Filled, fill
from loadstone.recipes.recipe import Expectation, RecipeRefused, recipe
from loadstone.report.columns import HEADS
from loadstone.report.comparing import SWINGS, SWINGS_MORE
from loadstone.report.names import VERDICT_WORDS

LEAST_REPEATS = 3
"""With fewer, chance alone too often makes a figure higher in each repeat."""

_CHANCE = 0.05
"""A figure that chance alone makes so much higher more often than this is not called higher."""

NOT_SO = say("not so here")
"""It was measured, and is not as the field saw it."""
NO_DIFFERENCE = say("no difference here")
UNDECIDED = say("undecided")
"""It was measured, with too little evidence for any answer."""
NOT_EVALUATED = say("not evaluated")
"""It was not measured, or its seconds are of too few repeats that count."""
_NOTHING = say("nothing was compared")
_NO_STEP = say("no step may be quoted")


@dataclass(frozen=True)
class Found:
    """The outcome of a recipe's experiment."""

    experiment: Experiment
    comparison: Comparison

    @property
    def cells(self) -> Sequence[CellTable]:
        """The cells, in the order of the file."""
        return self.comparison.cells


def answer_of(
    asked: RecipeAsked, experiment: Experiment, comparison: Comparison
) -> Iterator[Message]:
    """The answer of a run, at its end or long after."""
    try:
        filled = fill(recipe(asked.name), asked.given, quick=asked.quick, is_root=asked.as_root)
    except RecipeRefused:  # a recipe of another version
        yield say("note  no answer: the recipe {recipe} has changed since", recipe=asked.name)
        return
    yield from answer(filled, Found(experiment, comparison))
    if filled.note:
        yield say("note  {text}", text=filled.note)


def answer(filled: Filled, found: Found) -> Iterator[Message]:
    """The field's result, and whether it is seen here, with the figures; one line each."""
    for expected in filled.expect:
        yield say("field:  {sentence}", sentence=expected.field)
        head, details = _said(expected, filled, found)
        if len(details) == 1:
            yield say("here:   {answer}: {figures}", answer=head, figures=details[0])
        else:
            yield say("here:   {answer}", answer=head)
            yield from (say("        {figures}", figures=line) for line in details)


Said = tuple[Message, Sequence[Message]]
"""Whether the expectation holds, and the figures, one for each comparison."""


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
    """The verdicts on one level against the factor's first, the expected ones first."""
    judged = [
        (each, cell) for cell in found.cells for each in cell.compared if _is_of(expected, each)
    ]
    if not judged:
        return NOT_EVALUATED, [_NOTHING]
    told = [_verdict(each, cell, found) for each, cell in judged]
    if expected.word is None:
        return say("{level} against the first", level=expected.level), told
    words = [each.verdict.word for each, _ in judged]
    shown = words.count(expected.word)
    opposite = {"faster": "slower", "slower": "faster"}[expected.word]
    if shown == len(words):
        return say("shown"), told
    if shown:
        return _shown_in(shown, len(words)), told
    if opposite in words:
        return say("the opposite"), told
    return NO_DIFFERENCE if set(words) == {"no difference"} else UNDECIDED, told


def _shown_in(number: int, of: int) -> Message:
    return say("shown in {number} of {all} comparisons", number=number, all=of)


def _is_of(expected: Expectation, compared: Compared) -> bool:
    wanted = f"{expected.factor}={expected.level}"
    return compared.contrast.factor == expected.factor and wanted in compared.contrast.b.split(",")


def _verdict(each: Compared, cell: CellTable, found: Found) -> Message:
    effect = each.verdict.effect
    where, verdict = _where(cell, each.contrast.b, found), _quoted(each.verdict)
    if effect is None:
        return say("{where}: {verdict}", where=where, verdict=verdict)
    return say(
        "{where}: {verdict}, {change}",
        where=where,
        verdict=verdict,
        change=Change(effect.relative),
    )


def _quoted(verdict: Verdict) -> Message:
    """The verdict with the figures that support it."""
    if verdict.word in ("faster", "slower"):
        return VERDICT_WORDS[verdict.word]
    return verdict.said


def _where(cell: CellTable, variant: str, found: Found) -> Joined:
    """The cell, and the variant if there is more than one factor."""
    name = _cell(cell) if _workloads(found) > 1 else _users(cell)
    return Joined((variant, name) if len(found.experiment.factors) > 1 else (name,))


def _workloads(found: Found) -> int:
    return len({each.cell[0] for each in found.cells})


def _users(cell: CellTable) -> Message:
    return user_count(cell.cell[1])


def _cell(cell: CellTable) -> Joined:
    """The name of a cell: `oltp_read_write, 64 users`."""
    return Joined((cell.cell[0], _users(cell)))


def _columns(expected: Expectation, found: Found) -> Said:
    """A figure of one level compared with the factor's first."""
    assert expected.column is not None, "a test sees to it"
    told: list[tuple[_Outcome, Message]] = []
    for cell in found.cells:
        rows = {row.variant: row for row in cell.rows}
        for each in cell.compared:
            if not _is_of(expected, each):
                continue
            a, b = rows[each.contrast.a], rows[each.contrast.b]
            outcome = _differs(expected, a, b, found.experiment.rules.margin)
            said = say(
                "{where}: {first} with {a}, {second} with {b}",
                where=_cell(cell) if _workloads(found) > 1 else _users(cell),
                first=_figure(expected.column, a),
                a=a.variant,
                second=_figure(expected.column, b),
                b=b.variant,
            )
            told.append((outcome, said))
    return _together(expected, found, told)


def _ladder(expected: Expectation, found: Found) -> Said:
    """A figure at the fewest users compared with the most."""
    assert expected.column is not None, "a test sees to it"
    told: list[tuple[_Outcome, Message]] = []
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
            outcome = _differs(expected, row, end, found.experiment.rules.margin)
            said = say(
                "{first} with {few}, {second} with {many}",
                first=_figure(expected.column, row),
                few=_users(first),
                second=_figure(expected.column, end),
                many=_users(last),
            )
            told.append((outcome, _of_variant(row, said) if len(first.rows) > 1 else said))
    return _together(expected, found, told)


def _of_variant(row: Row, figures: Message) -> Message:
    return say("{variant}: {figures}", variant=row.variant, figures=figures)


def _together(
    expected: Expectation, found: Found, told: Sequence[tuple[_Outcome, Message]]
) -> Said:
    if not told:
        return NOT_EVALUATED, [_NOTHING]
    outcomes = [outcome for outcome, _ in told]
    known = [outcome == "higher" for outcome in outcomes if outcome in ("higher", "not higher")]
    assert expected.column is not None, "a test sees to it"
    figure = named(expected.column)
    if known:
        head = say("{answer}: {figure}", answer=_shown(known), figure=figure)
    elif "unsure" in outcomes:
        why = say("the repeats differ too much")
        head = say("{answer}: {figure} ({why})", answer=UNDECIDED, figure=figure, why=why)
    elif _is_measured(expected.column, found):
        few = say("fewer than {number} repeats that count", number=Count(LEAST_REPEATS))
        head = say("{answer}: {figure} ({why})", answer=UNDECIDED, figure=figure, why=few)
    else:
        head = say("{answer}: {figure}", answer=NOT_EVALUATED, figure=figure)
    return head, [line for _, line in told]


def _is_measured(column: Column, found: Found) -> bool:
    return any(_values(column, row) for cell in found.cells for row in cell.rows)


class _Heading(Joined):
    """A column's heading in one line: `transactions/sync`, in Chinese `事务/刷盘`."""

    __slots__ = ()

    def joined(self, text_of: Callable[[Any], str], said: Callable[[Message], str]) -> str:
        text = super().joined(text_of, said).replace("-\n", "").replace("\n/", "/")
        return _BETWEEN_CHINESE.sub("", " ".join(text.split()))


_BETWEEN_CHINESE = re.compile(r"(?<=[\u4e00-\u9fff]) (?=[\u4e00-\u9fff])")


def named(column: Column) -> Joined:
    """A column's heading in one line."""
    return _Heading((HEADS[column],))


def _figure(column: Column, row: Row) -> Rate:
    return Rate(derived_figures.value(column, _good(row)))


_Outcome = Literal["higher", "not higher", "unsure", "few"]
"""`unsure`: higher, but that may be chance; `few`: there are too few repeats that count."""


def _differs(expected: Expectation, a: Row, b: Row, margin: float) -> _Outcome:
    """Whether B exceeds A by the margin, and not by chance (Mann and Whitney's test, one side).

    H. B. Mann, D. R. Whitney, Annals of Mathematical Statistics 18(1), 1947.
    """
    assert expected.column is not None, "a test sees to it"
    first, second = (_values(expected.column, row) for row in (a, b))
    if min(len(first), len(second)) < LEAST_REPEATS:
        return "few"
    low, high = (first, second) if expected.rises else (second, first)
    if median(high) <= (1 + margin) * median(low):
        return "not higher"
    # Importing scipy.stats takes a second.
    from scipy.stats import mannwhitneyu

    return (
        "higher" if mannwhitneyu(high, low, alternative="greater").pvalue <= _CHANCE else "unsure"
    )


def _values(column: Column, row: Row) -> list[float]:
    found = (derived_figures.of_step(column, step) for step in _good(row))
    return [value for value in found if value is not None]


def _good(row: Row) -> list[StepResult]:
    return [step for step in row.steps if quotable(step)]


def _line(expected: Expectation, filled: Filled, found: Found) -> Said:
    """The rate of this workload that a line of that speed could carry, from the counted bytes."""
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
            told.append(
                say(
                    "{where}: {tps} tps are {mbit} Mbit/s, so the network carries {most} tps at"
                    " most",
                    where=Joined(
                        [row.variant, _cell(cell)] if len(cell.rows) > 1 else [_cell(cell)]
                    ),
                    tps=Rate(row.mean.value),
                    mbit=Rate(mbit),
                    most=Rate(most),
                )
            )
    if not told:
        return NOT_EVALUATED, [_NO_STEP]
    speed_said = filled.values[expected.rate]
    return say("a network of {speed}, without what TCP and IP add", speed=speed_said), told


def _costs(found: Found) -> Said:
    """Where an event's time goes at the most users, by variant."""
    last = max(found.cells, key=lambda cell: cell.cell[1], default=None)
    told = [_cost(row) for row in last.rows if _good(row)] if last else []
    if not told or last is None:
        return NOT_EVALUATED, [_NO_STEP]
    return say("what an event takes with {users}", users=_users(last)), told


def _cost(row: Row) -> Message:
    return say(
        "{variant}: {response} ms, of which {lock} wait for the row and {flush} for the log's"
        " flush; {cpu} µs of the server's CPU",
        variant=row.variant,
        response=_figure("response_ms", row),
        lock=_figure("lock_ms", row),
        flush=_figure("flush_ms", row),
        cpu=_figure("server_us", row),
    )


def _swings(expected: Expectation, found: Found) -> Said:
    """How much the seconds within a level's steps vary, compared with the factor's first level."""
    told: list[tuple[bool, Message]] = []
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
                    say(
                        "{where}: seconds vary by {even} of the mean with {a}, by {uneven} with"
                        " {b}",
                        where=_cell(cell),
                        even=Percent(even),
                        a=a.variant,
                        uneven=Percent(uneven),
                        b=b.variant,
                    ),
                )
            )
    if not told:
        said = say("no level has {number} repeats that count", number=Count(LEAST_REPEATS))
        return NOT_EVALUATED, [said]
    return _shown([is_so for is_so, _ in told]), [line for _, line in told]


def _shown(known: Sequence[bool]) -> Message:
    """A summary of several comparisons."""
    if not any(known):
        return NOT_SO
    return say("shown") if all(known) else _shown_in(sum(known), len(known))
