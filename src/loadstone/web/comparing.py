"""Comparison of runs as in `loadstone compare`, with a figure of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from loadstone.analyse.differences import Differences, differences
from loadstone.analyse.environment_diff import surroundings_of
from loadstone.analyse.matrix import Matrix, matrix
from loadstone.analyse.paired_sides import Run, as_run
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import Joined, say
from loadstone.report.comparison_document import comparison_document
from loadstone.report.comparison_page import as_page
from loadstone.report.figures.live import ladders
from loadstone.runs.reader import read_run
from loadstone.web.localize import translations

MOST = 8
"""Maximum number of runs in a comparison: more columns could not be read."""


def compared(paths: Sequence[Path]) -> Mapping[str, Any]:
    """Runs compared with the first of them: the document of docs/comparing.md, extended.

    It also has `ladder`, the figure of all runs, and translations of what settings mean and of
    what was not evaluated.

    Raises:
        StoreError: one of them cannot be read.
        ComparisonError: one of them has no step to compare, or one is named twice.
    """
    runs = _read(paths)
    found, differing = _compared(runs)
    figure = ladders({run.label: run.result.steps for run in runs})
    meanings = [row.meaning for row in differing.rows if row.meaning]
    said = [text for each in meanings for text in (each.performance, each.durability) if text]
    said += [label for label, _ in differing.not_evaluated]
    said += [each.verdict.said for cell in found.cells for each in cell.against]
    return comparison_document(found, differing, []) | {
        "ladder": figure,
        "told": translations(said),
    }


def comparison_of(paths: Sequence[Path], words: Language = ENGLISH) -> str:
    """A comparison of runs as a self-contained page that can be passed on.

    Raises:
        StoreError: as `compared`.
        ComparisonError: as `compared`.
    """
    title = say("Comparison of {sides}", sides=Joined(path.name for path in paths))
    return as_page(title, *_compared(_read(paths)), words)


def command_words(paths: Sequence[Path], runs: Path) -> tuple[str, ...]:
    """The arguments of `loadstone` that print the same comparison."""
    return ("compare", *(path.name for path in paths), f"--out={runs}")


def _read(paths: Sequence[Path]) -> list[Run]:
    return [as_run(path.name, read_run(path)) for path in paths]


def _compared(runs: list[Run]) -> tuple[Matrix, Differences]:
    found = matrix(runs)
    around = {side.name: [surroundings_of(part) for part in side.all_parts] for side in found.sides}
    return found, differences(around)
