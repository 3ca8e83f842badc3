"""The comparison of an experiment: each variant's rate, and each level against the first.

A cell is a workload at a concurrency and rate. All contrasts in all cells are corrected together,
so the chance of a false verdict is that of the whole experiment.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median_low

from loadstone.analyse.effects import Effect, Pair, Variation, variation
from loadstone.analyse.experimental_units import Cell, Contrast, Observed, contrasts, sides
from loadstone.analyse.intervals import Estimate, t_mean
from loadstone.analyse.ladder import quotable, steal
from loadstone.analyse.search import holds
from loadstone.analyse.searches import Searched, searched
from loadstone.analyse.sequential import METHOD, look
from loadstone.analyse.verdict import Sides, Spoiled, Verdict, Word, verdicts
from loadstone.experiments.order import cell_of, numbered
from loadstone.model.experiment import Experiment, Variant
from loadstone.model.result import HostFigures, StepResult
from loadstone.model.search import Objective, SearchOutcome, SearchPlan

MOST_STEAL = 0.1
"""Share of all cores. A step from which the hypervisor takes more is invalid. Below that, only the
difference between two sides counts (`experimental_units.STEAL_APART`)."""

THROTTLED_SHARE = 0.01
"""Share of the time above which throttling by a limit that nobody asked for makes a step
invalid."""

NOISE = frozenset[Spoiled]({"client-bound", "steal", "throttled"})
"""Noise that makes a step, or a search's verdict on a rate, invalid: it is not the server's."""


@dataclass(frozen=True)
class Row:
    """One variant in one cell."""

    variant: str
    steps: tuple[StepResult, ...]
    """The steps; of searches, only those at the levels that they found."""
    mean: Estimate | None
    """Mean of the units that count; `None` where none does."""
    variation: Variation
    within: tuple[float, ...]
    """Coefficient of variation of the seconds of each step that counts."""
    searches: tuple[SearchOutcome, ...] = ()
    """The result of each search, also of those that missed the objective."""

    @property
    def missed(self) -> int:
        """The number of searches that ended without a rate that holds the objective."""
        return sum(found.complete and found.value is None for found in self.searches)

    @property
    def users(self) -> int | None:
        """The fewest users at the peak: the median of the searches that found a peak."""
        found = [each.concurrency.value for each in self.searches if each.concurrency]
        return int(median_low(found)) if found else None


@dataclass(frozen=True)
class Compared:
    """Two variants in one cell."""

    contrast: Contrast
    verdict: Verdict
    pairs: int
    """Complete units, including those that were left out."""


@dataclass(frozen=True)
class CellTable:
    """The rows and contrasts of one cell."""

    cell: Cell
    rows: tuple[Row, ...]
    compared: tuple[Compared, ...]
    search: SearchPlan | None = None
    """The search, if any; the cell's users and rate are then those that it starts with."""


@dataclass(frozen=True)
class Comparison:
    """All cells, in the order of the file."""

    cells: tuple[CellTable, ...]
    comparisons: int
    """The number of comparisons that the verdicts were corrected for."""
    sequential: bool
    """Whether the result was looked at after each unit, to decide on the next one (`until`)."""


def compare(
    experiment: Experiment,
    steps: Sequence[StepResult],
    seconds: Mapping[int, Sequence[float]],
) -> Comparison:
    """Compare all cells; `seconds` has each step's events per second, by the step's number."""
    seen = observed(experiment, steps)
    found = [
        (contrast, cell, units)
        for contrast in contrasts(experiment)
        for cell, units in sides(seen, contrast).items()
    ]
    words = _words(experiment, [units for _, _, units in found])
    by_cell: dict[Cell, list[Compared]] = defaultdict(list)
    for (contrast, cell, units), verdict in zip(found, words, strict=True):
        more = verdict.more and _repeats(experiment, verdict.more)
        more_s = more and more * seconds_a_repeat(steps)
        verdict = replace(verdict, more=more, more_s=more_s)
        by_cell[cell].append(Compared(contrast, verdict, len(units)))
    tables = tuple(
        CellTable(cell, tuple(rows), tuple(by_cell.get(cell, ())), experiment.search)
        for cell, rows in _tables(experiment, steps, (seen, seconds))
    )
    return Comparison(tables, len(found), experiment.until is not None)


def seconds_a_repeat(steps: Sequence[StepResult]) -> float:
    """What one more repeat takes: all its steps, from their start to their window's end."""
    repeats = len({step.repeat for step in steps})
    return sum(step.window.to_s if step.window else step.seconds for step in steps) / repeats


def takes_turns_in_blocks(experiment: Experiment) -> bool:
    """Whether a unit is a block, which is one repeat; else it is a round of two repeats."""
    return len({each.at_start(experiment.restarting) for each in experiment.variants}) > 1


def _repeats(experiment: Experiment, units: int) -> int:
    """The number of repeats to add to the file for that many units; always even."""
    return units + units % 2 if takes_turns_in_blocks(experiment) else 2 * units


def observed(experiment: Experiment, steps: Sequence[StepResult]) -> list[Observed]:
    """Each step, or each finished search, as an observation with the reasons against it."""
    if experiment.search:
        return [_of_search(experiment, each) for each in _over(experiment, steps)]
    parts = numbered(experiment, {step.step for step in steps})
    variants = {variant.name: variant for variant in experiment.variants}
    return [
        Observed(
            variant=step.variant,
            cell=cell_of(step),
            unit=parts[step.step].unit,
            forward=parts[step.step].forward,
            rate=step.tps if step.state == "finished" else None,
            spoiled=spoiled(step, variants[step.variant]),
            steal=steal(step),
        )
        for step in steps
    ]


def _over(experiment: Experiment, steps: Sequence[StepResult]) -> list[Searched]:
    """The finished searches: one that the end of the run interrupted has no result."""
    return [each for each in searched(experiment, steps) if each.is_over]


def _of_search(experiment: Experiment, search: Searched) -> Observed:
    """The result of a search as one observation; it counts if the server was the limit."""
    part, found = search.planned, search.found
    variant = next(each for each in experiment.variants if each.name == part.step.variant)
    objective = found.objective
    if objective:
        reasons = limits_in_doubt(search.limiting, objective, variant)
    else:
        reasons = frozenset[Spoiled]().union(*(spoiled(step, variant) for step in search.answer))
    if found.complete and found.value is None:
        reasons |= {"objective missed"}
    rests_on = (*search.answer, *search.limiting)
    return Observed(
        variant=part.step.variant,
        cell=cell_of(part.step),
        unit=part.unit,
        forward=part.forward,
        rate=found.value if found.complete else None,
        spoiled=reasons,
        steal=fmean(steal(step) for step in rests_on) if rests_on else 0.0,
    )


def limits_in_doubt(
    limiting: Sequence[StepResult], objective: Objective, variant: Variant
) -> frozenset[Spoiled]:
    """What may have been the limit instead of the server, unless enough undisturbed steps say no.

    Steps that held the objective held it in spite of any noise. The rate is the server's limit if
    the undisturbed steps that missed the objective are at least as many as those that held it.
    """
    held = [step for step in limiting if step.rate and holds(step, objective)]
    noise = [spoiled(step, variant) & NOISE for step in limiting if step not in held]
    clean = sum(not each for each in noise)
    return frozenset() if clean >= max(len(held), 1) else frozenset[Spoiled]().union(*noise)


def spoiled(step: StepResult, variant: Variant) -> frozenset[Spoiled]:
    """The reasons why a step does not count, from observations other than its rate."""
    found: set[Spoiled] = set()
    hosts = _hosts(step)
    if step.generator.client_bound:
        found.add("client-bound")
    if steal(step) > MOST_STEAL:
        found.add("steal")
    # An instance of two cores is held back on purpose.
    limited = any(level.cgroup for _, level in variant.levels)
    if not limited and any(_throttled(host) > THROTTLED_SHARE for host in hosts):
        found.add("throttled")
    if step.steady is False:
        found.add("unsteady")
    elif not quotable(step) or step.tps is None:
        found.add("incomplete")
    return frozenset(found)


def _hosts(step: StepResult) -> list[HostFigures]:
    return [host for host in (step.host, step.generator_host) if host]


def _throttled(host: HostFigures) -> float:
    return host.rates.get("cgroup.throttled_s", 0.0)


def _place(experiment: Experiment) -> Callable[[StepResult], tuple[int, int, float]]:
    workloads = [workload.name for workload in experiment.workloads]

    def place(step: StepResult) -> tuple[int, int, float]:
        highest = step.rate.highest if step.rate else 0.0
        return workloads.index(step.workload), step.concurrency, highest

    return place


_Known = tuple[Sequence[Observed], Mapping[int, Sequence[float]]]
"""All observations, and each step's events per second by the step's number."""


def _tables(
    experiment: Experiment, steps: Sequence[StepResult], known: _Known
) -> Iterator[tuple[Cell, Iterable[Row]]]:
    """Each cell with the rows of its variants, in the order of the file."""
    if experiment.search:
        begun = {each.cell for each in known[0]}
        workloads = [workload.name for workload in experiment.workloads]
        for cell in sorted(begun, key=lambda cell: workloads.index(cell[0])):
            yield cell, _search_rows(experiment, cell, _over(experiment, steps), known)
        return
    for cell in dict.fromkeys(cell_of(step) for step in sorted(steps, key=_place(experiment))):
        yield cell, _rows(experiment, cell, steps, known)


def _rows(
    experiment: Experiment, cell: Cell, steps: Sequence[StepResult], known: _Known
) -> Iterable[Row]:
    for variant in experiment.variants:
        mine = [step for step in steps if step.variant == variant.name and cell_of(step) == cell]
        if mine:
            yield _row(variant, cell, mine, known)


def _search_rows(
    experiment: Experiment, cell: Cell, over: Sequence[Searched], known: _Known
) -> Iterable[Row]:
    for variant in experiment.variants:
        mine = [
            (seen, search)
            for seen, search in zip(known[0], over, strict=True)
            if (seen.variant, seen.cell) == (variant.name, cell)
        ]
        if not mine:
            continue
        row = _row(variant, cell, [step for _, search in mine for step in search.answer], known)
        found = [[seen.rate] for seen, _ in mine if seen.rate and not seen.spoiled]
        between = variation(found).between
        yield replace(
            row,
            variation=replace(row.variation, between=between),
            searches=tuple(search.found for _, search in mine),
        )


def _row(variant: Variant, cell: Cell, steps: Sequence[StepResult], known: _Known) -> Row:
    seen, seconds = known
    good = [step for step in steps if not spoiled(step, variant)]
    rates = unit_rates(each for each in seen if (each.variant, each.cell) == (variant.name, cell))
    series = [seconds.get(step.step, ()) for step in good]
    each = (variation([one]).within for one in series)
    return Row(
        variant=variant.name,
        steps=tuple(steps),
        mean=t_mean(rates) if rates else None,
        variation=variation(series),
        within=tuple(value for value in each if value is not None),
    )


def unit_rates(steps: Iterable[Observed]) -> list[float]:
    """One rate per valid unit: the mean of its steps."""
    units: dict[int, list[Observed]] = defaultdict(list)
    for step in steps:
        units[step.unit].append(step)
    return [
        fmean(step.rate for step in unit if step.rate is not None)
        for unit in units.values()
        if all(step.rate is not None and not step.spoiled for step in unit)
    ]


def _words(experiment: Experiment, cells: Sequence[Sequence[Sides]]) -> Sequence[Verdict]:
    fixed = verdicts(cells, experiment.rules)
    if experiment.until is None:
        return fixed
    rules = experiment.rules
    return [
        _looked(units, verdict, rules.level, len(cells))
        for units, verdict in zip(cells, fixed, strict=True)
    ]


def good_pairs(units: Sequence[Sides]) -> list[Pair]:
    """The pairs in which both sides count."""
    return [
        Pair(each.a.rate, each.b.rate, each.a_first)
        for each in units
        if each.a.rate and each.b.rate and not (each.a.spoiled | each.b.spoiled)
    ]


def _looked(units: Sequence[Sides], fixed: Verdict, level: float, cells: int) -> Verdict:
    """The verdict that stays valid after a look at every unit, at Bonferroni's level."""
    pairs = good_pairs(units)
    if not pairs or fixed.effect is None:
        return fixed
    seen = look(pairs, level / cells)
    margin = fixed.margin
    word: Word = "not enough evidence"
    if seen.interval:
        low, high = seen.interval.low, seen.interval.high
        if -margin < low and high < margin:
            word = "no difference"
        elif low > 0 or high < 0:
            word = "faster" if low > 0 else "slower"
    effect = Effect(
        relative=seen.relative,
        interval=replace(seen.interval, confidence=1 - level) if seen.interval else None,
        p_value=seen.p_value,
        units=seen.units,
        degrees=max(seen.units - 1.0, 0.0),
        spread=fixed.effect.spread,
        method=METHOD,
    )
    return Verdict(
        word=word,
        margin=margin,
        effect=effect,
        p_difference=min(1.0, seen.p_value * cells),
        p_same=None,
        more=fixed.more if word == "not enough evidence" else None,
        left_out=fixed.left_out,
        units_left_out=fixed.units_left_out,
        provisional=fixed.provisional,
    )


def half_width(units: Sequence[Sides], level: float) -> float:
    """Half the width of the effect's interval, as a share; infinite while there is no interval."""
    pairs = good_pairs(units)
    return look(pairs, level).half_width if pairs else math.inf
