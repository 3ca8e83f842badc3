"""A run that is followed for its metrics: its journal by lines, its findings after each step."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from loadstone.model.finding import Diagnosis
from loadstone.runs.errors import StoreError
from loadstone.runs.rebuild import JOURNAL
from loadstone.runs.tail import Tail
from loadstone.web.apart import NoAnswer
from loadstone.web.diagnosis import diagnoses
from loadstone.web.series import RunCounts

Diagnose = Callable[[Path], tuple[Diagnosis, ...]]
"""Diagnoses a run as `diagnoses` does; may take a second of a core."""


class Followed:
    """Reads on in a run's journal, from where it stopped."""

    def __init__(self, run: Path, diagnose: Diagnose = diagnoses) -> None:
        self._run = run
        self._diagnose = diagnose
        self._tail = Tail(run / JOURNAL)
        self._counts = RunCounts(run)
        self._judged = 0
        # A thread of its own: no scrape waits the second that a diagnosis takes.
        self._judges = ThreadPoolExecutor(1, "loadstone findings")
        self._judging: Future[tuple[Diagnosis, ...]] | None = None

    def read_on(self) -> RunCounts:
        """The figures up to now; findings come when they are made, a second or two later."""
        try:
            while lines := self._tail.read():
                for line in lines:
                    self._counts.take(line.entry)
        except StoreError:
            # What was read so far still holds; the page reports what is wrong with the file.
            pass
        self._look_at_findings()
        return self._counts

    def finish(self) -> RunCounts:
        """The last figures of a run that has ended, with their findings."""
        self.read_on()
        if self._judging is not None:
            self._judging.exception()
        return self.read_on()

    def _look_at_findings(self) -> None:
        if self._judging is not None:
            if not self._judging.done():
                return
            if not isinstance(self._judging.exception(), StoreError | NoAnswer):
                self._counts.found = self._judging.result()
            self._judging = None
        if self._counts.steps_ended > self._judged:
            self._judged = self._counts.steps_ended
            self._judging = self._judges.submit(self._diagnose, self._run)
