"""The own list of a MariaDB or MySQL of its variables, and a bad value for one of them.

MariaDB lists types, ranges and choices, MySQL from 8.0 on ranges. Where a server lists none, the
value itself says what it is, and the server refuses what it does not accept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from faults.case import Draw
from loadstone.servers.connection import Cursor

Kind = Literal["number", "switch", "flags", "choice"]

_FROM_MARIADB = (
    "SELECT LOWER(VARIABLE_NAME), GLOBAL_VALUE, NUMERIC_MIN_VALUE, NUMERIC_MAX_VALUE,"
    " ENUM_VALUE_LIST FROM information_schema.SYSTEM_VARIABLES"
    " WHERE GLOBAL_VALUE IS NOT NULL AND VARIABLE_TYPE NOT LIKE 'VARCHAR%'"
)
_RANGES = "SELECT VARIABLE_NAME, MIN_VALUE, MAX_VALUE FROM performance_schema.variables_info"

_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_FLAGS = re.compile(r"\w+=(on|off)(,\w+=(on|off|default))*")

_LARGEST = 64
"""Times the value it has: more of a delay, or of memory for each of the users, would not slow the
server down but end it."""

_FROM_ZERO = 100_000
"""The largest value of a variable that is 0, which has no multiples."""

_MOST_BYTES = 1 << 30

_KEPT_OUT = re.compile(
    # Where something is, and what it is called.
    r"dir$|director|path|_file$|filename|basename|bin_index$|(^|_)port$|socket|pid_file|hostname"
    r"|^version|^license|_address|character_set|collation|time_zone|lc_|^log_(bin|error)$|_uuid"
    r"|server_id|relay|report_|proxy|^plugin|^init_|_name$|^timestamp$|^have_|^persist|^build_id"
    r"|(default|tmp|disabled|enforce)_storage_engine|log_error_"
    # Who may do what, and over what.
    r"|ssl|tls|auth|passw|secur|user|privilege|role|readonly|read_only|offline|local_infile"
    r"|skip_(networking|grant|show|name)|activate_all|^require_|encrypt|keyring|validate|_fips"
    r"|revokes|^admin|^protocol_|log_raw"
    # What would lose data, or statements, or change their results.
    r"|^innodb_flush_log_at_trx_commit$|^sync_|doublewrite|force_recovery|checksum|fast_shutdown"
    r"|gtid|^rpl_|replica|slave|master|semi_sync|group_replication|wsrep|binlog_(format|row|do|ig)"
    r"|^autocommit$|completion_type|sql_|^old|compat|lower_case|explicit_defaults|foreign_key"
    r"|page_size|data_file|undo_tablespaces|temp_data|rollback_on_timeout|expire|^flush$|^event_"
    r"|max_join_size|select_limit|safe_updates|strict|fatal|heuristic_recover|^auto_increment"
    r"|max_binlog_(stmt_)?cache_size"
    # What would lose the connection, or refuse it.
    r"|connections$|connect_|_timeout$|max_allowed_packet|max_statement_time|max_execution_time"
    r"|prepared_stmt_count|session_mem|connection_memory|thread_stack|open_files_limit|lock_wait"
    r"|statement_mem|tmp_session_space|tmp_total_space"
    # What takes effect at once and is over, and what is only watched with.
    r"|_now$|_abort|_evict|_disable|_lag_wait$|debug|^profiling|^performance_schema_|^mysqlx|sys_var"
    r"|^feedback"
    # What no table here uses.
    r"|myisam|^aria_(?!pagecache)|^ft_|innodb_ft|ndb|spider|mroonga|archive|federated|s3_|rocksdb"
)
"""Variables that are never drawn."""


@dataclass(frozen=True)
class Variable:
    """One of a server's variables, as the server has it."""

    name: str
    value: str
    kind: Kind
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    """Values that it may have instead; numbers of values where their names are not known."""
    at_start: bool = False
    """Whether it is known that a running server does not take it."""
    is_whole: bool = True
    """Of a number: whether it has no fractions."""


def read_variables(cursor: Cursor, *, mariadb: bool) -> tuple[Variable, ...]:
    """Those that may be drawn, by name."""
    if mariadb:
        return variables_of(_rows(cursor, _FROM_MARIADB))
    cursor.execute("SHOW TABLES FROM performance_schema LIKE 'variables_info'")
    listed = cursor.fetchall()
    ranges = {name: most for name, *most in _rows(cursor, _RANGES)} if listed else {}
    values = _rows(cursor, "SHOW GLOBAL VARIABLES")
    return variables_of(
        (name, value, *ranges.get(name, (None, None)), None) for name, value in values
    )


def _rows(cursor: Cursor, statement: str) -> Sequence[Sequence[Any]]:
    cursor.execute(statement)
    return list(cursor.fetchall())


def variables_of(rows: Iterable[Sequence[Any]]) -> tuple[Variable, ...]:
    """Rows of name, value, least and largest value, and names of choices; `None`: not listed."""
    named = [(str(row[0]).lower(), *row[1:]) for row in rows]
    found = [_variable(*row) for row in sorted(named) if not _KEPT_OUT.search(row[0])]
    return tuple(one for one in found if one is not None)


def _variable(name: str, value: Any, least: Any, most: Any, listed: Any) -> Variable | None:
    text = "" if value is None else str(value)
    if text.upper() in ("ON", "OFF") and set(_listed(listed)) <= {"ON", "OFF"}:
        return Variable(name, text, "switch", choices=("OFF" if text.upper() == "ON" else "ON",))
    if _NUMBER.fullmatch(text):
        ends = _end(least), _end(most)
        known = ends if ends != (0.0, 0.0) else (None, None)
        return Variable(name, text, "number", *known)
    if _FLAGS.fullmatch(text):
        return Variable(name, text, "flags", choices=tuple(_flipped(text)))
    choices = tuple(one for one in _listed(listed) if one.upper() != text.upper())
    numbers = ("0", "1", "2", "3")
    return Variable(name, text, "choice", choices=choices or numbers) if text else None


def _listed(choices: Any) -> list[str]:
    return str(choices).split(",") if choices else []


def _end(value: Any) -> float | None:
    text = str(value)
    return float(text) if value is not None and _NUMBER.fullmatch(text) else None


def _flipped(flags: str) -> Iterable[str]:
    for flag in flags.split(","):
        name, _, value = flag.partition("=")
        yield f"{name}={'off' if value == 'on' else 'on'}"


def draw_value(draw: Draw, variable: Variable) -> str | None:
    """Another value; `None`: there is none on the side that was drawn."""
    if variable.kind != "number":
        return draw.of_these(*variable.choices)
    smaller = draw.chance.random() < 0.5
    value = _smaller(draw, variable) if smaller else _larger(draw, variable)
    if value is None or value == float(variable.value):
        return None
    return f"{value:.0f}" if "." not in variable.value else f"{value:g}"


def _smaller(draw: Draw, variable: Variable) -> float | None:
    """Half of the value or less; the least itself nearly as often as all between."""
    now = float(variable.value)
    least = 0.0 if variable.least is None else max(variable.least, 0.0)
    if least >= now:
        return None
    if draw.chance.random() < 0.3:
        return least
    return max(draw.size(max(least, now / 4096, 1e-3), max(now / 2, 1e-3)), least)


def _larger(draw: Draw, variable: Variable) -> float | None:
    """Twice the value or more."""
    now = float(variable.value)
    farthest = now * _LARGEST if now > 0 else float(_FROM_ZERO)
    if _is_of_bytes(variable.name):
        farthest = min(max(farthest, float(_FROM_ZERO)), float(_MOST_BYTES))
    most = farthest if variable.most is None else min(variable.most, farthest)
    nearest = max(2 * now, 1.0)
    return draw.size(nearest, most) if most > nearest else None


def _is_of_bytes(name: str) -> bool:
    return bool(re.search(r"size|buffer|memory|capacity$|length|bytes", name))
