"""The steps of a run, one after the other: one loop for plain runs, experiments and replays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
"""How often a step is measured again after a loss that was not the server's fault."""

Planned = TypeVar("Planned")


@dataclass(frozen=True)
class Measured:
    """A finished step."""

    result: StepResult
    targets: tuple[Target, ...]
    """Where it was measured."""


class StepSource(Protocol[Planned]):
    """Chooses the steps, and measures each."""

    def following(self, done: Sequence[StepResult]) -> Planned | None:
        """The step after these; `None` after the last one. `done` is the same list each time."""

    def measure(self, planned: Planned) -> Measured:
        """Drive a step.

        Raises:
            LoadstoneError: it cannot be driven, and ends the run.
        """

    def outcome(self, done: Sequence[StepResult]) -> Found:
        """The result of the search; `None` if nothing was searched for."""


@dataclass(frozen=True)
class Outcome:
    """A finished run: its result, and the error that ended it early, if any."""

    result: Result
    error: LoadstoneError | None = None


def drive_steps(
    source: StepSource[Planned],
    lab: Lab,
    before: Sequence[StepResult] = (),
    notes: Iterable[Message] = (),
) -> Outcome:
    """Drive all steps; the first that fails or is stopped is the last.

    Whatever happens, the lab's sources and files are closed at the end.

    Args:
        source: chooses and measures the steps.
        lab: what they share.
        before: the steps of a run that is continued.
        notes: what is to be noted before the first step.

    Raises:
        StoreError: the run cannot be written any more; what was written is kept.
    """
    done = list(before)
    state: StepState
    error: LoadstoneError | None
    try:
        try:
            for note in notes:
                lab.note(note)
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
    """Drive the steps and append each finished one to `done`."""
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
    """Measure one step, and again if it was lost to something that is not the server's fault.

    The step's number is part of its meaning, so it keeps it, and the lost measurement is discarded,
    as in a run that is continued.
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
