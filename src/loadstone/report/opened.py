"""A run opened for reading: its result, its frames and what is computed from them.

This is the Python API (`loadstone.open_run`) and the source of the report. Everything is read on
first use, and nothing in the folder is changed.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loadstone.analyse.ceilings import ceilings
from loadstone.analyse.comparison import Comparison, compare
from loadstone.diagnosis.frames import environment_of
from loadstone.diagnosis.of_run import findings_of
from loadstone.lab.machine.generator_ceilings import limits_of
from loadstone.model.attached import Attached
from loadstone.model.ceilings import StepCeilings
from loadstone.model.finding import Diagnosis
from loadstone.model.result import Result
from loadstone.report import frames
from loadstone.report.figures.of_run import RunFigures
from loadstone.report.latencies import COLUMNS, StepLatencies, latencies_of, spans_of
from loadstone.runs import run_folder
from loadstone.runs.attached import read_attached
from loadstone.runs.errors import StoreError
from loadstone.runs.rates import rates_by_step
from loadstone.runs.rebuild import LATENCIES
from loadstone.runs.recorder import Asked, read_asked

if TYPE_CHECKING:
    import polars


class Run:
    """One run's folder."""

    def __init__(self, path: Path) -> None:
        """`path` must be the folder of a run: `open_run` looks for one."""
        self.path = path

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    @cached_property
    def result(self) -> Result:
        """result.json, or as much of it as a killed run left."""
        return run_folder.load(self.path)

    @cached_property
    def asked(self) -> Asked | None:
        """run.json; `None` where it is of another version, or damaged."""
        try:
            return read_asked(self.path)
        except StoreError:
            return None

    @cached_property
    def environment(self) -> dict[str, Any]:
        """environment.json; empty where there is none."""
        return environment_of(self.path)

    @cached_property
    def load(self) -> polars.DataFrame:
        """A row a second and step: load.parquet, columns in docs/result.md."""
        return frames.load(self.path)

    @cached_property
    def server(self) -> polars.DataFrame:
        """A row an observation of a server: server.parquet; without rows where nothing was seen."""
        return frames.server(self.path)

    @cached_property
    def host(self) -> polars.DataFrame:
        """A row an observation of a host: host.parquet; without rows where nothing was seen."""
        return frames.host(self.path)

    @cached_property
    def steps(self) -> polars.DataFrame:
        """A row a step: the numbers people quote, columns in docs/python.md."""
        return frames.steps(self.result.steps)

    @cached_property
    def attached(self) -> Attached | None:
        """What `loadstone runs attach` added; `None` where that is nothing."""
        return read_attached(self.path)

    @cached_property
    def diagnoses(self) -> list[Diagnosis]:
        """Why each ladder is not faster, by the current rules."""
        return findings_of(self.path, self.result, self.environment)

    @cached_property
    def findings(self) -> polars.DataFrame:
        """A row a finding of each ladder, the most telling first; columns in docs/python.md."""
        return frames.findings(self.diagnoses)

    @cached_property
    def ceilings(self) -> list[StepCeilings]:
        """What each resource would allow at each step."""
        return ceilings(self.result.steps, limits_of(self.path))

    @cached_property
    def comparison(self) -> Comparison | None:
        """The comparison of an experiment's variants; `None` for any other run."""
        experiment = self.asked.experiment if self.asked else None
        if experiment is None:
            return None
        return compare(experiment, self.result.steps, rates_by_step(self.path))

    def latencies(
        self, numbers: Collection[int], columns: int = COLUMNS
    ) -> dict[int, StepLatencies]:
        """The merged histograms of these steps in so many stretches of time, from latency.hlog."""
        steps = [step for step in self.result.steps if step.step in numbers]
        return latencies_of(self.path / LATENCIES, spans_of(self.load, steps), columns)

    @property
    def figures(self) -> RunFigures:
        """The figures of the report; each shows itself in a notebook."""
        return RunFigures(self)


def open_run(path: str | Path) -> Run:
    """The run in a folder, or the one in `./runs` whose name has this prefix; `last`: the latest.

    Raises:
        StoreError: there is no such run, or more than one.
    """
    return Run(run_folder.find(Path("runs"), str(path)))
