"""The events of each second of each step's window, from a run's journal."""

from __future__ import annotations

from pathlib import Path

from loadstone.runs.rebuild import read_log
from loadstone.runs.steplog import in_window


def rates_by_step(folder: Path) -> dict[int, list[float]]:
    """By a step's number, events a second; a last piece of less than half a second is left out.

    Raises:
        StoreError: the journal cannot be read.
    """
    return {
        step.step.number: [
            sample.counts.events / sample.seconds
            for sample in step.samples()
            if sample.seconds > 0.5 and in_window(sample, step.window)
        ]
        for step in read_log(folder).steps
    }
