"""The rows of steps, computed from the journal."""

from __future__ import annotations

from pathlib import Path

from pydantic import TypeAdapter

from loadstone.model.frozen import DEFERRED, Frozen
from loadstone.model.result import StepResult
from loadstone.runs import run_folder
from loadstone.runs.journal import RunBegin, StepEnd, read_entries
from loadstone.runs.rebuild import JOURNAL, RunLog, step_result
from loadstone.web.apart import answer, asked_of


class OneStep(Frozen):
    """A step; of one that is under way the row is of its seconds up to now."""

    begin: RunBegin
    journal_from: int
    """The step's first byte in the journal."""


class _Asked(Frozen):
    """Which steps of which run; `None`: all."""

    run: Path
    one: OneStep | None


_ROWS = TypeAdapter(tuple[StepResult, ...], config=DEFERRED)


def row_of(run: Path, one: OneStep) -> StepResult:
    """The row of a step, of which only that part of the journal is read.

    Raises:
        StoreError: the journal or the latency log cannot be read.
    """
    log = RunLog(run / JOURNAL, is_whole=False)
    for entry in read_entries(log.journal, one.journal_from):
        log.add(entry)
        if isinstance(entry, StepEnd):
            break
    return step_result(run, log.steps[-1], one.begin)


async def rows_apart(run: Path, one: OneStep | None = None) -> tuple[StepResult, ...]:
    """The row of a step, or those of the whole run, computed by a process that has ended by then.

    Raises:
        StoreError: a file of the run cannot be read.
        NoAnswer: the process failed.
    """
    asked = _Asked(run=run.absolute(), one=one)
    return _ROWS.validate_json(await asked_of("loadstone.web.ended_step", asked.model_dump_json()))


def _rows(question: str) -> str:
    asked = _Asked.model_validate_json(question)
    rows = (row_of(asked.run, asked.one),) if asked.one else run_folder.load(asked.run).steps
    return _ROWS.dump_json(rows).decode()


if __name__ == "__main__":
    answer(_rows)
