"""Templates on a real server: checked, loaded, driven, and refused if they are wrong."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from cli.person import Person
from loadstone.sandbox import Sandbox
from loadstone.workloads.bundled import bundled, text_of_bundled
from loadstone.workloads.templates.explain import check_loadable
from loadstone.workloads.templates.file import TemplateRefused, parse_template
from pooled import Pool

pytestmark = [pytest.mark.server, pytest.mark.slow]

RUN = (
    *("--concurrency", "4", "--think-time", "2ms", "--duration", "500ms", "--warmup", "0s"),
    *("--json", "--no-observe"),
)
MYSQL = functools.partial(pytest.param, "mysql", marks=pytest.mark.mysql)
OF_OLTP = tuple(name for name in bundled() if "[table.sbtest]" in text_of_bundled(name))


@dataclass(frozen=True)
class Bench:
    """A server, and a folder for files."""

    sandbox: Sandbox
    home: Path

    def loadstone(self, *words: str, code: int = 0, target: bool = True) -> CompletedProcess[str]:
        person = Person(self.home, self.sandbox, careful=False)
        return person.loadstone(*words, *(person.target if target else ()), code=code)

    def step(self, *words: str, may_deadlock: bool = False) -> dict[str, Any]:
        (step,) = json.loads(self.loadstone("run", *words, *RUN).stdout)["steps"]
        assert (step["state"], step["failed"]) == ("finished", 0)
        assert set(step["errors"]) <= ({"1213"} if may_deadlock else set())
        return dict(step)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return Person(self.home, self.sandbox).rows(f"USE {self.sandbox.state.database}", sql)

    def write(self, name: str, text: str) -> str:
        (self.home / name).write_text(text, encoding="utf-8")
        return name


@pytest.fixture
def bench(request: pytest.FixtureRequest, pool: Pool, tmp_path: Path) -> Iterator[Bench]:
    """MariaDB, unless a test asks for another."""
    with pool.schema(getattr(request, "param", "mariadb")) as server:
        for name in bundled():
            # Small, but enough to show that it is loaded.
            text = text_of_bundled(name).replace('"50k"', "2_000").replace("100_000", "10_000")
            (tmp_path / f"{name}.toml").write_text(text)
        yield Bench(server, tmp_path)


def test_without_its_tables_the_command_that_makes_them_is_told(bench: Bench) -> None:
    said = bench.loadstone("run", "shop.toml", code=3).stderr
    assert "lacks 3 tables of shop.toml: customer, product, purchase" in said
    assert "hint:  loadstone prepare shop.toml --target 'mysql://" in said
    checked = bench.loadstone("workload", "check", "shop.toml", code=3)
    assert "accesses the rows" not in checked.stdout and "1146" not in checked.stderr
    assert checked.stderr == said


def test_tables_that_no_file_makes_are_named_before_anything_is_explained(bench: Bench) -> None:
    statements = [
        "SELECT a FROM nowhere.b WHERE c = 1",
        "WITH d AS (SELECT 1) SELECT EXTRACT(YEAR FROM e) FROM (SELECT NOW() AS e FROM d) f",
        "SELECT 1 FROM absent JOIN nowhere.b USING (c)",
    ]
    text = f"[transaction.look]\nautocommit = true\nstatements = {json.dumps(statements)}\n"
    checked = bench.loadstone("workload", "check", bench.write("theirs.toml", text), code=3)
    assert "accesses the rows" not in checked.stdout
    schema = bench.sandbox.state.database
    assert f"of theirs.toml name: schema nowhere, {schema}.absent\n" in checked.stderr
    assert "theirs.toml has no [table] for them" in checked.stderr


@pytest.mark.parametrize(
    ("bench", "protocol"),
    [("mariadb", "--prepared"), MYSQL("--text")],
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
    for name, share in (("look", 0.80), ("buy", 0.15), ("history", 0.05)):
        deviation = math.sqrt(share * (1 - share) * step["events"])
        assert abs(kinds[name] - share * step["events"]) < 5 * deviation, kinds
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
    assert "customer" in bench.loadstone("cleanup", "shop.toml").stdout
    assert bench.rows("SHOW TABLES") == []


def test_those_of_the_oltp_workloads_run_on_the_same_tables(bench: Bench) -> None:
    bench.loadstone("prepare", "insert.toml")
    # The statement that deletes rows comes last: others expect the rows.
    for name in sorted(OF_OLTP, key=lambda name: (name == "delete", name)):
        assert bench.step(f"{name}.toml", may_deadlock=True)["events"] > 0, name
    bench.loadstone("cleanup")


def test_a_sale_sells_what_there_is(bench: Bench) -> None:
    bench.loadstone("prepare", "flash_sale.toml")
    step = bench.step("flash_sale.toml", may_deadlock=True)
    ((sold, orders),) = bench.rows("SELECT (SELECT sold FROM stock), (SELECT COUNT(*) FROM sale)")
    assert sold == orders >= step["events"] > 0
    bench.loadstone("cleanup")


def test_what_an_unfinished_load_lacks_is_loaded(bench: Bench) -> None:
    bench.loadstone("prepare", "point_select.toml")
    before = bench.rows("SELECT id, name FROM item WHERE id BETWEEN 100 AND 200 ORDER BY id")
    bench.rows("DELETE FROM item WHERE id > 90")
    bench.rows("UPDATE loadstone_tables SET state = 'loading', made_s = NULL")
    assert "not fully loaded" in bench.loadstone("run", "point_select.toml", code=3).stderr
    bench.loadstone("prepare", "point_select.toml")
    after = bench.rows("SELECT id, name FROM item WHERE id BETWEEN 100 AND 200 ORDER BY id")
    assert after == before and bench.rows("SELECT COUNT(*) FROM item") == [(10_000,)]
    assert bench.step("point_select.toml")["events"] > 0
    bench.loadstone("cleanup")


def test_sql_that_the_server_does_not_take_is_named_with_its_line(bench: Bench) -> None:
    file = bench.write(
        "wrong.toml",
        '[transaction.look]\nautocommit = true\nstatements = [\n  "SELECT 1",\n  "SELEKT 2",\n'
        '  "SELECT no FROM nowhere",\n' + '  "SELECT 3",\n' * 250 + '  "SELECT FROM 4",\n]\n',
    )
    said = bench.loadstone("workload", "check", file, code=4).stderr
    assert "wrong.toml:5: transaction.look.statements[2]: the server refuses it: 1064" in said
    # Whether a table is there is asked once all is SQL.
    assert "\nwrong.toml:257: transaction.look.statements[254]: " in said
    assert said.endswith("error: wrong.toml: 2 problems\n")
    said = bench.loadstone("run", file, *RUN, code=7).stderr
    assert "wrong.toml may write to more than the tables of its file: SELEKT" in said
    said = bench.loadstone("run", file, *RUN, "--yes", code=4).stderr
    assert "wrong.toml:5: transaction.look.statements[2]: the server refuses it" in said
    assert not list(bench.home.glob("runs/wrong-*")), "nothing was begun"
    said = bench.loadstone("run", file, code=2, target=False).stderr
    assert "wrong.toml defines no tables" in said


def test_rows_that_are_not_there_stop_the_run_and_are_named(bench: Bench) -> None:
    file = bench.write(
        "rows.toml",
        "[transaction.look]\nautocommit = true\n"
        'statements = [{ sql = "SELECT 1 FROM DUAL WHERE 1 = 0", rows = 1 }]\n',
    )
    said = bench.loadstone("run", file, *RUN, code=3).stderr
    assert "transaction look, statement 1: not 1 rows" in said


MIXED = """
[table.origin]
rows = 64
[table.origin.columns]
id = { type = "INT NOT NULL", sequence = true }
note = { type = "VARCHAR(20) NULL", choice = ["NULL", "7", "x"] }
raw = { type = "VARBINARY(20) NOT NULL", text = 16 }
[table.seen]
[table.seen.columns]
id = { type = "BIGINT NOT NULL AUTO_INCREMENT", sequence = true }
origin = { type = "INT NOT NULL", constant = 0 }
note = { type = "VARCHAR(20) NULL", constant = "NULL" }
raw = { type = "VARBINARY(20) NOT NULL", constant = "" }
drawn = { type = "VARCHAR(20) NULL", constant = "NULL" }
[transaction.copy]
statements = [
  { sql = "SELECT note, raw FROM origin WHERE id = :id", rows = 1, read = ["note", "raw"] },
  "INSERT INTO seen (origin, note, raw, drawn) VALUES (:id, :note, :raw, :drawn)",
]
[transaction.copy.parameters]
id = { row = "origin" }
drawn = { choice = [1, "a", 2.5, "NULL"] }
"""


@pytest.mark.parametrize(
    ("bench", "protocol"),
    [("mariadb", "--prepared"), MYSQL("--prepared"), MYSQL("--text")],
    indirect=["bench"],
)
def test_values_of_any_type_arrive_as_they_were_drawn_or_read(bench: Bench, protocol: str) -> None:
    file = bench.write("mixed.toml", MIXED)
    bench.loadstone("prepare", file)
    bench.rows(
        "UPDATE origin SET raw = CONCAT(CHAR(0, 39, 92, 255), UNHEX(LEFT(SHA2(id, 256), 32)))"
    )
    assert bench.step(file, protocol)["events"] > 0
    drawn = bench.rows("SELECT DISTINCT drawn FROM seen ORDER BY drawn")
    assert drawn == [(None,), ("1",), ("2.5",), ("a",)]
    changed = (
        "SELECT COUNT(*) FROM seen JOIN origin ON origin.id = seen.origin "
        "WHERE NOT (seen.note <=> origin.note AND seen.raw = origin.raw)"
    )
    assert bench.rows(changed) == [(0,)]
    assert len(bench.rows("SELECT DISTINCT note FROM seen")) == 3
    bench.loadstone("cleanup")


WORDS = """
[table.word]
rows = 50
[table.word.columns]
id = { type = "INT NOT NULL", sequence = true }
wide = { type = "VARCHAR(20) CHARACTER SET utf8mb4 NOT NULL", choice = ["naïve", "日本"] }
latin = { type = "VARCHAR(20) CHARACTER SET latin1 NOT NULL", choice = ["naïve", "Zoë"] }
[transaction.look]
statements = [
  { sql = "SELECT wide FROM word WHERE id = :id AND latin IN ('Zoë', :naive)", rows = 1 },
]
[transaction.look.parameters]
id = { row = "word" }
naive = { constant = "naïve" }
"""


@pytest.mark.parametrize(
    ("bench", "method"), [("mariadb", "insert"), MYSQL("auto")], indirect=["bench"]
)
def test_letters_of_other_character_sets_arrive(bench: Bench, method: str) -> None:
    file = bench.write("words.toml", WORDS)
    bench.loadstone("prepare", file, "--method", method)
    found = bench.rows("SELECT DISTINCT HEX(latin) FROM word")
    assert {word for (word,) in found} == {"naïve".encode("latin1").hex().upper(), "5A6FEB"}
    found = bench.rows("SELECT DISTINCT wide FROM word ORDER BY wide")
    assert found == [("naïve",), ("日本",)]
    assert bench.step(file)["events"] > 0
    said = bench.loadstone("run", file, "--charset", "latin1", code=4).stderr
    assert "error: words.toml:6: letters beyond ASCII" in said
    bench.loadstone("cleanup")


def test_values_that_the_server_changes_end_the_load(bench: Bench) -> None:
    file = bench.write(
        "odd.toml",
        "[table.odd]\nrows = 50\n[table.odd.columns]\n"
        'id = { type = "INT NOT NULL", sequence = true }\n'
        "state = { type = \"ENUM('new','paid') NOT NULL\", choice = ['new', 'odd'] }\n"
        '[transaction.look]\nstatements = ["SELECT 1 FROM odd"]\n',
    )
    # The second call continues the table of the first one.
    for _ in range(2):
        said = bench.loadstone("prepare", file, code=3).stderr
        assert "odd: the server took other values than were sent for rows 1 to 50" in said
    assert "odd is not fully loaded" in bench.loadstone("run", file, *RUN, code=3).stderr
    assert "odd" in bench.loadstone("cleanup").stdout
    assert bench.rows("SHOW TABLES") == []


def test_a_type_that_the_server_does_not_have_is_told_before_anything_is_made(bench: Bench) -> None:
    file = bench.write(
        "typed.toml",
        '[table.first]\nrows = 5\ncolumns.id = { type = "INT NOT NULL", sequence = true }\n'
        "[table.second]\nrows = 5\n[table.second.columns]\n"
        'id = { type = "INT NOT NULL AUTO_INCREMENT", sequence = true }\n'
        'note = { type = "VARCHARR(20) NOT NULL", text = 5 }\n'
        '[transaction.look]\nstatements = ["SELECT 1 FROM second"]\n',
    )
    for command in (("prepare",), ("workload", "check")):
        said = bench.loadstone(*command, file, code=4).stderr
        assert "error: typed.toml:8: table.second.columns.note.type: the server refuses it" in said
    assert bench.rows("SHOW TABLES") == []


def test_more_rows_than_the_disk_holds_are_told_before_anything_is_made(bench: Bench) -> None:
    free = bench.sandbox.disk.free_bytes
    template = parse_template(MIXED.replace("rows = 64", "rows = 2_000_000_000"), "mixed.toml")
    check_loadable(parse_template(MIXED, "mixed.toml"), "mixed.toml", bench.sandbox.tcp)
    copies = min(1_000, 1 + free // 100_000_000_000)
    (large, *others) = template.tables
    many = template.model_copy(
        update={"tables": (large.model_copy(update={"copies": copies}), *others)}
    )
    with pytest.raises(TemplateRefused) as caught:
        check_loadable(many, "mixed.toml", bench.sandbox.tcp)
    assert caught.value.message.startswith("mixed.toml:3: table.origin.rows: all rows take about")


def test_users_write_to_no_table_of_others(bench: Bench) -> None:
    bench.rows("CREATE TABLE seen (origin INT, note INT, raw INT, drawn INT)")
    bench.rows("CREATE TABLE origin (id INT PRIMARY KEY)")
    said = bench.loadstone("run", bench.write("mixed.toml", MIXED), *RUN, code=7).stderr
    assert "mixed.toml would write to them: origin, seen" in said
    said = bench.loadstone("run", "mixed.toml", *RUN, "--yes", code=7).stderr
    assert "mixed.toml would write to them: origin, seen" in said
    file = bench.write(
        "bare.toml",
        '[transaction.add]\nstatements = ["INSERT INTO origin VALUES (:n)"]\n'
        "parameters.n = { sequence = 1 }\n",
    )
    said = bench.loadstone("run", file, *RUN, code=7).stderr
    assert "more than the tables of its file: origin (transaction.add.statements[1])" in said
    assert bench.rows("SELECT COUNT(*) FROM origin") == [(0,)]
    step = bench.step(file, "--yes")
    assert bench.rows("SELECT COUNT(*) FROM origin")[0][0] >= step["events"] > 0
    bench.rows("DROP TABLE origin, seen")


def test_tables_of_others_are_left_alone(bench: Bench) -> None:
    bench.rows("CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(60) NOT NULL)")
    said = bench.loadstone("prepare", "point_select.toml", "--yes", code=7).stderr
    assert "has tables of these names that are not Loadstone's: item" in said
    bench.loadstone("cleanup")
    assert bench.rows("SHOW TABLES") == [("item",)]
    bench.rows("DROP TABLE item")
