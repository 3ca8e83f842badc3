"""The outcome of a run, as each way of running returns it."""

from __future__ import annotations

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
