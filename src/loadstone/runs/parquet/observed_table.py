"""server.parquet and host.parquet: one row per observation, one column per counter.

Counters are the increase within the interval, gauges (named `….now`) the value at its end. A cell
is null if the source did not report it.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from loadstone.model.message import say
from loadstone.model.observed import Observation, Role
from loadstone.runs.errors import StoreError
from loadstone.runs.rebuild import RunLog
from loadstone.runs.steplog import StepLog

if TYPE_CHECKING:
    import polars

SERVERS: tuple[Role, ...] = ("server",)
HOSTS: tuple[Role, ...] = ("server-host", "generator-host")

_NAN = float("nan")

_CELLS, _SPARSE = 10_000_000, 100
"""A larger frame needs a value in one of so many cells: few sources have columns of their own."""


@dataclass
class _Columns:
    """Collects numbers of eight bytes each: a run may last for days."""

    rows: int = 0
    told: int = 0
    """Number of filled cells; the others are empty."""
    placed: dict[str, list[str | int]] = field(default_factory=dict)
    times: dict[str, array[float]] = field(default_factory=dict)
    figures: dict[str, array[float]] = field(default_factory=dict)

    def add(self, step: StepLog, seen: Observation) -> None:
        placed: dict[str, str | int] = {
            "step": step.step.number,
            "variant": step.step.variant,
            "workload": step.step.workload,
            "concurrency": step.step.concurrency,
            "repeat": step.step.repeat,
            "role": seen.source.role,
            "target": seen.source.target,
        }
        for name, place in placed.items():
            self.placed.setdefault(name, []).append(place)
        times = {
            "second": seen.to_s - step.load_began_s,
            "interval_s": seen.seconds,
            "run_s": seen.to_s,
        }
        for name, time in times.items():
            self.times.setdefault(name, array("d")).append(time)
        for name, value in _figures(seen):
            column = self.figures.get(name)
            if column is None:
                column = self.figures[name] = array("d")
            self._fill(column)
            column.append(value)
            self.told += 1
        self.rows += 1
        if self.rows * len(self.figures) > _CELLS + _SPARSE * self.told:
            raise StoreError(say("the journal names more counters than were ever read"))

    def _fill(self, column: array[float]) -> None:
        """Add empty cells for the rows since the column's last value."""
        missing = self.rows - len(column)
        if missing > 0:
            column.extend([_NAN] * missing)

    def frame(self) -> polars.DataFrame:
        import polars

        for column in self.figures.values():
            self._fill(column)
        data = {
            **{name: polars.Series(name, column) for name, column in self.placed.items()},
            **{name: _series(name, column) for name, column in self.times.items()},
            **{name: _series(name, column) for name, column in sorted(self.figures.items())},
        }
        return polars.DataFrame(data)


def _figures(seen: Observation) -> Iterator[tuple[str, float]]:
    yield from seen.deltas.items()
    for name, value in seen.gauges.items():
        yield f"{name}.now", value


def _series(name: str, column: array[float]) -> polars.Series:
    import polars

    return polars.Series(name, memoryview(column), dtype=polars.Float64).fill_nan(None)


def frame(log: RunLog, roles: Collection[Role]) -> polars.DataFrame:
    """All observations of these roles, in the order in which they arrived."""
    columns = _Columns()
    for step in log.steps:
        for seen in step.observations():
            if seen.source.role in roles:
                columns.add(step, seen)
    return columns.frame()
