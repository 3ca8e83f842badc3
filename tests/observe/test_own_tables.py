"""The temporary tables of our own questions: a server that makes one for each question."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from loadstone.observe.mysql.own_tables import OwnTables
from loadstone.runs.source_figures import SourceSums, server_figures
from loadstone.servers.connection import Connection


class Makes:
    """A session whose status, as a server's, leaves out what SHOW STATUS makes: one table."""

    def __init__(self) -> None:
        self.tables = 0
        self.on_disk = 0
        self.asked = 0

    @contextmanager
    def cursor(self) -> Iterator[Makes]:
        yield self

    def execute(self, statement: str) -> None:
        assert statement.startswith("SHOW SESSION STATUS")
        self.asked += 1

    def fetchall(self) -> list[tuple[Any, ...]]:
        return [("Created_tmp_tables", self.tables), ("Created_tmp_disk_tables", self.on_disk)]

    def list_sessions(self) -> str:
        """A question that makes two tables, one of them on disk."""
        self.tables += 2
        self.on_disk += 1
        return "sessions"


def test_a_question_is_measured_once_and_counted_each_time() -> None:
    server, own = Makes(), OwnTables()
    connection = cast(Connection, server)
    for _ in range(10):
        assert own.asking(connection, "list", server.list_sessions) == "sessions"
    assert server.asked == 2
    assert (server.tables, server.on_disk) == (20, 10)
    assert own.made == {"own_created_tmp_tables": 22.0, "own_created_tmp_disk_tables": 10.0}
    own.asked_status()
    assert own.made["own_created_tmp_tables"] == 23.0


def test_what_readings_and_looks_made_is_one_figure() -> None:
    def made(number: float) -> SourceSums:
        sums = SourceSums(seconds=2.0)
        sums.deltas["own_created_tmp_tables"] = number
        sums.delta_s["own_created_tmp_tables"] = 2.0
        return sums

    rates = server_figures(made(10.0), {}, None, looked=made(4.0)).rates
    assert rates == {"own_created_tmp_tables": 7.0}
