"""Comparison of runs, as `loadstone compare` does it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadstone.analyse.differences import Differences, differences
from loadstone.analyse.environment_diff import surroundings_of
from loadstone.analyse.matrix import Against, ComparisonError, Matrix, MatrixCell, matrix
from loadstone.analyse.metrics import TPS
from loadstone.analyse.paired_sides import as_run
from loadstone.model.message import say
from loadstone.report.comparing import sections
from loadstone.report.comparison_document import comparison_document
from loadstone.report.table_section import as_text
from loadstone.runs.reader import read_run

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True)
class Compared:
    """What runs have in common, where they differ, and how each side compares to the first."""

    matrix: Matrix
    """Figures and changes of each side, by workload, users and rate."""
    differences: Differences
    """Differences between the sides: settings, versions, hosts."""

    def __str__(self) -> str:
        """The text that `loadstone compare` prints."""
        return as_text(sections(self.matrix, self.differences))

    @property
    def document(self) -> dict[str, Any]:
        """The document that `loadstone compare --json` writes (docs/comparing.md)."""
        return comparison_document(self.matrix, self.differences, ())

    @property
    def changes(self) -> polars.DataFrame:
        """A row for each level and each side but the first: its TPS against the first one's.

        `change`, `low` and `high` are relative: 0.1 is 10 % more, 95 % confidence.
        """
        import polars

        rows = [_row(cell, each) for cell in self.matrix.cells for each in cell.against]
        schema = {name: getattr(polars, kind) for name, kind in COLUMNS.items()}
        return polars.DataFrame(rows, schema=schema, orient="row")


COLUMNS = {
    "context": "String",
    "workload": "String",
    "users": "Int64",
    "rate": "String",
    "side": "String",
    "tps": "Float64",
    "tps_first": "Float64",
    "change": "Float64",
    "low": "Float64",
    "high": "Float64",
    "verdict": "String",
}
"""Columns of `Compared.changes` and their polars types."""


def _row(cell: MatrixCell, against: Against) -> tuple[object, ...]:
    workload, users, rate = cell.place.cell
    first, second = cell.side_results[0], cell.of(against.side)
    effect = against.effect(TPS)
    interval = effect.interval if effect else None
    return (
        cell.place.context,
        workload,
        users,
        str(rate) if rate else None,
        against.side,
        second.tps.value if second and second.tps else None,
        first.tps.value if first.tps else None,
        effect.relative if effect else None,
        interval.low if interval else None,
        interval.high if interval else None,
        against.verdict.word,
    )


def compare(paths: Sequence[Path], by: str | None = None) -> Compared:
    """Compare the first run with all others; each path is a run's folder.

    `by`: `target` or the name of a factor, if the sides are not the runs themselves.

    Raises:
        ComparisonError: there is nothing to compare, or a run is named twice.
        StoreError: a folder cannot be read.
    """
    resolved = [path.resolve() for path in paths]
    for path, again in zip(paths, resolved, strict=True):
        if resolved.count(again) > 1:
            raise ComparisonError(
                say("{run} is named twice", run=path), say("a run does not differ from itself")
            )
    labels = [path.name for path in resolved]
    if len(set(labels)) < len(labels):  # copied from several machines under the same name
        labels = [str(path) for path in paths]
    kept = map(read_run, paths)
    runs = [as_run(label, each) for label, each in zip(labels, kept, strict=True)]
    found = matrix(runs, by)
    sides = {side.name: [surroundings_of(part) for part in side.all_parts] for side in found.sides}
    return Compared(found, differences(sides))
