"""The events per second in each step's window, from a run's journal."""

from __future__ import annotations

from pathlib import Path

from loadstone.runs.rebuild import read_log
from loadstone.runs.steplog import in_window


def rates_by_step(folder: Path) -> dict[int, list[float]]:
    """By step number, events per second; a last piece shorter than half a second is left out.

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
