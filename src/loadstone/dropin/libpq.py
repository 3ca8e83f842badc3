"""Failures to connect to PostgreSQL, in the words of its client library libpq.

libpq tries each address of a host, says what came of each, and with `sslmode=prefer` logs in once
more without TLS where a server refuses the login over it, as our clients do. What libpq would have
met at the other addresses is looked for when the message is made.
"""

from __future__ import annotations

import errno
import os
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from loadstone.dropin.connecting import CLEARTEXT_VARIABLE
from loadstone.model.message import say
from loadstone.model.records import EngineFailure
from loadstone.model.target import Endpoint, Target
from loadstone.postgresql.choosing import addresses_of
from loadstone.postgresql.connect import ASK_FOR_TLS
from loadstone.postgresql.login_errors import RefusedEitherWay
from loadstone.servers.errors import TargetError
from loadstone.servers.sanitize import plain

_WRONG_PASSWORD = "28P01"
_NO_PASSWORD = "fe_sendauth: no password supplied"
_NO_SUCH_NAME = "Name or service not known"
_SHORT_S = 1.0

# The fields of an error behind its message, and how libpq calls them.
# https://www.postgresql.org/docs/current/protocol-error-fields.html
_TITLES = {"D": "DETAIL", "H": "HINT", "q": "QUERY", "W": "CONTEXT"}
_PLACE = re.compile(r"[0-9]{1,9}")
# How libpq shows the line of a statement: so many characters, and so many behind the error.
_LINE_WIDTH, _WIDTH_BEHIND = 60, 10

Met = Literal["nothing", "tls", "no tls"]
"""What is at an address: nobody, or a server that has TLS or not."""


def of_login(error: TargetError, endpoint: Endpoint) -> str:
    """Why the connection of the administration failed."""
    cause, target = error.__cause__, endpoint.target
    code = error.code.code if error.code else None
    if code == _WRONG_PASSWORD and not endpoint.credentials.reveal():
        return _refused(target, _NO_PASSWORD)
    if message := servers_message(error):
        in_clear = _words_of(error.in_clear) if isinstance(error, RefusedEitherWay) else None
        return _refused(target, f"FATAL:  {message}", in_clear)
    if isinstance(cause, socket.gaierror):
        return _no_address(target, cause.strerror or _NO_SUCH_NAME)
    if isinstance(cause, OSError) and cause.errno:
        return _refused_by_system(target, os.strerror(cause.errno))
    return _no_connection(target, str(cause or error.message))


def of_failure(failure: EngineFailure, endpoint: Endpoint) -> str:
    """Why a connection of the load failed."""
    target = endpoint.target
    asked = failure.sql_state in (None, _WRONG_PASSWORD)
    if failure.kind == "login_refused" and asked and not endpoint.credentials.reveal():
        return _refused(target, _NO_PASSWORD)
    if failure.sql_state:
        in_clear = None if failure.in_clear is None else f"FATAL:  {failure.in_clear}"
        return _refused(target, f"FATAL:  {failure.message}", in_clear)
    if failure.kind == "unknown_host":
        return _no_address(target, _NO_SUCH_NAME)
    if failure.kind == "unreachable":
        return _refused_by_system(target, failure.message)
    return _no_connection(target, failure.message)


def advice_on(kind: str) -> str:
    """What to do about a failed login of that kind; empty: the message is enough.

    The options that other commands have for it are none of the programs that we stand in for.
    """
    if kind != "password_withheld":
        return ""
    return say(
        "let the server prove its identity: sslmode=verify-ca or verify-full with sslrootcert; use"
        " a unix socket; or send the password to any server that answers within TLS:"
        " {variable}=1 in the environment",
        variable=CLEARTEXT_VARIABLE,
    )


def servers_message(error: TargetError) -> str:
    """The server's own words in an error of the administration; empty: it is not the server's."""
    return _message_in(error.__cause__)


def of_statement(error: TargetError, statement: str) -> str:
    """What the server has said of a statement; empty: the error is not the server's."""
    fields = {name: plain(text) for name, text in _fields_of(error.__cause__).items()}
    if not fields.get("M"):
        return ""
    # The place is in the statement, or in one that a function has executed.
    text = statement if "P" in fields else fields.get("q", "")
    place = _PLACE.fullmatch(fields.get("P") or fields.get("p", ""))
    more = (f"{title}:  {fields[name]}\n" for name, title in _TITLES.items() if name in fields)
    said = f"{fields.get('S', 'ERROR')}:  {fields['M']}\n"
    pointed = pointed_at(text, int(place[0]) if place else None)
    return "".join((said, pointed, *more)).removesuffix("\n")


def _message_in(error: BaseException | None) -> str:
    """The message among the fields of an ErrorResponse; empty: the error is not the server's."""
    return _fields_of(error).get("M", "")


def _fields_of(error: BaseException | None) -> dict[str, str]:
    """The fields of an ErrorResponse, by their letters; none: the error is not the server's."""
    said = error.args[0] if error is not None and error.args else None
    fields = said.items() if isinstance(said, dict) else ()
    return {str(name): str(text) for name, text in fields}


def _words_of(error: Exception) -> str:
    message = _message_in(error)
    return f"FATAL:  {message}" if message else str(error)


def number_of(words: str) -> int | None:
    """The number of a system's error by its text, which the engine passes on; `None`: unknown."""
    known = (number for number in errno.errorcode if os.strerror(number).lower() == words.lower())
    return next(known, None)


def met_at(address: str, port: int) -> Met:
    """Who listens at an address, and whether with TLS."""
    try:
        with socket.create_connection((address, port), _SHORT_S) as connection:
            connection.settimeout(_SHORT_S)
            connection.sendall(ASK_FOR_TLS)
            return "tls" if connection.recv(1) == b"S" else "no tls"
    except OSError:
        return "nothing"


def refused_at(
    target: Target,
    why: str,
    addresses: Sequence[str],
    met: Callable[[str, int], Met] = met_at,
    *,
    in_clear: str | None = None,
) -> Iterator[str]:
    """A line for each attempt up to those at a server where the login failed.

    Addresses where nobody listens come before them. `in_clear`: what came of the attempt without
    TLS; `None`: there was none.
    """
    for place, address in enumerate(addresses):
        found = met(address, target.tcp_port)
        if found == "nothing" and place + 1 < len(addresses):
            yield _failed_at(target, address, _of_system(target, os.strerror(errno.ECONNREFUSED)))
            continue
        yield _failed_at(target, address, why)
        if in_clear is not None:
            yield _failed_at(target, address, in_clear)
        return


def _refused(target: Target, why: str, in_clear: str | None = None) -> str:
    """Why a login failed at a server, and what came of the attempt without TLS if there was one."""
    if target.socket is not None:
        return _no_connection(target, why)
    addresses = addresses_of(target.host) or (target.host,)
    return "\n".join(refused_at(target, why, addresses, in_clear=in_clear))


def _refused_by_system(target: Target, words: str) -> str:
    why = _of_system(target, words)
    addresses = () if target.socket is not None else addresses_of(target.host)
    lines = [_failed_at(target, address, why) for address in addresses]
    return "\n".join(lines) or _no_connection(target, why)


def _no_address(target: Target, why: str) -> str:
    return f'could not translate host name "{target.host}" to address: {why}'


def _no_connection(target: Target, why: str) -> str:
    if target.socket is not None:
        return f'connection to server on socket "{target.socket}" failed: {why}'
    return _failed_at(target, target.host, why)


def _failed_at(target: Target, address: str, why: str) -> str:
    """The line of an attempt; an address that is not what the host is called is named as well."""
    named = "" if address == target.host else f" ({address})"
    return f'connection to server at "{target.host}"{named}, port {target.tcp_port} failed: {why}'


def _of_system(target: Target, words: str) -> str:
    number = number_of(words)
    said = words if number is None else os.strerror(number)
    if target.socket is not None:
        question = "locally and accepting connections on that socket"
    else:
        question = "on that host and accepting TCP/IP connections"
    return f"{said}\n\tIs the server running {question}?"


def pointed_at(statement: str, position: int | None) -> str:
    """The line of a statement and below it the place of the error, as libpq shows them.

    Each ends with the end of a line.
    """
    if not position or position > len(statement) + 1:
        return ""
    before = statement[: position - 1]
    start = before.rfind("\n") + 1
    line = statement[start:].split("\n", 1)[0].replace("\t", " ").rstrip("\r")
    shown, place = _cut(line, position - 1 - start)
    head = f"LINE {before.count(chr(10)) + 1}: "
    return f"{head}{shown}\n{' ' * (len(head) + place)}^\n"


def _cut(line: str, place: int) -> tuple[str, int]:
    """A line that is not too long, and where the place is in it."""
    if len(line) <= _LINE_WIDTH:
        return line, place
    if place + _WIDTH_BEHIND <= _LINE_WIDTH:
        return f"{line[:_LINE_WIDTH]}...", place
    end = min(len(line), place + _WIDTH_BEHIND)
    start = max(end - _LINE_WIDTH, 0)
    behind = "..." if end < len(line) else ""
    return f"...{line[start:end]}{behind}", place - start + 3
