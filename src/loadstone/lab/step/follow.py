"""Receives the records of an engine job until it ends, or until nobody wants to wait."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import TypeVar

from loadstone.engine import EngineError, Sending
from loadstone.lab.step.interrupts import Interrupts
from loadstone.model.errors import LoadstoneError
from loadstone.model.message import say
from loadstone.runs.errors import StoreError

Record = TypeVar("Record")

POLL_S = 0.2
"""Seconds until a request to stop is noticed."""

PATIENCE_S = 10.0
"""How long a job may take to end after it was asked to; the engine promises 5 s."""


def follow(
    job: Sending[Record],
    take: Callable[[Record], bool],
    interrupts: Interrupts,
    on_silence: Callable[[], None] | None = None,
) -> bool:
    """Hand each record to `take` until it returns that this was the last one.

    `on_silence` is called whenever no record came for a moment. When it or `take` raises, the job
    is stopped; after a record that could not be kept, its end is waited for.

    Returns whether the last record came: false when a second Ctrl-C cut the wait short.

    Raises:
        EngineError: the job did not stop when asked to, or ended without its last record.
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
    except EngineError:
        job.stop()  # it has ended, or was waited for
        raise
    except StoreError:
        # A notebook that catches it has no load on the server any more.
        job.stop()
        _wait_for_its_end(job, interrupts)
        raise
    except BaseException:
        job.stop()
        raise
    job.stop()
    return False


def _wait_for_its_end(job: Sending[Record], interrupts: Interrupts) -> None:
    """Wait until a job that was stopped has closed its connections."""
    until = time.monotonic() + PATIENCE_S
    with contextlib.suppress(LoadstoneError):
        while time.monotonic() < until and not interrupts.asked_again:
            began = time.monotonic()
            if job.next(POLL_S) is None and time.monotonic() - began < POLL_S / 2:
                return  # nobody sends any more


def _wait_for_one_that_is_gone(silent: int) -> None:
    """Wait after an empty answer that came at once; raises if the job ended without a record."""
    if silent > 100:
        raise EngineError(
            say("the engine ended without its last record"), say("that is a bug: report it")
        )
    time.sleep(0.01)
