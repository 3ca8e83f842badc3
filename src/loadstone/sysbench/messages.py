"""The lines that sysbench prints before it gives up."""

from __future__ import annotations

import itertools
import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from loadstone.dropin import libpq
from loadstone.model.error_codes import MYSQL, POSTGRESQL, number_of
from loadstone.model.plan import Plan
from loadstone.model.records import EngineFailure, FirstError
from loadstone.model.target import Endpoint, Target
from loadstone.mysql.errors import number_in
from loadstone.servers.errors import TargetError
from loadstone.sysbench.errors import Fatal
from loadstone.sysbench.targets import NotPlaced, Place

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
            *_advice(failure.kind, place),
        )
    if plan.drive.protocol == "prepared" and failure.number in _CANNOT_BE_PREPARED:
        return _preparing_lines(failure.number, failure.message)
    refused = Refusal(failure.code or "0", failure.message, failure.statement)
    if _is_of_preparing(plan, refused.code):
        return _not_prepared_lines(refused)
    return _statement_lines(plan, refused, failure.sql_state)


def _preparing_lines(number: int, message: str) -> tuple[str, ...]:
    return (
        "mysql_stmt_prepare() failed",
        f'MySQL error: {number} "{message}"',
        "`thread_init' function failed: SQL API error",
        _NOT_STARTED,
    )


def _is_of_preparing(plan: Plan, code: str) -> bool:
    """On PostgreSQL: a table or a column is missing, which shows when its statement is prepared."""
    is_prepared = plan.drive.protocol == "prepared"
    return is_prepared and plan.targets[0].family == POSTGRESQL and code in ("42P01", "42703")


def _not_prepared_lines(refused: Refusal) -> tuple[str, ...]:
    return (
        f"PQprepare() failed: ERROR:  {refused.message}",
        f"failed query was: {refused.statement}",
        f"`thread_init' function failed: SQL error, errno = 0, state = '{refused.code}':"
        f" {refused.message}",
        _NOT_STARTED,
    )


def connection_lines(failure: EngineFailure, place: Place) -> tuple[str, ...]:
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
    if error.statement is not None and _is_of_preparing(plan, error.code):
        raise Fatal(*_not_prepared_lines(Refusal(error.code, error.message, error.statement)))


def check_loss(error: FirstError, plan: Plan) -> None:
    """End the run on a lost connection, unless its error number is to be ignored.

    Raises:
        Fatal: it is not ignored.
    """
    ignored = plan.drive.restart_on
    if error.statement is not None or ignored == "all" or error.code in ignored:
        return
    message = _LOSSES.get(error.number, error.message)
    raise Fatal(*_statement_lines(plan, Refusal(error.code, message, ""), None))


def of_command(error: TargetError, command: str, place: Place) -> Fatal:
    """The error if `prepare`, `cleanup` or `prewarm` cannot connect."""
    return Fatal(
        *_connection_lines(place, *_cause(error, place.endpoint)),
        f"`{command}' function failed: connection creation failed",
        *_advice(error.kind, place),
    )


def _advice(kind: str, place: Place) -> tuple[str, ...]:
    """A line of our own about a way out that neither driver nor sysbench has, if there is one."""
    if place.endpoint.target.family != POSTGRESQL:
        return ()
    return tuple(filter(None, [libpq.advice_on(kind)]))


def of_unplaced(error: NotPlaced, command: str) -> Fatal:
    """The error if a command names no server; `thread_init` is that of a run."""
    started = (_NOT_STARTED,) if command == "thread_init" else ()
    why = f"`{command}' function failed: connection creation failed"
    return Fatal(error.message, why, *started)


def of_load(failure: EngineFailure, command: str, place: Place) -> Fatal:
    """The error that ended a load of tables."""
    if failure.code is None:
        return Fatal(failure.message)
    refused = Refusal(failure.code, failure.message, failure.statement or "")
    return _of_statement(refused, command, place.endpoint.target.family)


def of_existing_table(place: Place, name: str, command: str) -> Fatal:
    """The error for a table that `prepare` was to make and that is there already."""
    refused = {
        MYSQL: Refusal("1050", f"Table '{name}' already exists", f"CREATE TABLE {name}"),
        POSTGRESQL: Refusal("42P07", f'relation "{name}" already exists', f"CREATE TABLE {name}"),
    }
    family = place.endpoint.target.family
    return _of_statement(refused[family], command, family)


def of_refusal(error: TargetError, place: Place, command: str, statement: str) -> Fatal:
    """The error for a statement of `prepare`, `cleanup` or `prewarm` that the server refused."""
    code = error.code.code if error.code else "0"
    _, text = _cause(error, place.endpoint)
    return _of_statement(Refusal(code, text, statement), command, place.endpoint.target.family)


@dataclass(frozen=True)
class Refusal:
    """A statement that the server has refused, with the code of its family."""

    code: str
    message: str
    statement: str


def _of_statement(refused: Refusal, command: str, family: str) -> Fatal:
    number, state = _number_and_state(refused.code, None, family)
    return Fatal(
        *_driver_lines(refused, family, is_prepared=False),
        f"`{command}' function failed: SQL error, errno = {number}, state = '{state}':"
        f" {refused.message}",
    )


def _number_and_state(code: str, state: str | None, family: str) -> tuple[int, str]:
    """PostgreSQL's driver has states alone."""
    if family == POSTGRESQL:
        return 0, code
    number = number_of(code) or 0
    return number, state or _STATES.get(number, _GENERAL_STATE)


def _driver_lines(refused: Refusal, family: str, *, is_prepared: bool) -> tuple[str, ...]:
    """What a driver says of a refused statement."""
    if family == POSTGRESQL:
        call = "PQexecPrepared()" if is_prepared else "PQexec()"
        # PGRES_FATAL_ERROR
        said = f"{call} failed: 7 {refused.message}"
        return (said, f"failed query was: {refused.statement}") if refused.statement else (said,)
    call = "mysql_stmt_execute()" if is_prepared else "mysql_drv_query()"
    said = f"{call} returned error {number_of(refused.code) or 0} ({refused.message})"
    return (f"{said} for query '{refused.statement}'",)


def of_driver(error: FirstError, *, is_prepared: bool) -> tuple[str, ...]:
    """What a driver says of an error of a script's statement."""
    refused = Refusal(error.code, error.message, error.statement or "")
    return _driver_lines(refused, error.family, is_prepared=is_prepared)


def of_preparing(error: FirstError) -> tuple[str, ...]:
    """What a driver says of a statement that cannot be prepared."""
    if error.family == POSTGRESQL:
        shown = libpq.pointed_at(_with_numbers(error.statement or ""), error.position)
        # libpq ends its messages with the end of a line.
        return (f"PQprepare() failed: ERROR:  {error.message}\n{shown}",)
    return ("mysql_stmt_prepare() failed", f'MySQL error: {error.code} "{error.message}"')


def _with_numbers(statement: str) -> str:
    """A statement as it is sent: its parameters have numbers in place of question marks."""
    numbers = itertools.count(1)
    return re.sub(r"\?", lambda _: f"${next(numbers)}", statement)


def _connection_lines(place: Place, number: int, text: str) -> tuple[str, ...]:
    if place.endpoint.target.family == POSTGRESQL:
        # libpq ends its messages with the end of a line.
        return (f"Connection to database failed: {text}\n",)
    return (
        f"unable to connect to MySQL server on {place.called}, aborting...",
        f"error {number}: {text}",
    )


def _statement_lines(plan: Plan, refused: Refusal, state: str | None) -> tuple[str, ...]:
    family = plan.targets[0].family
    number, state = _number_and_state(refused.code, state or _GENERAL_STATE, family)
    return (
        *_driver_lines(refused, family, is_prepared=plan.drive.protocol == "prepared"),
        f"`thread_run' function failed: SQL error, errno = {number}, state = '{state}':"
        f" {refused.message}",
    )


def _number_and_text(failure: EngineFailure, place: Place) -> tuple[int, str]:
    target = place.endpoint.target
    if target.family == POSTGRESQL:
        return 0, libpq.of_failure(failure, place.endpoint)
    match failure.kind:
        case "unreachable" if failure.sql_state is None:
            words = failure.message
            return _CANNOT_CONNECT, _unreachable(target, libpq.number_of(words) or words)
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


def _cause(error: TargetError, endpoint: Endpoint) -> tuple[int, str]:
    """The number and text of the server's or the system's error that caused ours."""
    cause, target = error.__cause__, endpoint.target
    if target.family == POSTGRESQL:
        is_of_statement = error.kind == "statement_failed"
        said = libpq.servers_message(error) if is_of_statement else ""
        return 0, said or libpq.of_login(error, endpoint)
    # PyMySQL keeps the system's error there.
    cause = getattr(cause, "original_exception", None) or cause
    if isinstance(cause, socket.gaierror):
        return _unknown_host(target)
    if isinstance(cause, OSError):
        return _CANNOT_CONNECT, _unreachable(target, cause.errno or str(cause))
    if cause is None or len(cause.args) < 2:
        return number_in(error) or _UNKNOWN_ERROR, error.message
    return number_in(error) or _UNKNOWN_ERROR, str(cause.args[1])
