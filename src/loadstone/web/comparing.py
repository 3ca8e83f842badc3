"""Comparison of two runs as in `loadstone compare`, with a figure of both."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from loadstone.analyse.differences import Differences, differences
from loadstone.analyse.environment_diff import surroundings_of
from loadstone.analyse.matrix import Matrix, matrix
from loadstone.analyse.paired_sides import Run
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import say
from loadstone.report.comparison_document import comparison_document
from loadstone.report.comparison_page import as_page
from loadstone.report.figures.live import ladders
from loadstone.runs.reader import read_run
from loadstone.web.localize import translations


def compared(a: Path, b: Path) -> Mapping[str, Any]:
    """The second run compared with the first: the document of docs/comparing.md, extended.

    It also has `ladder`, the figure of both runs, and translations of what settings mean and of
    what was not evaluated.

    Raises:
        StoreError: one of them cannot be read.
        ComparisonError: one of them has no step to compare, or both are the same run.
    """
    runs = _read(a, b)
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


def comparison_of(a: Path, b: Path, words: Language = ENGLISH) -> str:
    """A comparison of two runs as a self-contained page that can be passed on.

    Raises:
        StoreError: as `compared`.
        ComparisonError: as `compared`.
    """
    title = say("Comparison of {a} and {b}", a=a.name, b=b.name)
    return as_page(title, *_compared(_read(a, b)), words)


def _read(a: Path, b: Path) -> list[Run]:
    return [
        Run(kept.path.name, kept.result, kept.experiment, kept.environment, kept.seconds)
        for kept in map(read_run, (a, b))
    ]


def _compared(runs: list[Run]) -> tuple[Matrix, Differences]:
    found = matrix(runs)
    around = {side.name: [surroundings_of(part) for part in side.all_parts] for side in found.sides}
    return found, differences(around)
