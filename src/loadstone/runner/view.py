"""How a run goes, told to whoever asked for it: a terminal, a page, or nobody."""

from __future__ import annotations

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
        """The finding that it tries."""

    @property
    def trial(self) -> Trial:
        """What it changes."""

    @property
    def users(self) -> int:
        """Virtual users of each step."""

    @property
    def seconds(self) -> float:
        """The most that it may take, starting servers not counted."""

    @property
    def timing(self) -> Timing:
        """How that time is spent."""

    @property
    def own_servers(self) -> bool:
        """Whether it starts throwaway servers of its own."""

    @property
    def steps(self) -> int:
        """How many steps it has."""


class View(Protocol):
    """Each method returns quickly: the load's records wait meanwhile."""

    @property
    def command_line(self) -> tuple[str, ...]:
        """What was typed, without passwords; run.json keeps it."""

    def announce(self, line: str) -> None:
        """One line of progress."""

    def will_change(self, line: str) -> None:
        """What will be dropped, made or set on a server of yours, before any of it is."""

    def begun(self, folder: Path) -> None:
        """The run's folder is there."""

    def steps(
        self, plan: Plan, planned: int | None, *, long: bool = False
    ) -> AbstractContextManager[Observer]:
        """Whoever watches the steps; `planned`: how many, where that is known.

        `long`: of an experiment, which may take hours.
        """

    def load(self) -> AbstractContextManager[LoadObserver]:
        """Whoever watches a bulk load."""

    def proving(self, trials: Sequence[PlannedTrial], not_tried: int) -> None:
        """The trials that will be driven, and how many findings are not tried."""

    def trial(self, planned: PlannedTrial) -> None:
        """One of them begins."""

    def left(self, changed: Sequence[str]) -> None:
        """Server variables that are not as they were, where an error ends it: a sentence each."""


class Silence:
    """Watches steps and loads, and shows nothing."""

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
    """Shows nothing: the view of a program that only wants the run."""

    def __init__(self, command_line: tuple[str, ...] = ("python",)) -> None:
        """`command_line`: what run.json says that the run was asked with."""
        self.command_line = command_line

    def announce(self, line: str) -> None:
        """Show nothing."""

    def will_change(self, line: str) -> None:
        """Show nothing."""

    def begun(self, folder: Path) -> None:
        """Show nothing."""

    @contextmanager
    def steps(self, plan: Plan, planned: int | None, *, long: bool = False) -> Iterator[Observer]:
        """Show nothing."""
        yield Silence()

    @contextmanager
    def load(self) -> Iterator[LoadObserver]:
        """Show nothing."""
        yield Silence()

    def proving(self, trials: Sequence[PlannedTrial], not_tried: int) -> None:
        """Show nothing."""

    def trial(self, planned: PlannedTrial) -> None:
        """Show nothing."""

    def left(self, changed: Sequence[str]) -> None:
        """Show nothing: the error's notes have it."""
