"""Why a run is not faster, as far as it has come: the rules over its steps that have ended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loadstone.diagnosis.of_run import findings_of
from loadstone.model.finding import Diagnosis
from loadstone.runs import run_folder
from loadstone.web.localize import Translations, translations


def findings(run: Path) -> list[dict[str, Any]]:
    """A diagnosis for each ladder, as docs/diagnosis.md has them in JSON, and its other languages.

    A step that is under way is left out: what it shows after a second says little.

    Raises:
        StoreError: a file of the run cannot be read.
    """
    result = run_folder.load(run)
    if result.run.state == "running":
        ended = tuple(step for step in result.steps if step.state != "interrupted")
        result = result.model_copy(update={"steps": ended})
    found = findings_of(run, result)
    return [one.model_dump(mode="json") | {"told": _told(one)} for one in found]


def _told(found: Diagnosis) -> Translations:
    """Every sentence, and every name and unit of a figure."""
    said = [text for one in found.findings for text in (one.sentence, one.remedy)]
    said += [one.proof.sentence for one in found.findings if one.proof]
    evidence = [each for one in found.findings for each in one.evidence]
    return translations([*said, *(text for each in evidence for text in (each.counter, each.unit))])
