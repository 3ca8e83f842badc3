"""Runs are set beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from loadstone.analyse.differences import Differences, differences
from loadstone.analyse.environment_diff import surroundings_of
from loadstone.analyse.matrix import ComparisonError, Matrix, matrix
from loadstone.analyse.paired_sides import as_run
from loadstone.runs.reader import read_run


@dataclass(frozen=True)
class Compared:
    """What runs have in common and what not, and how much faster each side is than the first."""

    matrix: Matrix
    """By workload, users and rate, each side with its figures and its change."""
    differences: Differences
    """What differs between the sides: settings, versions, hosts."""


def compare(paths: Sequence[Path], by: str | None = None) -> Compared:
    """Compare runs, each in its folder, the first with all others.

    `by`: `target` or the name of a factor, where sides are not the runs themselves.

    Raises:
        ComparisonError: there is nothing to compare, or a run is named twice.
        StoreError: a folder cannot be read.
    """
    resolved = [path.resolve() for path in paths]
    for path, again in zip(paths, resolved, strict=True):
        if resolved.count(again) > 1:
            raise ComparisonError(f"{path} is named twice", "a run does not differ from itself")
    labels = [path.name for path in resolved]
    if len(set(labels)) < len(labels):  # copied from several machines under one name
        labels = [str(path) for path in paths]
    kept = map(read_run, paths)
    runs = [as_run(label, each) for label, each in zip(labels, kept, strict=True)]
    found = matrix(runs, by)
    sides = {side.name: [surroundings_of(part) for part in side.all_parts] for side in found.sides}
    return Compared(found, differences(sides))
