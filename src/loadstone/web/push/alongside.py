"""Starts the process that pushes a run's metrics, so that no receiver can hold the load up."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from loadstone.model.control import Remark
from loadstone.model.frozen import Frozen
from loadstone.model.message import Message
from loadstone.runs import control_requests
from loadstone.web.push.places import TOKEN, PushPlace
from loadstone.web.sidecar import child

LAST_S = 10.0
"""How long the end of a run waits for its last figures to be pushed."""


class Task(Frozen):
    """The first line of the process's input. The second is the run's folder, once there is one."""

    places: tuple[PushPlace, ...]
    token: str | None = None
    """It is sent on the pipe, as others can read a command line or an environment."""


@contextmanager
def pushing(
    places: Sequence[PushPlace], tell: Callable[[Message], None]
) -> Iterator[Callable[[Path], None]]:
    """Push within the block; yields the function to call with the run's folder.

    `tell` receives what happened too late for the run's own record.
    """
    # Taken out, so that no server or page that is started from here on inherits it.
    task = Task(places=tuple(places), token=os.environ.pop(TOKEN, None))
    runs: list[Path] = []
    with child("loadstone.web.push", task.model_dump_json(), wait_s=LAST_S) as words:

        def begun(run: Path) -> None:
            runs.append(run)
            with suppress(OSError):  # the child is gone: its own errors are in the log
                words.write(os.fsencode(run) + b"\n")
                words.flush()

        yield begun
    for run in runs:
        for left in control_requests.take(run):
            if isinstance(left, Remark):
                tell(left.text)
