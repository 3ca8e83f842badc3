"""Logs in for administration, with time limits and specific errors."""

from __future__ import annotations

import socket
import ssl
import struct

import pg8000

from loadstone.model.target import Endpoint, Target
from loadstone.postgresql.administration import Administration, Login, Trust
from loadstone.postgresql.databases import MAINTENANCE, Databases
from loadstone.postgresql.errors import code_of
from loadstone.postgresql.line import Line
from loadstone.postgresql.login_errors import (
    NO_SUCH_DATABASE,
    NOT_THAT_DATABASE,
    REFUSED,
    WRONG_PASSWORD,
    RefusedEitherWay,
    login_error,
    network_error,
    no_answer_about_tls,
    no_direct_tls,
    no_tls,
)
from loadstone.servers.connection import DEFAULT_TIMEOUTS, Timeouts
from loadstone.servers.errors import TargetError
from loadstone.servers.tls import MODERN, context_for

_TEMPLATE = "template1"
"""A database that every server has, and where anybody may look by default."""

ASK_FOR_TLS = struct.pack("!ii", 8, 80877103)
"""SSLRequest: https://www.postgresql.org/docs/current/protocol-message-formats.html"""

_ALPN = "postgresql"
"""The protocol that both sides must name in a handshake that nothing came before:
https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-SSL"""

_GRACE_S = 2.0
"""The server ends a statement at its limit and says so; we wait that much longer for the answer."""


def connect(
    endpoint: Endpoint, timeouts: Timeouts = DEFAULT_TIMEOUTS, *, database: str | None = ""
) -> Databases:
    """Log in to the target; `database` overrides its own (`None`: any will do).

    Without one it is still the target's if that exists, as statements and locks need a database.

    Raises:
        TargetError: names what refused, where, and what to do.
    """

    def reach(name: str) -> Administration:
        return _logged_in(endpoint, timeouts, name)

    own = endpoint.target.database
    if database is not None:
        name = database or own or MAINTENANCE
        return Databases(reach(name), name, reach)
    why: TargetError | None = None
    for name in dict.fromkeys(name for name in (own, MAINTENANCE, _TEMPLATE) if name):
        try:
            return Databases(reach(name), name, reach)
        except TargetError as error:
            refused = (NO_SUCH_DATABASE,) if name == own else NOT_THAT_DATABASE
            if code_of(error) not in refused:
                raise
            why = why or error
    assert why is not None, "one of the names was refused"
    raise why


def connect_to_console(endpoint: Endpoint, timeouts: Timeouts, name: str) -> Administration:
    """Log in to a pooler's own database, which takes commands of its own and no SQL.

    Raises:
        TargetError: as `connect`.
    """
    return _opened(endpoint, timeouts, name)


def _logged_in(endpoint: Endpoint, timeouts: Timeouts, database: str) -> Administration:
    opened = _opened(endpoint, timeouts, database)
    try:
        limit_ms = int(timeouts.statement_s * 1000)
        # Few of our statements work as long as compiling one takes, where all are compiled.
        opened.set_own({"jit": "off", "statement_timeout": str(limit_ms)})
    except pg8000.Error as error:
        opened.close()
        raise login_error(error, endpoint, database) from error
    return opened


def _opened(endpoint: Endpoint, timeouts: Timeouts, database: str) -> Administration:
    """A connection that is logged in.

    As libpq does, `preferred` logs in once more without TLS where the server refuses it over TLS:
    its rules may be for connections in clear alone (`hostnossl`).
    """
    connected = _with_tls(endpoint.target, timeouts.connect_s)
    try:
        return _administration(connected, endpoint, timeouts, database)
    except pg8000.Error as error:
        refused = login_error(error, endpoint, database)
        if not (isinstance(connected, ssl.SSLSocket) and _may_be_taken_in_clear(error, endpoint)):
            raise refused from error
        over_tls = error
    in_clear = _connected(endpoint.target, timeouts.connect_s)
    try:
        return _administration(in_clear, endpoint, timeouts, database)
    except pg8000.Error as error:
        raise RefusedEitherWay(refused, error) from over_tls


def _may_be_taken_in_clear(error: pg8000.Error, endpoint: Endpoint) -> bool:
    """Whether a login that was refused over TLS is tried without.

    A missing password is none that another connection would make good.
    """
    code = code_of(error)
    if endpoint.target.tls.mode != "preferred" or code not in REFUSED:
        return False
    return code != WRONG_PASSWORD or bool(endpoint.credentials.reveal())


def _administration(
    connected: socket.socket, endpoint: Endpoint, timeouts: Timeouts, database: str
) -> Administration:
    """The connection logged in; else it is closed.

    Raises:
        pg8000.Error: the server refused the login, or the connection was lost.
    """
    target = endpoint.target
    encrypted = isinstance(connected, ssl.SSLSocket)
    trust = Trust(
        proven=target.socket is not None or (encrypted and target.tls.proves_server),
        encrypted=encrypted,
        in_clear=endpoint.credentials.may_go_in_clear,
    )
    login = Login(
        target.user or "",
        endpoint.credentials.reveal(),
        database,
        trust,
        target.startup_options,
        target.tls.channel_binding,
    )
    statement_s = timeouts.statement_s
    try:
        line = Line(connected, timeouts.connect_s)
        return Administration(line, login, timeouts.connect_s, statement_s + _GRACE_S)
    except pg8000.Error:
        connected.close()
        raise


def _with_tls(target: Target, connect_s: float) -> socket.socket:
    """A connected socket, encrypted as the target wants it.

    As libpq does, `preferred` goes on without TLS if the server has none, or none in common with
    us; and on a Unix socket there is none, whatever the mode: nothing leaves the machine.

    Raises:
        TargetError: it cannot be reached, or not as the target wants it.
    """
    mode = target.tls.mode
    if mode == "disabled" or target.socket is not None:
        return _connected(target, connect_s)
    context = context_for(target.tls, target.tls.versions or MODERN)
    connected = _connected(target, connect_s)
    if target.tls.direct:
        return _directly(connected, context, target)
    try:
        connected.sendall(ASK_FOR_TLS)
        answer = connected.recv(1)
        if answer == b"S":
            return context.wrap_socket(connected, server_hostname=target.host)
    except (OSError, ValueError) as error:  # ValueError: a name that cannot be a host's
        connected.close()
        is_about_tls = isinstance(error, ssl.SSLError)
        unproven = isinstance(error, ssl.SSLCertVerificationError)
        if mode == "preferred" and is_about_tls and not unproven:
            return _connected(target, connect_s)
        raise network_error(error, target) from error
    if answer == b"N" and mode == "preferred":
        return connected
    connected.close()
    raise no_tls(target) if answer == b"N" else no_answer_about_tls(target)


def _directly(connected: socket.socket, context: ssl.SSLContext, target: Target) -> ssl.SSLSocket:
    """The socket, encrypted without asking the server first.

    Raises:
        TargetError: the handshake failed, or the server did not name PostgreSQL's protocol in it.
    """
    context.set_alpn_protocols([_ALPN])
    try:
        encrypted = context.wrap_socket(connected, server_hostname=target.host)
    except (OSError, ValueError) as error:  # ValueError: a name that cannot be a host's
        connected.close()
        if isinstance(error, ConnectionError | ssl.SSLEOFError):  # what it read was no message
            raise no_direct_tls(target) from error
        raise network_error(error, target) from error
    if encrypted.selected_alpn_protocol() != _ALPN:
        encrypted.close()
        raise no_direct_tls(target)
    return encrypted


def _connected(target: Target, connect_s: float) -> socket.socket:
    try:
        if target.socket is None:
            opened = socket.create_connection((target.host, target.tcp_port), connect_s)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            return opened
        opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            opened.settimeout(connect_s)
            opened.connect(str(target.socket))
        except OSError:
            opened.close()
            raise
        return opened
    except (OSError, ValueError) as error:
        raise network_error(error, target) from error
