"""Converts error numbers of MySQL servers and clients to and from the family's error codes."""

from __future__ import annotations

from loadstone.model.error_codes import ErrorCode
from loadstone.servers.errors import TargetError, TargetErrorKind

NO_LOCKS = (1064, 1105, 1235, 1305, 1370, 1630)
"""Of servers and clusters without named locks, or without them for this account."""


def target_error(kind: TargetErrorKind, message: str, hint: str | None, number: int) -> TargetError:
    """Create an error that has a number."""
    return TargetError(kind, message, hint, ErrorCode("mysql", str(number)))


def number_in(error: TargetError) -> int | None:
    """The number of an error; `None` if it has none."""
    return None if error.code is None else int(error.code.code)
