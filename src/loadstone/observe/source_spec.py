"""A source's place as a user writes it: `user@host` or a URL."""

from __future__ import annotations

from loadstone.model.exit_codes import ExitCode
from loadstone.observe.source import SourceError


class PlaceError(SourceError):
    """The text is not a place; trying again will not help."""

    exit_code = ExitCode.USAGE
