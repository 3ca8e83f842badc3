"""Converts SQLSTATEs and the driver's errors to the errors that a person reads."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import pg8000

from loadstone.model.error_codes import POSTGRESQL, ErrorCode
from loadstone.model.message import Message, say
from loadstone.model.target import Target
from loadstone.postgresql.line import LineError
from loadstone.servers.errors import TargetError, TargetErrorKind
from loadstone.servers.sanitize import plain

_MOST_TEXT = 1000
_LOST = "08006"
_CANCELED = "57014"
"""Also the code of a statement that took longer than statement_timeout."""


def target_error(
    kind: TargetErrorKind, message: str, hint: str | None, code: str | None
) -> TargetError:
    """Create an error that may have a code."""
    return TargetError(kind, message, hint, ErrorCode(POSTGRESQL, code) if code else None)


def code_of(error: BaseException) -> str | None:
    """The SQLSTATE of an error of the driver, or of the one made from it; `None`: it has none."""
    if isinstance(error, TargetError):
        return error.code.code if error.code else None
    if isinstance(error, LineError):
        return _LOST
    return _field(error, "C") or None


def text_of(error: BaseException) -> str:
    """The server's or the driver's own words, sanitized; with the server's hint if it has one."""
    if isinstance(error, LineError):
        return error.said
    text = _field(error, "M") or str(error)
    more = _field(error, "H")
    return plain(f"{text} ({more})" if more else text, _MOST_TEXT)


def _field(error: BaseException, name: str) -> str:
    """A field of the server's error message.

    Source: https://www.postgresql.org/docs/current/protocol-error-fields.html
    """
    fields: Any = error.args[0] if error.args else None
    return str(fields.get(name, "")) if isinstance(fields, Mapping) else ""


@contextlib.contextmanager
def statement_errors(target: Target, place: str | None = None) -> Iterator[None]:
    """Convert the server's errors on a statement, and answers that are none, into `TargetError`.

    `place`: what messages call the server; `None`: its address.
    """
    try:
        yield
    except pg8000.Error as error:
        code, reason = code_of(error), text_of(error)
        timed_out = code == _CANCELED or (isinstance(error, LineError) and error.timed_out)
        message = say(
            "{place} refused a statement: {number} {reason}",
            place=place or target.place,
            number=code or "",
            reason=reason,
        )
        kind: TargetErrorKind = "timed_out" if timed_out else "statement_failed"
        raise target_error(kind, message, _HINTS.get(code or ""), code) from error
    except (LookupError, TypeError, ValueError) as error:
        # Rows of another form than asked for.
        said = say("{place} does not answer as PostgreSQL servers do", place=place or target.place)
        raise TargetError("protocol", said) from error


READ_ONLY = say("the server is read-only: is it a standby?")

_HINTS: Mapping[str, Message] = {
    "25006": READ_ONLY,
    "42501": say(
        "the user lacks a right: CREATEDB makes databases; GRANT CREATE ON SCHEMA public TO it in"
        " that database makes tables, and so may the database's owner; or use another --user"
    ),
    "53100": say("the server's disk is full"),
    "55P03": say("another session holds a lock that this waits for: see pg_stat_activity"),
}
