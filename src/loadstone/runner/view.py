"""Progress of a run, shown on a terminal, on a page, or not at all."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from loadstone.experiments.trials import Timing
    from loadstone.lab.step.listener import LoadObserver, Observer
    from loadstone.model.finding import Trial
    from loadstone.model.plan import Plan, Step
    from loadstone.model.records import Connected, LoadProgress, LoadStalled, Sample
    from loadstone.model.result import StepResult


class PlannedTrial(Protocol):
    """A trial that is about to be driven."""

    @property
    def cause(self) -> str:
        """The finding that it tests."""

    @property
    def trial(self) -> Trial:
        """What it changes."""

    @property
    def users(self) -> int:
        """Virtual users of each step."""

    @property
    def seconds(self) -> float:
        """Maximum duration, without the start of servers."""

    @property
    def timing(self) -> Timing:
        """How that time is divided."""

    @property
    def own_servers(self) -> bool:
        """Whether it starts its own throwaway servers."""

    @property
    def by_sessions(self) -> bool:
        """Whether the load's own sessions set what it changes, and nobody else has it."""

    @property
    def steps(self) -> int:
        """The number of steps."""


class View(Protocol):
    """Receives a run's progress. Methods must return quickly: the load's records wait for them."""

    @property
    def command_line(self) -> tuple[str, ...]:
        """The command line as typed, with user defaults, without passwords; run.json keeps it."""

    @property
    def commanded(self) -> float:
        """When the command was given, on the monotonic clock."""

    def announce(self, line: str) -> None:
        """Show one line of progress."""

    def will_change(self, line: str) -> None:
        """Announce what will be dropped, made or set on the user's server, before it is."""

    def begun(self, folder: Path) -> None:
        """The run's folder has been created."""

    def steps(
        self, plan: Plan, planned: int | None, *, long: bool = False, searches: int = 1
    ) -> AbstractContextManager[Observer]:
        """The observer of the steps; `planned` is their number, if it is known.

        `long`: the steps are those of an experiment, which may take hours. `searches`: how many
        searches they belong to, if the plan is to search.
        """

    def load(self) -> AbstractContextManager[LoadObserver]:
        """The observer of a bulk load."""

    def proving(self, trials: Sequence[PlannedTrial], not_tried: int) -> None:
        """Show the trials that will be driven, and how many findings are not tested."""

    def trial(self, planned: PlannedTrial) -> Observer:
        """A trial starts; returns the observer of its steps."""

    def left(self, changed: Sequence[str]) -> None:
        """After an error, show which server variables were not restored, one sentence each."""


class Silence:
    """An observer of steps and loads that shows nothing."""

    def on_step_begin(self, step: Step) -> None:
        """Show nothing."""

    def on_connected(self, step: Step, connected: Connected) -> None:
        """Show nothing."""

    def on_sample(self, step: Step, sample: Sample) -> None:
        """Show nothing."""

    def on_step_end(self, step: Step, result: StepResult) -> None:
        """Show nothing."""

    def on_more_steps(self, number: int) -> None:
        """Show nothing."""

    def on_note(self, text: str) -> None:
        """Show nothing."""

    def on_progress(self, progress: LoadProgress) -> None:
        """Show nothing."""

    def on_stalled(self, stalled: LoadStalled) -> None:
        """Show nothing."""


class Quiet:
    """A view that shows nothing, for programs that only want the run."""

    def __init__(self, command_line: tuple[str, ...] = ("python",)) -> None:
        """`command_line` is what run.json records as the command."""
        self.command_line = command_line
        self.commanded = time.monotonic()

    def announce(self, line: str) -> None:
        """Show nothing."""

    def will_change(self, line: str) -> None:
        """Show nothing."""

    def begun(self, folder: Path) -> None:
        """Show nothing."""

    @contextmanager
    def steps(
        self, plan: Plan, planned: int | None, *, long: bool = False, searches: int = 1
    ) -> Iterator[Observer]:
        """Show nothing."""
        yield Silence()

    @contextmanager
    def load(self) -> Iterator[LoadObserver]:
        """Show nothing."""
        yield Silence()

    def proving(self, trials: Sequence[PlannedTrial], not_tried: int) -> None:
        """Show nothing."""

    def trial(self, planned: PlannedTrial) -> Observer:
        """Show nothing."""
        return Silence()

    def left(self, changed: Sequence[str]) -> None:
        """Show nothing: the error's notes have the list."""
