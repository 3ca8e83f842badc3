"""Why a run is not faster, as far as it has come: the rules over its steps that have ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loadstone.diagnose.diagnose import Known, diagnose
from loadstone.diagnose.frames import RunSeconds, environment_of
from loadstone.lab.limits import limits_of
from loadstone.store import folder


def findings(run: Path) -> list[dict[str, Any]]:
    """A diagnosis for each ladder, as docs/diagnosis.md has them in JSON.

    A step that is under way is left out: what it shows after a second says little.

    Raises:
        StoreError: a file of the run cannot be read.
    """
    result = folder.load(run)
    if result.run.state == "running":
        ended = tuple(step for step in result.steps if step.state != "interrupted")
        result = result.model_copy(update={"steps": ended})
    known = Known(environment_of(run), RunSeconds(run), limits_of(run))
    return [one.model_dump(mode="json") for one in diagnose(result, known)]
