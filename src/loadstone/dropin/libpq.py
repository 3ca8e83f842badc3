"""Failures to connect to PostgreSQL, in the words of its client library libpq."""

from __future__ import annotations

import errno
import os
import socket

from loadstone.model.records import EngineFailure
from loadstone.model.target import Target
from loadstone.servers.errors import TargetError

_NO_SUCH_NAME = "Name or service not known"


def of_login(error: TargetError, target: Target) -> str:
    """Why the connection of the administration failed."""
    cause = error.__cause__
    if message := servers_message(error):
        return _no_connection(target, f"FATAL:  {message}")
    if isinstance(cause, socket.gaierror):
        return _no_address(target, cause.strerror or _NO_SUCH_NAME)
    if isinstance(cause, OSError) and cause.errno:
        return _no_connection(target, _refused_by_system(target, os.strerror(cause.errno)))
    return _no_connection(target, str(cause or error.message))


def of_failure(failure: EngineFailure, target: Target) -> str:
    """Why a connection of the load failed."""
    if failure.sql_state:
        return _no_connection(target, f"FATAL:  {failure.message}")
    if failure.kind == "unknown_host":
        return _no_address(target, _NO_SUCH_NAME)
    if failure.kind == "unreachable":
        return _no_connection(target, _refused_by_system(target, failure.message))
    return _no_connection(target, failure.message)


def servers_message(error: TargetError) -> str:
    """The server's own words in an error of the administration; empty: it is not the server's."""
    cause = error.__cause__
    said = cause.args[0] if cause is not None and cause.args else None
    # The fields of an ErrorResponse.
    return str(said.get("M", "")) if isinstance(said, dict) else ""


def number_of(words: str) -> int | None:
    """The number of a system's error by its text, which the engine passes on; `None`: unknown."""
    known = (number for number in errno.errorcode if os.strerror(number).lower() == words.lower())
    return next(known, None)


def _no_address(target: Target, why: str) -> str:
    return f'could not translate host name "{target.host}" to address: {why}'


def _no_connection(target: Target, why: str) -> str:
    if target.socket is not None:
        return f'connection to server on socket "{target.socket}" failed: {why}'
    return f'connection to server at "{target.host}", port {target.tcp_port} failed: {why}'


def _refused_by_system(target: Target, words: str) -> str:
    number = number_of(words)
    said = words if number is None else os.strerror(number)
    if target.socket is not None:
        question = "locally and accepting connections on that socket"
    else:
        question = "on that host and accepting TCP/IP connections"
    return f"{said}\n\tIs the server running {question}?"
