"""The step of a run that is under way, from the journal that its process writes."""

from __future__ import annotations

from pathlib import Path

from loadstone.model.message import say
from loadstone.model.plan import Step
from loadstone.runs import run_folder
from loadstone.runs.errors import StoreError
from loadstone.runs.journal import StepBegin, StepEnd
from loadstone.runs.rebuild import JOURNAL
from loadstone.runs.tail import Tail


def check_under_way(run: Path) -> None:
    """Check that the run has a process, which reads what is asked of it.

    Raises:
        StoreError: it is over.
    """
    if not run_folder.is_running(run):
        raise StoreError(say("{run} is over: nothing of it can be changed", run=run.name))


def step_under_way(run: Path) -> Step:
    """The step that runs.

    Raises:
        StoreError: none does, or the journal cannot be read.
    """
    found: Step | None = None
    try:
        size = (run / JOURNAL).stat().st_size
    except OSError as error:
        raise StoreError.from_os("read", run / JOURNAL, error) from error
    # Seconds are most of a journal, and say nothing of steps.
    tail = Tail(run / JOURNAL, seconds_from=size)
    while written := tail.read():
        for line in written:
            match line.entry:
                case StepBegin(step=step):
                    found = step
                case StepEnd():
                    found = None
    if found is None:
        raise StoreError(
            say("{run} is between two steps", run=run.name),
            say("ask again when its next step has started"),
        )
    return found
