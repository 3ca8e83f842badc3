"""When the command was given that this process runs."""

from __future__ import annotations

import time


class _Command:
    """The last command of the process: tests run several."""

    at = time.monotonic()


def commanded() -> float:
    """The time on the monotonic clock, from before anything heavy was imported."""
    return _Command.at


def take_time() -> None:
    """A command has just been given."""
    _Command.at = time.monotonic()
