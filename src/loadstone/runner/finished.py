"""The outcome of a run, as each way of running returns it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from loadstone.model.errors import LoadstoneError
from loadstone.model.result import Result
from loadstone.runner.view import View


@dataclass(frozen=True)
class Finished:
    """A run that is over, whatever ended it."""

    result: Result
    folder: Path
    error: LoadstoneError | None = None
    """The error that ended it early."""
    interrupted: bool = False
    """Whether a signal ended it."""
    left: tuple[str, ...] = ()
    """Server variables that were not restored, one sentence each."""
    ended: float | None = None
    """When the run ended, on the monotonic clock; its files were made after that."""

    @property
    def result_until_now(self) -> Result:
        """The result; its wall time includes what was evaluated and written after its end."""
        run = self.result.run
        if run.wall_time is None or self.ended is None:
            return self.result
        wall_time = run.wall_time.after(time.monotonic() - self.ended)
        run = run.model_copy(update={"wall_time": wall_time})
        return self.result.model_copy(update={"run": run})


@contextmanager
def left_is_told(left: Sequence[str], view: View) -> Iterator[None]:
    """If an error ends the block, also report which variables are left changed on servers."""
    try:
        yield
    except BaseException as error:
        for sentence in left:
            error.add_note(sentence)
        view.left(left)
        raise
