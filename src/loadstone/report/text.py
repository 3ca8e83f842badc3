"""A run as text: byte for byte the same whenever it is made from the same result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import StringIO
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from loadstone.analyse.ladder import Level, Shape, levels, quotable, shape
from loadstone.analyse.open_loop import Held, held
from loadstone.model.hot_spots import HotSpots
from loadstone.model.result import Result, StepResult
from loadstone.model.search import Level as SearchLevel
from loadstone.model.search import SearchOutcome
from loadstone.report.hot_spots import hot_spots_table, hottest_step
from loadstone.report.notes import notes_of
from loadstone.report.numbers import NOTHING, asked, count, digits, duration, number_of, share
from loadstone.report.observed import observed_notes, observed_table
from loadstone.report.table import add_level, empty_table, middle_step
from loadstone.report.tpcc import fastest, kinds_table, tpmc_sentence

WIDTH = 100

WATCHED = "watch"
"""The name of the workload where there was none of ours."""


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
    for ladder in ladders(result.steps):
        if not watched(result):
            parts.append(Padding(ladder_table(ladder), (1, 0, 1, 0)))
        if seen := observed_table(ladder):
            parts.append(Padding(seen, (int(watched(result)), 0, 1, 0)))
        if orders := fastest(ladder):
            parts.append(Text(tpmc_sentence(orders)))
            parts.append(Padding(kinds_table(orders), (0, 0, 1, 0)))
        if not result.run.search and (said := verdict(ladder)):
            parts.append(Text(said, style="bold"))
    if hottest := hottest_step(result.steps):
        users = number_of(hottest.concurrency, "user")
        parts.append(Text(f"Where the server spent the step of {users}, by its own instruments:"))
        parts.append(Padding(hot_spots_table(hottest.hot_spots or HotSpots()), (0, 0, 1, 0)))
    if result.run.search:
        parts.append(Text("\n".join(search_sentences(result.run.search)), style="bold"))
        parts.append(Text())
    if lines := list(notes(result)):
        parts.append(_list_of_notes(lines))
    return Group(*parts)


def _asked(level: Level) -> str:
    return asked(level.rate) if level.rate else NOTHING


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
    yield (
        f"{workload['name']}, {_size(workload)}, {plan['drive']['protocol']} statements, "
        f"{_timing(plan)}, seed {plan['drive']['seed']}"
    )
    first = result.steps[0] if result.steps else None
    for part in first.targets if first else ():
        server = f" ({part.server_version})" if part.server_version else ""
        yield f"{part.target}{server}, {_encryption(first)}"


def _size(workload: dict[str, Any]) -> str:
    if warehouses := workload.get("warehouses"):
        return number_of(warehouses, "warehouse")
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


def ladders(steps: Sequence[StepResult]) -> Iterator[list[Level]]:
    """The levels of each variant and workload; in an open loop, the rates of each concurrency."""
    found: dict[tuple[str, str, int | None], list[Level]] = {}
    for level in levels(steps):
        users = level.concurrency if level.rate else None
        found.setdefault((level.variant, level.workload, users), []).append(level)
    yield from found.values()


def verdict(ladder: Sequence[Level]) -> str | None:
    """What a ladder shows in a sentence or two; `None` where it is a single closed step."""
    if rates := held(ladder):
        return held_sentence(rates)
    found = shape(ladder)
    return peak_sentence(found) if found else None


def held_sentence(rates: Held) -> str:
    """Which rate the server kept up with, and what became of the lowest it did not."""
    kept = rates.kept
    said = (
        f"Kept up with {_asked(kept)} events/s." if kept else "Kept up with no rate that was tried."
    )
    if rates.lost is None:
        return f"{said} It is the highest that was tried: more may be possible."
    step = middle_step(rates.lost.steps)
    left = f"{count(step.waiting)} waited at the end"
    skipped = f", {count(step.skipped)} were skipped" if step.skipped else ""
    return (
        f"{said} Of {_asked(rates.lost)} events/s it did {digits(step.tps or 0.0)} a second: "
        f"{left}{skipped}."
    )


def ladder_table(ladder: Sequence[Level]) -> Table:
    """One variant's and workload's levels, the peak in bold."""
    repeats = any(step.repeat > 1 for level in ladder for step in level.steps)
    rates = any(level.rate for level in ladder)
    table = empty_table(repeats=repeats, rates=rates)
    found = shape(ladder)
    for level in ladder:
        style = "bold" if found and level is found.peak else ""
        add_level(table, level, repeats=repeats, rates=rates, style=style)
    return table


def peak_sentence(found: Shape) -> str:
    """Where the peak is, and from where on more users hardly help."""
    peak, knee = found.peak, found.knee
    mean = peak.tps.mean if peak.tps else 0.0
    text = f"Peak: {digits(mean)} tps at {number_of(peak.concurrency, 'user')}"
    if knee.concurrency < peak.concurrency:
        share = (knee.tps.mean if knee.tps else 0.0) / mean
        text += f"; {number_of(knee.concurrency, 'user')} reach {share:.0%} of it already"
    return f"{text}. {_beyond_sentence(found)}"


def _beyond_sentence(found: Shape) -> str:
    match found.beyond:
        case "untried":
            return "It is the highest level: the true peak may lie above."
        case "level":
            return "Near it the rate is level: differences of less than the noise are not a peak."
        case "falls":
            last = found.last.tps.mean if found.last.tps else 0.0
            users = number_of(found.last.concurrency, "user")
            return f"With {users} it falls to {digits(last)}."
        case "unknown":
            return "What more users bring is not known: the levels above gave no rate to quote."


def search_sentences(found: SearchOutcome) -> Iterator[str]:
    """What a search found, and how sure that is."""
    if found.concurrency and found.peak_tps:
        users = number_of(round(found.concurrency.value), "user")
        yield (
            f"Smallest concurrency at the peak: {users}, within a twentieth of "
            f"{digits(found.peak_tps)} tps ({_sure(found.concurrency)})."
        )
    if found.objective:
        yield _objective_sentence(found)
    if not found.complete:
        yield "The search was not carried out to its end."


def _objective_sentence(found: SearchOutcome) -> str:
    what = f"{found.objective}"
    beyond = found.beyond
    if found.rate is None:
        least = f" at {digits(beyond.value)} events/s ({_sure(beyond)})" if beyond else ""
        return f"{what} did not hold{least}, and no lower rate was tried."
    said = f"{what} holds up to {digits(found.rate.value)} events/s ({_sure(found.rate)})"
    if beyond:
        said += f"; at {digits(beyond.value)} it does not ({_sure(beyond)})"
    if found.closed_tps:
        said += f". In a closed loop the same users do {digits(found.closed_tps)} tps"
    return f"{said}."


def _sure(level: SearchLevel) -> str:
    return f"{level.good} of {number_of(level.steps, 'step')}, {share(level.confidence)} sure"


def notes(result: Result) -> Iterator[str]:
    """All that a reader should know, of the run and of its steps."""
    yield from result.run.notes
    yield from notes_of(result.steps)
    yield from observed_notes(result.steps)
    if any(not quotable(step) for step in result.steps):
        yield "* stands in no mean: not carried out to the end, never settled, or users cut off"
    if any(step.generator.client_bound for step in result.steps):
        yield "! client-bound: the generator was, or may have been, the limit"
    if any(step.repeat > 1 for step in result.steps):
        yield "tps is the mean of the repeats with Student's t interval; the rest is the middle one"


def _timing(plan: dict[str, Any]) -> str:
    warmup = plan["warmup"]
    window = duration(plan["duration_s"])
    repeats = f", {count(plan['repeats'])} repeats" if plan["repeats"] > 1 else ""
    if warmup["kind"] == "auto":
        return f"{window} a step with automatic warm-up{repeats}"
    return f"{window} a step after {duration(warmup['warmup_s'])} warm-up{repeats}"


def _encryption(step: StepResult | None) -> str:
    if step is None or step.encrypted_users is None:
        return "encryption not evaluated"
    encrypted = f"encrypted, {step.tls}" if step.encrypted_users else "not encrypted"
    return f"{encrypted}, compressed, {step.compression}" if step.compressed_users else encrypted


def _list_of_notes(lines: Sequence[str]) -> Table:
    """The lines with a hanging indent, so that a long one is still seen as one."""
    table = Table.grid(padding=(0, 2, 0, 0))
    for line in lines:
        table.add_row(Text("note", "dim"), Text(line))
    return table
