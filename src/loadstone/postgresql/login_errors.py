"""What a failed login means, and what to do."""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Mapping

from loadstone.model.message import Message, say
from loadstone.model.target import Endpoint, Target
from loadstone.postgresql.administration import NotBound, PasswordWithheld
from loadstone.postgresql.errors import code_of, target_error, text_of
from loadstone.postgresql.line import LineError
from loadstone.servers.errors import NEEDS_AUTHORITY, NEEDS_PROOF, TargetError, TargetErrorKind

NO_SUCH_DATABASE = "3D000"
NOT_THAT_DATABASE = (NO_SUCH_DATABASE, "28000", "42501")
"""Codes of a login that may succeed with another database: it is missing, or not for this user."""

WRONG_PASSWORD = "28P01"
REFUSED = (WRONG_PASSWORD, "28000")
"""Codes of a login that the server's rules, or the password, do not allow."""

_NOT_REACHED = "08001"
_ANY = "08000"


class RefusedEitherWay(TargetError):
    """The server refused the login over TLS, and then without TLS as well."""

    def __init__(self, over_tls: TargetError, in_clear: Exception) -> None:
        said = say("{said}; without TLS: {reason}", said=over_tls.message, reason=text_of(in_clear))
        super().__init__(over_tls.kind, said, over_tls.hint, over_tls.code)
        self.in_clear = in_clear
        """The driver's error of the attempt without TLS."""


def login_error(error: Exception, endpoint: Endpoint, database: str) -> TargetError:
    """The error for a login that the server or the driver has refused."""
    place, code = endpoint.target.place, code_of(error)
    if isinstance(error, PasswordWithheld):
        said = say("{place}: {reason}", place=place, reason=error.said)
        return target_error("password_withheld", said, NEEDS_PROOF, None)
    if isinstance(error, LineError):
        return _timed_out(endpoint.target) if error.timed_out else _broken(error, place)
    if isinstance(error, NotBound):
        said = say("{place}: {reason}", place=place, reason=error.said)
        return target_error("login_refused", said, _NEEDS_BINDING, None)
    if code in REFUSED:
        return _refused(endpoint, text_of(error), code)
    if code == NO_SUCH_DATABASE:
        return target_error(
            "unknown_database",
            say("{place} has no database '{database}'", place=place, database=database),
            say("`loadstone prepare` makes it, or name another after the host in --target"),
            code,
        )
    unknown: tuple[TargetErrorKind, None] = ("protocol" if code else "not_supported", None)
    kind, hint = _FAILURES.get(code or "", unknown)
    said = say("{place} refused the login: {reason}", place=place, reason=text_of(error))
    if endpoint.target.startup_options and _ABOUT_OPTIONS in text_of(error):
        hint = _NO_OPTIONS
    return target_error(kind, _with(said, code), hint, code)


def _with(said: Message, code: str | None) -> Message:
    return said if code is None else say("{said} ({code})", said=said, code=code)


_NEEDS_BINDING = say(
    "it takes a login by SCRAM within TLS (pg_hba.conf: hostssl, scram-sha-256) straight at the"
    " server; or leave channel_binding=require out"
)

_ABOUT_OPTIONS = "unsupported startup parameter"
"""PgBouncer's words: https://github.com/pgbouncer/pgbouncer/blob/master/src/client.c."""

_NO_OPTIONS = say(
    "it is a pooler, and takes no options: leave them out (options= in the URL, PGOPTIONS), and set"
    " them at the server (ALTER ROLE ... SET), or name the server's own address in --target"
)

_FAILURES: Mapping[str, tuple[TargetErrorKind, Message]] = {
    "42501": (
        "login_refused",
        say("GRANT CONNECT ON DATABASE to this user, or use another --user"),
    ),
    "53300": (
        "too_many_connections",
        say(
            "raise max_connections on the server, or the CONNECTION LIMIT of the user or database;"
            " or end other clients"
        ),
    ),
    "57P03": (
        "unreachable",
        say("it is starting, stopping or in recovery: try again when it accepts connections"),
    ),
    "08P01": ("protocol", say("is it a PostgreSQL server, or a pooler that knows this database?")),
}


def _broken(error: LineError, place: str) -> TargetError:
    return target_error(
        "protocol",
        say("{place}: {reason}", place=place, reason=error.said),
        say("is it a PostgreSQL server, and is it healthy? see its log"),
        code_of(error),
    )


def _refused(endpoint: Endpoint, reason: str, code: str) -> TargetError:
    credentials, target = endpoint.credentials, endpoint.target
    if code == "28000":
        hint = say("pg_hba.conf on the server says who may log in, from where and how")
    elif credentials.reveal():
        hint = say("the password came from {source}", source=credentials.source)
    elif str(credentials.source) != str(say("none given")):
        hint = say("no password was given: {why}", why=credentials.source)
    else:
        hint = say("no password was given: LOADSTONE_PASSWORD, PGPASSWORD, ~/.pgpass or --password")
    message = say(
        "{place} refused user '{user}' ({number}: {reason})",
        place=target.place,
        user=target.user or "",
        number=code,
        reason=reason,
    )
    return target_error("login_refused", message, hint, code)


def network_error(cause: OSError | ValueError, target: Target) -> TargetError:
    """The error for a server that cannot be reached."""
    place = target.place
    if isinstance(cause, ssl.SSLError):
        return _tls_error(cause, target)
    if isinstance(cause, socket.gaierror | ValueError):  # ValueError: no host can have that name
        hint = say("check the name in --target, or use the address")
        return target_error(
            "unknown_host", say("unknown host '{host}'", host=target.host), hint, _ANY
        )
    if isinstance(cause, TimeoutError):
        return _timed_out(target)
    if cause.errno in (errno.EMFILE, errno.ENFILE):
        message = say("no file descriptor left to connect to {place}", place=place)
        return TargetError("descriptors", message, say("raise the limit: ulimit -n 65536"))
    if target.socket is not None:
        hint = say("is the server running, and is this its unix_socket_directories?")
        return target_error("no_socket", _socket_fault(cause, place), hint, _ANY)
    if isinstance(cause, ConnectionRefusedError):
        hint = say("is the server running, and is it the right port?")
        said = say("nothing listens on {place}", place=place)
        return target_error("unreachable", said, hint, _NOT_REACHED)
    said = say("cannot reach {place}: {reason}", place=place, reason=cause.strerror or str(cause))
    return target_error("unreachable", said, say("check host, port and firewall"), _NOT_REACHED)


def no_tls(target: Target) -> TargetError:
    """The error for a server without TLS, where it is required."""
    said = say("{place} offers no TLS, and it is required", place=target.place)
    hint = say("turn ssl on in the server, or use --tls disabled")
    return target_error("tls_refused", said, hint, _ANY)


def no_direct_tls(target: Target) -> TargetError:
    """The error for a server that does not take a handshake as the first thing it is sent."""
    said = say("{place} does not take direct TLS", place=target.place)
    hint = say("PostgreSQL does from version 17 on: leave sslnegotiation=direct out")
    return target_error("tls_refused", said, hint, _ANY)


def no_answer_about_tls(target: Target) -> TargetError:
    """The error for something that does not know the request for TLS."""
    said = say("{place} does not answer as PostgreSQL servers do", place=target.place)
    hint = say("is it a PostgreSQL server, and is it healthy? see its log")
    return target_error("protocol", said, hint, "08P01")


def _socket_fault(cause: OSError, place: str) -> Message:
    match cause.errno:
        case errno.ENOENT:
            return say("there is no socket {path}", path=place)
        case errno.ECONNREFUSED:
            return say("nothing listens on the socket {path}", path=place)
        case errno.EACCES:
            return say("no permission to use the socket {path}", path=place)
    return say("cannot use the socket {path}: {reason}", path=place, reason=cause.strerror)


def _timed_out(target: Target) -> TargetError:
    hint = say("check host, port and firewall, or raise --connect-timeout")
    said = say("{place} did not answer in time", place=target.place)
    return target_error("timed_out", said, hint, _ANY)


def _tls_error(cause: ssl.SSLError, target: Target) -> TargetError:
    if isinstance(cause, ssl.SSLCertVerificationError):
        said = say(
            "{place}: its certificate cannot be verified: {reason}",
            place=target.place,
            reason=cause.verify_message,
        )
        return target_error("tls_failed", said, NEEDS_AUTHORITY, _ANY)
    said = say(
        "{place}: TLS failed: {reason}", place=target.place, reason=cause.reason or str(cause)
    )
    hint = say("--tls-version names the versions to offer; or use --tls disabled")
    return target_error("tls_failed", said, hint, _ANY)
