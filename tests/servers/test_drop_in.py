"""Debian's sysbench and ours by the same command lines, on each release."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import Any

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")

from servers.conftest import WORKLOADS, Cell, Release
from sysbench.comparing import masked
from sysbench.conftest import Done, carried_out

pytestmark = [
    pytest.mark.server, pytest.mark.slow, pytest.mark.nightly, pytest.mark.servers,
    pytest.mark.sysbench, pytest.mark.timeout(900),
]  # fmt: skip

SCHEMA = "dropin"
DEBIANS = ["sysbench"]
OURS = [sys.executable, "-m", "loadstone.cli", "sysbench"]
BOTH = (DEBIANS, OURS)
PREPARED = ("--tables=2", "--table-size=100")
TABLES = (
    PREPARED, ("--auto-inc=off",), ("--secondary=on",), ("--create-secondary=off",),
    ("--mysql-storage-engine=myisam",),
    ("--table-size=3",),
)  # fmt: skip
"""Options that decide what `prepare` makes."""
LINES = (
    (), ("--db-ps-mode=disable",), ("--skip-trx=on",), ("--range-selects=off",),
    ("--point-selects=2", "--simple-ranges=0", "--delete-inserts=2"), ("--auto-inc=off",),
    ("--mysql-ignore-errors=all",),
)  # fmt: skip
"""Options that decide what an event sends."""


@dataclass(frozen=True)
class Beside:
    """Both programs on a server, with a schema of their own."""

    release: Release

    def says(self, program: list[str], *words: str) -> Done:
        """What a program says of a command line that must succeed."""
        target = self.release.sandbox.tcp.target
        server = (
            f"--mysql-host={target.host}", f"--mysql-port={target.port}",
            f"--mysql-user={target.user}", f"--mysql-db={SCHEMA}",
            f"--mysql-password={self.release.sandbox.tcp.credentials.reveal()}",
        )  # fmt: skip
        done = carried_out(program, (*server, *words), self.release.folder)
        assert done.returncode == 0, (program, words, done.stdout, done.stderr)
        return done

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """What the server answers, with text for bytes."""
        with self.release.sandbox.connect() as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return [
                tuple(cell.decode() if isinstance(cell, bytes) else cell for cell in row)
                for row in cursor.fetchall() or ()
            ]

    def sent(self, program: list[str], *words: str) -> list[tuple[str, str]]:
        """The statements of the load's sessions by the server's log, each with its command."""
        with self._general_log():
            self.says(program, *words)
        logged = self.rows(
            "SELECT thread_id, command_type, argument FROM mysql.general_log"
            " WHERE command_type IN ('Query', 'Execute') ORDER BY event_time, thread_id"
        )
        others = {thread for thread, _, text in logged if text.startswith("/* loadstone */")}
        return [
            (kind, without_values(text)) for thread, kind, text in logged if thread not in others
        ]

    @contextmanager
    def _general_log(self) -> Iterator[None]:
        self.rows("SET GLOBAL log_output = 'TABLE'")
        self.rows("TRUNCATE mysql.general_log")
        self.rows("SET GLOBAL general_log = ON")
        try:
            yield
        finally:
            self.rows("SET GLOBAL general_log = OFF")
            self.rows("SET GLOBAL log_output = 'FILE'")


@pytest.fixture
def beside(release: Release) -> Iterator[Beside]:
    """Both programs, and an empty schema."""
    if not shutil.which("sysbench"):
        pytest.skip("Debian's sysbench is not installed")
    both = Beside(release)
    both.rows(f"CREATE DATABASE {SCHEMA}")
    yield both
    both.rows(f"DROP DATABASE {SCHEMA}")


def without_values(text: str) -> str:
    """A statement without numbers, texts and spacing: values are drawn, and so is the table."""
    text = re.sub(r"'[\d-]*'", "'#'", text)
    return re.sub(r"\s+", " ", re.sub(r"-?\d+", "#", text)).strip()


def test_output_as_sysbench(beside: Beside, cell: Cell) -> None:
    said = []
    for program in BOTH:
        prepared = beside.says(program, *PREPARED, "oltp_read_write", "prepare")
        run = beside.says(program, *PREPARED, "--events=20", "oltp_read_write", "run")
        cleaned = beside.says(program, *PREPARED, "oltp_read_write", "cleanup")
        said.append([masked(each.stdout) for each in (prepared, run, cleaned)])
    assert said[0] == said[1]
    cell("same")


def test_tables_as_sysbench(beside: Beside, cell: Cell) -> None:
    """`SHOW CREATE TABLE` to the letter, and rows of the same form."""
    for options in TABLES:
        made = []
        for program in BOTH:
            words = ("--table-size=100", *options, "oltp_read_write")
            beside.says(program, *words, "prepare")
            made.append((beside.rows("SHOW CREATE TABLE dropin.sbtest1"), forms_of_rows(beside)))
            beside.says(program, *words, "cleanup")
        assert made[0] == made[1], options
    cell(f"same by {len(TABLES)} sets of options")


def forms_of_rows(beside: Beside) -> tuple[list[int], bool, set[tuple[str, int, str, int]]]:
    """How many rows, which ids, and what k, c and pad look like."""
    rows = beside.rows("SELECT id, k, c, pad FROM dropin.sbtest1 ORDER BY id")
    forms = {(without_values(c), len(c), without_values(pad), len(pad)) for _, _, c, pad in rows}
    in_range = all(1 <= k <= max(len(rows), 1) for _, k, _, _ in rows)
    return [each[0] for each in rows], in_range, forms


def test_statements_as_sysbench(beside: Beside, cell: Cell) -> None:
    """What the server's general log has of the events of a run."""
    beside.says(OURS, *PREPARED, "oltp_read_write", "prepare")
    for workload, options in product(WORKLOADS, LINES):
        words = (*PREPARED, "--threads=1", "--events=3", *options, workload, "run")
        theirs, ours = (beside.sent(program, *words) for program in BOTH)
        assert ours == theirs, (workload, options)
    cell(f"same in {len(WORKLOADS)} workloads, by {len(LINES)} sets of options")
