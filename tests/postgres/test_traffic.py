"""A real PostgreSQL logs a load, and the load is sent again from its csvlog and jsonlog."""

from __future__ import annotations

import itertools
import json
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from loadstone.traffic.by_family import LogKind
from loadstone.traffic.entries import ReadStats
from loadstone.traffic.read_log import log_entries
from postgres.server import Server, find_programs, started

pytestmark = [pytest.mark.server, pytest.mark.slow]

LOGGING = {
    "logging_collector": "on",
    "log_destination": "csvlog,jsonlog",
    "log_filename": "statements.log",
    "log_min_duration_statement": "0",
    "log_connections": "on",
    "log_disconnections": "on",
    "shared_preload_libraries": "pg_stat_statements",
}
MARKS = itertools.count()
LONGEST_S = 30.0
USERS, TRANSACTIONS = 3, 20
SCRIPT = """
\\set id random(1, 200)
BEGIN;
SELECT name FROM item WHERE id = :id;
SELECT count(*) FROM item WHERE id BETWEEN :id AND :id + 9 AND name <> 'it''s';
UPDATE item SET k = k + 1 WHERE id = :id;
COMMIT;
"""
TABLE = """
CREATE TABLE item (id int PRIMARY KEY, k int NOT NULL, name text NOT NULL);
INSERT INTO item SELECT g, g, 'name ' || g FROM generate_series(1, 200) AS g;
"""
HOW = ("--schema", "shop", "--no-observe", "--speed", "max")


@pytest.fixture(scope="module")
def logging() -> Iterator[Server]:
    """A server that logs all statements, with a table."""
    programs = find_programs()
    if programs is None:
        pytest.skip("no PostgreSQL: tools/get-postgres fetches one")
    with started(programs, LOGGING) as server:
        server.asked("CREATE DATABASE shop")
        server.asked(TABLE, "shop")
        yield server


def load(server: Server, folder: Path, protocol: str) -> None:
    script = folder / "script.sql"
    script.write_text(SCRIPT)
    words = [str(server.programs / "pgbench"), "-n", "-c", str(USERS), "-t", str(TRANSACTIONS)]
    words += ["-M", protocol, "-f", str(script), "-U", "postgres", "-h", str(server.folder)]
    words += ["-p", str(server.port), "shop"]
    subprocess.run(words, check=True, capture_output=True)


def log_of(server: Server, kind: LogKind) -> Path:
    return server.folder / "data" / "log" / f"statements.{kind.removesuffix('log')}"


def written(server: Server, kind: LogKind) -> bytes:
    """The whole log, once the collector has written what was logged before."""
    mark = f"mark {next(MARKS)}"
    server.asked(f"SELECT '{mark}'")
    until = time.monotonic() + LONGEST_S
    while mark.encode() not in (content := log_of(server, kind).read_bytes()):
        assert time.monotonic() < until, f"no {mark} in the log"
        time.sleep(0.02)
    return content


def sent(path: Path, kind: LogKind) -> dict[int, list[str]]:
    """The statements on the table, by session."""
    found: dict[int, list[str]] = {}
    for entry in log_entries(path, kind, ReadStats(str(path)), "utf-8"):
        if entry.command == "statement" and "item" in entry.text and "EXPLAIN" not in entry.text:
            found.setdefault(entry.session, []).append(entry.text)
    return found


def recorded(server: Server, kind: LogKind, folder: Path, protocol: str) -> tuple[Path, set[int]]:
    """A log of the load alone, and the sessions that were there."""
    before = len(written(server, kind))
    load(server, folder, protocol)
    path = folder / f"recorded.{kind}"
    path.write_bytes(written(server, kind)[before:])
    return path, set(sent(log_of(server, kind), kind))


@pytest.mark.parametrize(
    ("kind", "protocol"), [("csvlog", "prepared"), ("jsonlog", "simple"), ("csvlog", "extended")]
)
def test_a_log_is_replayed_session_by_session(
    logging: Server, tmp_path: Path, kind: LogKind, protocol: str
) -> None:
    path, were_there = recorded(logging, kind, tmp_path, protocol)
    target = f"postgresql://postgres@/shop?host={logging.folder}&port={logging.port}"
    said = called(
        "workload", "replay", path.name, "--target", target, "--writes", "--yes", *HOW,
        folder=tmp_path,
    )  # fmt: skip
    assert f"{USERS * TRANSACTIONS * 5} statements of {USERS} sessions" in said.stderr
    written(logging, kind)
    again = sent(log_of(logging, kind), kind)
    replayed = [texts for session, texts in again.items() if session not in were_there]
    was = sent(path, kind)
    assert Counter(map(tuple, replayed)) == Counter(map(tuple, was.values()))
    assert sum(map(len, was.values())) == USERS * TRANSACTIONS * 3


def test_a_template_made_of_a_log_sends_what_the_log_had(logging: Server, tmp_path: Path) -> None:
    path, _ = recorded(logging, "csvlog", tmp_path, "prepared")
    made = ("workload", "from-csvlog", path.name, "--schema", "shop", "-o", "shop.toml")
    said = called(*made, folder=tmp_path)
    assert "1 transaction written to shop.toml" in said.stderr
    target = f"postgresql://postgres@/shop?host={logging.folder}&port={logging.port}"
    before = len(written(logging, "csvlog"))
    run = ("run", "shop.toml", "--target", target, "--text", "--concurrency", "2", "--yes")
    how = ("--duration", "1s", "--warmup", "0s", "--no-observe", "--json")
    (step,) = json.loads(called(*run, *how, folder=tmp_path).stdout)["steps"]
    assert step["failed"] == 0 and not step["errors"] and step["events"] > 10
    again = tmp_path / "again.csv"
    again.write_bytes(written(logging, "csvlog")[before:])
    kinds = [
        Counter(text.split()[0] for texts in sent(each, "csvlog").values() for text in texts)
        for each in (path, again)
    ]
    assert kinds[0] == {"SELECT": 2 * USERS * TRANSACTIONS, "UPDATE": USERS * TRANSACTIONS}
    # The last transactions may have ended behind the window, in which events are counted.
    assert 0 <= kinds[1]["UPDATE"] - step["events"] <= 4
    assert 0 <= kinds[1]["SELECT"] - 2 * kinds[1]["UPDATE"] <= 4


def test_only_reads_are_sent_and_the_server_refuses_others(logging: Server, tmp_path: Path) -> None:
    logging.asked("CREATE OR REPLACE FUNCTION sly() RETURNS int LANGUAGE sql AS"
                  " 'UPDATE item SET k = -1 RETURNING 1'", "shop")  # fmt: skip
    before = len(written(logging, "csvlog"))
    logging.asked("BEGIN; UPDATE item SET k = k WHERE id = 1; ROLLBACK;", "shop")
    logging.asked("SELECT sly() FROM item LIMIT 1", "shop")
    (tmp_path / "a.csv").write_bytes(written(logging, "csvlog")[before:])
    logging.asked("UPDATE item SET k = id", "shop")
    target = f"postgresql://postgres@/shop?host={logging.folder}&port={logging.port}"
    said = called("workload", "replay", "a.csv", "--target", target, *HOW, folder=tmp_path)
    assert "do not only read" in said.stderr
    assert "25006" in said.stdout + said.stderr
    assert logging.asked("SELECT count(*) FROM item WHERE k <> id", "shop") == [["0"]]


def test_a_template_made_of_counted_statements_sends_what_was_counted(
    logging: Server, tmp_path: Path
) -> None:
    target = f"postgresql://postgres@/shop?host={logging.folder}&port={logging.port}"
    made = ("workload", "from-digest", "-o", "counted.toml", "--target", target)
    refused = called(*made, folder=tmp_path, code=4).stderr
    assert "has no extension pg_stat_statements" in refused
    assert "CREATE EXTENSION pg_stat_statements there" in refused
    logging.asked("CREATE EXTENSION pg_stat_statements", "shop")
    try:
        logging.asked("SELECT pg_stat_statements_reset()", "shop")
        load(logging, tmp_path, "prepared")
        said = called(*made, folder=tmp_path).stderr
        assert "Made by loadstone of pg_stat_statements, schema shop: " in said
        text = (tmp_path / "counted.toml").read_text()
        # Of the keys of an index the ends are known, and of each statement how often it was sent.
        assert "integer = [1, 200]" in text
        assert "set_config" not in text, "ours"
        assert text.count(f"weight = {USERS * TRANSACTIONS}") == 3
        run = ("run", "counted.toml", "--target", target, "--concurrency", "2", "--yes")
        how = ("--duration", "1s", "--warmup", "0s", "--no-observe", "--json")
        (step,) = json.loads(called(*run, *how, folder=tmp_path).stdout)["steps"]
    finally:
        logging.asked("DROP EXTENSION pg_stat_statements", "shop")
    assert not step["errors"]
    assert step["events"] > 10
