"""Decides which cells of an experiment are measured again: `until`, and the guard against noise.

The guard only looks at noise (steal, throttling, the generator as the limit), never at the rates.
It asks for at most half as many units as were planned.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from loadstone.analyse.comparison import (
    NOISE,
    half_width,
    observed,
    takes_turns_in_blocks,
    unit_rates,
)
from loadstone.analyse.experimental_units import Cell, Observed, contrasts, sides
from loadstone.analyse.sequential import look_at_mean
from loadstone.analyse.verdict import REASONS, Sides, Spoiled
from loadstone.experiments.order import Again, More
from loadstone.model.experiment import Experiment, Until
from loadstone.model.message import Joined, say
from loadstone.model.result import StepResult

MOST_AGAIN = 0.5
"""The most units to measure again, as a share of those planned."""


def more_wanted(experiment: Experiment, clock: Callable[[], float] = time.monotonic) -> More:
    """The experiment's rule for more repeats; the time of `until` starts to count now."""
    began = clock()

    def more(done: Sequence[StepResult]) -> Again:
        if experiment.until:
            return not_known_yet(experiment, experiment.until, done, clock() - began)
        return spoiled_by_noise(experiment, done)

    return more


def not_known_yet(
    experiment: Experiment, until: Until, done: Sequence[StepResult], elapsed_s: float
) -> Again:
    """Cells whose effect (or rate, if nothing varies) is not known well enough."""
    if elapsed_s >= until.time_limit_s:
        return Again()
    seen = observed(experiment, done)
    wide = frozenset(
        cell for cell, width in _widths(experiment, seen).items() if width > until.half_width
    )
    return Again(wide, "")


def _widths(experiment: Experiment, seen: Sequence[Observed]) -> dict[Cell, float]:
    found: dict[Cell, float] = dict.fromkeys((step.cell for step in seen), 0.0)
    compared = [
        (cell, units)
        for contrast in contrasts(experiment)
        for cell, units in sides(seen, contrast).items()
    ]
    for cell, units in compared:
        found[cell] = max(found[cell], half_width(units, experiment.rules.level / len(compared)))
    if compared:
        return found
    for cell in found:
        rates = [rate for rate in unit_rates(step for step in seen if step.cell == cell) if rate]
        found[cell] = look_at_mean(rates).half_width if rates else math.inf
    return found


def spoiled_by_noise(experiment: Experiment, done: Sequence[StepResult]) -> Again:
    """Cells that lost units to noise, and may replace them."""
    seen = observed(experiment, done)
    planned: dict[Cell, int] = {}
    short: dict[Cell, set[Spoiled]] = {}
    for contrast in contrasts(experiment):
        for cell, units in sides(seen, contrast).items():
            planned[cell] = _planned(experiment)
            lost = [_noise(each) for each in units if _noise(each)]
            room = len(units) < planned[cell] + math.ceil(MOST_AGAIN * planned[cell])
            if room and len(units) - len(lost) < planned[cell]:
                short.setdefault(cell, set()).update(*lost)
    if not short:
        return Again()
    why = Joined(REASONS[reason] for reason in sorted(set[Spoiled]().union(*short.values())))
    said = say(
        "{short} of {all} cells measured once more, as units were left out: {why}",
        short=len(short),
        all=len(planned),
        why=why,
    )
    return Again(frozenset(short), said)


def _planned(experiment: Experiment) -> int:
    """The planned units of each side: rounds of two passes, or a block for each pass."""
    blocks = takes_turns_in_blocks(experiment)
    return experiment.repeats if blocks else experiment.repeats // 2


def _noise(each: Sides) -> frozenset[Spoiled]:
    return (each.a.spoiled | each.b.spoiled) & NOISE
