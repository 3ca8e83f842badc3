"""Reads a run's folder for comparisons: it may be a copy, and in any state."""

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
    """The content of a folder."""

    path: Path
    result: Result
    experiment: Experiment | None
    environment: dict[str, Any]
    seconds: dict[int, list[float]]


def read_run(path: Path, *, seconds: bool = True) -> Kept:
    """Read the folder; parts that are missing or damaged, except the journal, count as unknown.

    `seconds`: whether to read the events of each second, which takes the whole journal.

    Raises:
        StoreError: there is no run in the folder.
    """
    result = run_folder.load(path)
    try:
        experiment = read_asked(path).experiment
    except StoreError:  # from an older version, or not copied: the steps can still be compared
        experiment = None
    try:
        environment = run_folder.read_environment(path)
    except StoreError:  # then its settings are unknown, which a comparison reports
        environment = {}
    rates = rates_by_step(path) if seconds else {}
    return Kept(path, result, experiment, environment, rates)
