"""The progress of the trial that is driven for a run's findings, from the folder of its steps.

`loadstone diagnose --prove` keeps the steps of each trial as a run of their own inside the run's
folder. Only the one that is under way is read: what has ended is in the run's proofs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from loadstone.experiments.trials import CHANGED, FACTOR
from loadstone.model.plan import Step
from loadstone.runs import run_folder
from loadstone.runs.errors import StoreError
from loadstone.runs.journal import RunBegin, RunEnd, StepBegin, StepEnd
from loadstone.runs.proofs import STEPS
from loadstone.runs.rebuild import JOURNAL
from loadstone.runs.tail import Tail

MOST = 50
"""Maximum number of trials looked at, the newest."""


@dataclass
class _Followed:
    """What the journal of a trial says so far."""

    tail: Tail
    cause: str = ""
    steps_planned: int | None = None
    steps_done: int = 0
    users: int | None = None
    """Of the running step."""
    changed: bool | None = None
    """Whether the running step has the change; `None` between steps, when it is put back."""
    ended: bool = False
    _unchanged_users: int | None = None

    def read_on(self) -> None:
        while lines := self.tail.read():
            for line in lines:
                match line.entry:
                    case RunBegin() as begin:
                        self.cause, self.steps_planned = begin.name, begin.steps_planned
                    case StepBegin(step=step):
                        self._begin(step)
                    case StepEnd():
                        self.steps_done, self.users, self.changed = self.steps_done + 1, None, None
                    case RunEnd():
                        self.ended = True

    def _begin(self, step: Step) -> None:
        """A step starts; where the change is another number of users, the first has the old one."""
        self.users = step.concurrency
        self._unchanged_users = self._unchanged_users or step.concurrency
        has_change = step.variant == f"{FACTOR}={CHANGED}"
        self.changed = has_change or step.concurrency != self._unchanged_users

    def document(self) -> dict[str, Any]:
        return {
            "cause": self.cause,
            "steps_planned": self.steps_planned,
            "steps_done": self.steps_done,
            "users": self.users,
            "changed": self.changed,
        }


@dataclass
class TrialProgress:
    """Looks for the trial under way; a journal is read from where the last look ended."""

    run: Path
    _followed: dict[Path, _Followed] = field(default_factory=dict)

    def look(self) -> dict[str, Any] | None:
        """The trial under way; `None` if there is none.

        A trial whose journal is damaged is left out: the command that drives it says why.
        """
        folder = self.run / STEPS
        journals = [] if folder.is_symlink() else run_folder.journals(folder)[-MOST:]
        going = [one.parent for one in journals if run_folder.is_running(one.parent)]
        self._followed = {trial: self._of(trial) for trial in going}
        for trial in reversed(going):
            followed = self._followed[trial]
            try:
                followed.read_on()
            except StoreError:
                continue
            if not followed.ended:
                return followed.document()
        return None

    def _of(self, trial: Path) -> _Followed:
        return self._followed.get(trial) or _Followed(Tail(trial / JOURNAL))
