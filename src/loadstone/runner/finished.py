"""A run that is over, as each way of running gives it back."""

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
    """What there is of it, whatever ended it."""

    result: Result
    folder: Path
    error: LoadstoneError | None = None
    """What ended it before its time."""
    interrupted: bool = False
    """Whether a signal asked for its end."""
    left: tuple[str, ...] = ()
    """Server variables that are not as they were, a sentence each."""


@contextmanager
def left_is_told(left: Sequence[str], view: View) -> Iterator[None]:
    """Where an error ends the block, say as well what is left changed on servers."""
    try:
        yield
    except BaseException as error:
        for sentence in left:
            error.add_note(sentence)
        view.left(left)
        raise
