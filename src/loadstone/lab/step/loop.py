"""The steps of a run, one after the other: one loop for plain runs, experiments and replays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from loadstone.lab.step.failures import as_error
from loadstone.lab.step.runner import Lab
from loadstone.model.errors import LoadstoneError
from loadstone.model.message import Message, plain, say
from loadstone.model.result import Result, StepResult, StepState
from loadstone.model.search import Found
from loadstone.model.target import Target
from loadstone.runs.errors import StoreError

MOST_REPEATS = 3
"""How often one step is measured again after it was lost to something that is not the server's."""

Planned = TypeVar("Planned")


@dataclass(frozen=True)
class Measured:
    """A step that is over."""

    result: StepResult
    targets: tuple[Target, ...]
    """Where it was measured."""


class StepSource(Protocol[Planned]):
    """Which steps there are, and how each is measured."""

    def following(self, done: Sequence[StepResult]) -> Planned | None:
        """The step after these, which is the same list each time; `None` where there is none."""

    def measure(self, planned: Planned) -> Measured:
        """Drive it.

        Raises:
            LoadstoneError: it cannot be driven, and ends the run.
        """

    def outcome(self, done: Sequence[StepResult]) -> Found:
        """What was looked for and found; `None` where nothing was looked for."""


@dataclass(frozen=True)
class Outcome:
    """A run that is over: its result, and the error that ended it before its time."""

    result: Result
    error: LoadstoneError | None = None


def drive_steps(
    source: StepSource[Planned], lab: Lab, before: Sequence[StepResult] = ()
) -> Outcome:
    """Drive all steps; one that fails or is stopped is the last.

    `before`: those of a run that is taken up.

    Raises:
        StoreError: the run cannot be written any more; what was written is kept.
    """
    done = list(before)
    state: StepState
    error: LoadstoneError | None
    try:
        try:
            state, error = _drive(source, lab, done)
        except StoreError:
            raise
        except LoadstoneError as failure:
            lab.note(say("ended early: {why}", why=failure.message))
            state, error = "failed", failure
        return Outcome(lab.recorder.end_run(state, source.outcome(done)), error)
    except LoadstoneError as failure:
        lab.recorder.give_up(failure.message)
        raise
    finally:
        lab.close()


def _drive(
    source: StepSource[Planned], lab: Lab, done: list[StepResult]
) -> tuple[StepState, LoadstoneError | None]:
    """`done` grows by each step that is finished."""
    while (planned := source.following(done)) is not None:
        if lab.interrupts.asked:
            return "stopped", None
        measured = _measure_unless_lost(source, planned, lab)
        ended = measured.result
        error = as_error(ended.error, measured.targets) if ended.error else None
        if ended.state != "finished":
            return ended.state, error
        done.append(ended)
    return "finished", None


def _measure_unless_lost(source: StepSource[Planned], planned: Planned, lab: Lab) -> Measured:
    """One step, and once more where it was lost to what is not the server's.

    A step's number says which part it plays, so it keeps its number, and what was lost is
    discarded, as in a run that is taken up.
    """
    for _ in range(MOST_REPEATS):
        measured = source.measure(planned)
        ended = measured.result
        if not lab.drives_again(ended) or lab.interrupts.asked:
            return measured
        lab.note(_again(ended))
    return source.measure(planned)


def _again(ended: StepResult) -> Message:
    if ended.error is None:
        return say("step {step} is measured again", step=ended.step)
    return say(
        "step {step} is measured again: {why}", step=ended.step, why=plain(ended.error.message)
    )
