"""`runs list`: a line a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from rich import box
from rich.table import Table
from rich.text import Text

from loadstone.analyse.ladder import shape
from loadstone.model.result import Result
from loadstone.report.ladders import ladders_of
from loadstone.report.numbers import NOTHING, digits, number_of

_SIDE: dict[str, Literal["left", "right"]] = {"steps": "right", "best tps": "right"}


def runs_table(runs: Iterable[tuple[str, Result | None, str | None]]) -> Table:
    """Folder, state, workload, steps and best rate of each run."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1))
    for head in ("run", "state", "workload", "steps", "best tps"):
        table.add_column(head, no_wrap=True, justify=_SIDE.get(head, "left"))
    for folder, result, problem in runs:
        name = Text(_shown(folder))
        if result is None:
            table.add_row(name, "damaged", Text(_shown(problem or "")), NOTHING, NOTHING)
        else:
            workload = Text(_workload(result))
            table.add_row(name, result.run.state, workload, _steps(result), best(result))
    return table


def _shown(text: str) -> str:
    """Anybody may name a folder: its name neither drives the terminal nor is it markup."""
    return "".join(mark if mark.isprintable() else "\N{REPLACEMENT CHARACTER}" for mark in text)


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
