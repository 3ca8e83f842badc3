"""A run's folder as a source of cases: its environment and its frames, read on demand."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadstone.diagnosis.context import Series, Source
from loadstone.model.observed import COARSE_S
from loadstone.runs import run_folder
from loadstone.runs.parquet import read

if TYPE_CHECKING:
    import polars

_ROLES: dict[Source, str] = {"server": "server", "host": "server-host"}


@dataclass
class RunSeconds:
    """The frames of one run: its Parquet files, or its journal if it was killed or still runs."""

    run: Path
    _frames: dict[Source, polars.DataFrame] = field(default_factory=dict)

    def series(self, source: Source, step: int, column: str) -> Series | None:
        """Seconds since the start of the load and values; seconds without a value are left out.

        Raises:
            StoreError: the file exists and cannot be read.
        """
        table = self._frame(source)
        if column not in table.columns:
            return None
        rows = table.filter(table["step"] == step)
        if "interval_s" in rows.columns:  # a mean of many seconds passes for none
            rows = rows.filter(rows["interval_s"] <= COARSE_S)
        rows = rows.select("second", column).drop_nulls()
        return tuple((float(at), float(value)) for at, value in rows.iter_rows()) or None

    def _frame(self, source: Source) -> polars.DataFrame:
        if source not in self._frames:
            self._frames[source] = _first_target(read.of_run(self.run, source), source)
        return self._frames[source]


def environment_of(run: Path) -> dict[str, Any]:
    """Read environment.json; empty if there is none.

    Raises:
        StoreError: it cannot be read.
    """
    return run_folder.read_environment(run)


def _first_target(table: polars.DataFrame, source: Source) -> polars.DataFrame:
    role = _ROLES.get(source)
    if role is None or table.is_empty():
        return table
    return table.filter((table["role"] == role) & (table["target"] == 0))
