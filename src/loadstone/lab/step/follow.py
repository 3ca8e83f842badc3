"""Takes in what a job of the engine sends up until it ends, or until nobody wants to wait."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from loadstone.engine import EngineError, Sending
from loadstone.lab.step.interrupts import Interrupts
from loadstone.model.message import say

Record = TypeVar("Record")

POLL_S = 0.2
"""How soon a wish to stop is noticed."""

PATIENCE_S = 10.0
"""How long a job may take to end after it was asked to; the engine promises 5 s."""


def follow(
    job: Sending[Record],
    take: Callable[[Record], bool],
    interrupts: Interrupts,
    on_silence: Callable[[], None] | None = None,
) -> bool:
    """Hand each record to `take` until it says that this was the last one.

    `on_silence` is called whenever no record came for a moment; it may raise, as `take` may.

    Returns whether there was a last one: not so when a second Ctrl-C cut the wait short. Whatever
    they raise is raised again after the job was told to stop.

    Raises:
        EngineError: the job was asked to stop and did not, or ended without saying so.
    """
    asked_at: float | None = None
    silent = 0
    try:
        while not interrupts.asked_again:
            if interrupts.asked and asked_at is None:
                asked_at = time.monotonic()
                job.stop()
            if asked_at is not None and time.monotonic() > asked_at + PATIENCE_S:
                raise EngineError(
                    say("the engine did not end within ten seconds after it was asked to")
                )
            began = time.monotonic()
            record = job.next(POLL_S)
            if record is not None and take(record):
                return True
            if record is None and on_silence:
                on_silence()
            silent = silent + 1 if record is None and time.monotonic() - began < POLL_S / 2 else 0
            if silent:
                _wait_for_one_that_is_gone(silent)
    except BaseException:
        job.stop()
        raise
    job.stop()
    return False


def _wait_for_one_that_is_gone(silent: int) -> None:
    """An answer of nothing that came at once: a job that is over without its last record."""
    if silent > 100:
        raise EngineError(
            say("the engine ended without its last record"), say("that is a bug: report it")
        )
    time.sleep(0.01)
