"""Everything that can go wrong between Loadstone and a database, told as what, where, what to do.

LoadstoneError
└── TargetError        the target could not be reached, or refused; `kind` says how
    └── GuardError     Loadstone itself refused, because it could have harmed data
"""

from __future__ import annotations

from typing import Literal

from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode

# The engine's words (docs/engine.md, `end.error.kind`), then those that only Python needs.
TargetErrorKind = Literal[
    "unknown_host",
    "unreachable",
    "timed_out",
    "login_refused",
    "too_many_connections",
    "unknown_database",
    "tls_refused",
    "tls_failed",
    "compression_refused",
    "statement_failed",
    "protocol",
    "descriptors",
    "public_key_needed",
    "not_supported",
    "plan",
    "no_socket",
    "host_blocked",
    "options",
    "not_loopback",
    "foreign_tables",
    "table_in_the_way",
    "missing_table",
]


class TargetError(LoadstoneError):
    """The database could not be reached, or refused what was asked of it."""

    exit_code = ExitCode.TARGET

    def __init__(
        self,
        kind: TargetErrorKind,
        message: str,
        hint: str | None = None,
        errno: int | None = None,
    ) -> None:
        super().__init__(message, hint)
        self.kind = kind
        self.errno = errno
        """The server's or the client's error number, where there is one."""


class GuardError(TargetError):
    """Refused, because it could have harmed data that Loadstone did not make."""

    exit_code = ExitCode.GUARD
