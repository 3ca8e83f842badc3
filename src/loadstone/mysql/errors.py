"""Numbers of errors, of MySQL's servers and of its clients, as codes of their family."""

from __future__ import annotations

from loadstone.model.error_codes import ErrorCode
from loadstone.servers.errors import TargetError, TargetErrorKind


def target_error(kind: TargetErrorKind, message: str, hint: str | None, number: int) -> TargetError:
    """An error that has a number."""
    return TargetError(kind, message, hint, ErrorCode("mysql", str(number)))


def number_in(error: TargetError) -> int | None:
    """The number that an error has; `None`: it has none."""
    return None if error.code is None else int(error.code.code)
