"""What a server is, and what tables of the sysbench layout it holds. Questions only."""

from __future__ import annotations

import hashlib
import re
from typing import Literal

import pymysql

from loadstone.model.frozen import Frozen
from loadstone.model.target import Target
from loadstone.mysql import tpcc_tables
from loadstone.mysql.connect import Connection, statement_errors
from loadstone.mysql.sanitize import plain

Flavour = Literal["mariadb", "mysql", "percona", "aurora", "tidb", "other"]
Numbered = Literal["sbtest", "bulk", "hot", "products", "orders", "ledger"]
"""Layouts whose tables have numbers."""

Layout = Literal["sbtest", "bulk", "hot", "products", "orders", "ledger", "tpcc", "template"]

_NAME = re.compile(r"(sbtest|hot_row|hot_product|hot_order|drill_ledger)([1-9][0-9]*)")
# As crates/workload makes them; `sbtest` is sysbench's. A display width (int(11)) says nothing.
KNOWN_LAYOUTS: dict[Numbered, tuple[tuple[str, str], ...]] = {
    "sbtest": (("id", "int"), ("k", "int"), ("c", "char(120)"), ("pad", "char(60)")),
    "bulk": (("id", "int"), ("k", "int")),
    "hot": (("product", "int"), ("stock", "bigint"), ("sold", "bigint")),
    "products": (("product", "int"), ("price", "int"), ("name", "char(60)")),
    "orders": (("id", "bigint"), ("product", "int"), ("buyer", "int"), ("pieces", "int")),
    "ledger": (
        ("id", "bigint"),
        ("book", "bigint"),
        ("user_no", "int"),
        ("seq", "bigint"),
        ("amount", "int"),
    ),
}
TABLE_NAMES: dict[Numbered, str] = {
    "sbtest": "sbtest",
    "bulk": "sbtest",
    "hot": "hot_row",
    "products": "hot_product",
    "orders": "hot_order",
    "ledger": "drill_ledger",
}
"""By layout, what stands before a table's number."""
_MARK = re.compile(r"loadstone ([0-9a-f]{16})")
# MariaDB's errno, MySQL's, and the one that MySQL gives when threads count in parallel.
_TIME_IS_UP = (1969, 3024, 1317)


class ServerFacts(Frozen):
    """The server as it described itself; `variables` has all of them, as text."""

    version: str
    flavour: Flavour
    comment: str
    variables: dict[str, str]
    connected: int | None
    """Connections at that moment, ours included."""
    uptime_s: float | None = None
    """Since the server began."""
    cipher: str
    """Of the connection that asked; empty when that is not encrypted."""

    @property
    def encrypted(self) -> bool:
        """Whether the connection that asked is encrypted, by the server's word."""
        return bool(self.cipher)

    @property
    def max_connections(self) -> int | None:
        """How many connections the server takes."""
        return _number(self.variables.get("max_connections"))

    @property
    def read_only(self) -> bool:
        """Whether it refuses writes, as a replica does."""
        return any(self.is_on(name) for name in ("read_only", "super_read_only"))

    @property
    def thread_pool(self) -> str | None:
        """The kind of pool that is at work, or `None`."""
        if self.variables.get("thread_handling") == "pool-of-threads":
            return "pool-of-threads"
        if self.variables.get("thread_handling") == "loaded-dynamically":
            return "thread_pool plugin"
        return "thread_pool_enabled" if self.is_on("thread_pool_enabled") else None

    def is_on(self, variable: str) -> bool:
        """Whether a variable is there and on."""
        return self.variables.get(variable, "").upper() in ("ON", "1", "YES", "TRUE")


class TableFacts(Frozen):
    """One table of a schema, as the server describes it."""

    name: str
    engine: str | None
    columns: tuple[tuple[str, str], ...]
    """Names and types, in order."""
    is_view: bool = False
    mark: str | None = None
    """What `comment_of` wrote into its comment."""
    created_s: int | None = None
    """When it was made or last rebuilt, in seconds since 1970: making an index, TRUNCATE and
    OPTIMIZE count on both MariaDB and MySQL, rows and ANALYZE do not. `None`: not told."""

    @property
    def layout(self) -> Layout | None:
        """Which of the known layouts it has exactly, in name and columns; `None`: none.

        Of `tpcc` the names of the columns decide: nobody else's tables have those names.
        """
        if not self.is_view and self.name in tpcc_tables.TABLES:
            names = tuple(name for name, _ in self.columns)
            return "tpcc" if names == tpcc_tables.TABLES[self.name] else None
        found = _NAME.fullmatch(self.name)
        if self.is_view or found is None:
            return None
        # sysbench 0.5 made its integers unsigned, 1.0 does not.
        columns = tuple((name, kind.removesuffix(" unsigned")) for name, kind in self.columns)
        return next(
            (
                layout
                for layout, those in KNOWN_LAYOUTS.items()
                if columns == those and found[1] == TABLE_NAMES[layout]
            ),
            None,
        )

    @property
    def number(self) -> int | None:
        """The N of sbtestN, hot_rowN, hot_productN, hot_orderN or drill_ledgerN."""
        found = _NAME.fullmatch(self.name)
        return int(found[2]) if found else None


class RowCount(Frozen):
    """How many rows a table has; where counting took too long, its highest id instead."""

    rows: int
    exact: bool


def describe_server(connection: Connection, target: Target) -> ServerFacts:
    """Ask the server what it is, and for all its variables.

    Raises:
        TargetError: it refused to say.
    """
    variables = variables_of(connection, target)
    with statement_errors(target):
        status = _pairs(
            connection,
            "SHOW GLOBAL STATUS WHERE Variable_name IN ('Threads_connected', 'Uptime')",
        )
        cipher = _pairs(connection, "SHOW SESSION STATUS LIKE 'Ssl_cipher'")
    version, comment = variables.get("version", ""), variables.get("version_comment", "")
    return ServerFacts(
        version=version,
        flavour=_flavour(version, comment, variables),
        comment=comment,
        variables=variables,
        connected=_number(status.get("Threads_connected")),
        uptime_s=_number(status.get("Uptime")),
        cipher=cipher.get("Ssl_cipher", ""),
    )


def variables_of(connection: Connection, target: Target) -> dict[str, str]:
    """All of a server's global variables at one moment, as texts.

    Raises:
        TargetError: it refused to say.
    """
    with statement_errors(target):
        return _pairs(connection, "SHOW GLOBAL VARIABLES")


def schema_exists(connection: Connection, target: Target, schema: str) -> bool:
    """Whether this user sees a schema of that name."""
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1 FROM information_schema.schemata WHERE schema_name = %s", (schema,)
        )
        return cursor.fetchone() is not None


def tables_of(
    connection: Connection, target: Target, schema: str, name: str | None = None
) -> tuple[TableFacts, ...]:
    """All tables and views of a schema, the numbered ones in the order of their numbers.

    `name`: that one alone, where there is one.
    """
    only, of = ("", (schema,)) if name is None else (" AND table_name = %s", (schema, name))
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, engine, table_type, UNIX_TIMESTAMP(create_time), table_comment"
            f" FROM information_schema.tables WHERE table_schema = %s{only}",
            of,
        )
        tables = cursor.fetchall()
        cursor.execute(
            "SELECT table_name, column_name, column_type FROM information_schema.columns"
            f" WHERE table_schema = %s{only} ORDER BY table_name, ordinal_position",
            of,
        )
        columns: dict[str, list[tuple[str, str]]] = {}
        for table, column, kind in cursor.fetchall():
            columns.setdefault(table, []).append((column, _type(_text(kind))))
    facts = (
        TableFacts(
            name=name,
            engine=engine,
            columns=tuple(columns.get(name, ())),
            is_view="VIEW" in str(kind).upper(),
            mark=_mark_in(_text(comment)),
            created_s=None if created is None else int(created),
        )
        for name, engine, kind, created, comment in tables
    )
    return tuple(sorted(facts, key=lambda table: (table.number or 0, table.name)))


def comment_of(mark: str) -> str:
    """The comment of a table that Loadstone makes; `mark`: 16 hexadecimal digits by chance.

    A table keeps it through ALTER and RENAME. So does a copy that is made with LIKE: no two tables
    of ours bear the same, so that one of them is known not to be ours.
    """
    return f"loadstone {mark}"


def mark_for(name: str, mark: str) -> str:
    """What a table of this name bears, of those that are made together: half by chance."""
    return mark[:_HALF] + hashlib.sha256(name.encode()).hexdigest()[:_HALF]


_HALF = 8


def indexed_on(connection: Connection, target: Target, schema: str, column: str) -> frozenset[str]:
    """The tables of a schema that have an index which begins with this column."""
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT table_name FROM information_schema.statistics"
            " WHERE table_schema = %s AND column_name = %s AND seq_in_index = 1",
            (schema, column),
        )
        return frozenset(str(row[0]) for row in cursor.fetchall())


def count_rows(connection: Connection, target: Target, table: str, limit_s: float = 10) -> RowCount:
    """The rows of a table of the connection's schema: counted, or its highest id after the limit.

    The limit is the server's own, so the statement does not go on there when we stop waiting.
    """
    name = quoted(table)
    if "mariadb" in str(connection.get_server_info()).lower():  # type: ignore[no-untyped-call]
        statement = f"SET STATEMENT max_statement_time={limit_s:g} FOR SELECT COUNT(*) FROM {name}"
    else:
        hint = f"/*+ MAX_EXECUTION_TIME({int(limit_s * 1000)}) */"
        statement = f"SELECT {hint} COUNT(*) FROM {name}"
    with statement_errors(target):
        try:
            return RowCount(rows=_single(connection, statement), exact=True)
        except pymysql.MySQLError as error:
            if error.args[0] not in _TIME_IS_UP:
                raise
        statement = f"SELECT COALESCE(MAX(id), 0) FROM {name}"
        return RowCount(rows=_single(connection, statement), exact=False)


def quoted(name: str) -> str:
    """A name as SQL takes it, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def _pairs(connection: Connection, statement: str) -> dict[str, str]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return {_text(row[0]): _text(row[1]) for row in cursor.fetchall()}


def _mark_in(comment: str) -> str | None:
    found = _MARK.fullmatch(comment)
    return found[1] if found else None


def _single(connection: Connection, statement: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        row = cursor.fetchone()
    return int(row[0]) if row is not None else 0


def _flavour(version: str, comment: str, variables: dict[str, str]) -> Flavour:
    said = f"{version} {comment}".lower()
    for word in ("mariadb", "percona", "tidb"):
        if word in said:
            return word
    if "aurora_version" in variables:
        return "aurora"
    return "mysql" if "mysql" in said or re.match(r"[5-9]\.", version) else "other"


def _type(text: str) -> str:
    """`int(11)` is `int`: MySQL 8.0.19 and later leave the display width away."""
    return re.sub(r"^((?:big|small|medium|tiny)?int)\(\d+\)", r"\1", text.lower())


def _text(value: object) -> str:
    return plain(value.decode(errors="replace") if isinstance(value, bytes) else str(value))


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None
