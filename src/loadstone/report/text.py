"""A run as text: byte for byte the same whenever it is made from the same result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from typing import Any, Literal

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from loadstone.analyse.ladder import Level, ladders_of, quotable, shape
from loadstone.model.hot_spots import HotSpots
from loadstone.model.language import ENGLISH
from loadstone.model.numbers import count, duration, number_of
from loadstone.model.plan import WATCHED
from loadstone.model.quantity import LONGEST_S
from loadstone.model.result import Result, StepResult
from loadstone.report.breakdowns import breakdowns
from loadstone.report.event_kinds import event_kinds
from loadstone.report.failover import drill_parts
from loadstone.report.generators import generators_table
from loadstone.report.hot_row import hot_row_notes, hot_row_table
from loadstone.report.hot_spots import hot_spots_table, hottest_step
from loadstone.report.notes import notes_of
from loadstone.report.observed import observed_notes, observed_table
from loadstone.report.sentences import search_sentences, verdict
from loadstone.report.step_table import level_rows, step_columns
from loadstone.report.table import Table

WIDTH = 100


def as_text(result: Result, width: int = WIDTH) -> str:
    """The run without any colour."""
    return as_plain(as_renderable(result), width)


def as_plain(parts: RenderableType, width: int = WIDTH) -> str:
    """Anything that a console shows, without any colour."""
    out = StringIO()
    console = Console(
        file=out, width=width, color_system=None, force_terminal=False, legacy_windows=False
    )
    console.print(parts)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def as_renderable(result: Result) -> RenderableType:
    """The run for a console, which decides about colour and width."""
    parts: list[RenderableType] = [Text(line) for line in head(result)]
    for ladder in ladders_of(result.steps):
        if not watched(result):
            parts.append(Padding(ladder_table(ladder), (1, 0, 1, 0)))
        parts.extend(_titled(breakdowns(ladder, ENGLISH)))
        if seen := observed_table(ladder):
            parts.append(Padding(seen, (int(watched(result)), 0, 1, 0)))
        if hot_row := hot_row_table(ladder):
            parts.append(Padding(hot_row, (0, 0, 1, 0)))
        parts.extend(_titled(event_kinds(ladder, ENGLISH)))
        parts += drill_parts(ladder)
        if not result.run.search and (said := verdict(ladder, ENGLISH)):
            parts.append(Text(said, style="bold"))
    parts += _of_all_steps(result)
    if result.run.search:
        parts.append(Text("\n".join(search_sentences(result.run.search, ENGLISH)), style="bold"))
        parts.append(Text())
    if lines := list(notes(result)):
        parts.append(_list_of_notes(lines))
    return Group(*parts)


def _titled(tables: Iterable[Table]) -> Iterator[RenderableType]:
    """Workloads of a mix, phases, connections, kinds of events."""
    for table in tables:
        yield Text(f"{table.title}:")
        yield Padding(table, (0, 0, 1, 0))


def _of_all_steps(result: Result) -> Iterator[RenderableType]:
    """What is told once: the machines that drove, and what the server was busy with."""
    if machines := generators_table(result.steps):
        yield Padding(machines, (0, 0, 1, 0))
    if hottest := hottest_step(result.steps):
        users = number_of(hottest.concurrency, "user")
        yield Text(f"Where the server spent the step of {users}, by its own instruments:")
        yield Padding(hot_spots_table(hottest.hot_spots or HotSpots()), (0, 0, 1, 0))


def head(result: Result) -> Iterator[str]:
    """What was run, against what, and how."""
    plan = result.run.plan
    if plan is None:
        yield f"{result.run.id}"
        return
    workload = plan["workload"]
    if watched(result):
        yield from _watched(result)
        return
    mix = plan.get("mix") or ()
    size = "" if mix else _size(workload)
    what = f"{workload['name']}, " + (f"{size}, " if size else "")
    how = f"{plan['drive']['protocol']} statements, {_timing(plan)}"
    yield f"{what}{how}, seed {plan['drive']['seed']}"
    for member in mix:
        own = (
            number_of(member["users"], "user")
            if member["users"]
            else f"weight {member['weight']:g}"
        )
        which = member["workload"]
        yield "  " + ", ".join(
            filter(None, (f"{member['name']}: {own}", which["name"], _size(which)))
        )
    yield from _beside(plan["drive"])
    first = result.steps[0] if result.steps else None
    for part in first.targets if first else ():
        server = f" ({part.server_version})" if part.server_version else ""
        yield f"{part.target}{server}, {_encryption(first)}"


def _beside(drive: dict[str, Any]) -> Iterator[str]:
    """What connections there are but one for each user."""
    if after := drive.get("reconnect_after"):
        yield f"a new connection after each {number_of(after, 'transaction')} of a user"
    if idle := drive.get("idle"):
        yield f"{number_of(idle, 'idle connection')} beside the users"


def _size(workload: dict[str, Any]) -> str:
    if warehouses := workload.get("warehouses"):
        return number_of(warehouses, "warehouse")
    if workload.get("script") or (workload.get("template") and workload["table_size"] == 1):
        # The tables of a script, a replay, or a template without tables are not ours to count.
        return ""
    if workload.get("template") or workload.get("book"):
        return number_of(workload["tables"], "table")
    return f"{number_of(workload['tables'], 'table')} × {number_of(workload['table_size'], 'row')}"


def watched(result: Result) -> bool:
    """Whether there was no load of ours."""
    return bool(result.run.plan and result.run.plan["workload"]["name"] == WATCHED)


def _watched(result: Result) -> Iterator[str]:
    """What was looked at without load of ours, and for how long."""
    for step in result.steps:
        window = step.window
        if window:
            yield f"watched for {duration(window.to_s - window.from_s)}, without load of ours"
        yield from (part.target for part in step.targets)


def ladder_table(ladder: Sequence[Level]) -> Table:
    """One variant's and workload's levels, the peak in bold."""
    repeats = any(step.repeat > 1 for level in ladder for step in level.steps)
    rates = any(level.rate for level in ladder)
    found = shape(ladder)
    rows: list[tuple[str, ...]] = []
    styles: dict[int, Literal["bold", "dim"]] = {}
    for level in ladder:
        added = level_rows(level, repeats=repeats, rates=rates)
        if found and level is found.peak:
            styles |= dict.fromkeys(range(len(rows), len(rows) + len(added)), "bold")
        rows += map(tuple, added)
    return Table(step_columns(repeats=repeats, rates=rates), tuple(rows), styles=styles)


def notes(result: Result) -> Iterator[str]:
    """All that a reader should know, of the run and of its steps."""
    yield from result.run.notes
    yield from notes_of(result.steps)
    yield from observed_notes(result.steps)
    yield from hot_row_notes(result.steps)
    if any(not quotable(step) for step in result.steps):
        yield "* stands in no mean: did not end well, never settled, users cut off, or held back"
    if any(step.generator.client_bound for step in result.steps):
        yield "! client-bound: the generator was, or may have been, the limit"
    if any(step.repeat > 1 for step in result.steps):
        yield "tps is the mean of the repeats with Student's t interval; the rest is the middle one"


def _timing(plan: dict[str, Any]) -> str:
    warmup = plan["warmup"]
    ends_itself = plan["duration_s"] >= LONGEST_S
    window = "a step to its own end" if ends_itself else f"{duration(plan['duration_s'])} a step"
    repeats = f", {count(plan['repeats'])} repeats" if plan["repeats"] > 1 else ""
    if plan.get("phases"):
        return f"{window} in {number_of(len(plan['phases']), 'phase')}{repeats}"
    if warmup["kind"] == "auto":
        return f"{window} with automatic warm-up{repeats}"
    return f"{window} after {duration(warmup['warmup_s'])} warm-up{repeats}"


def _encryption(step: StepResult | None) -> str:
    if step is None or step.encrypted_users is None:
        return "encryption not evaluated"
    encrypted = f"encrypted, {step.tls}" if step.encrypted_users else "not encrypted"
    return f"{encrypted}, compressed, {step.compression}" if step.compressed_users else encrypted


def _list_of_notes(lines: Sequence[str]) -> Grid:
    """The lines with a hanging indent, so that a long one is still seen as one."""
    table = Grid.grid(padding=(0, 2, 0, 0))
    for line in lines:
        table.add_row(Text("note", "dim"), Text(line))
    return table
