"""sysbench's log: lines on stdout, each with a level that `--verbosity` may suppress."""

from __future__ import annotations

from enum import IntEnum

from loadstone.dropin.aside import aside
from loadstone.model.message import say


class Level(IntEnum):
    """Levels as `--verbosity` counts them."""

    FATAL = 0
    CRITICAL = 1
    WARNING = 2
    NOTICE = 3
    INFO = 4
    DEBUG = 5


class Log:
    """Writes each line at once, so that the reader of a pipe is at most a second behind."""

    def __init__(self, verbosity: int = Level.NOTICE) -> None:
        self.verbosity = verbosity
        self._last = ""
        """The line that was printed last, if it is a fatal one."""
        self._repeated = 0
        """How often that came again."""

    def notice(self, text: str = "") -> None:
        """A line of the report."""
        self._say(Level.NOTICE, text)

    def info(self, text: str) -> None:
        """A line that only a higher verbosity shows."""
        self._say(Level.INFO, text)

    def warning(self, text: str) -> None:
        """A `WARNING: …` line."""
        self._say(Level.WARNING, f"WARNING: {text}")

    def debug(self, text: str) -> None:
        """A `DEBUG: …` line."""
        self._say(Level.DEBUG, f"DEBUG: {text}")

    def fatal(self, text: str) -> None:
        """A `FATAL: …` line, which is shown at every verbosity."""
        self._say(Level.FATAL, f"FATAL: {text}")

    def _say(self, level: Level, text: str) -> None:
        if level > self.verbosity:
            return
        # As in sysbench: one that comes several times in a row is printed once, and counted.
        if level is Level.FATAL and text == self._last:
            self._repeated += 1
            return
        if self._repeated:
            print(f"(last message repeated {self._repeated} times)", flush=True)
        self._last, self._repeated = text if level is Level.FATAL else "", 0
        print(text, flush=True)


def warn_of_file(key: str, log: Log, *, is_known: bool) -> None:
    """Say that a configuration file does not set this option of a test, as sysbench has it."""
    if is_known:
        aside(
            say(
                "the configuration file does not set --{option}, as in sysbench: give it on the"
                " command line",
                option=key.replace("_", "-"),
            )
        )
    else:
        log.warning(f"Global option '{key}' will not be exported, because the type is unknown")
