"""Templates on a real PostgreSQL: checked, loaded, driven, refused if they are another family's."""

from __future__ import annotations

import itertools
import json
import os
import re
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from loadstone.workloads.bundled import bundled, text_of_bundled
from postgres.server import Server

pytestmark = [pytest.mark.server, pytest.mark.slow]

NIGHTLY = os.environ.get("LOADSTONE_NIGHTLY") == "1"
USUAL = (
    ("tatp", "--prepared"), ("linkbench", "--text"), ("shop", "--prepared"),
    ("insert_benchmark", "--prepared"), ("write_only", "--text"),
)  # fmt: skip
"""One of each kind of what families write differently."""

OTHERS = [
    pair for pair in itertools.product(bundled(), ("--prepared", "--text")) if pair not in USUAL
]
RUN = (
    *("--concurrency", "4", "--think-time", "2ms", "--duration", "1s", "--warmup", "0s"),
    *("--json", "--no-observe"),
)


def url(server: Server, database: str) -> str:
    return f"postgresql://postgres@/{database}?host={server.folder}&port={server.port}"


def small(name: str) -> str:
    """A bundled template with fewer rows: enough to show that they are loaded."""
    text = text_of_bundled(name)
    for was, now in (("100k", "4_000"), ("250k", "10_000"), ("375k", "15_000"), ("50k", "2_000")):
        text = text.replace(f'"{was}"', now)
    return re.sub(r"\b100_?000\b(?!_)", "4_000", text).replace("% 4_000", "% 4000")


@pytest.mark.parametrize(("name", "protocol"), [*USUAL, *(OTHERS if NIGHTLY else ())])
def test_a_bundled_template_is_checked_loaded_driven_and_dropped(
    server: Server, database: str, tmp_path: Path, name: str, protocol: str
) -> None:
    target, file = url(server, database), f"{name}.toml"
    (tmp_path / file).write_text(small(name))
    called("prepare", file, "--target", target, folder=tmp_path)
    said = called("workload", "check", file, "--target", target, folder=tmp_path)
    assert "accesses the rows" in said.stdout
    said = called("run", file, "--target", target, protocol, *RUN, folder=tmp_path)
    (step,) = json.loads(said.stdout)["steps"]
    assert (step["state"], step["failed"]) == ("finished", 0)
    assert step["events"] > 0
    assert set(step["errors"]) <= {"23505", "40P01"}
    called("cleanup", file, "--target", target, folder=tmp_path)
    left = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
    assert server.asked(left, database) == [["0"]]


VALUES = '''
dialect = "postgresql"
[table.Thing]
rows = 500
copies = 2
indexes = [["made"]]
[table.Thing.columns]
Id = { type = "BIGSERIAL", sequence = true }
sort = { type = "TEXT NOT NULL", choice = ["it's", 'a\\b', "tab\there", "ø"] }
share = { type = "NUMERIC(6,3)", decimal = ["-9.500", "99.125"] }
made = { type = "TIMESTAMPTZ DEFAULT now()", datetime = [2026-01-01 00:00:00, 2026-01-02 00:00:00] }
day = { type = "DATE", date = ["2020-01-01", "2020-01-03"] }
flag = { type = "BOOLEAN", choice = ["true", "false", "NULL"] }
data = { type = "JSONB", constant = '{"a": [1, 2]}' }
[transaction.copy]
statements = [
  { rows = 1, read = ["a", "b", "c", "d", "e", "f"], sql = """
    SELECT sort, share, made, day, flag, data FROM {Thing} WHERE Id = :id""" },
  { same_copy = true, rows = 1, read = ["new"], sql = """
    INSERT INTO {Thing} (sort, share, made, day, flag, data)
    VALUES (:a, :b, :c, :d, :e, :f) RETURNING id""" },
  { same_copy = true, rows = 1, sql = """
    UPDATE {Thing} SET data = jsonb_set(data, '{from}', to_jsonb($$:x$$ || CAST(:id AS TEXT)))
    WHERE id = :new::bigint""" },
]
parameters.id = { row = "Thing" }
'''


@pytest.mark.parametrize("protocol", ["--prepared", "--text"])
def test_values_of_any_type_arrive_as_they_were_drawn_or_read(
    server: Server, database: str, tmp_path: Path, protocol: str
) -> None:
    target = url(server, database)
    (tmp_path / "own.toml").write_text(VALUES)
    called("prepare", "own.toml", "--target", target, folder=tmp_path)
    # A load that was cut off goes on where rows are missing.
    server.asked("DELETE FROM thing1 WHERE id BETWEEN 100 AND 120", database)
    server.asked("UPDATE loadstone_tables SET state = 'loading'", database)
    called("prepare", "own.toml", "--target", target, folder=tmp_path)
    assert server.asked("SELECT count(*), max(id) FROM thing1", database) == [["500", "500"]]
    said = called("run", "own.toml", "--target", target, protocol, *RUN, folder=tmp_path)
    (step,) = json.loads(said.stdout)["steps"]
    assert (step["failed"], step["errors"]) == (0, {})
    differs = (
        "SELECT count(*) FROM thing1 AS n JOIN thing1 AS o"
        " ON o.id = substr(n.data->>'from', 3)::bigint WHERE n.id > 500 AND"
        " (n.sort, n.share, n.made, n.day, n.flag) IS DISTINCT FROM"
        " (o.sort, o.share, o.made, o.day, o.flag)"
    )
    assert server.asked(differs, database) == [["0"]]
    copied = server.asked("SELECT count(*) FROM thing1 WHERE id > 500", database)
    assert int(copied[0][0]) > 0
    sorts = "SELECT string_agg(DISTINCT sort, ',' ORDER BY sort) FROM thing2"
    assert server.asked(sorts, database) == [["a\\b,it's,tab\there,ø"]]


MYSQLS = """
[table.item]
rows = 10
columns.id = { type = "INT NOT NULL", sequence = true }
[transaction.add]
statements = [
  "SELECT 1 FROM item WHERE id = :id",
  "INSERT INTO item (id) VALUES (:id) ON DUPLICATE KEY UPDATE id = id",
]
parameters.id = { row = "item" }
"""


def test_what_is_in_another_familys_sql_is_refused_in_a_line(
    server: Server, database: str, tmp_path: Path
) -> None:
    target = url(server, database)
    (tmp_path / "a.toml").write_text(MYSQLS)
    called("prepare", "a.toml", "--target", target, folder=tmp_path)
    said = called("run", "a.toml", "--target", target, *RUN, folder=tmp_path, code=4)
    assert said.stderr.startswith(
        "error: a.toml:8: transaction.add.statements[2]: the server refuses it: 42601 syntax error"
    )
    (tmp_path / "b.toml").write_text('dialect = "mysql"\n' + MYSQLS)
    for words in (("prepare", "b.toml"), ("run", "b.toml"), ("workload", "check", "b.toml")):
        said = called(*words, "--target", target, folder=tmp_path, code=4)
        assert "error: b.toml:1: dialect: the file is not for PostgreSQL" in said.stderr
    (tmp_path / "c.toml").write_text(MYSQLS.replace("INT NOT NULL", "TINYINT UNSIGNED"))
    said = called("prepare", "c.toml", "--target", target, folder=tmp_path, code=4)
    assert "c.toml:4: table.item.columns.id.type: the server refuses it: 42601" in said.stderr


def test_users_write_to_no_table_of_others(server: Server, database: str, tmp_path: Path) -> None:
    target = url(server, database)
    server.asked("CREATE TABLE theirs (id INT); CREATE TABLE public.other (id INT)", database)
    text = MYSQLS.replace("item (id) VALUES (:id) ON DUPLICATE KEY UPDATE id = id", "{0}")
    for statement in (
        "theirs (id) VALUES (:id)",
        "item (id) WITH gone AS (DELETE FROM theirs RETURNING id) SELECT id + :id FROM gone",
    ):
        (tmp_path / "own.toml").write_text(text.replace("{0}", statement))
        called("prepare", "own.toml", "--target", target, "--yes", folder=tmp_path)
        said = called("run", "own.toml", "--target", target, *RUN, folder=tmp_path, code=7)
        assert "theirs (transaction.add.statements[2])" in said.stderr
        called("cleanup", "--target", target, "--yes", folder=tmp_path)
