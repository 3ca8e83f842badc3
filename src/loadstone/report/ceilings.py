"""Ceilings as text: a table a step, the lowest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import StringIO

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from loadstone.model.ceilings import StepCeilings
from loadstone.model.result import Result
from loadstone.report.numbers import digits, number_of, share
from loadstone.report.text import WIDTH, head

HELD = 0.8
"""From this part of a ceiling on it may be said to hold the step back."""


def as_text(result: Result, found: Sequence[StepCeilings]) -> str:
    """All steps, without colour."""
    out = StringIO()
    console = Console(
        file=out, width=WIDTH, color_system=None, force_terminal=False, legacy_windows=False
    )
    console.print(Group(*_parts(result, found)))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _parts(result: Result, found: Sequence[StepCeilings]) -> Iterator[RenderableType]:
    for line in head(result):
        yield Text(line)
    if not found:
        yield Text("no step has a rate")
    for step in found:
        yield Padding(Text(_title(step), style="bold"), (1, 0, 0, 0))
        yield _table(step)
    missing = {one.resource: one.why_not for step in found for one in step.ceilings if one.why_not}
    for resource, why in missing.items():
        yield Text(f"{resource} not evaluated: {why}", style="dim")


def _title(step: StepCeilings) -> str:
    return f"{number_of(step.concurrency, 'user')}, {digits(step.tps)} events/s: {held_by(step)}"


def held_by(step: StepCeilings) -> str:
    """What holds a step back, in a few words."""
    lowest = step.lowest
    if lowest is None:
        return "no ceiling could be evaluated"
    used = lowest.used or 0.0
    if used < HELD:
        return f"no ceiling explains it; the nearest, {lowest.resource}, is used to {share(used)}"
    return f"held by {lowest.resource}, used to {share(used)}"


def _table(step: StepCeilings) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    table.add_column("resource")
    table.add_column("events/s", justify="right")
    table.add_column("used", justify="right")
    table.add_column("from")
    for one in step.ceilings:
        if one.events_per_s is not None:
            table.add_row(one.resource, digits(one.events_per_s), share(one.used), one.how or "")
    return table
