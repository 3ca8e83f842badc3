"""Errors between Loadstone and a database: what went wrong, where, and what to do.

LoadstoneError
├── TargetError        the target could not be reached, or refused; `kind` says how
│   ├── NotInEffect    a proxy loses what the load's sessions set
│   └── GuardError     Loadstone itself refused, because it could have harmed data
└── SettingsError      its variables could not be set or restored
"""

from __future__ import annotations

from typing import Literal

from loadstone.model.error_codes import ErrorCode
from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.message import say

# First the engine's names (docs/engine.md, `end.error.kind`), then those that only Python uses.
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
    "password_withheld",
    "not_supported",
    "plan",
    "stalled",
    "no_socket",
    "host_blocked",
    "options",
    "not_loopback",
    "foreign_tables",
    "table_in_the_way",
    "missing_table",
    "serves_others",
    "not_in_effect",
]


NEEDS_PROOF = say(
    "let the server prove its identity: --tls verify-ca with --tls-ca, or --tls-fingerprint; use a"
    " unix socket; or send the password to any server that answers within TLS:"
    " --enable-cleartext-plugin"
)
"""The hint if a password was withheld."""

NEEDS_KEY = say(
    "give the server's key with --server-public-key; or use --tls verify-ca with --tls-ca, or"
    " --tls-fingerprint"
)
"""The hint if the password would have been encrypted with a key that anybody could have sent."""

NEEDS_AUTHORITY = say(
    "give the --tls-ca that signed it, or the --tls-fingerprint of the certificate that the server"
    " has"
)
"""The hint if a certificate is not the expected one."""


class TargetError(LoadstoneError):
    """The database could not be reached, or refused a request."""

    exit_code = ExitCode.TARGET

    def __init__(
        self,
        kind: TargetErrorKind,
        message: str,
        hint: str | None = None,
        code: ErrorCode | None = None,
    ) -> None:
        super().__init__(message, hint)
        self.kind = kind
        self.code = code
        """The server's or the client's own error code, if there is one."""


class NotInEffect(TargetError):
    """What the load's sessions are to set would not be in effect in all of their transactions."""

    exit_code = ExitCode.NOT_IN_EFFECT


class GuardError(TargetError):
    """Loadstone refused, because it could have harmed data that it did not make."""

    exit_code = ExitCode.GUARD


class SettingsError(LoadstoneError):
    """A target's variables could not be set or restored."""

    exit_code = ExitCode.TARGET
