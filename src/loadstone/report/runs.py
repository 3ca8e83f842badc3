"""`runs list`: a line a run."""

from __future__ import annotations

from collections.abc import Iterable

from loadstone.analyse.ladder import ladders_of, shape
from loadstone.model.numbers import NOTHING, digits, number_of
from loadstone.model.result import Result
from loadstone.report.table import Column, Table, visible


def runs_table(runs: Iterable[tuple[str, Result | None, str | None]]) -> Table:
    """Folder, state, workload, steps and best rate of each run."""
    texts = (Column(head, is_text=True, folds=False) for head in ("run", "state", "workload"))
    rows = (_row(*each) for each in runs)
    return Table((*texts, Column("steps"), Column("best tps")), tuple(rows), gap=2)


def _row(folder: str, result: Result | None, problem: str | None) -> tuple[str, ...]:
    # Anybody may name a folder.
    name = visible(folder)
    if result is None:
        return name, "damaged", visible(problem or ""), NOTHING, NOTHING
    return name, result.run.state, visible(_workload(result)), _steps(result), best(result)


def best(result: Result) -> str:
    """The highest rate with the level it was reached at."""
    for ladder in ladders_of(result.steps):
        found = shape(ladder)
        peak = found.peak if found else ladder[0]
        if peak.tps:
            return f"{digits(peak.tps.mean)} at {number_of(peak.concurrency, 'user')}"
    return NOTHING


def _workload(result: Result) -> str:
    return str(result.run.plan["workload"]["name"]) if result.run.plan else NOTHING


def _steps(result: Result) -> str:
    planned = result.run.steps_planned
    return f"{result.run.steps_finished}" + ("" if planned is None else f"/{planned}")
