"""The same command lines with Debian's sysbench and with ours: only numbers may differ."""

from __future__ import annotations

import shutil

import pytest

from sysbench.comparing import compare, masked
from sysbench.conftest import Program

pytestmark = [pytest.mark.server, pytest.mark.sysbench]

if not shutil.which("sysbench"):
    pytest.skip("Debian's sysbench is not installed", allow_module_level=True)

ROWS = ("--tables=2", "--table-size=200")
NOWHERE = "--mysql-socket=/nonexistent.sock"

WITHOUT_SERVER = [
    "--help",
    "--version",
    "oltp_read_write --help",
    "oltp_read_write help",
    "--mysql-dry-run --table-size=0 oltp_read_write prepare",
    "oltp_point_select help",
    "select_random_points help",
    "select_random_ranges help",
    "bulk_insert help",
    "bulk_insert prewarm",
    "oltp_read_write",
    "oltp_read_write nosuch",
    "oltp_read_write run extra",
    "nosuch run",
    "oltp_read_write --foo=1 run",
    "oltp_read_write --skip_trx=maybe run",
    "--validate=maybe oltp_point_select run",
    "--threads=abc oltp_read_write run",
    "--threads=0 oltp_read_write run",
    "--percentile=101 oltp_read_write run",
    "--rand-type=foo oltp_read_write run",
    "--percentile=0 --histogram oltp_read_write run",
    "--forced-shutdown=abc oltp_read_write run",
    "--report-checkpoints=a oltp_read_write run",
    "--verbosity=6 oltp_read_write run",
    "--thread-stack-size=0 oltp_read_write run",
    "--db-driver=nosuch oltp_read_write run",
    "--db-driver= oltp_read_write run",
    "--db-ps-mode=foo oltp_read_write run",
    f"oltp_read_write {NOWHERE} run",
    f"oltp_read_write {NOWHERE} prepare",
    f"oltp_read_write {NOWHERE} cleanup",
    f"oltp_read_write {NOWHERE} prewarm",
    f"bulk_insert {NOWHERE} prepare",
    f"--verbosity=1 oltp_read_write {NOWHERE} run",
    f"--time=0 oltp_read_write {NOWHERE} run",
    f"--num-threads=1 --max-time=3 --tx-rate=5 --max-requests=7 oltp_read_write {NOWHERE} run",
    f"--rate=9 --report-interval=1 --report-checkpoints=3,1 --validate oltp_insert {NOWHERE} run",
    f"--forced-shutdown=10% --rand-seed=5 oltp_read_write {NOWHERE} run",
    "--mysql-dry-run --events=5 oltp_read_write run",
    "--mysql-dry-run --events=5 --verbosity=4 oltp_read_write run",
    "--mysql-dry-run --events=5 --debug --rand-seed=1 oltp_point_select run",
    "--mysql-dry-run --tables=2 oltp_read_write prepare",
    "--mysql-dry-run --tables=2 --threads=2 --create-secondary=off oltp_read_write prepare",
    "--mysql-dry-run --tables=2 oltp_read_write cleanup",
    "--mysql-dry-run --tables=2 oltp_read_write prewarm",
    "--mysql-dry-run --threads=2 bulk_insert prepare",
    "--mysql-dry-run --threads=2 bulk_insert cleanup",
]


@pytest.mark.parametrize("line", WITHOUT_SERVER)
def test_a_line_that_needs_no_server(line: str, ours_here: Program, theirs: Program) -> None:
    compare(ours_here, theirs, tuple(line.split(" ")))


AGAINST_TABLES = [
    "oltp_read_write --time=1 run",
    "oltp_read_write --time=2 --report-interval=1 run",
    "oltp_read_only --time=2 --report-interval=1 --percentile=99 --skip-trx run",
    "oltp_write_only --events=20 --threads=2 run",
    "oltp_point_select --events=100 --threads=4 --histogram run",
    "oltp_point_select --events=10 --percentile=0 --db-ps-mode=disable run",
    "oltp_update_index --events=10 run",
    "oltp_update_non_index --events=10 --rand-type=uniform run",
    "oltp_delete --events=10 --rand-type=gaussian run",
    "oltp_insert --events=10 --auto-inc=off run",
    "select_random_points --events=10 --rand-type=pareto run",
    "select_random_ranges --events=10 run",
    "oltp_point_select --rate=20 --time=2 --report-interval=1 run",
    "oltp_point_select --rate=20 --time=2 --report-checkpoints=1 --histogram run",
    "oltp_read_only --time=1 --mysql-ignore-errors=all run",
    "oltp_read_write prewarm",
    "oltp_read_write prepare",
    "--mysql-password=wrong oltp_read_write run",
    "--mysql-password=wrong oltp_read_write prepare",
    "--mysql-db=nosuch oltp_read_write cleanup",
    "oltp_read_write --tables=50 --db-ps-mode=disable run",
    "oltp_point_select --mysql-db=mysql run",
    "oltp_read_write --tables=3 prewarm",
]


@pytest.fixture
def prepared(connection: tuple[str, ...], ours_here: Program) -> tuple[str, ...]:
    """New tables for each test, since some of the lines change them."""
    for command in ("cleanup", "prepare"):
        done = ours_here(*connection, "oltp_read_write", *ROWS, command)
        assert done.returncode == 0, done.stdout + done.stderr
    return (*connection, *ROWS)


@pytest.mark.parametrize("line", AGAINST_TABLES)
def test_a_line_that_uses_tables(
    line: str, ours_here: Program, theirs: Program, prepared: tuple[str, ...]
) -> None:
    compare(ours_here, theirs, (*prepared, *line.split(" ")))


@pytest.mark.parametrize("options", ["", "--threads=3", "--auto-inc=off --secondary"])
def test_each_cleans_up_and_prepares_what_the_other_made(
    options: str, ours_here: Program, theirs: Program, prepared: tuple[str, ...]
) -> None:
    words = (*prepared, *options.split(), "oltp_read_write")
    for first, second in ((ours_here, theirs), (theirs, ours_here)):
        texts = [(first(*words, "cleanup").stdout, second(*words, "cleanup").stdout)]
        made = first(*words, "prepare")
        assert made.returncode == 0, made.stdout + made.stderr
        used = second(*words, "--events=5", "--threads=1", "run")
        assert used.returncode == 0, used.stdout + used.stderr
        assert first(*words, "cleanup").returncode == 0
        texts.append((made.stdout, second(*words, "prepare").stdout))
        assert all(masked(one) == masked(other) for one, other in texts)


@pytest.mark.parametrize("threads", ["1", "3"])
def test_rows_are_inserted_in_bulk_into_tables_that_each_makes(
    threads: str, ours_here: Program, theirs: Program, connection: tuple[str, ...]
) -> None:
    words = (*connection, f"--threads={threads}", "bulk_insert")
    said = []
    for each in (ours_here, theirs):
        ours_here(*words, "cleanup")
        lines = (("prepare",), ("--events=20", "run"), ("cleanup",))
        parts = [each(*words, *line) for line in lines]
        assert [part.returncode for part in parts] == [0, 0, 0], [part.stdout for part in parts]
        said.append([masked(part.stdout) for part in parts])
    assert said[0] == said[1]


def test_the_program_is_the_same_as_a_process(ours: Program, theirs: Program) -> None:
    compare(ours, theirs, ("--mysql-dry-run", "--events=5", "oltp_read_write", "run"))
