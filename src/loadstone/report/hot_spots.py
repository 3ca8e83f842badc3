"""Where the server spent a step, by its own instruments: the first few of each kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadstone.model.hot_spots import HotSpots
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import Message, say, say_in
from loadstone.model.numbers import count, digits
from loadstone.model.result import StepResult
from loadstone.report.table import Column, Table

_ROWS = 3
_TEXT = 64
_STATEMENT = 2 * _TEXT
"""The most characters of a statement; all of it is in result.json."""


def hottest_step(steps: Sequence[StepResult]) -> StepResult | None:
    """The step with the highest rate among those whose server reported hot spots."""
    told = [step for step in steps if step.hot_spots and _tells(step.hot_spots)]
    return max(told, key=lambda step: step.tps or 0.0, default=None)


def _tells(spots: HotSpots) -> bool:
    return bool(spots.statements or spots.counted or spots.waits or spots.files or spots.tables)


def hot_spots_table(spots: HotSpots, words: Language = ENGLISH) -> Table:
    """A row a spot. Times of all sessions are added up, so they may exceed the step's length."""
    columns = (
        Column(words(say("kind")), is_text=True),
        Column(words(say("where")), is_text=True, most=_TEXT),
        Column(words(say("count"))),
        Column(words(say("seconds"))),
    )
    rows = ((words(kind), *cells) for kind, *cells in _rows(spots))
    return Table(columns, tuple(rows), gap=2, top=True)


def _rows(spots: HotSpots) -> Iterator[tuple[Message, str, str, str]]:
    for statement in spots.statements[:_ROWS]:
        text = _begin(_one_line(statement.statement))
        yield say("statement"), text, count(statement.count), digits(statement.time_s)
    for one in spots.counted[:_ROWS]:
        text = _begin(_one_line(one.statement))
        yield say("statement"), text, count(one.calls), digits(one.exec_s + (one.plan_s or 0.0))
    for wait in spots.waits[:_ROWS]:
        yield (
            say_in("hot spot", "wait"),
            _one_line(wait.event),
            count(wait.count),
            digits(wait.time_s),
        )
    for file in spots.files[:_ROWS]:
        operations = file.reads + file.writes + file.syncs
        yield say("file"), _one_line(file.file), count(operations), digits(file.time_s)
    for table in spots.tables[:_ROWS]:
        rows = table.fetched + table.written
        yield say("table"), _one_line(table.table), count(rows), digits(table.io_s + table.lock_s)


def _one_line(text: str) -> str:
    """A server's text in one line, without terminal control sequences."""
    return "".join(mark if mark.isprintable() else " " for mark in text)


def _begin(statement: str) -> str:
    return statement if len(statement) <= _STATEMENT else f"{statement[: _STATEMENT - 1]}…"


def without_statements(spots: HotSpots) -> Message | None:
    """Why the table has no statements, if its other rows are there."""
    why = spots.not_evaluated.get("statements")
    if spots.statements or why is None:
        return None
    return say("statements not evaluated: {why}", why=why)
