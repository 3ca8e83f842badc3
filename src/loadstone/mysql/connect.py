"""Connections for administration: a few statements, with time limits and specific errors."""

from __future__ import annotations

import contextlib
import errno
import socket
import ssl
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pymysql

from loadstone.model.message import Message, say
from loadstone.model.target import Endpoint, Target, Tls, TlsVersion
from loadstone.mysql.administration import Administration, PasswordWithheld, Trust
from loadstone.mysql.errors import target_error
from loadstone.mysql.own_sessions import remember
from loadstone.servers.connection import DEFAULT_TIMEOUTS, Connection, Timeouts
from loadstone.servers.errors import (
    NEEDS_AUTHORITY,
    NEEDS_KEY,
    NEEDS_PROOF,
    TargetError,
    TargetErrorKind,
)
from loadstone.servers.sanitize import plain
from loadstone.servers.tls import MODERN, context_for

_LONGEST_LOGIN = 3
"""The limit for the whole login, in multiples of a connection's time limit."""


def connect(
    endpoint: Endpoint, timeouts: Timeouts = DEFAULT_TIMEOUTS, *, database: str | None = ""
) -> Connection:
    """Log in to the target; `database` overrides its schema (`None`: log in without one).

    Raises:
        TargetError: names what refused, where, and what to do.
    """
    schema = endpoint.target.database if database == "" else database
    ways = _ways(endpoint.target)
    while True:
        tls, is_last = next(ways)
        try:
            return _logged_in(endpoint, timeouts, schema, tls)
        except pymysql.MySQLError as error:
            if is_last or not _has_nothing_in_common(error):
                raise _login_error(error, endpoint, schema) from error


def _logged_in(
    endpoint: Endpoint, timeouts: Timeouts, schema: str | None, tls: ssl.SSLContext | None
) -> Administration:
    target = endpoint.target
    try:
        connection = Administration(
            host=target.host,
            port=target.tcp_port,
            user=target.user or "",
            # As bytes: PyMySQL only encodes Latin-1, and its error would reveal the characters.
            password=endpoint.credentials.reveal().encode(),
            database=schema or None,
            connect_timeout=timeouts.connect_s,
            longest_login_s=_LONGEST_LOGIN * timeouts.connect_s,
            longest_statement_s=timeouts.statement_s,
            server_public_key=_public_key(target),
            tls=tls,
            tls_required=target.tls.must,
            trust=_trust_in(endpoint),
            autocommit=True,
            charset="utf8mb4",
            program_name="loadstone",
            defer_connect=True,
        )
        # caching_sha2_password treats a unix socket like TLS: it sends the password in clear, and
        # nothing else works. PyMySQL only sets this if it opens the socket itself.
        connection._secure = target.socket is not None  # type: ignore[attr-defined]
        connection.connect(_unix_socket(target, timeouts))
        connection.reach = lambda: _logged_in(endpoint, timeouts, schema, tls)
        remember(connection)
        return connection
    except (RuntimeError, ValueError) as error:  # a login method whose package is missing
        said = say("cannot log in to {place}: {reason}", place=target.place, reason=str(error))
        raise TargetError("not_supported", said, None) from error


def _trust_in(endpoint: Endpoint) -> Trust:
    target = endpoint.target
    return Trust(
        proven=target.socket is not None or target.tls.proves_server,
        believed=target.tls.mode == "disabled" or endpoint.server_is_here,
        in_clear=endpoint.credentials.may_go_in_clear,
    )


def _public_key(target: Target) -> bytes | None:
    """The server's public key for passwords, if one was given."""
    return None if target.server_public_key is None else target.server_public_key.read_bytes()


def _unix_socket(target: Target, timeouts: Timeouts) -> socket.socket | None:
    """A connected socket for PyMySQL, which would leak its own on a failure; `None` means TCP."""
    if target.socket is None:
        return None
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        opened.settimeout(timeouts.connect_s)
        opened.connect(str(target.socket))
    except OSError as error:
        opened.close()
        raise _network_error(error, target, 2002) from error
    return opened


@contextlib.contextmanager
def answering_within(connection: Connection, seconds: float) -> Iterator[None]:
    """Within the context, a server that does not answer for that long counts as lost."""
    # PyMySQL sets these limits on its socket for each statement.
    known: Any = connection
    before = known._read_timeout, known._write_timeout
    known._read_timeout = known._write_timeout = seconds
    try:
        yield
    finally:
        known._read_timeout, known._write_timeout = before


@contextlib.contextmanager
def statement_errors(target: Target, place: str | None = None) -> Iterator[None]:
    """Convert the server's errors on a statement into `TargetError`.

    `place`: what messages call the server; `None`: its address.
    """
    try:
        yield
    except pymysql.MySQLError as error:
        number, text = _number_and_text(error)
        kind: TargetErrorKind = "timed_out" if "timed out" in text else "statement_failed"
        message = say(
            "{place} refused a statement: {number} {reason}",
            place=place or target.place,
            number=number,
            reason=text,
        )
        raise target_error(kind, message, _STATEMENT_HINTS.get(number), number) from error


_MOST_TEXT = 1000

_STATEMENT_HINTS = {
    **dict.fromkeys(
        (1044, 1142, 1227), say("the user lacks the privilege: GRANT it, or use another --user")
    ),
    **dict.fromkeys((1290, 1836), say("the server is read-only: is this a replica?")),
    1205: say("another session holds a lock that this waits for: see SHOW FULL PROCESSLIST"),
    1114: say("the server's disk is full"),
}


class _Way(NamedTuple):
    """One way to encrypt a connection, or not to."""

    context: ssl.SSLContext | None
    is_last: bool


def _ways(target: Target) -> Iterator[_Way]:
    """The ways to try one after the other, as the engine does (docs/decisions/0032).

    With `preferred` on a unix socket nothing leaves the machine, and MySQL's clients do not encrypt
    there by default.
    """
    tls = target.tls
    if tls.mode == "disabled" or (tls.mode == "preferred" and target.socket is not None):
        yield _Way(None, is_last=True)
        return
    named = tls.versions or MODERN
    modern = [name for name in named if name in MODERN]
    old = [name for name in named if name != "TLSv1.3"]
    is_preferred = tls.mode == "preferred"
    if modern:
        yield _Way(context_for(tls, modern), is_last=not old and not is_preferred)
    if old:
        yield _Way(_of_old_servers(tls, old), is_last=not is_preferred)
    yield _Way(None, is_last=True)


def _of_old_servers(tls: Tls, named: Iterable[TlsVersion]) -> ssl.SSLContext:
    """The same with ciphers that Python leaves out.

    OpenSSL's level 0 is what TLS 1.0 and 1.1 need (SSL_CTX_set_security_level(3)).
    """
    context = context_for(tls, named)
    level = 0 if context.minimum_version < ssl.TLSVersion.TLSv1_2 else 1
    context.set_ciphers(f"DEFAULT:@SECLEVEL={level}")
    context.options |= _LEGACY_SERVER_CONNECT
    return context


_LEGACY_SERVER_CONNECT = 0x4
"""SSL_OP_LEGACY_SERVER_CONNECT: servers without RFC 5746, as yaSSL in MySQL 5.7, are spoken to
(SSL_CTX_set_options(3)). Nothing is ever renegotiated here."""


def _has_nothing_in_common(error: pymysql.MySQLError) -> bool:
    """Whether both sides of TLS have no version or cipher that the other one speaks."""
    cause = getattr(error, "original_exception", None)
    is_about_tls = isinstance(cause, ssl.SSLError)
    return is_about_tls and not isinstance(cause, (ssl.SSLCertVerificationError, ssl.SSLEOFError))


def _login_error(error: pymysql.MySQLError, endpoint: Endpoint, schema: str | None) -> TargetError:
    cause = getattr(error, "original_exception", None)
    number, text = _number_and_text(error)
    if isinstance(cause, OSError):
        return _network_error(cause, endpoint.target, number)
    place = endpoint.target.place
    if isinstance(error, PasswordWithheld):
        said = say("{place}: {reason} ({number})", place=place, reason=text, number=number)
        return target_error("password_withheld", said, NEEDS_PROOF, number)
    if number in (1045, 1698):
        return _refused(endpoint, text, number)
    if number in (1044, 1049):
        return target_error(
            "unknown_database",
            say(
                "{place} has no schema '{schema}' that this user may use",
                place=place,
                schema=schema or "",
            ),
            say("`loadstone prepare` makes it, or name another after the host in --target"),
            number,
        )
    if number == 2013 and "timed out" in text:
        return _timed_out(endpoint.target)
    if number == 2059:
        other = say("use an account with another login method")
        said = say("{place}: {reason} ({number})", place=place, reason=text, number=number)
        return target_error("not_supported", said, other, number)
    kind, meaning, hint = _LOGIN_FAILURES.get(number, ("protocol", None, None))
    if meaning is None:
        meaning = say("the login failed: {number} {reason}", number=number, reason=text)
    said = say("{place}: {reason}", place=place, reason=meaning)
    return target_error(kind, said, hint, number)


_LOGIN_FAILURES: dict[int, tuple[TargetErrorKind, Message | None, Message | None]] = {
    1040: (
        "too_many_connections",
        say("all of the server's max_connections are taken (1040)"),
        say("raise max_connections on the server, or end other clients"),
    ),
    1203: (
        "too_many_connections",
        say("the user's max_user_connections are all taken (1203)"),
        say("raise max_user_connections, or use another --user"),
    ),
    1226: (
        "too_many_connections",
        say("the user has used up a limit of its account (1226)"),
        say("ALTER USER ... WITH MAX_USER_CONNECTIONS 0, or use another --user"),
    ),
    1129: (
        "host_blocked",
        say("the server blocks this host after too many failed connection attempts (1129)"),
        say("run FLUSH HOSTS on the server, and raise its max_connect_errors"),
    ),
    1130: (
        "host_blocked",
        say("the server accepts no user from this host (1130)"),
        say("CREATE USER 'name'@'%' on the server, or connect from another host"),
    ),
    1862: (
        "login_refused",
        say("the password has expired (1862)"),
        say("set a new one with the database's own client"),
    ),
    2013: (
        "protocol",
        say("the server closed the connection during the login (2013)"),
        say("is it a MySQL server, and is it healthy? see its error log"),
    ),
    2026: (
        "tls_refused",
        say("the server offers no TLS, and it is required (2026)"),
        say("turn TLS on in the server, or use --tls disabled"),
    ),
    2061: (
        "public_key_needed",
        say("the login method needs the server's public key on an unencrypted connection (2061)"),
        NEEDS_KEY,
    ),
    3159: (
        "tls_refused",
        say("the server accepts only encrypted connections (3159)"),
        say("use --tls required"),
    ),
}


def _refused(endpoint: Endpoint, text: str, number: int) -> TargetError:
    credentials = endpoint.credentials
    user, place = endpoint.target.user, endpoint.target.place
    if credentials.reveal():
        hint = say("the password came from {source}", source=credentials.source)
    else:
        hint = say(
            "no password was given: LOADSTONE_PASSWORD, ~/.my.cnf, --defaults-file or --password"
        )
    message = say(
        "{place} refused user '{user}' ({number}: {reason})",
        place=place,
        user=user or "",
        number=number,
        reason=text,
    )
    return target_error("login_refused", message, hint, number)


def _network_error(cause: OSError, target: Target, number: int) -> TargetError:
    place = target.place
    if isinstance(cause, ssl.SSLError):
        return _tls_error(cause, target)
    if isinstance(cause, socket.gaierror):
        hint = say("check the name in --target, or use the address")
        said = say("unknown host '{host}'", host=target.host)
        return target_error("unknown_host", said, hint, 2005)
    if isinstance(cause, TimeoutError):
        return _timed_out(target)
    if cause.errno in (errno.EMFILE, errno.ENFILE):
        message = say("no file descriptor left to connect to {place}", place=place)
        return TargetError("descriptors", message, say("raise the limit: ulimit -n 65536"))
    if target.socket is not None:
        hint = say("is the server running? 127.0.0.1 instead of localhost means TCP")
        return target_error("no_socket", _socket_fault(cause, place), hint, 2002)
    if isinstance(cause, ConnectionRefusedError):
        hint = say("is the server running, and is it the right port?")
        said = say("nothing listens on {place}", place=place)
        return target_error("unreachable", said, hint, number)
    message = say(
        "cannot reach {place}: {reason}", place=place, reason=cause.strerror or str(cause)
    )
    return target_error("unreachable", message, say("check host, port and firewall"), number)


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
    return target_error("timed_out", said, hint, 110)


def _tls_error(cause: ssl.SSLError, target: Target) -> TargetError:
    if isinstance(cause, ssl.SSLCertVerificationError):
        return target_error(
            "tls_failed",
            say(
                "{place}: its certificate cannot be verified: {reason}",
                place=target.place,
                reason=cause.verify_message,
            ),
            NEEDS_AUTHORITY,
            2026,
        )
    return target_error(
        "tls_failed",
        say(
            "{place}: TLS failed: {reason}",
            place=target.place,
            reason=cause.reason or str(cause),
        ),
        say(
            "old 5.7 servers have only TLS 1.0 and 1.1, which --tls-version TLSv1.1 allows; or use"
            " --tls disabled"
        ),
        2026,
    )


def _number_and_text(error: pymysql.MySQLError) -> tuple[int, str]:
    """The server's number and text; the text is a message if the error is our own."""
    arguments = error.args
    if len(arguments) >= 2 and isinstance(arguments[0], int):
        if isinstance(arguments[1], Message):
            return arguments[0], arguments[1]
        return arguments[0], plain(str(arguments[1]), _MOST_TEXT)
    return 0, plain(str(error), _MOST_TEXT)
