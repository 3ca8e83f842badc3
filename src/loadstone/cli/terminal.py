"""How a run goes, on stderr: what every command that runs something shows."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from loadstone.cli.errors import announce, tell_left
from loadstone.servers.redact import blank_arguments

if TYPE_CHECKING:
    from loadstone.lab.step.listener import LoadObserver, Observer
    from loadstone.model.plan import Plan
    from loadstone.runner.view import PlannedTrial


Begun = Callable[[Path], None]
"""Given the run's folder as soon as there is one."""


class Terminal:
    """A `View`: lines where stderr is a file, a live table where it is a terminal."""

    def __init__(self, *, quiet: bool = False, begun: Begun | None = None) -> None:
        """`quiet`: stdout is for a document, and only warnings are said."""
        self._quiet = quiet
        self._begun = begun

    @property
    def command_line(self) -> tuple[str, ...]:
        """What was typed, with passwords blanked."""
        words = blank_arguments([os.fsencode(word) for word in sys.argv[1:]])
        return ("loadstone", *(os.fsdecode(word) for word in words))

    def announce(self, line: str) -> None:
        """One line of progress."""
        announce(line, quiet=self._quiet)

    def will_change(self, line: str) -> None:
        """Said also to whoever reads a document from stdout."""
        announce(line)

    def begun(self, folder: Path) -> None:
        """The run's folder is there."""
        if self._begun:
            self._begun(folder)

    def steps(
        self, plan: Plan, planned: int | None, *, long: bool = False
    ) -> AbstractContextManager[Observer]:
        """Whoever watches the steps; a person who waits sees them beside a document, too."""
        # rich takes a while to import: a load of tables needs none of it.
        from loadstone.cli.progress.steps import time_left, watching

        quiet = self._quiet and not sys.stderr.isatty()
        watcher = time_left if long else watching
        return watcher(plan, planned, quiet=quiet)

    @contextmanager
    def load(self) -> Iterator[LoadObserver]:
        """Whoever watches a bulk load."""
        from loadstone.cli.progress.load import LoadLines

        lines = LoadLines(quiet=self._quiet)
        try:
            yield lines
        finally:
            lines.close()

    def proving(self, trials: Sequence[PlannedTrial], not_tried: int) -> None:
        """What will be done and how long it takes, before any of it is."""
        from loadstone.model.numbers import duration, number_of

        if not trials:
            self.announce("nothing to prove: no finding has a trial that can be carried out")
            return
        planned_s = sum(each.timing.planned_s for each in trials)
        most_s = sum(each.seconds for each in trials)
        left = f"; not tried: {not_tried}" if not_tried else ""
        self.announce(
            f"proving {number_of(len(trials), 'finding')}: about {duration(planned_s)}, "
            f"{duration(most_s)} at the most, and what starting servers takes{left}"
        )

    def trial(self, planned: PlannedTrial) -> None:
        """What is changed, for whom, how often and how long."""
        from loadstone.model.numbers import duration, number_of

        spent = planned.timing
        own = ", on throwaway servers of its own" if planned.own_servers else ""
        self.announce(
            f"  {planned.cause}: {planned.trial.change}, {number_of(planned.users, 'user')}, "
            f"{number_of(planned.steps, 'step')} of {duration(spent.window_s)} after "
            f"{duration(spent.warmup_s)} each{own}"
        )

    def left(self, changed: Sequence[str]) -> None:
        """Said as errors are: somebody must see to them."""
        tell_left(changed)
