"""COPY of an existing file that the server itself reads: the least time that a table takes."""

from __future__ import annotations

from pathlib import Path

from benches.place import find
from benches.postgresql_place import PostgresqlPlace

NAME = "psql"

_STATEMENTS = (
    "CREATE TABLE {table} (id SERIAL, k INTEGER DEFAULT '0' NOT NULL,"
    " c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id))",
    "COPY {table} (id, k, c, pad) FROM '{file}'",
    "CREATE INDEX k_{table} ON {table}(k)",
    "VACUUM (ANALYZE) {table}",
)


def command(place: PostgresqlPlace, file: Path, table: str) -> tuple[list[str], dict[str, str]]:
    """The command that makes and fills a table as `prepare` does, and its environment."""
    words = [find("psql"), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1"]
    for statement in _STATEMENTS:
        words += ["--command", statement.format(table=table, file=file)]
    return words, place.libpq()
