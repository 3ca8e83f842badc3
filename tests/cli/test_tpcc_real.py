"""TPC-C's tables and transactions on real servers: loaded, driven, killed, checked."""

from __future__ import annotations

import contextlib
import json
import math
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pymysql
import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from cli.person import PATIENCE_S, Person, wait_until
from loadstone.lab.tables.tpcc_consistency import CONDITIONS, verdicts
from loadstone.sandbox import Sandbox, SandboxSpec, start_sandbox
from pooled import KINDS_IN_TURN, QUICK, need

pytestmark = [pytest.mark.server, pytest.mark.slow]

ALL = [condition.number for condition in CONDITIONS]
MAKING = {"mariadb": ("--foreign-keys",), "mysql": ("--partition", "4")}
"""Each way of making the tables is tried on one of the servers."""

OTHER_MAKING = {"mariadb": ("--partition", "4"), "mysql": ("--foreign-keys",)}
"""The other server's way of making tables, loaded and driven for a moment."""

REFUSED_WITH = {("mariadb", "parent"): 1005}
"""ER_CANT_CREATE_TABLE, with InnoDB's 150 in its text; all others have an error of its own:"""
FOREIGN_KEY_ON_PARTITIONED = 1506

PROTOCOL = {"mariadb": "--prepared", "mysql": "--text"}
"""Each way of sending statements is tried on one of the servers; the run of 64 users is prepared.
"""

SHARES = {"new_order": 45, "payment": 43, "order_status": 4, "delivery": 4, "stock_level": 4}


@dataclass(frozen=True)
class Shop:
    """A server with one warehouse."""

    sandbox: Sandbox
    home: Path

    @property
    def making(self) -> tuple[str, ...]:
        return MAKING[self.sandbox.flavour]

    @property
    def person(self) -> Person:
        return Person(self.home, self.sandbox, careful=False)

    def loadstone(self, *words: str, code: int = 0) -> CompletedProcess[str]:
        return self.person.loadstone(*words, *self.person.target, code=code)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self.sandbox.connect() as connection, connection.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())

    def orders(self) -> int:
        """The number of all orders that were ever assigned."""
        return int(self.rows("SELECT SUM(d_next_o_id) FROM tpcc_district")[0][0])

    def provoke_deadlocks(self) -> None:
        """Lock the stock, and then the districts: New-Orders lock them the other way round."""
        with self.sandbox.connect() as connection, connection.cursor() as cursor:
            connection.begin()
            # The transaction that has done less is the victim, and that may be this one.
            with contextlib.suppress(pymysql.MySQLError):
                cursor.execute("SELECT SUM(s_ytd) FROM tpcc_stock FOR UPDATE")
                time.sleep(0.5)
                cursor.execute("SELECT SUM(d_ytd) FROM tpcc_district FOR UPDATE")
            connection.rollback()

    def has_provoked(self, journal: Path) -> bool:
        """Whether a New-Order was a victim, after the time in which the run reports it."""
        self.provoke_deadlocks()
        time.sleep(1.5)
        return '"1213"' in journal.read_text()

    def broken(self) -> list[int]:
        """The consistency conditions that are violated."""
        return [each.condition for each in verdicts(self.sandbox.tcp, ALL) if not each.holds]


@pytest.fixture(scope="module", params=KINDS_IN_TURN)
def shop(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shop]:
    """A server of the test's own, since it is killed."""
    with start_sandbox(SandboxSpec(server=need(request.param), settings=dict(QUICK))) as sandbox:
        yield Shop(sandbox, tmp_path_factory.mktemp("home"))


def test_without_tables_the_command_that_makes_them_is_told(shop: Shop) -> None:
    said = shop.loadstone("tpcc", "check", code=3).stderr
    assert "has no table tpcc_warehouse of tpcc" in said
    assert "hint:  loadstone prepare tpcc --target mysql://" in said


def test_loaded_tables_fulfil_all_conditions(shop: Shop) -> None:
    said = shop.loadstone("prepare", "tpcc", "--warehouses", "1", *shop.making).stdout
    assert ": 1 warehouse, " in said
    assert shop.broken() == []
    counts = {
        name: shop.rows(f"SELECT COUNT(*) FROM tpcc_{name}")[0][0]
        for name in ("warehouse", "district", "customer", "history", "orders", "new_order")
    }
    assert counts == {
        "warehouse": 1,
        "district": 10,
        "customer": 30_000,
        "history": 30_000,
        "orders": 30_000,
        "new_order": 9_000,
    }
    (made,) = shop.rows("SHOW CREATE TABLE tpcc_order_line")
    assert ("FOREIGN KEY" in made[1]) == ("--foreign-keys" in shop.making)
    assert ("PARTITION BY HASH" in made[1].upper()) == ("--partition" in shop.making)


def test_tables_that_are_not_loaded_to_the_end_are_not_held_against_the_conditions(
    shop: Shop, request: pytest.FixtureRequest
) -> None:
    def state(word: str) -> None:
        with shop.sandbox.connect() as connection, connection.cursor() as cursor:
            cursor.execute("UPDATE loadstone_tables SET state = %s", (word,))
            connection.commit()

    request.addfinalizer(lambda: state("ready"))
    state("loading")
    said = shop.loadstone("tpcc", "check", code=3).stderr
    assert "is not fully loaded: its `loadstone prepare` was stopped" in said
    assert "--warehouses 1" in said


def test_what_an_unfinished_load_lacks_is_loaded_and_a_finished_one_left_alone(shop: Shop) -> None:
    lines = "tpcc_order_line WHERE ol_w_id = 1 AND ol_d_id = 3"
    before = shop.rows(f"SELECT COUNT(*), SUM(ol_i_id) FROM {lines}")
    shop.rows(f"DELETE FROM {lines} AND ol_o_id > 2000")
    said = shop.loadstone("prepare", "tpcc", *shop.making, code=7).stderr
    assert " is complete (warehouses: 1), and runs may have changed it" in said
    shop.rows("UPDATE loadstone_tables SET state = 'loading'")
    said = shop.loadstone("prepare", "tpcc", *shop.making).stdout
    assert f"; {before[0][0]:,} loaded in " in said
    assert shop.rows(f"SELECT COUNT(*), SUM(ol_i_id) FROM {lines}") == before
    assert shop.broken() == []


def test_a_run_has_the_mix_and_leaves_the_tables_consistent(shop: Shop) -> None:
    protocol = PROTOCOL[shop.sandbox.flavour]
    words = ("--concurrency", "4", "--duration", "2s", "--warmup", "0s", "--json", protocol)
    result = json.loads(shop.loadstone("run", "tpcc", *words).stdout)
    (step,) = result["steps"]
    assert (step["state"], step["failed"], step["tally_balances"]) == ("finished", 0, True)
    assert set(step["errors"]) <= {"1213", "1205", "1020"}
    counts = {kind: found["count"] for kind, found in step["kinds"].items()}
    counts.pop("new_order_rolled_back", None)
    assert sum(counts.values()) == step["events"]
    # Each user's deck is exact; unfinished decks differ as draws do, by four deviations.
    for kind, share in SHARES.items():
        allowed = 0.5 + 4 * math.sqrt(share * (100 - share) / step["events"])
        assert abs(100 * counts[kind] / step["events"] - share) < allowed, (kind, counts)
    assert step["tpmc"] == pytest.approx(60 * counts["new_order"] / step["seconds"])
    assert any(note.startswith("TPC-C-like: not audited") for note in result["run"]["notes"])
    assert shop.broken() == []


def test_the_conditions_hold_after_deadlocks_of_64_users_and_a_killed_server(shop: Shop) -> None:
    words = ("--concurrency", "64", "--duration", "600s", "--warmup", "0s", "--json")
    person = shop.person
    before = shop.orders()
    runs = set(person.folder.glob("runs/*"))
    with person.starts("run", "tpcc", *person.target, *words) as run:
        wait_until(lambda: shop.orders() >= before + 50, run)
        (folder,) = set(person.folder.glob("runs/*")) - runs
        wait_until(lambda: shop.has_provoked(folder / "journal.jsonl"), run)
        shop.sandbox.kill()
        shop.sandbox.start_again()
        # The outage is recorded once it is over and orders arrive again.
        wait_until(lambda: '"kind":"outage"' in (folder / "journal.jsonl").read_text(), run)
        run.send_signal(signal.SIGINT)
        stdout, stderr = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 130, stderr
    (step,) = json.loads(stdout)["steps"]
    assert (step["state"], step["tally_balances"]) == ("stopped", True)
    assert step["reconnects"] > 0 and len(step["outages"]) == 1
    assert step["events"] > 0
    assert step["errors"]["1213"] > 0 and step["restarts"] > 0
    assert shop.broken() == []


def test_a_condition_that_does_not_hold_is_named_with_its_places(shop: Shop) -> None:
    (order,) = shop.rows(
        "SELECT MIN(no_o_id) + 5 FROM tpcc_new_order WHERE no_w_id = 1 AND no_d_id = 7"
    )
    shop.rows(
        f"DELETE FROM tpcc_new_order WHERE no_w_id = 1 AND no_d_id = 7 AND no_o_id = {order[0]}"
    )
    shop.rows("UPDATE tpcc_warehouse SET w_ytd = w_ytd + 0.01")
    assert shop.broken() == [1, 3, 5, 8, 11]
    done = shop.loadstone("tpcc", "check", code=10)
    assert " 1  BROKEN  W_YTD = sum(D_YTD)" in done.stdout and " 2  holds " in done.stdout
    assert "no_d_id 7, " in done.stdout
    assert "error: conditions 1, 3 do not hold in sbtest at 127.0.0.1" in done.stderr
    found = json.loads(
        shop.loadstone("tpcc", "check", "--json", "--conditions", "2-3", code=10).stdout
    )
    assert (found["holds"], [each["holds"] for each in found["conditions"]]) == (
        False,
        [True, False],
    )


def test_cleanup_drops_them_whatever_refers_to_what(shop: Shop) -> None:
    said = shop.loadstone("cleanup").stdout
    assert said.count("tpcc_") == 9
    assert shop.rows("SHOW TABLES") == []


@pytest.mark.parametrize(
    "shop",
    [
        pytest.param("mariadb", marks=pytest.mark.smoke),
        pytest.param("mysql", marks=[pytest.mark.mysql, pytest.mark.nightly]),
    ],
    indirect=True,
)
def test_the_other_way_of_making_them_is_driven_as_well(shop: Shop) -> None:
    other = OTHER_MAKING[shop.sandbox.flavour]
    shop.loadstone("prepare", "tpcc", *other)
    (made,) = shop.rows("SHOW CREATE TABLE tpcc_order_line")
    assert ("FOREIGN KEY" in made[1]) == ("--foreign-keys" in other)
    assert ("PARTITION BY HASH" in made[1].upper()) == ("--partition" in other)
    words = ("--concurrency", "4", "--duration", "1s", "--warmup", "0s", "--json", "--no-observe")
    (step,) = json.loads(shop.loadstone("run", "tpcc", *words).stdout)["steps"]
    assert (step["state"], step["failed"]) == ("finished", 0)
    assert step["events"] > 0
    assert shop.broken() == []
    shop.loadstone("cleanup")


@pytest.mark.parametrize("partitioned", ["parent", "child"])
def test_both_at_once_are_refused_by_the_server_itself(shop: Shop, partitioned: str) -> None:
    """Otherwise `--foreign-keys` and `--partition` could be combined."""
    ways = {name: "" for name in ("parent", "child")}
    ways[partitioned] = " PARTITION BY HASH (a) PARTITIONS 2"
    try:
        shop.rows(f"CREATE TABLE parent (a INT PRIMARY KEY){ways['parent']}")
        with pytest.raises(pymysql.MySQLError) as caught:
            shop.rows(
                "CREATE TABLE child (a INT PRIMARY KEY, FOREIGN KEY (a) REFERENCES parent (a))"
                + ways["child"]
            )
        case = (shop.sandbox.flavour, partitioned)
        assert caught.value.args[0] == REFUSED_WITH.get(case, FOREIGN_KEY_ON_PARTITIONED)
    finally:
        shop.rows("DROP TABLE IF EXISTS child, parent")
