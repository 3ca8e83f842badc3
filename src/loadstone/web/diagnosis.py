"""The live diagnosis of a run: the rules applied to the steps that have ended so far."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from loadstone.diagnosis.of_run import findings_of
from loadstone.model.finding import Diagnosis
from loadstone.model.result import StepResult
from loadstone.report.predicted import proof_sentence, with_the_remedy
from loadstone.runs import run_folder
from loadstone.web.localize import Translations, translations
from loadstone.web.running_step import is_judged


def findings(run: Path) -> list[dict[str, Any]]:
    """A diagnosis for each ladder, in the JSON form of docs/diagnosis.md, with its translations.

    Raises:
        StoreError: a file of the run cannot be read.
    """
    return [_as_json(one) for one in diagnoses(run)]


def _as_json(found: Diagnosis) -> dict[str, Any]:
    """The document, with what each remedy is predicted to bring, and what its proof measured."""
    document = found.model_dump(mode="json")
    predicted = [with_the_remedy(one) for one in found.findings]
    proved = [proof_sentence(one.proof) if one.proof else None for one in found.findings]
    changes = [one.trial.change if one.trial else None for one in found.findings]
    said = zip(document["findings"], predicted, proved, changes, strict=True)
    for each, rate, proof, change in said:
        each["predicted"], each["proved"], each["change"] = rate, proof, change
    told = translations([text for text in (*predicted, *proved, *changes) if text is not None])
    return document | {"told": _told(found) | told}


def diagnoses(run: Path) -> tuple[Diagnosis, ...]:
    """A diagnosis for each ladder of a run.

    The running step is left out until its window is long enough: one second of it shows little.

    Raises:
        StoreError: a file of the run cannot be read.
    """
    result = run_folder.load(run)
    if result.run.state == "running":
        shown = tuple(step for step in result.steps if _shows_something(step))
        result = result.model_copy(update={"steps": shown})
    return tuple(findings_of(run, result))


def _shows_something(step: StepResult) -> bool:
    return step.state != "interrupted" or is_judged(step.window)


def _told(found: Diagnosis) -> Translations:
    """Translations of every sentence, and of the names and units of figures."""
    said = [text for one in found.findings for text in (one.sentence, one.remedy)]
    said += [one.proof.sentence for one in found.findings if one.proof]
    evidence = [each for one in found.findings for each in one.evidence]
    return translations([*said, *(text for each in evidence for text in (each.counter, each.unit))])
