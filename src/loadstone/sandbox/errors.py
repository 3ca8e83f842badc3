"""Errors of throwaway servers."""

from __future__ import annotations

from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode


class SandboxError(LoadstoneError):
    """A throwaway server could not be found, started, reached or stopped."""

    exit_code = ExitCode.SANDBOX

    def __init__(self, message: str, hint: str | None = None, log_tail: str = "") -> None:
        super().__init__(message, hint)
        self.log_tail = log_tail
        """The last lines of the server's error log, where there is one."""
