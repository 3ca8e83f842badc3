"""Which runs of a folder are meant: by name, workload, target and label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from loadstone.model.frozen import Frozen
from loadstone.model.result import Result
from loadstone.model.target import Target
from loadstone.runs.labels import read_labels
from loadstone.runs.run_folder import Listed


class Described(Frozen):
    """What a run is found by."""

    names: tuple[str, ...]
    """Its folder's, and the one that the user gave it."""
    workload: str | None
    targets: tuple[str, ...]
    """URLs without passwords."""
    labels: tuple[str, ...]


class Selection(Frozen):
    """Runs with these texts in what they are found by, in any case; empty ones choose all."""

    name: str = ""
    workload: str = ""
    target: str = ""
    label: str = ""

    def has(self, run: Described) -> bool:
        """Whether the run is meant."""
        return (
            _is_in(self.name, run.names)
            and _is_in(self.workload, [run.workload or ""])
            and _is_in(self.target, run.targets)
            and _is_in(self.label, run.labels)
        )

    @property
    def is_all(self) -> bool:
        """Whether it chooses every run."""
        return not (self.name or self.workload or self.target or self.label)


def is_selected(listed: Listed, selection: Selection) -> bool:
    """Whether a run is meant; one that cannot be read is, unless something is asked of it.

    Raises:
        StoreError: its labels cannot be read.
    """
    if listed.result is None:
        return selection.model_copy(update={"name": ""}).is_all and _is_in(
            selection.name, [listed.folder.name]
        )
    return selection.has(_described(listed.folder, listed.result))


def _described(folder: Path, result: Result) -> Described:
    plan = result.run.plan or {}
    return Described(
        names=(folder.name, result.run.name),
        workload=workload_of(plan),
        targets=targets_of(plan),
        labels=read_labels(folder),
    )


def _is_in(wanted: str, texts: Iterable[str]) -> bool:
    wanted = wanted.strip().casefold()
    return not wanted or any(wanted in text.casefold() for text in texts)


def workload_of(plan: Mapping[str, Any]) -> str | None:
    """The workload's name, in plans of any version."""
    named = plan.get("workload")
    name = named.get("name") if isinstance(named, dict) else None
    return name if isinstance(name, str) else None


def targets_of(plan: Mapping[str, Any]) -> tuple[str, ...]:
    """The URLs of the targets, without passwords; those of other versions are left out."""
    given = plan.get("targets")
    return tuple(url for each in given if (url := _url(each))) if isinstance(given, list) else ()


def _url(target: object) -> str | None:
    try:
        return Target.model_validate(target).url
    except ValidationError:
        return None
