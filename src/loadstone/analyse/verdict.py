"""Verdicts on B against A: faster, slower, no difference within a margin, or not enough evidence.

Each cell (a workload at a concurrency and rate) gets two tests. A t test: is there a difference at
all? Two one-sided tests: is it smaller than a relevant one (D. J. Schuirmann, J. Pharmacokinet.
Biopharm. 15, 1987)? Each test is corrected for the number of cells by Holm's method, so a table of
40 cells is no more likely to contain a false verdict than a single one. The quoted interval is
widened by the same correction: it excludes no difference exactly where the verdict is "faster" or
"slower".

Units are left out for reasons other than their outcome, and are counted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from loadstone.analyse.effects import Effect, Pair, holm_factors, paired, unpaired
from loadstone.analyse.power import units_needed
from loadstone.model.experiment import Rules
from loadstone.model.figure import Change, General, Percent, Seconds
from loadstone.model.message import Message, counted, say

Word = Literal["faster", "slower", "no difference", "not enough evidence"]

Spoiled = Literal[
    "client-bound",
    "steal",
    "throttled",
    "unsteady",
    "incomplete",
    "nothing done",
    "objective missed",
]
"""Reasons to leave a unit out: the generator was the limit, the hypervisor or a limit took CPU time
away, the series never settled, the step did not finish. Only the last two of the list are outcomes:
a rate of zero, and a search that found no rate within its objective, have no ratio to anything, so
they are reported but not computed with."""

REASONS: Mapping[Spoiled, Message] = {
    "client-bound": say("client-bound"),
    "steal": say("CPU steal"),
    "throttled": say("throttled"),
    "unsteady": say("unsteady"),
    "incomplete": say("incomplete"),
    "nothing done": say("nothing done"),
    "objective missed": say("objective missed"),
}
"""The reasons as text for a person."""


A_NIGHT_S = 8 * 3600.0
"""Nobody waits longer for one answer: beyond it the machine is too noisy for the question."""

FAR_BEYOND = 20
"""Times the units measured so far: a need that is extrapolated farther than that is no promise."""


@dataclass(frozen=True)
class Unit:
    """A round or block of steps: events a second, or `None` if one of its steps has no rate."""

    rate: float | None
    spoiled: frozenset[Spoiled] = frozenset()


@dataclass(frozen=True)
class Sides:
    """A unit of A and the unit of B that is paired with it."""

    a: Unit
    b: Unit
    a_first: bool | None = None


@dataclass(frozen=True)
class Unpaired:
    """Units of A and of B that were not measured side by side: two runs, on two hosts."""

    a: tuple[Unit, ...]
    b: tuple[Unit, ...]


@dataclass(frozen=True)
class Verdict:
    """The verdict on one cell, and the evidence for it."""

    word: Word
    margin: float
    effect: Effect | None
    """`None` if a side has no unit left."""
    p_difference: float | None
    """P-value of no difference, corrected for all cells."""
    p_same: float | None
    """P-value of a difference beyond the margin, also corrected."""
    more: int | None
    """Units of each side that are still needed if there is not enough evidence; `None` if their
    spread is unknown."""
    left_out: Mapping[Spoiled, int]
    """The number of units (or pairs) by reason; a unit with several reasons counts for each."""
    units_left_out: int
    provisional: float | None = None
    """B / A - 1 of all units that have a rate, where every one of them was left out: weak
    evidence, as what disturbed them may have made the difference."""
    more_s: float | None = None
    """Seconds that `more` takes; `None`: not known."""

    @property
    def said(self) -> Message:
        """The verdict as text for a person."""
        match self.word:
            case "faster":
                return say("faster")
            case "slower":
                return say("slower")
            case "no difference":
                return say("no difference within {margin} %", margin=General(100 * self.margin))
        if self.provisional is not None:
            return say(
                "not enough evidence: every unit was disturbed; provisionally {change}, weak "
                "evidence",
                change=Change(self.provisional),
            )
        return self._what_is_missing()

    def _what_is_missing(self) -> Message:
        if self.more is None or self.effect is None:
            return say("not enough evidence: too few undisturbed units, use more repeats")
        if self.more_s is None:
            return counted(
                "not enough evidence: 1 more repeat",
                "not enough evidence: {number} more repeats",
                self.more,
            )
        if self.more_s > A_NIGHT_S or self.more > FAR_BEYOND * self.effect.units:
            return say(
                "cannot be decided on this machine in reasonable time: its noise is ± {noise} from "
                "repeat to repeat",
                noise=Percent(math.expm1(self.effect.spread)),
            )
        return counted(
            "not enough evidence: 1 more repeat, about {time}",
            "not enough evidence: {number} more repeats, about {time}",
            self.more,
            time=Seconds(self.more_s),
        )

    def __str__(self) -> str:
        return str(self.said)


def verdicts(
    cells: Sequence[Sequence[Sides] | Unpaired], rules: Rules | None = None
) -> tuple[Verdict, ...]:
    """The verdict on each cell, in the given order; a call takes all cells of one comparison."""
    rules = rules or Rules()
    looked = [_look(sides, rules) for sides in cells]
    differs = _factors([look.differs for look in looked])
    same = _factors([look.same for look in looked])
    return tuple(
        _verdict(look, rules, factors, len(cells))
        for look, *factors in zip(looked, differs, same, strict=True)
    )


@dataclass(frozen=True)
class _Look:
    effect: Effect | None
    provisional: float | None
    same: float | None
    left_out: Mapping[Spoiled, int]
    units_left_out: int

    @property
    def differs(self) -> float | None:
        return self.effect.p_value if self.effect else None


def _look(cell: Sequence[Sides] | Unpaired, rules: Rules) -> _Look:
    confidence = 1 - rules.level
    if isinstance(cell, Unpaired):
        faults = [_faults(unit) for unit in (*cell.a, *cell.b)]
    else:
        faults = [_faults(each.a) | _faults(each.b) for each in cell]
    effect = _effect(cell, confidence, with_disturbed=False)
    disturbed = None if effect else _effect(cell, confidence, with_disturbed=True)
    left_out = Counter(fault for each in faults for fault in each)
    same = same_within(effect, rules.margin) if effect else None
    return _Look(
        effect,
        disturbed.relative if disturbed else None,
        same,
        dict(left_out),
        sum(map(bool, faults)),
    )


def _effect(
    cell: Sequence[Sides] | Unpaired, confidence: float, *, with_disturbed: bool
) -> Effect | None:
    """Of the units that count, or of all that have a rate."""

    def counts(unit: Unit) -> bool:
        return with_disturbed or not _faults(unit)

    if isinstance(cell, Unpaired):
        a, b = (
            [unit.rate for unit in side if unit.rate and counts(unit)] for side in (cell.a, cell.b)
        )
        return unpaired(a, b, confidence) if a and b else None
    pairs = [
        Pair(each.a.rate, each.b.rate, each.a_first)
        for each in cell
        if each.a.rate and each.b.rate and counts(each.a) and counts(each.b)
    ]
    return paired(pairs, confidence) if pairs else None


def _faults(unit: Unit) -> frozenset[Spoiled]:
    if "objective missed" in unit.spoiled:
        return unit.spoiled
    if unit.rate is None:
        return unit.spoiled | {"incomplete"}
    return unit.spoiled if unit.rate > 0 else unit.spoiled | {"nothing done"}


def same_within(effect: Effect, margin: float) -> float | None:
    """P-value of a difference of the margin or more; `None` if it is unknown."""
    from scipy.special import stdtr

    if effect.p_value is None:
        return None
    above, below = math.log1p(margin) - effect.log_ratio, effect.log_ratio - math.log1p(-margin)
    if effect.error == 0:
        return 0.0 if min(above, below) > 0 else 1.0
    return max(float(stdtr(effect.degrees, -side / effect.error)) for side in (above, below))


def _factors(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's correction over the cells that have a p-value at all."""
    given = iter(holm_factors([value for value in p_values if value is not None]))
    return [None if value is None else next(given) for value in p_values]


def _verdict(look: _Look, rules: Rules, factors: Sequence[float | None], cells: int) -> Verdict:
    different, alike = (
        None if p is None or factor is None else min(1.0, p * factor)
        for p, factor in zip((look.differs, look.same), factors, strict=True)
    )
    word: Word = "not enough evidence"
    if look.effect and alike is not None and alike <= rules.level:
        word = "no difference"
    elif look.effect and different is not None and different <= rules.level:
        word = "faster" if look.effect.relative > 0 else "slower"
    more = None
    if word == "not enough evidence" and look.effect and look.effect.p_value is not None:
        # Holm's level for the first of so many cells: sufficient whatever the others show.
        wanted = units_needed(look.effect, rules.margin, rules.level / cells, rules.power)
        more = max(wanted - look.effect.units, 1)
    factor = factors[0]
    return Verdict(
        word=word,
        margin=rules.margin,
        effect=look.effect.among(factor, rules.level) if look.effect and factor else look.effect,
        p_difference=different,
        p_same=alike,
        more=more,
        left_out=look.left_out,
        units_left_out=look.units_left_out,
        provisional=look.provisional,
    )
