"""A run as text: byte for byte the same whenever it is made from the same result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from io import StringIO
from typing import Any, Literal

from rich.console import Console, Group, RenderableType
from rich.text import Text

from loadstone.analyse.ladder import Level, ladders_of, shape
from loadstone.analyse.search import levels_at_answer
from loadstone.model.figure import General, Seconds
from loadstone.model.hot_spots import HotSpots
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import Joined, Message, counted, say, say_in, user_count
from loadstone.model.quantity import LONGEST_S
from loadstone.model.result import Result, StepResult
from loadstone.report.account import account_notes, account_table
from loadstone.report.breakdowns import breakdowns
from loadstone.report.event_kinds import event_kinds
from loadstone.report.failover import drill_parts
from loadstone.report.generators import generators_table
from loadstone.report.hot_row import hot_row_notes, hot_row_table
from loadstone.report.hot_spots import hot_spots_table, hottest_step, without_statements
from loadstone.report.lines import Line, lines_of, spaced
from loadstone.report.marks import marks
from loadstone.report.names import repeat_count, row_count, table_count
from loadstone.report.notes import notes_of, run_notes
from loadstone.report.observed import observed_notes, observed_table
from loadstone.report.sentences import search_sentences, verdict, warmup_of, watched
from loadstone.report.slow_seconds import slow_notes
from loadstone.report.step_table import level_rows, step_columns
from loadstone.report.table import Table
from loadstone.report.wrapping import WIDTH


def as_text(result: Result, width: int = WIDTH, words: Language = ENGLISH) -> str:
    """The run without any colour."""
    return as_plain(as_renderable(result, words), width)


def as_plain(parts: RenderableType, width: int = WIDTH) -> str:
    """Anything that a console shows, without any colour."""
    out = StringIO()
    console = Console(
        file=out, width=width, color_system=None, force_terminal=False, legacy_windows=False
    )
    console.print(parts, crop=False)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def as_renderable(result: Result, words: Language = ENGLISH) -> RenderableType:
    """The run for a console, which decides about colour and width."""
    parts: list[RenderableType] = [*lines_of(head(result, words))]
    for ladder in ladders_of(result.steps):
        if not watched(result):
            parts.append(spaced(ladder_table(ladder, words), above=1))
        search = result.run.search
        told = levels_at_answer(search, ladder) if search else ladder
        if len(told) < len(ladder):
            parts += [Line(words(_AT_ANSWER), "dim"), Text()]
        parts.extend(_account(told, words))
        parts.extend(_titled(breakdowns(told, words), words))
        if seen := observed_table(told, words, watched=watched(result)):
            parts += [Text()] * watched(result)
            parts.extend(_titled([seen], words))
        if hot_row := hot_row_table(told, words):
            parts.append(spaced(hot_row))
        parts.extend(_titled(event_kinds(told, words), words))
        parts += drill_parts(told, words)
        if not result.run.search and (said := verdict(ladder, words)):
            parts.append(Line(said, "bold"))
    parts += _of_all_steps(result, words)
    if result.run.search:
        parts += lines_of(search_sentences(result.run.search, result.steps, words), "bold")
        parts.append(Text())
    for noted in notes(result, words):
        said = words(say("note  {note}", note=noted))
        parts.append(Line(said, label_style="dim"))
    return Group(*parts)


_AT_ANSWER = say(
    "The next tables have the levels on both sides of the answer; loadstone report shows all."
)


def _account(ladder: Sequence[Level], words: Language) -> Iterator[RenderableType]:
    """Where a user's second goes, and how that is known."""
    if table := account_table(ladder, words):
        yield from _titled([table], words)
        for said in account_notes(ladder):
            yield Line(words(said), "dim")
        for said in slow_notes(ladder):
            yield Line(words(said))
        yield Text()


def _titled(tables: Iterable[Table], words: Language) -> Iterator[RenderableType]:
    """Workloads of a mix, phases, connections, kinds of events."""
    for table in tables:
        yield Line(words(say("{title}:", title=table.title)))
        yield spaced(table)


def _of_all_steps(result: Result, words: Language) -> Iterator[RenderableType]:
    """Tables shown once: the load generators, and where the server spent its time."""
    if machines := generators_table(result.steps, words):
        yield spaced(machines)
    if hottest := hottest_step(result.steps):
        said = (
            say(
                "Where the server spent its time, by its own instruments, in seconds summed over "
                "sessions:"
            )
            if watched(result)
            else say(
                "Where the server spent its time in the step with {users}, by its own instruments, "
                "in seconds summed over sessions:",
                users=user_count(hottest.concurrency),
            )
        )
        yield Line(words(said))
        spots = hottest.hot_spots or HotSpots()
        yield spaced(hot_spots_table(spots, words))
        if missing := without_statements(spots):
            yield Line(words(missing), "dim")


def head(result: Result, words: Language = ENGLISH) -> Iterator[str]:
    """What was run, against what, and how."""
    plan = result.run.plan
    if plan is None:
        yield f"{result.run.id}"
        return
    if watched(result):
        yield from _watched(result, words)
        return
    mix = plan.get("mix") or ()
    workload, drive = plan["workload"], plan["drive"]
    how = say("{protocol} statements", protocol=drive["protocol"])
    seed = say("seed {seed}", seed=drive["seed"])
    size = None if mix else _size(workload)
    what = filter(None, (workload["name"], size, how, *_timing(plan), seed))
    yield words.value(Joined(what))
    for member in mix:
        yield "  " + words.value(Joined(_member(member)))
    yield from map(words, _further_connections(drive))
    first = result.steps[0] if result.steps else None
    for part in first.targets if first else ():
        place = part.target
        if part.server_version:
            place = say("{target} ({version})", target=place, version=part.server_version)
        yield words.value(Joined((place, *_encryption(first))))


def load(result: Result) -> Iterator[Message | str]:
    """The workload, its tables and the time of a step; nothing for a run that only watched."""
    plan = result.run.plan
    if plan is None or watched(result):
        return
    yield str(plan["workload"]["name"])
    if size := None if plan.get("mix") else _size(plan["workload"]):
        yield size
    yield from _timing(plan)


def _member(member: dict[str, Any]) -> Iterator[str]:
    """A workload of a mix: its share of the load, and its data."""
    has: Message = say("weight {weight}", weight=General(member["weight"] or 0.0))
    if member["users"]:
        has = user_count(member["users"])
    yield say_in("joined", "{first}: {second}", first=member["name"], second=has)
    yield member["workload"]["name"]
    if size := _size(member["workload"]):
        yield size


def _further_connections(drive: dict[str, Any]) -> Iterator[Message]:
    """Connections besides one for each user."""
    if after := drive.get("reconnect_after"):
        yield counted(
            "each user opens a new connection after 1 transaction",
            "each user opens a new connection after {number} transactions",
            after,
        )
    if idle := drive.get("idle"):
        yield counted(
            "1 idle connection alongside the users",
            "{number} idle connections alongside the users",
            idle,
        )


def _size(workload: dict[str, Any]) -> Message | None:
    if warehouses := workload.get("warehouses"):
        return counted("1 warehouse", "{number} warehouses", warehouses)
    if workload.get("script") or (workload.get("template") and workload["table_size"] == 1):
        # The size of the tables of a script, a replay or a template without tables is unknown.
        return None
    tables = table_count(workload["tables"])
    if workload.get("template") or workload.get("book"):
        return tables
    return say("{tables} × {rows}", tables=tables, rows=row_count(workload["table_size"]))


def _watched(result: Result, words: Language) -> Iterator[str]:
    """What was watched, and for how long."""
    for step in result.steps:
        window = step.window
        if window:
            seconds = Seconds(window.to_s - window.from_s)
            yield words(say("watched for {duration}, without load of ours", duration=seconds))
        yield from (part.target for part in step.targets)


def ladder_table(ladder: Sequence[Level], words: Language = ENGLISH) -> Table:
    """One variant's and workload's levels, the peak in bold."""
    repeats = any(step.repeat > 1 for level in ladder for step in level.steps)
    rates = any(level.rate for level in ladder)
    found = shape(ladder)
    rows: list[tuple[str, ...]] = []
    styles: dict[int, Literal["bold", "dim"]] = {}
    for level in ladder:
        added = level_rows(level, repeats=repeats, rates=rates, words=words)
        if found and level is found.peak:
            styles |= dict.fromkeys(range(len(rows), len(rows) + len(added)), "bold")
        rows += map(tuple, added)
    columns = step_columns(repeats=repeats, rates=rates, words=words)
    return Table(columns, tuple(rows), styles=styles)


def notes(result: Result, words: Language = ENGLISH) -> Iterator[str]:
    """All that a reader should know, of the run and of its steps."""
    yield from map(words, run_notes(result.run))
    yield from map(words, notes_of(result.steps))
    yield from observed_notes(result.steps, words)
    yield from hot_row_notes(result.steps, words)
    yield from map(words, marks(result.steps))
    if watched(result):
        yield words(
            say(
                "no cause is named: the diagnosis is of loads that Loadstone drives, since it needs"
                " their latencies (loadstone run)"
            )
        )


def _timing(plan: dict[str, Any]) -> Iterator[Message]:
    warmup = plan["warmup"]
    window = say("{duration} a step", duration=Seconds(plan["duration_s"]))
    if plan["duration_s"] >= LONGEST_S:
        window = say("a step to its own end")
    if plan.get("phases"):
        phases = counted("1 phase", "{number} phases", len(plan["phases"]))
        yield say("{window} in {phases}", window=window, phases=phases)
    elif warmup["kind"] == "auto":
        yield say("{window} with automatic warm-up", window=window)
    elif warmup_s := warmup_of(plan):
        yield say("{window} after {duration} warm-up", window=window, duration=Seconds(warmup_s))
    else:
        yield say("{window} without warm-up", window=window)
    if plan["repeats"] > 1:
        yield repeat_count(plan["repeats"])


def _encryption(step: StepResult | None) -> Iterator[Message]:
    if step is None or step.encrypted_users is None:
        yield say("encryption not evaluated")
        return
    yield say("encrypted, {how}", how=step.tls) if step.encrypted_users else say("not encrypted")
    if step.compressed_users:
        yield say("compressed, {how}", how=step.compression)
