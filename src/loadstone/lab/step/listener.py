"""The events that those who watch a run receive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from loadstone.model.message import Message

if TYPE_CHECKING:
    from loadstone.model.plan import Step
    from loadstone.model.records import Connected, LoadProgress, LoadStalled, Sample
    from loadstone.model.result import StepResult


class Observer(Protocol):
    """Receives events as they happen; must return quickly, because the records wait for it."""

    def on_step_begin(self, step: Step) -> None:
        """A step is about to connect."""

    def on_connected(self, step: Step, connected: Connected) -> None:
        """All its users are connected."""

    def on_sample(self, step: Step, sample: Sample) -> None:
        """Another second has passed."""

    def on_step_end(self, step: Step, result: StepResult) -> None:
        """The step is over, and on disk."""

    def on_more_steps(self, number: int) -> None:
        """So many steps beyond the plan will follow."""

    def on_note(self, text: Message) -> None:
        """There is something that a reader should know."""


class LoadObserver(Protocol):
    """Receives the progress of a bulk load."""

    def on_progress(self, progress: LoadProgress) -> None:
        """Another second has passed."""

    def on_stalled(self, stalled: LoadStalled) -> None:
        """A statement makes no progress."""
