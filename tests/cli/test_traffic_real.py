"""The round trip on real servers: a load is recorded, turned into a template, and driven."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from cli.person import Person, set_globally
from loadstone.sandbox import Sandbox
from loadstone.traffic.by_family import LogKind
from loadstone.traffic.entries import Entry, ReadStats
from loadstone.traffic.read_log import log_entries
from loadstone.traffic.shapes import sentence_of
from loadstone.workloads.templates.file import parse_template
from pooled import KINDS_IN_TURN, QUICK, Pool

pytestmark = [pytest.mark.server, pytest.mark.slow]

COUNTING = {**QUICK, "performance_schema": "ON"}
TEMPLATE = """
name = "stall"
[table.item]
rows = 2_000
indexes = [["k"]]
[table.item.columns]
id = { type = "INT NOT NULL", sequence = true }
k = { type = "INT NOT NULL", integer = [1, 2_000] }
name = { type = "VARCHAR(30) NOT NULL", text = [5, 30] }
[table.note]
rows = 10
[table.note.columns]
id = { type = "BIGINT NOT NULL AUTO_INCREMENT", sequence = true }
item = { type = "INT NOT NULL", integer = [1, 2_000] }
body = { type = "VARCHAR(60) NOT NULL", text = [5, 60] }
[table.part]
copies = 3
rows = 500
[table.part.columns]
id = { type = "INT NOT NULL", sequence = true }
c = { type = "CHAR(11) NOT NULL", pattern = "###########" }

[transaction.look]
weight = 60
autocommit = true
statements = [
  "SELECT name FROM item WHERE id = :id",
  "SELECT id, k FROM item WHERE k BETWEEN :k AND :upto ORDER BY k LIMIT 5",
]
[transaction.look.parameters]
id = { row = "item", spread = { kind = "zipfian", exponent = 0.9 } }
k = { integer = [1, 1_900] }
upto = { from = "k", add = 20 }

[transaction.change]
weight = 25
statements = [
  "SELECT k FROM item WHERE id = :id",
  "UPDATE item SET k = k + 1 WHERE id = :id",
  "INSERT INTO note (item, body) VALUES (:id, :body)",
]
[transaction.change.parameters]
id = { row = "item" }
body = { text = [5, 60] }

[transaction.parts]
weight = 15
statements = [
  { sql = "SELECT c FROM {part} WHERE id = :id", repeat = 4 },
  "SELECT COUNT(*) FROM item WHERE id IN (:one, :two, :three)",
]
[transaction.parts.parameters]
id = { integer = [1, 500], per = "statement" }
one = { row = "item" }
two = { row = "item" }
three = { row = "item" }
"""
RUN = ("--concurrency", "4", "--duration", "1s", "--warmup", "0s", "--json", "--no-observe")


@dataclass
class Bench:
    """A server with the template's tables, and a folder for files."""

    sandbox: Sandbox
    home: Path
    logs: list[Path] = field(default_factory=list)

    @property
    def person(self) -> Person:
        return Person(self.home, self.sandbox, careful=False)

    def loadstone(self, *words: str, code: int = 0) -> CompletedProcess[str]:
        return self.person.loadstone(*words, code=code)

    @property
    def schema(self) -> str:
        return self.sandbox.state.database

    @property
    def target(self) -> tuple[str, str]:
        return self.person.target

    def rows(self, *statements: str) -> list[tuple[Any, ...]]:
        return self.person.rows(f"USE {self.schema}", *statements)

    def drive(self, file: str, *words: str) -> dict[str, Any]:
        said = self.loadstone("run", file, *RUN, "--yes", *words, *self.target).stdout
        (step,) = json.loads(said)["steps"]
        assert (step["state"], step["failed"]) == ("finished", 0), step
        assert set(step["errors"]) <= {"1213"}
        return dict(step)

    @contextmanager
    def recorded(self, kind: LogKind) -> Iterator[Path]:
        """Let the server write a log of this kind during the block."""
        path = self.sandbox.datadir / f"{kind}-{len(self.logs)}.log"
        self.logs.append(path)
        name = "slow_query_log" if kind == "slow" else "general_log"
        with (
            set_globally(self.sandbox, **{f"{name}_file": str(path)}),
            set_globally(self.sandbox, log_output="FILE", long_query_time=0, **{name: 1}),
        ):
            yield path


@pytest.fixture(scope="module")
def bench(
    request: pytest.FixtureRequest, pool: Pool, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Bench]:
    """MariaDB, unless a test asks for another."""
    with pool.schema(getattr(request, "param", "mariadb"), COUNTING) as sandbox:
        made = Bench(sandbox, tmp_path_factory.mktemp("home"))
        (made.home / "stall.toml").write_text(TEMPLATE)
        made.loadstone("prepare", "stall.toml", *made.target)
        yield made


def entries_of(path: Path, kind: LogKind) -> list[Entry]:
    return list(log_entries(path, kind, ReadStats(str(path)), "utf-8"))


def about_its_tables(sql: str) -> str | None:
    """The shape of a statement, if it is one of the template's."""
    shape = sentence_of(sql).shape
    return shape.key if {"item", "note", "part"}.intersection(shape.tables) else None


def shapes_in(path: Path, kind: LogKind) -> Counter[str]:
    """How often each statement on the template's tables was sent."""
    said = (one.text for one in entries_of(path, kind) if one.command == "statement")
    return Counter(key for text in said if (key := about_its_tables(text)))


def weights_of(text: str) -> Counter[str]:
    """The share of each statement, by a template's weights."""
    found: Counter[str] = Counter()
    for one in parse_template(text, "made.toml").spec.transactions:
        for statement in one.statements:
            sql = "".join(getattr(piece, "text", "0") for piece in statement.pieces)
            if key := about_its_tables(sql):
                found[key] += one.weight * statement.repeat
    return found


def differences(before: Counter[str], after: Counter[str]) -> dict[str, float]:
    """Of each statement's share, in percent of all statements."""
    return {
        key: round(100 * abs(before[key] / before.total() - after[key] / after.total()), 2)
        for key in before.keys() | after.keys()
    }


def allowed(step: dict[str, Any]) -> float:
    """Two percent, and what drawing so many events adds by chance: three standard deviations."""
    return 2 + 300 * math.sqrt(0.25 / float(step["events"]))


@pytest.mark.parametrize("bench", KINDS_IN_TURN, indirect=True)
@pytest.mark.parametrize(("kind", "protocol"), [("general", "--prepared"), ("slow", "--text")])
def test_a_template_made_of_a_log_sends_what_the_log_had(
    bench: Bench, kind: LogKind, protocol: str
) -> None:
    with bench.recorded(kind) as first:
        bench.drive("stall.toml", protocol)
    out = f"{first.stem}.toml"
    bench.loadstone("workload", f"from-{kind}log", str(first), "--name", "again", "-o", out)
    text = (bench.home / out).read_text()
    before = shapes_in(first, kind)
    # Exactly as often as it was recorded; what a deadlock cut short was sent as well.
    made = weights_of(text)
    assert max(differences(before, made).values()) < 0.1
    bench.loadstone("workload", "check", out, *bench.target)
    with bench.recorded(kind) as second:
        step = bench.drive(out, protocol)
    assert max(differences(before, shapes_in(second, kind)).values()) < allowed(step)
    names = {one.name: one for one in parse_template(text, out).spec.transactions}
    look = names["select_item"]
    zipf = [one.value for one in look.parameters if one.name == "id"]
    assert [value.kind for value in zipf] == ["integer"]
    assert "zipfian" in repr(zipf)
    changed = next(one for one in names.values() if len(one.statements) == 3)
    assert not changed.autocommit and [one.name for one in changed.parameters] == ["id", "body"]


@pytest.mark.parametrize("bench", KINDS_IN_TURN, indirect=True)
def test_a_template_made_of_digests_sends_what_was_counted(
    bench: Bench, request: pytest.FixtureRequest
) -> None:
    def counted() -> Counter[str]:
        found = bench.rows(
            "SELECT DIGEST_TEXT, COUNT_STAR FROM"
            " performance_schema.events_statements_summary_by_digest"
            f" WHERE SCHEMA_NAME = '{bench.schema}' AND DIGEST_TEXT REGEXP 'item|note|part'"
        )
        return Counter({str(text): int(count) for text, count in found})

    empty = "TRUNCATE performance_schema.events_statements_summary_by_digest"
    bench.drive("stall.toml", "--prepared")
    bench.rows(empty)
    bench.drive("stall.toml", "--text")
    before = counted()
    password = bench.sandbox.tcp.credentials.reveal()
    bench.rows(
        f"CREATE USER reader@'%' IDENTIFIED BY '{password}'",
        "GRANT SELECT ON performance_schema.* TO reader@'%'",
        f"GRANT SELECT ON {bench.schema}.* TO reader@'%'",
    )
    request.addfinalizer(lambda: bench.rows("DROP USER reader@'%'"))
    reader = bench.sandbox.tcp.target.model_copy(update={"user": "reader"}).url
    done = bench.loadstone(
        "workload", "from-digest", "--name", "counted", "-o", "counted.toml", "--target", reader
    )
    assert "each statement is a transaction of its own" in done.stderr
    # MariaDB has no digest of what prepared statements carry out.
    lacks = "executions of prepared statements, in all schemas" in done.stderr
    assert lacks == (bench.sandbox.flavour == "mariadb")
    bench.rows(empty)
    step = bench.drive("counted.toml", "--text")
    assert max(differences(before, counted()).values()) < allowed(step)
    # Its rows are there: values are those of the columns.
    by_name = parse_template((bench.home / "counted.toml").read_text(), "counted.toml")
    values = [value for one in by_name.spec.transactions for value in one.parameters]
    assert any(getattr(one.value, "high", 0) == 2_000 for one in values)
    bench.rows("DELETE FROM note")
    (bench.home / "counted.toml").unlink()


@pytest.mark.parametrize("bench", KINDS_IN_TURN, indirect=True)
def test_what_prepare_sends_is_in_no_template_of_digests(bench: Bench) -> None:
    bench.rows("TRUNCATE performance_schema.events_statements_summary_by_digest")
    bench.loadstone("prepare", "--tables", "2", "--table-size", "10", *bench.target)
    words = ("workload", "from-digest", "-o", "own.toml", *bench.target)
    said = bench.loadstone(*words, code=4).stderr
    assert "a template can have no digest of schema" in said
    assert "statements of Loadstone itself" in said
    bench.loadstone("cleanup", "oltp_read_write", *bench.target)


@pytest.mark.parametrize("bench", KINDS_IN_TURN, indirect=True)
def test_a_log_is_replayed_session_by_session(bench: Bench) -> None:
    with bench.recorded("general") as log:
        bench.drive("stall.toml", "--text", "--rate", "200")
    notes = bench.rows("SELECT COUNT(*) FROM note")
    with bench.recorded("general") as again:
        said = bench.loadstone(
            "workload", "replay", str(log), "--speed", "2x", "--json", "--no-observe", *bench.target
        )
    assert bench.rows("SELECT COUNT(*) FROM note") == notes
    result = json.loads(said.stdout)
    (step,) = result["steps"]
    assert step["state"] == "finished" and not step["errors"]
    told = " ".join(result["run"]["notes"])
    assert "0 were refused" in told and "99th percentile" in told
    sent = texts_by_session(again)
    assert list(sent.values()) == list(texts_by_session(log).values()) and len(sent) >= 4


def texts_by_session(path: Path) -> dict[int, list[str]]:
    """What sessions read, in the order of their first statements."""
    found: dict[int, list[str]] = {}
    for entry in entries_of(path, "general"):
        if entry.text.startswith("SELECT") and any(
            f" {table}" in entry.text for table in ("item", "part")
        ):
            found.setdefault(entry.session, []).append(entry.text)
    return dict(sorted(found.items(), key=lambda one: one[1]))


def log_of(bench: Bench, name: str, texts: list[str], apart_s: float = 1e-6) -> str:
    lines = ["mysqld, Version: 8.4.3 (x). started with:"]
    for place, text in enumerate(texts):
        lines.append(f"2026-11-22T10:00:{place * apart_s:09.6f}Z\t    7 Query\t{text}")
    (bench.home / name).write_text("\n".join([*lines, ""]))
    return name


def test_what_writes_is_sent_only_where_that_is_asked_and_allowed(bench: Bench) -> None:
    bench.rows("DELETE FROM note", "CREATE TABLE others (id INT PRIMARY KEY)")
    with set_globally(bench.sandbox, log_bin_trust_function_creators=1):
        bench.rows(
            "CREATE FUNCTION sly() RETURNS INT MODIFIES SQL DATA BEGIN"
            " INSERT INTO others VALUES (1); RETURN 1; END",
        )
    log = log_of(
        bench,
        "writes.log",
        ["SELECT sly()", "INSERT INTO note (item, body) VALUES (1, 'x')", "DROP TABLE others; X"],
    )
    words = ("workload", "replay", log, "--json", "--no-observe")
    done = bench.loadstone(*words, *bench.target)
    (step,) = json.loads(done.stdout)["steps"]
    # The server has refused the function: ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION.
    assert step["errors"] == {"1792": 1}
    assert bench.rows("SELECT COUNT(*) FROM note") == bench.rows("SELECT COUNT(*) FROM others")
    refused = bench.loadstone(*words, "--writes", *bench.target, code=7).stderr
    assert f"schema {bench.schema} has tables that are neither Loadstone's" in refused
    assert "others" in refused and "--yes" in refused
    bench.loadstone(*words, "--writes", "--yes", *bench.target)
    assert bench.rows("SELECT COUNT(*) FROM note") == [(1,)]
    assert bench.rows("SELECT COUNT(*) FROM others") == [(1,)]
    bench.rows("DROP FUNCTION sly", "DROP TABLE others")


def test_a_replay_is_as_quick_as_it_was_told_and_never_quicker(bench: Bench) -> None:
    log = log_of(bench, "slow.log", ["SELECT 1", "SELECT 2"], apart_s=3.0)
    words = ("workload", "replay", log, "--speed", "2x", "--no-observe", "--name", "monday")
    result = bench.person.result(*words, *bench.target)
    assert result["run"]["name"] == "monday"
    assert result["run"]["id"].startswith("monday-")
    (step,) = result["steps"]
    # How much slower it is, is the machine's business.
    assert step["events"] >= 2 and not step["errors"]
    assert step["seconds"] >= 1.5


def test_the_notes_of_a_replay_are_printed_once(bench: Bench) -> None:
    log = log_of(bench, "once.log", ["SELECT 1"], apart_s=0.02)
    words = ("workload", "replay", log, "--no-observe")
    done = bench.loadstone(*words, *bench.target)
    assert (done.stdout + done.stderr).count("were sent, and 0 were refused") == 1


def test_a_replay_is_measured_whole_and_says_how_long_it_took(bench: Bench) -> None:
    texts = [f"SELECT name FROM item WHERE id = {number}" for number in range(1, 201)]
    log = log_of(bench, "brief.log", texts, apart_s=0.02)
    words = ("workload", "replay", log, "--no-observe", *bench.target)
    result = bench.person.result(*words, "--speed", "max")
    (step,) = result["steps"]
    # All statements, and the session's connect.
    assert step["events"] == 201
    assert re.search(r"replayed in .+ s what took 3\.98 s in the log", str(result["run"]["notes"]))
    shown = bench.loadstone("runs", "show", result["run"]["id"]).stdout
    assert "a step to its own end without warm-up" in " ".join(shown.split())
    brief = bench.person.result(*words, "--speed", "max", "--warmup", "30s")
    assert brief["steps"][0]["events"] == 0


def test_what_the_server_refuses_is_failed_and_no_throughput(bench: Bench) -> None:
    texts = ["SELECT name FROM item WHERE id = 1", "SELECT nothing FROM item", "SELECT 1 FROM"]
    log = log_of(bench, "refused.log", texts * 20, apart_s=0.02)
    result = bench.person.result("workload", "replay", log, "--no-observe", *bench.target)
    (step,) = result["steps"]
    assert step["errors"] == {"1054": 20, "1064": 20}
    assert (step["failed"], step["restarts"]) == (40, 0)
    # Without the session's connect, which is an event, too.
    assert step["events"] - 1 == 20 and step["latency"]["response"]["count"] == step["events"]
    assert "60 statements were sent, and 40 were refused" in " ".join(result["run"]["notes"])
    tally = step["tally"]
    assert tally["started"] == tally["succeeded"] + tally["failed"] and tally["failed"] == 40


def test_tables_that_are_missing_are_named_before_anything_is_sent(bench: Bench) -> None:
    texts = [
        "SELECT name FROM item WHERE id = 1",
        "SELECT 1 FROM gone",
        "SELECT 1 FROM item, far.a",
    ]
    log = log_of(bench, "missing.log", texts)
    words = ("workload", "replay", log, "--no-observe", *bench.target)
    runs = sorted(bench.home.glob("runs/replay*"))
    said = bench.loadstone(*words, code=3).stderr
    assert f"lacks what the log's statements name: schema far, {bench.schema}.gone\n" in said
    assert "--yes sends the statements anyway" in said
    assert sorted(bench.home.glob("runs/replay*")) == runs
    result = bench.person.result(*words, "--yes")
    assert "schema far" in " ".join(result["run"]["notes"])
    (step,) = result["steps"]
    assert step["tally"]["failed"] == 2
    made = log_of(bench, "made.log", ["CREATE TABLE fresh (id INT)", "SELECT id FROM fresh"])
    writing = ("workload", "replay", made, "--writes", "--no-observe", *bench.target)
    (step,) = bench.person.result(*writing)["steps"]
    assert step["tally"]["failed"] == 0
    bench.rows("DROP TABLE fresh")


@pytest.mark.parametrize("bench", KINDS_IN_TURN, indirect=True)
def test_what_loadstone_asks_for_itself_is_in_no_template_and_no_replay(bench: Bench) -> None:
    with bench.recorded("slow") as log:
        words = ("--concurrency", "2", "--duration", "2s", "--warmup", "0s", "--text", "--yes")
        bench.loadstone("run", "stall.toml", *words, *bench.target)
    said = bench.loadstone("workload", "from-slowlog", str(log), "-o", "own.toml").stderr
    (left_out,) = re.findall(r"left out: (\d+) statements of Loadstone itself", said)
    assert int(left_out) > 20
    parsed = parse_template((bench.home / "own.toml").read_text(), "own.toml")
    written = repr(parsed.spec)
    assert "item" in written and "@@" not in written and "loadstone" not in written.lower()
    again = bench.loadstone("workload", "replay", str(log), "--no-observe", *bench.target).stderr
    assert f"left out: {left_out} statements of Loadstone itself" in again


def test_a_loop_goes_on_until_its_time_is_over(bench: Bench) -> None:
    log = log_of(bench, "loop.log", [f"SELECT {number}" for number in range(5)])
    words = ("--loop", "--speed", "max", "--duration", "1s", "--json", "--no-observe")
    done = bench.loadstone("workload", "replay", log, *words, *bench.target)
    (step,) = json.loads(done.stdout)["steps"]
    assert step["events"] > 20


@pytest.mark.parametrize("command", ["from-slowlog", "from-generallog", "replay"])
def test_what_is_no_log_leaves_nothing_behind(bench: Bench, command: str) -> None:
    (bench.home / "letter.txt").write_bytes(b"dear all,\n\xff\0\n")
    output = bench.target if command == "replay" else ("-o", "letter.toml")
    said = bench.loadstone("workload", command, "letter.txt", *output, code=4).stderr
    assert "error: letter.txt:1: " in said and "log" in said
    assert not (bench.home / "letter.toml").exists()


def test_a_server_that_counts_nothing_is_named(bench: Bench) -> None:
    off = "UPDATE performance_schema.setup_consumers SET ENABLED = '{}' WHERE NAME = '{}'"
    bench.rows(off.format("NO", "statements_digest"))
    try:
        said = bench.loadstone("workload", "from-digest", *bench.target, code=4).stderr
    finally:
        bench.rows(off.format("YES", "statements_digest"))
    assert "does not count digests" in said
    url = bench.sandbox.tcp.target.model_copy(update={"database": "nowhere"}).url
    said = bench.loadstone("workload", "from-digest", "--target", url, code=4).stderr
    assert "has counted no statement in schema nowhere" in said
