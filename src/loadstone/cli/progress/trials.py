"""Progress on stderr while a trial is driven: how many steps are done, and the time left."""

from __future__ import annotations

import time

from loadstone.cli.errors import announce
from loadstone.cli.progress.steps import LINE_EVERY_S
from loadstone.model.figure import Seconds
from loadstone.model.message import counted, say
from loadstone.model.plan import Step
from loadstone.model.result import StepResult
from loadstone.runner.view import Silence


class TrialLines(Silence):
    """Prints a line about every ten seconds, because the steps of a trial are short."""

    def __init__(self, steps: int, planned_s: float, *, quiet: bool) -> None:
        self._steps = steps
        self._planned_s = planned_s
        self._quiet = quiet
        self._done = 0
        self._said_at = time.monotonic()

    def on_step_end(self, step: Step, result: StepResult) -> None:
        """Print how many steps are done, now and then."""
        self._done += 1
        left = self._steps - self._done
        if left <= 0 or time.monotonic() - self._said_at < LINE_EVERY_S:
            return
        self._said_at = time.monotonic()
        said = counted(
            "{done} of 1 step, about {time} left",
            "{done} of {number} steps, about {time} left",
            self._steps,
            done=self._done,
            time=Seconds(round(self._planned_s * left / self._steps)),
        )
        announce(say("  {trial}", trial=said), quiet=self._quiet)
