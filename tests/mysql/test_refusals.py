"""Statements that a server only looks at: in any sql_mode, and if the connection is lost."""

from __future__ import annotations

from typing import Any

import pytest

from loadstone.families import connect
from loadstone.mysql.administration import Administration
from loadstone.mysql.connect import statement_errors
from loadstone.mysql.explain import refusal_of
from loadstone.servers.errors import TargetError
from loadstone.workloads.templates.explain import check_loadable, check_statements
from loadstone.workloads.templates.file import parse_template
from pooled import Pool

READS = """
[table.thing]
rows = 10
[table.thing.columns]
id = { type = "INT NOT NULL", sequence = true }

[transaction.look]
statements = [{ sql = "SELECT id FROM thing WHERE id = :id", rows = 1 }]
parameters.id = { row = "thing" }
"""

pytestmark = [pytest.mark.server, pytest.mark.slow]


def test_an_sql_mode_in_which_begin_is_no_statement(pool: Pool) -> None:
    server = pool.server("mariadb")
    with connect(server.tcp) as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION sql_mode = 'ORACLE'")
        assert refusal_of(connection, "SELECT 1") is None
        refusal = refusal_of(connection, "SELECT nothing_such")
    assert refusal is not None and refusal.kind == "no_such_name"


def test_a_lost_connection_is_no_refusal_of_the_statement(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = pool.server("mariadb")
    connection: Any = connect(server.tcp)
    begin = connection.begin

    def begin_and_be_lost() -> None:
        begin()
        with server.connect() as other, other.cursor() as cursor:
            cursor.execute(f"KILL {connection.thread_id()}")

    monkeypatch.setattr(connection, "begin", begin_and_be_lost)
    with pytest.raises(TargetError, match="2013 Lost"), statement_errors(server.tcp.target):
        refusal_of(connection, "SELECT 1")


def test_a_connection_lost_while_a_file_is_checked_is_one_line(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    template = parse_template(READS, "reads.toml")

    def be_lost(connection: Administration) -> None:
        with connection.cursor() as cursor:
            cursor.execute("KILL CONNECTION_ID()")

    monkeypatch.setattr(Administration, "begin", be_lost)
    for check in (check_statements, check_loadable):
        with pool.schema("mariadb") as server, pytest.raises(TargetError, match="refused a stat"):
            check(template, "reads.toml", server.tcp)
