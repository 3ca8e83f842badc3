"""The interface of the sources that a sampler reads."""

from __future__ import annotations

from typing import Protocol

from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.observed import Reading, SourceName

VERSION = "version"
"""The fact that holds a server's version."""

UPDATED = "updated_columns"
"""The fact with the columns that updates set, as JSON: a list of objects with `table` and
`columns`."""


class SourceError(LoadstoneError):
    """A source cannot be read now; its one-line message says which source and why."""

    exit_code = ExitCode.TARGET


class Source(Protocol):
    """A place that counters come from; used by one thread at a time."""

    name: SourceName

    def read(self) -> Reading:
        """Read the current values; connects or reconnects first if needed.

        Raises:
            SourceError: it does not answer. The next call tries again.
        """

    def close(self) -> None:
        """Release connections and processes; a closed source is not read again."""
