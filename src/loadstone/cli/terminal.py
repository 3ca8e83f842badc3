"""The progress of a run on stderr: the same for every command that runs something."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from loadstone.cli.commanded import commanded
from loadstone.cli.defaults.in_effect import words_in_effect
from loadstone.cli.errors import announce, tell_left
from loadstone.model.figure import Seconds
from loadstone.model.message import counted, say, say_in
from loadstone.servers.redact import blank_arguments

if TYPE_CHECKING:
    from loadstone.cli.options.live import Audience
    from loadstone.lab.step.listener import LoadObserver, Observer
    from loadstone.model.plan import Plan
    from loadstone.runner.view import PlannedTrial


class Terminal:
    """A `View`: lines if stderr is a file, a live table if it is a terminal."""

    def __init__(
        self,
        *,
        quiet: bool = False,
        audience: Audience | None = None,
        listed: Collection[str] = (),
        inserts: bool = False,
    ) -> None:
        """`quiet`: stdout is for a document, and only warnings are shown.

        `listed`: the changes that the user has read already; they are not printed again.
        `inserts`: the user wants tables to be filled by INSERT.
        """
        self._inserts = inserts
        self._quiet = quiet
        self._listed = listed
        self._audience = audience
        self.commanded = commanded()
        self.folder: Path | None = None
        """The run's folder, once it has been created."""

    @property
    def command_line(self) -> tuple[str, ...]:
        """The command line as typed, with passwords blanked, and the user's defaults added to it.

        With these it does the same without the file.
        """
        words = blank_arguments([os.fsencode(word) for word in sys.argv[1:]])
        return ("loadstone", *(os.fsdecode(word) for word in words), *words_in_effect())

    def announce(self, line: str) -> None:
        """Print one line of progress; until the run has a folder, pages show it as well."""
        announce(line, quiet=self._quiet)
        if self._audience:
            self._audience.preparing(line)

    def will_change(self, line: str) -> None:
        """Print the line, even if stdout is for a document."""
        if line not in self._listed:
            announce(line)

    def begun(self, folder: Path) -> None:
        """Keep the run's folder, and pass it on."""
        self.folder = folder
        if self._audience:
            self._audience.begun(folder)

    def steps(
        self, plan: Plan, planned: int | None, *, long: bool = False, searches: int = 1
    ) -> AbstractContextManager[Observer]:
        """The observer of the steps; a terminal shows them even if stdout is for a document."""
        # rich takes a while to import, and a load of tables does not need it.
        from loadstone.cli.progress.steps import time_left, watching

        quiet = self._quiet and not sys.stderr.isatty()
        watcher = time_left if long else watching
        return watcher(plan, planned, quiet=quiet, searches=searches)

    @contextmanager
    def load(self) -> Iterator[LoadObserver]:
        """The observer of a bulk load."""
        from loadstone.cli.progress.load import LoadLines

        pages = self._audience.preparing if self._audience else None
        lines = LoadLines(quiet=self._quiet, more=pages, inserts=self._inserts)
        try:
            yield lines
        finally:
            lines.close()

    def proving(self, trials: Sequence[PlannedTrial], not_tried: int) -> None:
        """Print what will be done and how long it takes, before it starts."""
        if not trials:
            self.announce(say("nothing to prove: no finding has a trial that can run"))
            return
        planned_s = sum(each.timing.planned_s for each in trials)
        most_s = sum(each.seconds for each in trials)
        said = counted(
            "proving 1 finding: about {planned}, at most {most}, plus the start of servers",
            "proving {number} findings: about {planned}, at most {most}, plus the start of servers",
            len(trials),
            planned=Seconds(planned_s),
            most=Seconds(most_s),
        )
        if not_tried:
            left = say("not tried: {number}", number=not_tried)
            said = say_in("joined", "{first}; {second}", first=said, second=left)
        self.announce(said)

    def trial(self, planned: PlannedTrial) -> Observer:
        """Print what is changed, at how many users, how often and how long; then the time left."""
        from loadstone.cli.progress.trials import TrialLines
        from loadstone.runner.outlook import said_of_trial

        self.announce(say("  {trial}", trial=said_of_trial(planned)))
        return TrialLines(planned.steps, planned.timing.planned_s, quiet=self._quiet)

    def left(self, changed: Sequence[str]) -> None:
        """Report them as errors, because somebody must take care of them."""
        tell_left(changed)
