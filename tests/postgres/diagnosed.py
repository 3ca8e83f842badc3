"""What the diagnosis of a run on PostgreSQL says by the rules of that family."""

from __future__ import annotations

from pathlib import Path

from loadstone.diagnosis.all_rules import COMMON_RULES, RULES_OF
from loadstone.diagnosis.of_run import findings_of
from loadstone.model.finding import Finding
from loadstone.model.result import StepResult
from loadstone.runs import run_folder

OWN = frozenset(
    cause for rule in RULES_OF["postgresql"] if rule not in COMMON_RULES for cause in rule.titles
)


def diagnosed(run: Path) -> tuple[list[Finding], tuple[StepResult, ...]]:
    """The findings of its own rules, the most important first, and the steps.

    Whether neighbours or full cores come before them depends on the machine.
    """
    result = run_folder.load(run)
    (found,) = findings_of(run, result)
    return [one for one in found.findings if one.cause in OWN], result.steps


def accused(found: list[Finding]) -> list[str]:
    """The causes among them that are more than notes."""
    return [one.cause for one in found if one.group != "note"]
