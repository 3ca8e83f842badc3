"""Drives the only step of a run for a stand-in, which turns the engine's records into output."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from loadstone import engine
from loadstone.dropin.aside import aside
from loadstone.dropin.keeping import Keeper
from loadstone.lab.step.follow import follow
from loadstone.lab.step.interrupts import Interrupts
from loadstone.model.message import say
from loadstone.model.plan import Step
from loadstone.model.records import End, StepRecord


class Watched(Protocol):
    """What becomes of the engine's records."""

    end: End | None
    """The last record."""

    def take(self, record: StepRecord) -> bool:
        """Process the next record; returns whether it is the last."""


def drive(
    document: str,
    step: Step,
    watched: Watched,
    keeper: Keeper | None,
    on_silence: Callable[[], None] | None = None,
) -> bool:
    """Drive a step to its end; returns whether the user interrupted it.

    `document` is its plan for the engine; `keeper` keeps the run's folder;
    `on_silence` is called whenever no record came for a moment.

    Raises:
        StoreError: the run's folder cannot be written.
    """

    def take(record: StepRecord) -> bool:
        if keeper:
            keeper.record(step, record)
        return watched.take(record)

    with Interrupts() as interrupts:
        if keeper:
            keeper.begin(step)
        try:
            follow(engine.start(document), take, interrupts, on_silence)
        finally:
            if keeper:
                keeper.end(step, watched.end)
    if interrupts.asked:
        aside(say("interrupted"))
    return interrupts.asked
