"""The tables of an experiment's workloads: which there are, where, and how they are restored.

Workloads that need the same tables share them. On a throwaway server each of the others gets its
own schema; on a target there is only the schema that its URL names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from loadstone.config.problems import ExperimentRefused, Problems
from loadstone.engine import WorkloadInfo
from loadstone.experiments.file import ExperimentFile
from loadstone.experiments.workloads import info, layout_for_workload, writes
from loadstone.lab.tables.load import names_of, together
from loadstone.model.engine_plan import Layout
from loadstone.model.experiment import Experiment
from loadstone.model.message import say
from loadstone.model.plan import WorkloadSpec
from loadstone.model.target import Endpoint

Restoring = Literal["none", "copy", "prepare"]
"""How tables get back to their original state when a block starts."""

Fill = Callable[[Layout, Endpoint], None]
"""Makes and fills tables; passed in by the caller, who shows the progress."""

Empty = Callable[[Layout, Endpoint], None]
"""Drops the tables of a layout that Loadstone made, and no others."""


@dataclass(frozen=True)
class Tables:
    """What is loaded where, for which workloads."""

    groups: tuple[tuple[Layout, ...], ...]
    """Layouts that share a schema, such as those of a mix; each but the first has its own schema.
    """
    of: Mapping[str, int]
    """By workload, the index of its group in the list; scripts come after all groups."""
    writes: bool
    """Whether any of the workloads changes its rows; unknown for scripts."""
    scripts: tuple[WorkloadSpec, ...] = ()
    """Workloads that make their tables themselves."""

    def schema(self, workload: str, first: str) -> str:
        """The schema of a workload's tables."""
        return self.schema_at(self.of[workload], first)

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """All layouts."""
        return tuple(layout for group in self.groups for layout in group)

    @staticmethod
    def schema_at(place: int, first: str) -> str:
        """The schema of a group."""
        return first if place == 0 else f"{first}_{place + 1}"


def tables_of(experiment: Experiment, known: Mapping[str, WorkloadInfo]) -> Tables:
    """The tables that must be loaded."""
    groups: list[tuple[Layout, ...]] = []
    of: dict[str, int] = {}
    scripts = tuple(each for each in experiment.workloads if each.script)
    others = [each for each in experiment.workloads if not each.script]
    for workload in others:
        fitted = with_tables(workload, experiment, known)
        group = tuple(
            together([layout_for_workload(experiment, known, one) for one in fitted.alone])
        )
        if group not in groups:
            groups.append(group)
        of[workload.name] = groups.index(group)
    of |= {script.name: len(groups) + at for at, script in enumerate(scripts)}
    changes = any(writes(experiment, known, workload) for workload in others)
    return Tables(tuple(groups), of, changes, scripts)


def restoring(experiment: Experiment, tables: Tables, usual: Restoring) -> Restoring:
    """How a server's tables are restored; `usual`: the best method that it supports."""
    wanted = experiment.restore
    if wanted != "auto":
        return "prepare" if wanted == "copy" and usual == "prepare" else wanted
    # On a target, changes made by scripts are not undone.
    changes = tables.writes or (tables.scripts and usual == "copy")
    return usual if changes else "none"


def made_on_targets(experiment: Experiment, tables: Tables) -> tuple[str, ...]:
    """The names of the tables that are repeatedly dropped and made on a target."""
    anew = restoring(experiment, tables, "prepare") == "prepare"
    # Each step of a bulk load fills its tables from the first key on.
    made = [layout for layout in tables.layouts if anew or layout.kind == "bulk"]
    return tuple(name for layout in made for name in names_of(layout))


def with_tables(
    workload: WorkloadSpec, experiment: Experiment, known: Mapping[str, WorkloadInfo]
) -> WorkloadSpec:
    """The workload with a table for each user, if it needs that."""
    if workload.mix:
        members = tuple(
            member.model_copy(update={"workload": with_tables(member.workload, experiment, known)})
            for member in workload.mix
        )
        return workload.model_copy(update={"mix": members})
    if info(experiment, known, workload).layout != "bulk":
        return workload
    tables = max(workload.tables, experiment.most_users)
    return workload.model_copy(update={"tables": tables})


def check_tables(file: ExperimentFile, known: Mapping[str, WorkloadInfo]) -> None:
    """Refuse tables of two sizes on a target, which has only one schema for them.

    Raises:
        ExperimentRefused: there are such tables.
    """
    experiment = file.experiment
    levels = [level for factor in experiment.factors for level in factor.levels]
    if experiment.target is None and not any(level.target for level in levels):
        return
    tables = tables_of(experiment, known)
    faults = Problems(file.lines)
    first = next((name for name, place in tables.of.items() if place == 0), "")
    for at, workload in enumerate(experiment.workloads):
        if tables.of[workload.name] and not workload.script:
            said = say("its tables are not those of {other}, in the same schema", other=first)
            write = say("write the same tables and table_size, or use a file of its own")
            faults.add(("workload", at), said, write)
    if faults.found:
        raise ExperimentRefused(file.name, faults.found)
