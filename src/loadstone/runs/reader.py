"""A run's folder as whoever compares it reads it: copied from anywhere, of any state."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loadstone.model.experiment import Experiment
from loadstone.model.result import Result
from loadstone.runs import run_folder
from loadstone.runs.errors import StoreError
from loadstone.runs.rates import rates_by_step
from loadstone.runs.recorder import read_asked


@dataclass(frozen=True)
class Kept:
    """What a folder holds."""

    path: Path
    result: Result
    experiment: Experiment | None
    environment: dict[str, Any]
    seconds: dict[int, list[float]]


def read_run(path: Path, *, seconds: bool = True) -> Kept:
    """All of it; what is not there, or is damaged beside the journal, is not known.

    `seconds`: whether the events of each second are wanted, which takes the whole journal.

    Raises:
        StoreError: there is no run in the folder.
    """
    result = run_folder.load(path)
    try:
        experiment = read_asked(path).experiment
    except StoreError:  # of an older version, or not copied: the steps can be compared all the same
        experiment = None
    try:
        environment = run_folder.read_environment(path)
    except StoreError:  # then nothing is known of its settings, which a comparison says
        environment = {}
    rates = rates_by_step(path) if seconds else {}
    return Kept(path, result, experiment, environment, rates)
