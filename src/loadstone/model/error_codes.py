"""Error codes. Each family of servers has its own, so an error is a family and a code.

The names are the usual ones of errors that servers, proxies and networks return while a server
fails. For `mysql` they are numbers and names from MySQL's and MariaDB's error references; 2000 and
above are client errors. For `postgresql` they are SQLSTATEs and PostgreSQL's names of conditions
(https://www.postgresql.org/docs/current/errcodes-appendix.html); its clients report class 08.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field

MYSQL = "mysql"
"""The family of MySQL and MariaDB."""

POSTGRESQL = "postgresql"
"""The family of PostgreSQL."""

_MOST_NUMBER = 65535


def _as_text(code: object) -> object:
    """The code as text: files of older versions have numbers."""
    if isinstance(code, int) and not isinstance(code, bool) and 0 <= code <= _MOST_NUMBER:
        return str(code)
    return code


Family = Annotated[str, Field(pattern=r"^[a-z0-9]{1,12}$")]
Code = Annotated[str, BeforeValidator(_as_text), Field(pattern=r"^[0-9A-Z]{1,8}$")]
"""A code such as `1213` or `40P01`; its family must be known from the context."""


DEADLOCKS = frozenset({"1213", "40P01"})
"""The codes of all families for a transaction that was the victim of a deadlock."""


# Deadlock, lock wait timeout, record has changed since it was last read; in PostgreSQL, a
# transaction that could not be serialized, or was the victim of a deadlock, and a row that exists:
# where two users delete a row and insert it again, the second one does not see what the first did.
IGNORED_BY_SCRIPTS: Mapping[str, tuple[str, ...]] = {
    MYSQL: ("1213", "1205", "1020"),
    POSTGRESQL: ("40001", "40P01", "23505"),
}
"""By family, the errors after which sysbench restarts a script's event if no others are given."""

# Besides, where others change tables under the load: ask for a retry after ALTER TABLE, and of a
# prepared statement whose table's definition the server had to read again too often.
RESTART_ON: Mapping[str, tuple[str, ...]] = {
    MYSQL: (*IGNORED_BY_SCRIPTS[MYSQL], "1412", "1615"),
    POSTGRESQL: IGNORED_BY_SCRIPTS[POSTGRESQL],
}
"""By family, the errors after which an event is restarted by default."""

# CR_SERVER_GONE_ERROR, CR_SERVER_LOST, CR_MALFORMED_PACKET; connection_does_not_exist,
# connection_failure, protocol_violation.
LOST: Mapping[str, tuple[str, ...]] = {
    MYSQL: ("2006", "2013", "2027"),
    POSTGRESQL: ("08003", "08006", "08P01"),
}
"""By family, the client's errors after which a connection cannot be used any more."""


class ErrorCode(NamedTuple):
    """An error of a server or its client: the family and the code."""

    family: str
    code: str


def with_family(data: Any) -> Any:
    """The record, or part of one, with its error as family and code; older ones have a number."""
    if not isinstance(data, dict) or "errno" not in data:
        return data
    rest = {key: value for key, value in data.items() if key != "errno"}
    number = data["errno"]
    if number is None:
        return rest
    return rest | {"family": MYSQL, "code": number}


def number_of(code: str | None) -> int | None:
    """The code as a number; `None` if it is not one."""
    return int(code) if code is not None and code.isdecimal() else None


def order(code: str) -> tuple[int, str]:
    """Sort key of codes, with numbers in numerical order."""
    return len(code), code


def name_of(family: str, code: str) -> str | None:
    """The common name of an error; `None` if it is not in our table."""
    return _NAMES.get(family, {}).get(code)


_NAMES: Mapping[str, Mapping[str, str]] = {
    MYSQL: {
        "110": "ETIMEDOUT",
        "1020": "ER_CHECKREAD",
        "1021": "ER_DISK_FULL",
        "1030": "ER_GET_ERRNO",
        "1040": "ER_CON_COUNT_ERROR",
        "1042": "ER_BAD_HOST_ERROR",
        "1044": "ER_DBACCESS_DENIED_ERROR",
        "1045": "ER_ACCESS_DENIED_ERROR",
        "1047": "ER_UNKNOWN_COM_ERROR",
        "1049": "ER_BAD_DB_ERROR",
        "1053": "ER_SERVER_SHUTDOWN",
        "1062": "ER_DUP_ENTRY",
        "1077": "ER_NORMAL_SHUTDOWN",
        "1079": "ER_SHUTDOWN_COMPLETE",
        "1105": "ER_UNKNOWN_ERROR",
        "1129": "ER_HOST_IS_BLOCKED",
        "1142": "ER_TABLEACCESS_DENIED_ERROR",
        "1146": "ER_NO_SUCH_TABLE",
        "1152": "ER_ABORTING_CONNECTION",
        "1158": "ER_NET_READ_ERROR",
        "1159": "ER_NET_READ_INTERRUPTED",
        "1160": "ER_NET_ERROR_ON_WRITE",
        "1161": "ER_NET_WRITE_INTERRUPTED",
        "1180": "ER_ERROR_DURING_COMMIT",
        "1184": "ER_NEW_ABORTING_CONNECTION",
        "1203": "ER_TOO_MANY_USER_CONNECTIONS",
        "1205": "ER_LOCK_WAIT_TIMEOUT",
        "1213": "ER_LOCK_DEADLOCK",
        "1223": "ER_CANT_UPDATE_WITH_READLOCK",
        "1226": "ER_USER_LIMIT_REACHED",
        "1243": "ER_UNKNOWN_STMT_HANDLER",
        "1290": "ER_OPTION_PREVENTS_STATEMENT",
        "1317": "ER_QUERY_INTERRUPTED",
        "1412": "ER_TABLE_DEF_CHANGED",
        "1461": "ER_MAX_PREPARED_STMT_COUNT_REACHED",
        "1615": "ER_NEED_REPREPARE",
        "1792": "ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION",
        "1836": "ER_READ_ONLY_MODE",
        "1927": "ER_CONNECTION_KILLED",
        "1969": "ER_STATEMENT_TIMEOUT",
        "2002": "CR_CONNECTION_ERROR",
        "2003": "CR_CONN_HOST_ERROR",
        "2005": "CR_UNKNOWN_HOST",
        "2006": "CR_SERVER_GONE_ERROR",
        "2013": "CR_SERVER_LOST",
        "2026": "CR_SSL_CONNECTION_ERROR",
        "2027": "CR_MALFORMED_PACKET",
        "2051": "CR_NO_DATA",
        "2055": "CR_SERVER_LOST_EXTENDED",
        "3024": "ER_QUERY_TIMEOUT",
        "3032": "ER_SERVER_OFFLINE_MODE",
        "3100": "ER_RUN_HOOK_ERROR",
        "3101": "ER_TRANSACTION_ROLLBACK_DURING_COMMIT",
        "3159": "ER_SECURE_TRANSPORT_REQUIRED",
        "4031": "ER_CLIENT_INTERACTION_TIMEOUT",
    },
    POSTGRESQL: {
        "08000": "connection_exception",
        "08001": "sqlclient_unable_to_establish_sqlconnection",
        "08003": "connection_does_not_exist",
        "08006": "connection_failure",
        "08P01": "protocol_violation",
        "0A000": "feature_not_supported",
        "22P02": "invalid_text_representation",
        "23503": "foreign_key_violation",
        "23505": "unique_violation",
        "25006": "read_only_sql_transaction",
        "25P02": "in_failed_sql_transaction",
        "25P03": "idle_in_transaction_session_timeout",
        "26000": "invalid_sql_statement_name",
        "28000": "invalid_authorization_specification",
        "28P01": "invalid_password",
        "3D000": "invalid_catalog_name",
        "40001": "serialization_failure",
        "40P01": "deadlock_detected",
        "42501": "insufficient_privilege",
        "42601": "syntax_error",
        "42703": "undefined_column",
        "42883": "undefined_function",
        "42P01": "undefined_table",
        "42P07": "duplicate_table",
        "53100": "disk_full",
        "53200": "out_of_memory",
        "53300": "too_many_connections",
        "55000": "object_not_in_prerequisite_state",
        "55P03": "lock_not_available",
        "57014": "query_canceled",
        "57P01": "admin_shutdown",
        "57P02": "crash_shutdown",
        "57P03": "cannot_connect_now",
        "57P05": "idle_session_timeout",
        "58030": "io_error",
        "XX000": "internal_error",
    },
}
