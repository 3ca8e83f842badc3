"""Reduces seconds to fewer points while keeping every spike visible.

Each run of neighbouring seconds is reduced to its lowest and highest value, in the order of time:
what a screen would show of them in a column a pixel or two wide. A mean would hide the stalls that
readers look for.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from loadstone.report.figures.figure import short

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float64]

Column = list[float | None]


@dataclass(frozen=True)
class Thinned:
    """Columns of the same length, and the number of seconds that each pair of points represents."""

    columns: dict[str, Column]
    seconds: int
    """The number of original rows."""
    by_column: int
    """The rows that each pair of points represents; 1: nothing was left out."""


def thin(times: Array, columns: Mapping[str, Array], most: int, time: str = "s") -> Thinned:
    """At most `most` pairs of points of each column; what is not a number is a gap.

    `time` names the column of the times, whose rows are in order.
    """
    rows = len(times)
    if rows <= 2 * most:
        found = {time: _listed(times)} | {name: _listed(each) for name, each in columns.items()}
        return Thinned(found, rows, 1)
    each_of = math.ceil(rows / most)
    found = {time: _ends(times, each_of)}
    found |= {name: _extremes(each, each_of) for name, each in columns.items()}
    return Thinned(found, rows, each_of)


def _listed(values: Array) -> Column:
    return [None if math.isnan(value) else short(value) for value in values.tolist()]


def _ends(times: Array, each_of: int) -> Column:
    """The first and the last time of each run of rows, to a tenth of a second."""
    rows = len(times)
    return [
        round(float(times[at]), 1)
        for begin in range(0, rows, each_of)
        for at in (begin, min(begin + each_of, rows) - 1)
    ]


def _extremes(values: Array, each_of: int) -> Column:
    import numpy as np

    count = math.ceil(len(values) / each_of)
    padded = np.full(count * each_of, np.nan)
    padded[: len(values)] = values
    blocks = padded.reshape(count, each_of)
    with warnings.catch_warnings():
        # A run of rows without a value is a gap and needs no warning.
        warnings.simplefilter("ignore", RuntimeWarning)
        low, high = np.nanmin(blocks, axis=1), np.nanmax(blocks, axis=1)
    empty = np.isnan(blocks).all(axis=1)
    first_low = np.argmin(np.where(np.isnan(blocks), np.inf, blocks), axis=1)
    first_high = np.argmax(np.where(np.isnan(blocks), -np.inf, blocks), axis=1)
    falls = first_high < first_low
    pairs = np.stack([np.where(falls, high, low), np.where(falls, low, high)], axis=1)
    pairs[empty] = np.nan
    return _listed(pairs.reshape(-1))
