"""The program as a user starts it, against a real throwaway server."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import polars
import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from cli.person import PATIENCE_S, Person, wait_until
from loadstone.model.numbers import count, rate
from loadstone.runs import run_folder
from loadstone.runs.rebuild import replay
from loadstone.sandbox import Sandbox, SandboxSpec, start_sandbox
from pooled import QUICK, Pool, need

SCHEMA = Path(run_folder.__file__).with_name("result.schema.json")
SHORT = ("--duration", "1s", "--warmup", "0s", "--shards", "1")
SIZES = ("--tables", "2", "--table-size", "1000")
ENDLESS = ("--duration", "600s", "--warmup", "0s", "--think-time", "5ms")
USERS = 4

pytestmark = [pytest.mark.server, pytest.mark.slow]


@pytest.fixture
def person(own_schema: Sandbox, tmp_path: Path) -> Person:
    return Person(tmp_path, own_schema, careful=False)


@pytest.fixture
def prepared(person: Person) -> Person:
    person.loadstone("prepare", *person.target, *SIZES)
    return person


@dataclass(frozen=True)
class Story:
    """A new user's first commands, and what the program printed."""

    person: Person
    run: Path
    of_run: str
    of_cleanup: str
    of_run_without_tables: str


@pytest.fixture(scope="module")
def story(pool: Pool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    with pool.schema() as server:
        person = Person(tmp_path_factory.mktemp("story"), server, careful=False)
        # A new user has a server, and nothing on it.
        person.rows(f"DROP DATABASE {server.state.database}")
        person.loadstone("prepare", *person.target, *SIZES)
        words = ("run", "oltp_read_write", *person.target)
        times = ("--duration", "1s", "--warmup", "500ms", "--shards", "1")
        said = person.loadstone(*words, "--concurrency", f"1,{USERS}", *times)
        gone = person.loadstone("cleanup", *person.target)
        missing = person.loadstone(*words, code=3)
        yield Story(person, person.only_run(), said.stdout, gone.stdout, missing.stderr)


@pytest.mark.smoke
def test_prepare_run_and_cleanup(story: Story) -> None:
    assert "oltp_read_write, 2 tables × 1,000 rows, prepared statements" in story.of_run
    result = run_folder.load(story.run)
    jsonschema.validate(
        json.loads((story.run / "result.json").read_text()), json.loads(SCHEMA.read_text())
    )
    assert [(step.state, step.concurrency) for step in result.steps] == [
        ("finished", 1),
        ("finished", USERS),
    ]
    for step in result.steps:
        assert step.tally_balances is True
        assert step.seconds >= 0.9
        assert step.tps == pytest.approx(step.events / step.seconds)
        # Events that began before the window or end after it have some of their reads in it.
        assert step.reads == pytest.approx(14 * step.events, abs=2 * 14 * USERS)
        assert not [note for note in step.notes if "latency.hlog" in note]
    assert "sbtest1, sbtest2" in story.of_cleanup
    assert "has no table sbtest1" in story.of_run_without_tables
    assert f"hint:  loadstone prepare --target '{story.person.url}'" in story.of_run_without_tables


@pytest.mark.smoke
def test_a_report_of_a_real_run_has_its_figures(story: Story) -> None:
    said = story.person.loadstone("report", str(story.run), "--markdown").stdout
    page = story.run / "report.html"
    story.person.loadstone("report", str(story.run), "--output", str(page))
    for step in run_folder.load(story.run).steps:
        shown = [count(step.concurrency), rate(step.tps), rate(step.latency.response.p95)]
        (row,) = (line for line in said.splitlines() if line.startswith(f"| {shown[0]} |"))
        assert set(shown) <= set(re.findall(r"[^ |]+", row)), row
        assert all(figure in page.read_text() for figure in shown)


def test_result_and_frame_are_made_of_the_journal(story: Story) -> None:
    assert run_folder.to_json(replay(story.run)) == (story.run / "result.json").read_bytes()
    table = polars.read_parquet(story.run / "load.parquet")
    for step in run_folder.load(story.run).steps:
        inside = table.filter((table["phase"] == "window") & (table["step"] == step.step))
        assert inside["events"].sum() == step.events


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_saves_the_run_and_ends_with_130(prepared: Person, number: signal.Signals) -> None:
    words = ("run", "oltp_read_write", *prepared.target, *ENDLESS, "--concurrency", "2,4")
    with prepared.starts(*words) as running:
        wait_until(lambda: prepared.samples() >= 1, running)
        running.send_signal(number)
        # Without the signal this would take twenty minutes.
        out, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 130, err
    assert "stopped on request" in out
    result = run_folder.load(prepared.only_run())
    assert result.run.state == "stopped"
    assert result.steps[0].events > 0


def test_a_killed_run_shows_everything_up_to_the_last_second(prepared: Person) -> None:
    known = {"load": "phase", "server": "questions", "host": "context_switches"}

    def seconds_of(table: str) -> int:
        said = prepared.loadstone("runs", "export", "last", "--table", table).stdout
        header, *rows = said.splitlines()
        assert known[table] in header.split(","), table
        return len(rows)

    words = ("run", "oltp_read_write", *prepared.target, *ENDLESS, "--concurrency", "2")
    with prepared.starts(*words) as running:
        wait_until(lambda: prepared.samples() >= 2, running)
        wait_until(lambda: all(seconds_of(table) >= 2 for table in known), running)
        assert " running " in prepared.loadstone("runs", "list").stdout
        running.kill()
        running.communicate()
    said = prepared.loadstone("runs", "show", "last").stdout
    assert "interrupted at 20" in said
    assert "step 1 not finished" in said
    (step,) = run_folder.load(prepared.only_run()).steps
    assert step.seconds >= 2
    assert step.tps is not None
    assert step.tps > 0
    for table in known:
        assert seconds_of(table) >= 2, table


def test_without_a_target_a_throwaway_server_is_used_and_gone(tmp_path: Path) -> None:
    need("mariadb")
    person = Person(tmp_path, careful=False)
    words = ("--tables", "1", "--table-size", "100", "--hot-rows", "2", *SHORT)
    assert "a throwaway" in person.loadstone("run", "hot_row", *words).stdout
    facts = json.loads((person.only_run() / "environment.json").read_text())
    assert facts["sandbox"]["settings"]["sync_binlog"] == "1"
    assert not Path(facts["sandbox"]["datadir"]).exists()
    assert facts["targets"][0]["variables"]["innodb_flush_log_at_trx_commit"] == "1"


def test_a_sandbox_that_stays_needs_no_password_typed(tmp_path: Path) -> None:
    need("mariadb")
    person = Person(tmp_path, careful=False)
    started = person.result("sandbox", "start", "--name", "stays")
    try:
        where = f"mysql://loadstone@127.0.0.1:{started['port']}/sbtest"
        person.loadstone("prepare", "--target", where, "--tables", "1", "--table-size", "100")
        person.loadstone("run", "oltp_point_select", "--target", where, *SHORT)
    finally:
        person.loadstone("sandbox", "stop", "stays")
    facts = json.loads((person.only_run() / "environment.json").read_text())
    assert facts["sandbox"]["name"] == "stays"
    disk = facts["generator"]["disks"]["sandbox"]
    assert disk["path"].startswith(str(tmp_path))
    # After a chroot no line of the mount table holds the folder.
    assert bool(disk["file_system"]) == bool(disk["mount"])


@dataclass(frozen=True)
class Asked:
    """A run of two users, as JSON: the connection options asked for, and the result."""

    tls: bool
    compression: str
    result: dict[str, Any]
    agreed: dict[str, Any]

    @property
    def step(self) -> dict[str, Any]:
        (step,) = self.result["steps"]
        return dict(step)


@pytest.fixture(scope="module")
def asked(pool: Pool, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Asked]]:
    made: list[Asked] = []
    with pool.schema() as server:
        for tls, compression in (("required", "zlib"), ("disabled", "zstd,off")):
            person = Person(tmp_path_factory.mktemp("asked"), server, careful=False)
            if not made:
                person.loadstone("prepare", *person.target, *SIZES)
            words = ("--tls", tls, "--compression", compression, "--concurrency", "2", *SHORT)
            result = person.result("run", "oltp_point_select", *person.target, *words)
            facts = json.loads((person.only_run() / "environment.json").read_text())
            made.append(Asked(tls == "required", compression, result, facts["agreed"]))
        yield made


def test_json_on_stdout_and_nothing_else(asked: list[Asked]) -> None:
    for one in asked:
        assert one.step["qps"] == pytest.approx(one.step["tps"])


def test_tls_is_asked_of_the_server(asked: list[Asked]) -> None:
    for one in asked:
        assert one.step["encrypted_users"] == (2 if one.tls else 0)
        assert (one.step["tls"] is not None) == one.tls


def test_compression_is_agreed_on_or_told(asked: list[Asked], prepared: Person) -> None:
    for one in asked:
        compressed, name = (2, "zlib") if one.compression == "zlib" else (0, None)
        (target,) = one.result["run"]["plan"]["targets"]
        assert target["compression"] == one.compression.split(",")
        assert (one.step["compressed_users"], one.step["compression"]) == (compressed, name)
        assert (one.agreed["users"], one.agreed["compressed_users"]) == (2, compressed)
        assert one.agreed["compression"] == name
    only_zstd = ("--target", f"{prepared.url}&compression=zstd")
    refused = prepared.loadstone("run", "oltp_point_select", *only_zstd, code=3).stderr
    assert "compression: zstd is asked for, and the server offers zlib (2066)" in refused
    assert "hint:  leave --compression out" in refused


def test_a_wrong_password_is_one_line(person: Person, own_schema: Sandbox) -> None:
    place = f"{own_schema.tcp.target.host}:{own_schema.port}"
    wrong = f"mysql://{own_schema.tcp.target.user}:geheim@{place}/sbtest"
    said = person.loadstone("run", "oltp_read_write", "--target", wrong, code=3).stderr
    assert said.startswith(f"error: {place} refused user")
    assert "geheim" not in said


def test_more_users_than_the_server_takes_are_refused_at_once(prepared: Person) -> None:
    ((before,),) = prepared.rows("SELECT @@max_connections")
    prepared.rows("SET GLOBAL max_connections = 50")
    try:
        words = ("run", "oltp_read_write", *prepared.target, "--concurrency", "1,64", *SHORT)
        said = prepared.loadstone(*words, code=3).stderr
    finally:
        prepared.rows(f"SET GLOBAL max_connections = {before}")
    assert "64 users do not fit" in said
    assert "has max_connections 50" in said


def test_tables_that_are_fewer_than_asked_are_said(prepared: Person) -> None:
    fewer = ("--tables", "1", "--table-size", "500", *SHORT)
    said = prepared.loadstone("run", "oltp_point_select", *prepared.target, *fewer).stdout
    assert prepared.server is not None
    schema = prepared.server.state.database
    assert f"--tables 1, and schema {schema} has 2 of them" in said
    assert "--table-size 500, and sbtest1 has 1000 rows" in said


def test_keys_beyond_the_tables_are_refused(prepared: Person) -> None:
    more = ("--table-size", "1m", *SHORT)
    said = prepared.loadstone("run", "oltp_point_select", *prepared.target, *more, code=3).stderr
    assert "error: --table-size 1000000, and sbtest1 in schema " in said
    assert "has only 1000 rows: keys beyond them would find nothing" in said
    assert "hint:  --table-size 1000 uses the tables as they are; for larger ones first" in said


def test_a_load_is_taken_up_and_another_one_is_refused(prepared: Person) -> None:
    again = prepared.loadstone("prepare", *prepared.target, *SIZES).stdout
    assert "2 tables, 2,000 rows" in again
    assert "2,000 rows; all of them were there already" in again
    for size in ("100", "2000"):
        other = ("--tables", "2", "--table-size", size)
        refused = prepared.loadstone("prepare", *prepared.target, *other, code=7).stderr
        assert "error: table sbtest1 was made with 1000 rows" in refused


def test_a_load_that_was_stopped_goes_on(person: Person) -> None:
    assert person.server is not None
    schema = person.server.state.database
    words = ("prepare", *person.target, "--tables", "2", "--table-size", "100k")

    def has_begun() -> bool:
        made = person.rows(f"SHOW TABLES FROM {schema} LIKE 'sbtest1'")
        return bool(made) and bool(person.rows(f"SELECT 1 FROM {schema}.sbtest1 LIMIT 1"))

    with person.starts(*words) as loading:
        wait_until(has_begun, loading)
        loading.send_signal(signal.SIGINT)
        _, err = loading.communicate(timeout=PATIENCE_S)
    assert loading.returncode == 130, err
    assert "the same command continues where it stopped" in err
    again = person.loadstone(*words).stdout
    assert "2 tables, 200,000 rows; " in again
    assert "; 200,000 loaded" not in again


def test_a_server_that_is_killed_is_an_outage_in_the_run(tmp_path: Path) -> None:
    need("mariadb")
    with start_sandbox(SandboxSpec(server="mariadb", settings=dict(QUICK))) as own:
        person = Person(tmp_path, own, careful=False)
        person.loadstone("prepare", *person.target, *SIZES)
        words = ("run", "oltp_read_write", *person.target, *ENDLESS, "--concurrency", "4")
        with person.starts(*words) as running:
            wait_until(lambda: person.samples() >= 1, running)
            own.kill()
            own.start_again()
            # The outage is recorded once it is over: all users are served again.
            journal = person.only_run() / "journal.jsonl"
            wait_until(lambda: '"kind":"outage"' in journal.read_text(), running)
            running.send_signal(signal.SIGINT)
            out, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 130, err
    assert "outage from" in out
    (step,) = run_folder.load(person.only_run()).steps
    assert step.tally_balances is True
    assert step.reconnects >= 4
    assert step.outages[0].users == 4


def test_a_sale_has_three_tables_that_come_and_go_together(person: Person) -> None:
    assert person.server is not None
    schema = person.server.state.database
    prepare = ("prepare", "hot_row", *person.target, *SIZES)
    run = ("run", "hot_row", *person.target, "--concurrency", "8", *SHORT)
    person.loadstone(*prepare)
    said = person.loadstone(*run).stdout
    assert "row lock" in said
    assert "loadstone recipes run flash-sale measures them" in " ".join(said.split())
    ((sold, ordered),) = person.rows(
        f"USE {schema}",
        "SELECT (SELECT SUM(sold) FROM hot_row1), (SELECT COUNT(*) FROM hot_order1)",
    )
    assert int(sold) == ordered > 0
    person.rows(f"DROP TABLE {schema}.hot_order2")
    missing = person.loadstone(*run, code=3).stderr
    assert "has no table hot_order2" in missing
    assert f"hint:  loadstone prepare hot_row --target '{person.url}'" in missing
    person.loadstone(*run, "--sale=off", "--skip-trx")
    # Tables that were ordered do not prevent preparing again.
    person.loadstone(*prepare)
    gone = person.loadstone("cleanup", *person.target).stdout
    assert all(
        f"{name}{number}" in gone
        for name in ("hot_row", "hot_product", "hot_order")
        for number in (1, 2)
    )
