"""The commands on a real PostgreSQL, from the tables to the report."""

from __future__ import annotations

import json
import re
import threading
import time
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from postgres.server import Server
from postgres.sessions import waiting
from postgres.test_family import local

pytestmark = [pytest.mark.server, pytest.mark.slow]

MYSQL_S_WORDS = ("MySQL", "MariaDB", "innodb", "binlog", "SHOW GLOBAL")


def url(server: Server, database: str) -> str:
    return f"postgresql://postgres@/{database}?host={server.folder}&port={server.port}"


def only_run(folder: Path) -> Path:
    (run,) = (folder / "runs").iterdir()
    return run


@pytest.mark.smoke
def test_tables_are_made_driven_reported_and_dropped(
    server: Server, database: str, tmp_path: Path
) -> None:
    target = url(server, database)
    size = ("--tables", "2", "--table-size", "1000")
    said = called("prepare", "--target", target, *size, folder=tmp_path)
    assert "2,000 loaded" in said.stdout
    assert "by copy" in said.stdout
    # An application that logs in as the load does is none of its users.
    with waiting(local(server, database), "SELECT pg_sleep(300)"):
        said = called(
            "run", "oltp_read_write", "--target", target, "--concurrency", "1,4", "--duration",
            "2", "--warmup", "0", folder=tmp_path,
        )  # fmt: skip
    assert not [word for word in MYSQL_S_WORDS if word in said.stdout + said.stderr]
    assert "Where a user's second goes" in said.stdout
    result = json.loads((only_run(tmp_path) / "result.json").read_text())
    assert [step["tps"] > 0 for step in result["steps"]] == [True, True]
    assert all(set(step["errors"]) <= {"23505", "40P01"} for step in result["steps"])
    for step in result["steps"]:
        assert step["server"]["commits_per_s"] == pytest.approx(step["tps"], rel=0.5)
        assert step["account"]["view"] == "threads"
        # All of its processes together: each event takes some hundred microseconds.
        cpu = step["host"]["process_cpu_user"] + step["host"]["process_cpu_sys"]
        assert 1e-4 < cpu / step["tps"] < 1.0
    # Before the first step no connection of the load is known.
    account = result["steps"][1]["account"]
    assert "paused" not in {entry["place"] for entry in account["entries"]}
    said = called("report", "last", "--markdown", folder=tmp_path)
    assert not [word for word in MYSQL_S_WORDS if word in said.stdout]
    called("diagnose", "last", folder=tmp_path)
    said = called("cleanup", "--target", target, folder=tmp_path)
    assert "sbtest1, sbtest2" in said.stdout
    tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
    assert server.asked(tables, database) == [["0"]]


def test_tables_of_others_are_left_alone(server: Server, database: str, tmp_path: Path) -> None:
    target = url(server, database)
    server.asked("CREATE TABLE mine (a INT); CREATE TABLE sbtest1 (id INT)", database)
    said = called("prepare", "--target", target, folder=tmp_path, code=7)
    assert "mine, sbtest1" in said.stderr
    said = called("prepare", "--target", target, "--yes", folder=tmp_path, code=7)
    assert "sbtest1" in said.stderr
    called("cleanup", "--target", target, "--yes", folder=tmp_path)
    left = server.asked("SELECT tablename FROM pg_tables WHERE schemaname = 'public'", database)
    assert sorted(left) == [["mine"], ["sbtest1"]]


def test_tpcc_is_consistent_until_somebody_changes_a_row(
    server: Server, database: str, tmp_path: Path
) -> None:
    target = url(server, database)
    called("prepare", "tpcc", "--target", target, "--warehouses", "1", folder=tmp_path)
    called(
        "run", "tpcc", "--target", target, "--concurrency", "2", "--duration", "2",
        "--warmup", "0", folder=tmp_path,
    )  # fmt: skip
    said = called("tpcc", "check", "--target", target, folder=tmp_path)
    assert "BROKEN" not in said.stdout
    assert "no foreign keys" in said.stdout
    for broken, sql in enumerate(BREAKS, 1):
        server.asked(f"BEGIN; {sql}; COMMIT", database)
        said = called("tpcc", "check", "--target", target, folder=tmp_path, code=10)
        assert f"{broken}  BROKEN" in said.stdout, said.stdout


BREAKS = (
    "UPDATE tpcc_warehouse SET w_ytd = w_ytd + 1",
    "UPDATE tpcc_district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 1",
    "DELETE FROM tpcc_new_order WHERE no_d_id = 2 AND no_o_id ="
    " (SELECT min(no_o_id) + 1 FROM tpcc_new_order WHERE no_d_id = 2)",
    "UPDATE tpcc_orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_id = 1 AND o_d_id = 3",
)
"""What breaks each of the conditions that are checked by default, in their order."""


def test_an_outage_is_seen_and_loses_no_acknowledged_entry(
    server: Server, database: str, tmp_path: Path
) -> None:
    target = url(server, database)
    called("prepare", "ledger", "--target", target, "--tables", "2", folder=tmp_path)
    users = (
        f"FROM pg_stat_activity WHERE datname = '{database}' AND pid <> pg_backend_pid()"
        " AND query ~ '^(BEGIN|INSERT|COMMIT)'"
    )
    last_seen: list[int] = []

    def end_the_users() -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            # Some entries are written first, so that there is something to lose.
            ((rows,),) = server.asked("SELECT coalesce(max(seq), 0) FROM drill_ledger1", database)
            if int(rows) > 20:
                ended = server.asked(f"SELECT count(pg_terminate_backend(pid)) {users}", database)
                last_seen.append(int(ended[0][0]))
                return
            time.sleep(0.05)

    ending = threading.Thread(target=end_the_users)
    ending.start()
    said = called(
        "run", "ledger", "--timeline", "--target", target, "--concurrency", "2", "--duration", "5",
        "--warmup", "0", folder=tmp_path,
    )  # fmt: skip
    ending.join(60)
    assert last_seen
    assert last_seen[0] >= 2
    step = json.loads((only_run(tmp_path) / "result.json").read_text())["steps"][0]
    assert step["reconnects"] == 2
    assert "none of " in said.stdout
    # A user who sends at that moment meets a closed connection, and not its last word.
    assert re.search("57P01|08006", said.stdout)
    called("ledger", "check", "last", "--target", target, folder=tmp_path)
    server.asked("DELETE FROM drill_ledger1 WHERE seq = 3", database)
    said = called("ledger", "check", "last", "--target", target, folder=tmp_path, code=10)


@pytest.mark.parametrize(
    "words",
    [
        ("run", "oltp_read_only", "--storage-engine", "innodb"),
        ("run", "oltp_read_only", "--mysqld-exporter", "http://127.0.0.1:1"),
        ("run", "oltp_read_only", "--compression", "zlib"),
        ("prepare", "--storage-engine", "rocksdb"),
        ("prepare", "--no-binlog"),
        ("prepare", "--method", "infile"),
        ("check", "--defaults-file", "my.cnf"),
        ("tpcc", "check", "--server-public-key", "key.pem"),
    ],
)
def test_options_that_only_mysql_has_are_refused_before_anything_changes(
    server: Server, database: str, tmp_path: Path, words: tuple[str, ...]
) -> None:
    said = called(*words, "--target", url(server, database), folder=tmp_path, code=2)
    assert said.stderr.startswith("error: PostgreSQL has no --")
    tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
    assert server.asked(tables, database) == [["0"]]


KEYS = "SELECT conname, convalidated FROM pg_constraint WHERE contype = 'f' ORDER BY conname"
"""The foreign keys of a database, and whether the server has checked their rows."""

DANGLING = (
    "INSERT INTO tpcc_new_order (no_o_id, no_d_id, no_w_id) VALUES (99999, 1, 1)",
    "DELETE FROM tpcc_warehouse",
)
"""What a foreign key forbids: a row that refers to nothing, and one that leaves others alone."""


def test_foreign_keys_come_after_the_rows_and_are_kept_resumed_counted_and_dropped(
    server: Server, database: str, tmp_path: Path
) -> None:
    target = ("--target", url(server, database))
    prepare = ("prepare", "tpcc", "--foreign-keys", "--warehouses", "1", *target)
    called(*prepare, folder=tmp_path)
    keys = server.asked(KEYS, database)
    assert len(keys) == 10
    assert {valid for _, valid in keys} == {"t"}
    for sql in DANGLING:
        assert "violates foreign key constraint" in server.psql(sql, database).stderr
    # A load that was stopped between its rows and its keys adds the keys that are missing.
    server.asked(
        "ALTER TABLE tpcc_orders DROP CONSTRAINT tpcc_orders_fk1;"
        " ALTER TABLE tpcc_stock DROP CONSTRAINT tpcc_stock_fk2,"
        " ADD CONSTRAINT tpcc_stock_fk2 FOREIGN KEY (s_i_id) REFERENCES tpcc_item NOT VALID;"
        " UPDATE loadstone_tables SET state = 'loading'",
        database,
    )
    called(*prepare, folder=tmp_path)
    assert server.asked(KEYS, database) == keys
    called(
        "run", "tpcc", *target, "--concurrency", "2", "--duration", "2", "--warmup", "0",
        folder=tmp_path,
    )  # fmt: skip
    said = called("tpcc", "check", *target, folder=tmp_path).stdout
    assert "BROKEN" not in said
    assert "10 foreign keys" in said
    shown = json.loads(called("tpcc", "check", *target, "--json", folder=tmp_path).stdout)
    assert (shown["holds"], shown["foreign_keys"]) == (True, 10)
    said = called("cleanup", *target, folder=tmp_path).stdout
    assert said.count("tpcc_") == 9
    tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
    assert server.asked(tables, database) == [["0"]]


def test_the_review_names_what_may_lose_commits(
    server: Server, database: str, tmp_path: Path
) -> None:
    said = called("check", "--target", url(server, database), folder=tmp_path)
    assert "PostgreSQL 1" in said.stdout
    assert "fsync = off" in said.stdout
    assert "max_wal_size = 16GB" in said.stdout
    rights = next(one for one in said.stdout.splitlines() if one.startswith("may "))
    assert rights.endswith(": all that commands need"), "a superuser"
    told = called("check", "--target", url(server, database), "--json", folder=tmp_path)
    document = json.loads(told.stdout)
    assert document["rights"]["schema"] == database
    assert document["service"] is None
