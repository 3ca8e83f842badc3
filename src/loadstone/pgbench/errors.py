"""What ends the drop-in before its run is complete, in pgbench's words."""

from __future__ import annotations

from loadstone.model.errors import LoadstoneError


class Failed(LoadstoneError):
    """A `pgbench: error: …` line; a detail or a hint may follow. The exit code is 1."""

    def __init__(self, *causes: str, detail: str = "", hint: str = "") -> None:
        """`causes`: one line each, the first cause first."""
        super().__init__(causes[0])
        self.causes = causes
        self.detail = detail
        self.advice = hint


class Aborted(Failed):
    """A client was aborted, and the run is to end with it. The exit code is 2."""

    exit_code = 2


class BadOption(LoadstoneError):
    """The command line has an unknown option, or one without its argument."""
