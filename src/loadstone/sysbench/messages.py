"""The lines that sysbench prints before it gives up."""

from __future__ import annotations

import errno as system_errors
import os
import socket
from collections.abc import Sequence

from loadstone.model.plan import Plan
from loadstone.model.records import EngineFailure, FirstError
from loadstone.model.target import Target
from loadstone.mysql.errors import number_in
from loadstone.servers.errors import TargetError
from loadstone.sysbench.errors import Fatal
from loadstone.sysbench.targets import Place

FORCED_SHUTDOWN = "The --max-time limit has expired, forcing shutdown..."
QUEUE_FULL = (
    "The event queue is full. This means the worker threads are unable to keep up with the "
    "specified event generation rate"
)

# The client library's number for every failure to connect.
_CANNOT_CONNECT = 2002
_UNKNOWN_HOST = 2005
_UNKNOWN_ERROR = 2000
_GENERAL_STATE = "HY000"
# PyMySQL does not expose the SQLSTATE: these are for the errors of `prepare` and `prewarm`.
_STATES = {
    1044: "42000",
    1050: "42S01",
    1064: "42000",
    1142: "42000",
    1146: "42S02",
    1286: "42000",
}
# Missing tables or columns, and too many prepared statements for the server.
_CANNOT_BE_PREPARED = (1146, 1054, 1461)
_NOT_STARTED = "Thread initialization failed!"
_LOSSES = {2006: "Server has gone away", 2013: "Lost connection to server during query"}
# EAI_NONAME of glibc.
_NO_SUCH_NAME = -2


def lines_of_run(failure: EngineFailure, plan: Plan, places: Sequence[Place]) -> tuple[str, ...]:
    """Why a run failed after its threads were connected, or why they were not."""
    if failure.statement is None:
        place = places[failure.target or 0]
        return (
            *_connection_lines(place, *_number_and_text(failure, place)),
            "`thread_init' function failed: connection creation failed",
            _NOT_STARTED,
        )
    if plan.drive.protocol == "prepared" and failure.number in _CANNOT_BE_PREPARED:
        return _preparing_lines(failure.number, failure.message)
    return _statement_lines(
        plan, failure.number or 0, failure.message, failure.statement, failure.sql_state
    )


def _preparing_lines(number: int, message: str) -> tuple[str, ...]:
    return (
        "mysql_stmt_prepare() failed",
        f'MySQL error: {number} "{message}"',
        "`thread_init' function failed: SQL API error",
        _NOT_STARTED,
    )


def connection_lines(failure: EngineFailure, place: Place) -> tuple[str, str]:
    """Why a connection failed, in the form that the driver reports."""
    return _connection_lines(place, *_number_and_text(failure, place))


def check_preparing(error: FirstError, plan: Plan) -> None:
    """End a run that has had no event if a statement of it cannot be prepared.

    As in sysbench, this error cannot be ignored.

    Raises:
        Fatal: it cannot.
    """
    is_prepared = plan.drive.protocol == "prepared" and error.statement is not None
    if is_prepared and error.number in _CANNOT_BE_PREPARED:
        raise Fatal(*_preparing_lines(error.number, error.message))


def check_loss(error: FirstError, plan: Plan) -> None:
    """End the run on a lost connection, unless its error number is to be ignored.

    Raises:
        Fatal: it is not ignored.
    """
    ignored = plan.drive.restart_on
    if error.statement is not None or ignored == "all" or error.code in ignored:
        return
    message = _LOSSES.get(error.number, error.message)
    raise Fatal(*_statement_lines(plan, error.number, message, "", None))


def of_command(error: TargetError, command: str, place: Place) -> Fatal:
    """The error if `prepare`, `cleanup` or `prewarm` cannot connect."""
    return Fatal(
        *_connection_lines(place, *_cause(error, place.endpoint.target)),
        f"`{command}' function failed: connection creation failed",
    )


def of_load(failure: EngineFailure, command: str) -> Fatal:
    """The error that ended a load of tables."""
    if failure.number is None:
        return Fatal(failure.message)
    return of_statement(failure.number, failure.message, command, failure.statement or "")


def of_statement(number: int, message: str, command: str, statement: str) -> Fatal:
    """The error for a statement of `prepare`, `cleanup` or `prewarm` that the server refused."""
    state = _STATES.get(number, _GENERAL_STATE)
    return Fatal(
        f"mysql_drv_query() returned error {number} ({message}) for query '{statement}'",
        f"`{command}' function failed: SQL error, errno = {number}, state = '{state}': {message}",
    )


def _connection_lines(place: Place, number: int, text: str) -> tuple[str, str]:
    return (
        f"unable to connect to MySQL server on {place.called}, aborting...",
        f"error {number}: {text}",
    )


def _statement_lines(
    plan: Plan, number: int, message: str, statement: str, state: str | None
) -> tuple[str, ...]:
    is_prepared = plan.drive.protocol == "prepared"
    call = "mysql_stmt_execute()" if is_prepared else "mysql_drv_query()"
    return (
        f"{call} returned error {number} ({message}) for query '{statement}'",
        f"`thread_run' function failed: SQL error, errno = {number}, "
        f"state = '{state or _GENERAL_STATE}': {message}",
    )


def _number_and_text(failure: EngineFailure, place: Place) -> tuple[int, str]:
    target = place.endpoint.target
    match failure.kind:
        case "unreachable" if failure.sql_state is None:
            return _CANNOT_CONNECT, _unreachable(target, _number_of(failure.message))
        case "unknown_host":
            return _unknown_host(target)
        case _:
            return failure.number or _UNKNOWN_ERROR, failure.message


def _unknown_host(target: Target) -> tuple[int, str]:
    return _UNKNOWN_HOST, f"Unknown server host '{target.host}' ({_NO_SUCH_NAME})"


def _unreachable(target: Target, why: int | str) -> str:
    if target.socket is not None:
        return f"Can't connect to local server through socket '{target.socket}' ({why})"
    return f"Can't connect to server on '{target.host}' ({why})"


def _number_of(words: str) -> int | str:
    """The errno whose text the engine passes on; the text itself if there is none."""
    for number in system_errors.errorcode:
        if os.strerror(number).lower() == words.lower():
            return number
    return words


def _cause(error: TargetError, target: Target) -> tuple[int, str]:
    """The number and text of the server's or the system's error that caused ours."""
    cause = error.__cause__
    # PyMySQL keeps the system's error there.
    cause = getattr(cause, "original_exception", None) or cause
    if isinstance(cause, socket.gaierror):
        return _unknown_host(target)
    if isinstance(cause, OSError):
        return _CANNOT_CONNECT, _unreachable(target, cause.errno or str(cause))
    if cause is None or len(cause.args) < 2:
        return number_in(error) or _UNKNOWN_ERROR, error.message
    return number_in(error) or _UNKNOWN_ERROR, str(cause.args[1])
