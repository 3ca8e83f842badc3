"""Ceilings as text: a table a step, the lowest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import StringIO

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from loadstone.analyse.usl import Refused, Usl, of_ladder
from loadstone.model.ceilings import StepCeilings
from loadstone.model.result import Result
from loadstone.report.figures.ceilings import ceilings_figure
from loadstone.report.numbers import asked, digits, number_of, share
from loadstone.report.page import Part, page
from loadstone.report.text import WIDTH, head, ladders, verdict

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


def as_page(result: Result, found: Sequence[StepCeilings]) -> str:
    """The picture over the ladder, then each step's table, in one HTML file."""
    title = f"Ceilings of {result.run.name}"
    parts = [
        Part(
            "What each resource would allow",
            ceilings_figure(found),
            "Events a second over users. The measured rate lies under the ceilings; the lowest "
            "of them holds it back.",
        ),
        *(_page_part(step) for step in found),
    ]
    missing = [f"{name} not evaluated: {why}" for name, why in not_evaluated(found).items()]
    return page(title, [*head(result), *scaling(result), *missing], parts)


def _page_part(step: StepCeilings) -> Part:
    rows = tuple(
        (one.resource, digits(one.events_per_s), share(one.used), one.how or "")
        for one in step.ceilings
        if one.events_per_s is not None
    )
    return Part(_title(step), heads=("resource", "events/s", "used", "from"), rows=rows)


def scaling(result: Result) -> Iterator[str]:
    """What the Universal Scalability Law says of each ladder, or why it says nothing."""
    for ladder in ladders(result.steps):
        if len(ladder) > 1 and not any(level.rate for level in ladder):
            if said := verdict(ladder):
                yield said
            yield _law(of_ladder(ladder))


def _law(found: Usl | Refused) -> str:
    if isinstance(found, Refused):
        return f"Universal Scalability Law not fitted: {found.reason}."
    said = (
        f"Universal Scalability Law: contention {found.contention.value:.3g}, "
        f"coherency {found.coherency.value:.3g}"
    )
    if found.peak is None:
        return f"{said}; no peak within reach: {found.no_peak}."
    users, rate = found.peak.users, found.peak.rate
    low, high = rate.interval.low, rate.interval.high
    return (
        f"{said}; peak of {digits(rate.value)} events/s ({digits(low)} to {digits(high)}, "
        f"{share(rate.interval.confidence)}) at {digits(users.value)} users."
    )


def _parts(result: Result, found: Sequence[StepCeilings]) -> Iterator[RenderableType]:
    for line in head(result):
        yield Text(line)
    for line in scaling(result):
        yield Text(line)
    if not found:
        yield Text("no step has a rate")
    for step in found:
        yield Padding(Text(_title(step), style="bold"), (1, 0, 0, 0))
        yield _table(step)
    for resource, why in not_evaluated(found).items():
        yield Text(f"{resource} not evaluated: {why}", style="dim")


def not_evaluated(found: Sequence[StepCeilings]) -> dict[str, str]:
    """What was evaluated at no step, and why."""
    known = {one.resource for step in found for one in step.ceilings if one.why_not is None}
    return {
        one.resource: one.why_not
        for step in found
        for one in step.ceilings
        if one.why_not and one.resource not in known
    }


def _title(step: StepCeilings) -> str:
    due = f", {asked(step.rate)} due" if step.rate else ""
    again = f", repeat {step.repeat}" if step.repeat > 1 else ""
    variant = "" if step.variant == "default" else f"{step.variant}, "
    users = number_of(step.concurrency, "user")
    return f"{variant}{users}{due}{again}, {digits(step.tps)} events/s: {held_by(step)}"


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
