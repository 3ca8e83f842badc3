"""What the events of `hot_row` wait for at each level: the lock, the flush and the CPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loadstone.analyse import derived_figures
from loadstone.analyse.ladder import Level
from loadstone.model.columns import Column
from loadstone.model.error_codes import MYSQL
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import say
from loadstone.model.numbers import count, rate
from loadstone.model.result import StepResult
from loadstone.model.target_url import family_in
from loadstone.report.columns import HEADS, good_steps
from loadstone.report.table import Table, table_of

WORKLOAD = "hot_row"

_COLUMNS: tuple[Column, ...] = (
    "response_ms",
    "lock_ms",
    "lock_waits",
    "waiting",
    "flush_ms",
    "server_us",
    "deadlocks",
)


def hot_row_table(ladder: Sequence[Level], words: Language = ENGLISH) -> Table | None:
    """The table; `None` for other workloads, or where no server was observed."""
    seen = [level for level in ladder if any(step.server for step in level.steps)]
    if not seen or seen[0].workload != WORKLOAD:
        return None
    rows = []
    for level in seen:
        steps = good_steps(level.steps)
        figures = (rate(derived_figures.value(column, steps)) for column in _COLUMNS)
        rows.append((count(level.concurrency), *figures))
    heads = (say("users"), *(HEADS[column] for column in _COLUMNS))
    return table_of([words(head) for head in heads], rows, text=0, least=5)


def hot_row_notes(steps: Sequence[StepResult], words: Language = ENGLISH) -> Iterator[str]:
    """What the table cannot show."""
    if any(step.workload == WORKLOAD and step.server and _checks(step) for step in steps):
        yield words(
            say(
                "deadlock checks are part of the server's CPU, and no server counts them "
                "separately: loadstone recipes run flash-sale measures them"
            )
        )


def _checks(step: StepResult) -> bool:
    """Whether the server looks for a deadlock at each wait, and not only after a long one."""
    return family_in(step.targets[0].target if step.targets else "") == MYSQL
