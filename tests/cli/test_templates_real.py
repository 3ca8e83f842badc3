"""Templates on a real server: checked, loaded, driven, and refused where they are wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from loadstone.lab.template_trial import shipped, text_of
from loadstone.sandbox import Sandbox, SandboxError, SandboxSpec, find_server, start_sandbox

pytestmark = pytest.mark.server

QUICK = {"sync_binlog": "0", "innodb_flush_log_at_trx_commit": "0"}
RUN = ("--concurrency", "4", "--duration", "2s", "--warmup", "0s", "--json")


@dataclass(frozen=True)
class Bench:
    """A server, and a folder for files."""

    sandbox: Sandbox
    home: Path

    def loadstone(
        self, *words: str, code: int = 0, target: bool = True
    ) -> subprocess.CompletedProcess[str]:
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        kept |= {"HOME": str(self.home), "COLUMNS": "100"}
        kept["LOADSTONE_PASSWORD"] = self.sandbox.tcp.credentials.reveal()
        where = ("--target", self.sandbox.tcp.target.url) if target else ()
        command = [sys.executable, "-m", "loadstone.cli", *words, *where]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=self.home, env=kept, timeout=110
        )
        assert done.returncode == code, done.stderr + done.stdout
        assert "Traceback" not in done.stderr
        return done

    def step(self, *words: str) -> dict[str, Any]:
        (step,) = json.loads(self.loadstone("run", *words, *RUN).stdout)["steps"]
        assert (step["state"], step["failed"], step["errors"]) == ("finished", 0, {})
        return dict(step)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with self.sandbox.connect() as connection, connection.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())

    def write(self, name: str, text: str) -> str:
        (self.home / name).write_text(text)
        return name


@pytest.fixture(scope="module")
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    """MariaDB, unless a test asks for another."""
    server = getattr(request, "param", "mariadb")
    try:
        find_server(server)
    except SandboxError as error:
        pytest.skip(f"{error.message}: {error.hint}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        with start_sandbox(SandboxSpec(server=server, settings=QUICK)) as sandbox:
            home = tmp_path_factory.mktemp("home")
            for name in shipped():
                # Enough to see that it is loaded.
                text = text_of(name).replace('"20k"', "20_000").replace('"50k"', "2_000")
                (home / f"{name}.toml").write_text(text)
            yield Bench(sandbox, home)


def test_without_its_tables_the_command_that_makes_them_is_told(bench: Bench) -> None:
    said = bench.loadstone("run", "shop.toml", code=3).stderr
    assert "has no table customer of shop.toml" in said
    assert "hint:  loadstone prepare shop.toml --target mysql://" in said


@pytest.mark.parametrize(
    ("bench", "protocol"),
    [("mariadb", "--prepared"), pytest.param("mysql", "--text", marks=pytest.mark.mysql)],
    indirect=["bench"],
)
def test_a_template_is_loaded_explained_and_driven(bench: Bench, protocol: str) -> None:
    bench.loadstone("prepare", "shop.toml")
    assert bench.rows("SELECT COUNT(*), MIN(id), MAX(id) FROM purchase") == [(2_000, 1, 2_000)]
    assert bench.rows("SELECT COUNT(*) FROM product WHERE price NOT BETWEEN 0.5 AND 500") == [(0,)]
    said = bench.loadstone("workload", "check", "shop.toml").stdout
    assert "look" in said and "80.0 %" in said and "'<price>', 'new', NOW())" in said
    assert "product: const PRIMARY, 1 row" in said
    before = bench.rows("SELECT COUNT(*), COALESCE(SUM(price), 0) FROM purchase")
    sold = bench.rows("SELECT SUM(stock) FROM product")
    step = bench.step("shop.toml", protocol)
    kinds = {name: found["count"] for name, found in step["kinds"].items()}
    assert sum(kinds.values()) == step["events"] and step["tpmc"] is None
    shares = {name: 100 * count / step["events"] for name, count in kinds.items()}
    assert abs(shares["look"] - 80) < 4 and abs(shares["buy"] - 15) < 4
    # What was bought is what was taken, at the price that was read.
    now = bench.rows("SELECT COUNT(*), SUM(price) FROM purchase")
    bought = now[0][0] - before[0][0]
    assert bought >= kinds["buy"]
    assert sold[0][0] - bench.rows("SELECT SUM(stock) FROM product")[0][0] == bought
    wrong = (
        "SELECT COUNT(*) FROM purchase JOIN product ON product.id = purchase.product "
        "WHERE purchase.id > 2000 AND purchase.price <> product.price"
    )
    assert bench.rows(wrong) == [(0,)]
    said = bench.loadstone("prepare", "shop.toml", code=7).stderr
    assert "is complete (rows: " in said and "`loadstone cleanup` drops it" in said
    assert "customer" in bench.loadstone("cleanup").stdout
    assert bench.rows("SHOW TABLES") == []


@pytest.mark.parametrize("name", [name for name in shipped() if name != "shop"])
def test_those_that_come_along_run_without_an_error(bench: Bench, name: str) -> None:
    bench.loadstone("prepare", f"{name}.toml")
    bench.loadstone("workload", "check", f"{name}.toml")
    assert bench.step(f"{name}.toml")["events"] > 0
    bench.loadstone("cleanup")


def test_what_an_unfinished_load_lacks_is_loaded(bench: Bench) -> None:
    bench.loadstone("prepare", "point_select.toml")
    before = bench.rows("SELECT id, name FROM item WHERE id BETWEEN 100 AND 200 ORDER BY id")
    bench.rows("DELETE FROM item WHERE id > 90")
    bench.rows("UPDATE loadstone_tables SET state = 'loading', made_s = NULL")
    assert "not fully loaded" in bench.loadstone("run", "point_select.toml", code=3).stderr
    bench.loadstone("prepare", "point_select.toml")
    after = bench.rows("SELECT id, name FROM item WHERE id BETWEEN 100 AND 200 ORDER BY id")
    assert after == before and bench.rows("SELECT COUNT(*) FROM item") == [(100_000,)]
    bench.loadstone("cleanup")


def test_sql_that_the_server_does_not_take_is_named_with_its_line(bench: Bench) -> None:
    file = bench.write(
        "wrong.toml",
        '[transaction.look]\nautocommit = true\nstatements = [\n  "SELECT 1",\n  "SELEKT 2",\n'
        '  "SELECT no FROM nowhere",\n]\n',
    )
    said = bench.loadstone("workload", "check", file, code=4).stderr
    assert (
        "error: wrong.toml:5: transaction.look.statements[2]: the server refuses it: 1064" in said
    )
    assert "(and 1 more)" in said
    said = bench.loadstone("run", file, *RUN, code=3).stderr
    assert "1064" in said and "SELEKT" in said
    said = bench.loadstone("run", file, code=2, target=False).stderr
    assert "wrong.toml has no tables of its own" in said


def test_rows_that_are_not_there_stop_the_run_and_are_named(bench: Bench) -> None:
    file = bench.write(
        "rows.toml",
        "[transaction.look]\nautocommit = true\n"
        'statements = [{ sql = "SELECT 1 FROM DUAL WHERE 1 = 0", rows = 1 }]\n',
    )
    said = bench.loadstone("run", file, *RUN, code=3).stderr
    assert "transaction look, statement 1: not 1 rows" in said


def test_tables_of_others_are_left_alone(bench: Bench) -> None:
    bench.rows("CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(60) NOT NULL)")
    said = bench.loadstone("prepare", "point_select.toml", "--yes", code=7).stderr
    assert "has tables of these names that are not Loadstone's: item" in said
    bench.loadstone("cleanup")
    assert bench.rows("SHOW TABLES") == [("item",)]
    bench.rows("DROP TABLE item")
