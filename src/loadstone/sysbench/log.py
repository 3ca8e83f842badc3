"""sysbench's log: lines on stdout, each with a level that `--verbosity` may keep back."""

from __future__ import annotations

import sys
from enum import IntEnum

from loadstone.model.language import of_environment
from loadstone.model.message import say


class Level(IntEnum):
    """As `--verbosity` counts them."""

    FATAL = 0
    CRITICAL = 1
    WARNING = 2
    NOTICE = 3
    INFO = 4
    DEBUG = 5


class Log:
    """Writes lines at once: the reader of a pipe sees the second that has just passed."""

    def __init__(self, verbosity: int = Level.NOTICE) -> None:
        self.verbosity = verbosity

    def notice(self, text: str = "") -> None:
        """A line of the report."""
        self._say(Level.NOTICE, text)

    def info(self, text: str) -> None:
        """A line that only a higher verbosity shows."""
        self._say(Level.INFO, text)

    def warning(self, text: str) -> None:
        """`WARNING: …`."""
        self._say(Level.WARNING, f"WARNING: {text}")

    def debug(self, text: str) -> None:
        """`DEBUG: …`."""
        self._say(Level.DEBUG, f"DEBUG: {text}")

    def fatal(self, text: str) -> None:
        """`FATAL: …`, which no verbosity hides."""
        self._say(Level.FATAL, f"FATAL: {text}")

    def _say(self, level: Level, text: str) -> None:
        if level <= self.verbosity:
            print(text, flush=True)


def aside(text: str) -> None:
    """A remark of our own: on stderr, so that no parser of the report meets it.

    In the language of the environment, as sysbench has no such line; its own lines stay English.
    """
    print(of_environment()(say("loadstone: {text}", text=text)), file=sys.stderr, flush=True)
