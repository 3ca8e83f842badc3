"""The diagnosis of a run, from its folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loadstone.diagnosis.diagnose import Known, diagnose
from loadstone.diagnosis.frames import RunSeconds, environment_of
from loadstone.lab.machine.generator_ceilings import limits_of
from loadstone.model.finding import Diagnosis
from loadstone.model.result import Result


def findings_of(
    path: Path, result: Result, environment: Mapping[str, Any] | None = None
) -> list[Diagnosis]:
    """Why each ladder of a run is not faster, by the current rules, with the results of its trials.

    `environment`: its environment.json, if that was already read.

    Raises:
        StoreError: a file of the run cannot be read.
    """
    known = Known(
        environment_of(path) if environment is None else environment,
        RunSeconds(path),
        limits_of(path),
        result.proofs,
    )
    return diagnose(result, known)
