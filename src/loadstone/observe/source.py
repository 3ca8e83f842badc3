"""What a sampler reads from."""

from __future__ import annotations

from typing import Protocol

from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.observed import Reading, SourceName

VERSION = "version"
"""The fact that is a server's version."""


class SourceError(LoadstoneError):
    """A source cannot be read now; its message is one line that says which and why."""

    exit_code = ExitCode.TARGET


class Source(Protocol):
    """One place that counters come from; used by one thread at a time."""

    name: SourceName

    def read(self) -> Reading:
        """What it says now; connects first where that has to be done (again).

        Raises:
            SourceError: it does not answer. The next call tries again.
        """

    def close(self) -> None:
        """Let go of connections and processes; a source that was closed is not read again."""
