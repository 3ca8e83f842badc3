"""The round trip on real servers: what was driven is recorded, made a template of, and driven."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from loadstone.cli.errors import exit_code_of
from loadstone.lab.template_file import parse_template
from loadstone.sandbox import Sandbox, SandboxError, SandboxSpec, find_server, start_sandbox
from loadstone.traffic.entries import Entry, Heard
from loadstone.traffic.making import LogKind, log_entries
from loadstone.traffic.shapes import sentence_of

pytestmark = pytest.mark.server

SETTINGS = {
    "sync_binlog": "0",
    "innodb_flush_log_at_trx_commit": "0",
    "performance_schema": "ON",
    "log_output": "FILE",
    "long_query_time": "0",
}
SERVERS = ("mariadb", pytest.param("mysql", marks=pytest.mark.mysql))
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


class Said(NamedTuple):
    """What a command wrote."""

    stdout: str
    stderr: str


@dataclass
class Bench:
    """A server with the template's tables, and a folder for files."""

    sandbox: Sandbox
    home: Path
    logs: list[Path] = field(default_factory=list)

    def loadstone(self, *words: str, code: int = 0) -> Said:
        """As a command of its own would do it, but in this process: that is much quicker."""
        # Bytes, as the result is written as such.
        said = (BytesIO(), BytesIO())
        out, err = (TextIOWrapper(each, encoding="utf-8", write_through=True) for each in said)
        with (
            pytest.MonkeyPatch.context() as patch,
            chdir(self.home),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            patch.setenv("LOADSTONE_PASSWORD", self.sandbox.tcp.credentials.reveal())
            patch.setenv("HOME", str(self.home))
            # What is no sandbox of this user's is somebody's server.
            patch.setenv("XDG_STATE_HOME", str(self.home / "state"))
            done = exit_code_of(words)
        found = Said(*(each.getvalue().decode() for each in said))
        assert done == code, found.stderr + found.stdout
        return found

    @property
    def target(self) -> tuple[str, str]:
        return "--target", self.sandbox.tcp.target.url

    def rows(self, *statements: str) -> list[tuple[Any, ...]]:
        with self.sandbox.connect() as connection, connection.cursor() as cursor:
            for sql in statements:
                cursor.execute(sql)
            return list(cursor.fetchall())

    def drive(self, file: str, *words: str) -> dict[str, Any]:
        said = self.loadstone("run", file, *RUN, "--yes", *words, *self.target).stdout
        (step,) = json.loads(said)["steps"]
        assert (step["state"], step["failed"]) == ("finished", 0), step
        assert set(step["errors"]) <= {"1213"}
        return dict(step)

    @contextmanager
    def recorded(self, kind: LogKind) -> Iterator[Path]:
        """Meanwhile the server writes a log of this kind."""
        path = self.sandbox.datadir / f"{kind}-{len(self.logs)}.log"
        self.logs.append(path)
        name = "slow_query_log" if kind == "slow" else "general_log"
        self.rows(f"SET GLOBAL {name}_file = '{path}'", f"SET GLOBAL {name} = ON")
        try:
            yield path
        finally:
            self.rows(f"SET GLOBAL {name} = OFF")


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
        with start_sandbox(SandboxSpec(server=server, settings=SETTINGS)) as sandbox:
            made = Bench(sandbox, tmp_path_factory.mktemp("home"))
            (made.home / "stall.toml").write_text(TEMPLATE)
            made.loadstone("prepare", "stall.toml", *made.target)
            yield made


def entries_of(path: Path, kind: LogKind) -> list[Entry]:
    return list(log_entries(path, kind, Heard(str(path)), "utf-8"))


def about_its_tables(sql: str) -> str | None:
    """The shape of a statement, if it is one of the template's."""
    shape = sentence_of(sql).shape
    return shape.key if {"item", "note", "part"}.intersection(shape.tables) else None


def shapes_in(path: Path, kind: LogKind) -> Counter[str]:
    """How often each statement about the template's tables came."""
    said = (one.text for one in entries_of(path, kind) if one.command == "statement")
    return Counter(key for text in said if (key := about_its_tables(text)))


def weights_of(text: str) -> Counter[str]:
    """How often each statement comes, by the weights of a template."""
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


@pytest.mark.parametrize("bench", SERVERS, indirect=True)
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


@pytest.mark.parametrize("bench", SERVERS, indirect=True)
def test_a_template_made_of_digests_sends_what_was_counted(bench: Bench) -> None:
    def counted() -> Counter[str]:
        found = bench.rows(
            "SELECT DIGEST_TEXT, COUNT_STAR FROM"
            " performance_schema.events_statements_summary_by_digest"
            " WHERE SCHEMA_NAME = 'sbtest' AND DIGEST_TEXT REGEXP 'item|note|part'"
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
        "GRANT SELECT ON sbtest.* TO reader@'%'",
    )
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


@pytest.mark.parametrize("bench", SERVERS, indirect=True)
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
    # Never quicker than twice as fast; how much slower is the machine's business.
    assert span_s(again) >= 0.9 * span_s(log) / 2 - 1


def span_s(path: Path) -> float:
    """From the first read of the tables to the last."""
    times = [one.at_s for one in entries_of(path, "general") if " item" in one.text]
    return times[-1] - times[0]


def texts_by_session(path: Path) -> dict[int, list[str]]:
    """What sessions read, in the order of their first statements."""
    found: dict[int, list[str]] = {}
    for entry in entries_of(path, "general"):
        if entry.text.startswith("SELECT") and any(
            f" {table}" in entry.text for table in ("item", "part")
        ):
            found.setdefault(entry.session, []).append(entry.text)
    return dict(sorted(found.items(), key=lambda one: one[1]))


def log_of(bench: Bench, name: str, texts: list[str]) -> str:
    lines = ["mysqld, Version: 8.4.3 (x). started with:"]
    for place, text in enumerate(texts):
        lines.append(f"2026-11-22T10:00:00.{place:06}Z\t    7 Query\t{text}")
    (bench.home / name).write_text("\n".join([*lines, ""]))
    return name


def test_what_writes_is_sent_only_where_that_is_asked_and_allowed(bench: Bench) -> None:
    bench.rows("DELETE FROM note", "CREATE TABLE others (id INT PRIMARY KEY)")
    bench.rows(
        "SET GLOBAL log_bin_trust_function_creators = ON",
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
    assert "schema sbtest has tables that are neither Loadstone's" in refused
    assert "others" in refused and "--yes" in refused
    bench.loadstone(*words, "--writes", "--yes", *bench.target)
    assert bench.rows("SELECT COUNT(*) FROM note") == [(1,)]
    assert bench.rows("SELECT COUNT(*) FROM others") == [(1,)]
    bench.rows("DROP FUNCTION sly", "DROP TABLE others")


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
    said = bench.loadstone("workload", "from-digest", *bench.target, code=4).stderr
    assert "does not count digests" in said
    bench.rows(off.format("YES", "statements_digest"))
    url = bench.sandbox.tcp.target.model_copy(update={"database": "nowhere"}).url
    said = bench.loadstone("workload", "from-digest", "--target", url, code=4).stderr
    assert "has counted no statement in schema nowhere" in said
