"""The engine runs pgbench's scripts as pgbench does: its own built-in ones, on its own tables."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from engine.driving import Document, Outcome, a_plan, drive, events
from loadstone import engine
from loadstone.engine import PlanRefused
from postgres.server import Server
from postgres.test_driving import over_tcp

pytestmark = [pytest.mark.server, pytest.mark.slow]

BUILTIN = ("tpcb-like", "simple-update", "select-only")


def pgbench(server: Server, *words: str) -> str:
    """Run pgbench as the superuser; returns what it prints, its messages included."""
    place = ["-h", str(server.folder), "-p", str(server.port), "-U", "postgres"]
    done = subprocess.run(
        [str(server.programs / "pgbench"), *place, *words],
        text=True, capture_output=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def filled(server: Server, database: str) -> str:
    """A database with pgbench's tables, which everybody may use."""
    pgbench(server, "-i", "-q", "-I", "dtgp", database)
    server.asked("GRANT ALL ON ALL TABLES IN SCHEMA public TO PUBLIC", database)
    return database


def scripted(script: str, **changes: object) -> Document:
    spec = {"script": script, "variables": {"scale": "1"}, "in_text": True} | changes
    return {"name": "pgbench", "pgbench": spec}


def builtin(server: Server, name: str) -> str:
    """The script of that name, as pgbench itself shows it."""
    shown = pgbench(server, "--show-script", name)
    return "\n".join(line for line in shown.splitlines() if not line.startswith("-- "))


def run(server: Server, database: str, load: Document, **changes: object) -> Outcome:
    plan = a_plan(
        over_tcp(server, database), workload=load, protocol="text", users=4, stop=events(200)
    )
    return drive(plan | changes).finished()


@pytest.mark.parametrize("prepared", [False, True])
@pytest.mark.parametrize("name", BUILTIN)
def test_the_builtin_scripts_run(server: Server, filled: str, name: str, prepared: bool) -> None:
    load = scripted(builtin(server, name), in_text=not prepared)
    step = run(server, filled, load, protocol="prepared" if prepared else "text")
    assert step.last.tally.succeeded == 200
    whole = server.asked(
        "SELECT (SELECT sum(abalance) FROM pgbench_accounts) - coalesce(sum(delta), 0), count(*)"
        " FROM pgbench_history",
        filled,
    )
    assert whole == [["0", "0" if name == "select-only" else "200"]]


@pytest.mark.parametrize("mode", ["simple", "prepared", "extended"])
def test_the_server_is_sent_what_pgbench_sends(server: Server, filled: str, mode: str) -> None:
    script = builtin(server, "tpcb-like")
    begun = len(server.log)
    with logged(server, filled):
        pgbench(server, "-n", "-M", mode, "-t", "50", filled)
    pgbenchs, begun = statements(server.log[begun:]), len(server.log)
    with logged(server, filled):
        load = scripted(script, in_text=mode == "simple")
        protocol = "text" if mode == "simple" else mode
        run(server, filled, load, protocol=protocol, users=1, stop=events(50))
    ours = statements(server.log[begun:])
    assert ours == pgbenchs
    assert sum(ours.values()) >= 7 * 50


class logged:
    """All statements in a database are logged meanwhile."""

    def __init__(self, server: Server, database: str) -> None:
        self.server, self.database = server, database

    def __enter__(self) -> None:
        self.server.asked(f"ALTER DATABASE {self.database} SET log_statement = 'all'")

    def __exit__(self, *_: object) -> None:
        self.server.asked(f"ALTER DATABASE {self.database} RESET log_statement")


def statements(log: str) -> Counter[str]:
    """The statements of a load in a log, without their numbers."""
    found = re.findall(r"(?:statement|execute [^:]*): (BEGIN|END|(?:SELECT|UPDATE|INSERT) .*)", log)
    of_load = [text for text in found if "pgbench_" in text or text in ("BEGIN", "END")]
    return Counter(
        re.sub(r"-?\d+", "N", re.sub(r"\$\d+", "$", text)).rstrip(";")
        for text in of_load
        if "count(*)" not in text and "partition" not in text
    )


def test_conditions_variables_and_sleeps(server: Server, filled: str) -> None:
    script = (
        "SELECT :client_id AS me, 41 AS almost \\gset seen_\n"
        "\\set all :seen_almost + 1\n"
        "\\sleep 1 ms\n"
        "\\if :all = 42 and :seen_me < 4\n"
        "INSERT INTO pgbench_history (tid, bid, aid, delta) VALUES (:seen_me, 0, 0, :all);\n"
        "\\else\n"
        "SELECT 1 / 0;\n"
        "\\endif\n"
    )
    step = run(server, filled, scripted(script))
    assert not step.errors()
    kept = server.asked("SELECT DISTINCT tid, delta FROM pgbench_history ORDER BY tid", filled)
    assert kept == [[str(user), "42"] for user in range(4)]
    latency = step.latency()["service"]
    assert latency.min is not None
    assert latency.min >= 1_000_000


def test_a_script_that_fails_says_where(server: Server, filled: str) -> None:
    step = run(
        server, filled, scripted("\\set a 1 / 0\nSELECT 1;"), on_error="continue", stop=events(5)
    )
    found = step.errors_said["02000"]
    assert found.message == "line 1: division by zero"


PIPELINE = """
\\set aid random(1, 100000)
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
\\startpipeline
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
\\sleep 1 ms
INSERT INTO pgbench_history (tid, bid, aid, delta) VALUES (1, 1, :aid, 1);
END;
\\endpipeline
"""

IDS = """
\\startpipeline
INSERT INTO ids SELECT txid_current(), 1;
INSERT INTO ids SELECT txid_current(), 2;
\\syncpipeline
INSERT INTO ids SELECT txid_current(), 3;
\\endpipeline
INSERT INTO ids SELECT txid_current(), 4;
"""


@pytest.mark.parametrize("mode", ["prepared", "extended"])
def test_a_pipeline_is_sent_as_pgbench_sends_it(
    server: Server, filled: str, mode: str, tmp_path: Path
) -> None:
    (tmp_path / "script").write_text(PIPELINE)
    begun = len(server.log)
    with logged(server, filled):
        words = ("-n", "-M", mode, "-t", "20", "-f", str(tmp_path / "script"))
        pgbench(server, *words, filled)
    pgbenchs, begun = statements(server.log[begun:]), len(server.log)
    with logged(server, filled):
        load = scripted(PIPELINE, in_text=False)
        step = run(server, filled, load, protocol=mode, users=1, stop=events(20))
    assert statements(server.log[begun:]) == pgbenchs
    assert sum(pgbenchs.values()) == 6 * 20
    counts = step.total()
    assert (counts.reads, counts.writes, counts.other) == (2 * 20, 2 * 20, 2 * 20)


def test_what_stands_before_a_sync_is_one_transaction(server: Server, filled: str) -> None:
    server.asked("CREATE TABLE ids (id BIGINT, part INT)", filled)
    server.asked("GRANT ALL ON ids TO PUBLIC", filled)
    load = scripted(IDS, in_text=False)
    run(server, filled, load, protocol="extended", users=1, stop=events(1))
    found = server.asked("SELECT string_agg(part::text, '') FROM ids GROUP BY id", filled)
    assert sorted(found) == [["12"], ["3"], ["4"]]


@pytest.mark.parametrize("begins", ["SELECT 1;", "BEGIN;"])
def test_an_error_in_a_pipeline_fails_the_event_and_undoes_what_it_did(
    server: Server, filled: str, begins: str
) -> None:
    script = (
        f"\\startpipeline\n{begins}\nINSERT INTO pgbench_history (tid) VALUES (1);\n"
        "\\sleep 1 ms\nSELECT 1 / 0;\nSELECT 2;\n\\endpipeline\n"
    )
    load = scripted(script, in_text=False)
    step = run(server, filled, load, protocol="prepared", on_error="continue", stop=events(40))
    assert (step.last.tally.failed, step.errors()) == (40, {"22012": 40})
    assert "1 / 0" in (step.errors_said["22012"].statement or "")
    assert server.asked("SELECT count(*) FROM pgbench_history", filled) == [["0"]]
    counts = step.total()
    assert (counts.reads + counts.other, counts.writes) == (
        40 * (2 if begins == "BEGIN;" else 1),
        40,
    )


def test_a_deadlock_in_pipelines_is_tried_again(server: Server, filled: str) -> None:
    update = "UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = "
    script = (
        "\\set a random(1, 3)\n\\set b random(1, 3)\n\\startpipeline\nBEGIN;\n"
        f"{update}:a;\nSELECT pg_sleep(0.01);\n{update}:b;\nEND;\n\\endpipeline\n"
    )
    load = scripted(script, in_text=False)
    step = run(server, filled, load, protocol="extended", users=8, stop=events(40))
    assert set(step.errors()) == {"40P01"}
    found = server.asked("SELECT sum(abalance) FROM pgbench_accounts", filled)
    assert found == [["80"]]


def test_a_pipeline_that_cannot_end_fails_where_it_stands(server: Server, filled: str) -> None:
    load = scripted("\\startpipeline\nSELECT 1;\n\\startpipeline\n", in_text=False)
    step = run(server, filled, load, protocol="extended", on_error="continue", stop=events(5))
    assert step.errors_said["02000"].message == "line 3: a pipeline has started already"
    assert step.total().reads == 5


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"protocol": "text"}, "protocol: pipelines need prepared or extended"),
        ({"family": "mysql"}, "workload: mysql has no pipelines"),
    ],
)
def test_pipelines_need_the_extended_protocol(changes: dict[str, str], said: str) -> None:
    target = {
        "family": changes.get("family", "postgresql"), "host": "127.0.0.1", "port": 1,
        "socket": None, "user": "u", "password": "", "database": "d", "server_public_key": None,
        "tls": {"mode": "disabled"},
    }  # fmt: skip
    load = scripted("\\startpipeline\nSELECT 1;\n\\endpipeline\n", in_text=False)
    protocol = changes.get("protocol", "prepared")
    with pytest.raises(PlanRefused, match=said):
        engine.check_plan(json.dumps(a_plan(target, workload=load, protocol=protocol)))
