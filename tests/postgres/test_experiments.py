"""Experiments on real servers of PostgreSQL, alone and next to another family's."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from pooled import need
from postgres.server import LONGEST_S, Server

pytestmark = [pytest.mark.server, pytest.mark.slow]

HEAD = """
duration = "1s"
warmup = "0s"
ladder = [2]
repeats = 2
"""
COUNTING = '''
[table.counter]
rows = 100
[table.counter.columns]
id = { type = "INT NOT NULL", sequence = true }
hits = { type = "INT NOT NULL", constant = 0 }
[transaction.count]
statements = [{ rows = 1, sql = { mysql = """
  UPDATE counter SET hits = hits + 1 WHERE `id` = :id""", postgresql = """
  UPDATE counter SET hits = hits + 1 WHERE "id" = :id""" } }]
parameters.id = { row = "counter" }
'''
DYNAMIC = """
[factor.plans.usual]
[factor.plans.other]
dynamic = { random_page_cost = 1.5, work_mem = "64MB" }
"""
CHANGED = [["1.5", "64MB"]]
SHOWN = "SELECT current_setting('random_page_cost'), current_setting('work_mem')"


def on_target(server: Server, database: str) -> str:
    url = f"postgresql://postgres@/{database}?host={server.folder}&port={server.port}"
    return f'target = "{url}"{HEAD}[[workload]]\nname = "own.toml"\n{DYNAMIC}'


def kept(server: Server) -> list[str]:
    return sorted((server.folder / "data/postgresql.auto.conf").read_text().splitlines())


def steps_of(folder: Path) -> list[dict[str, Any]]:
    (run,) = (folder / "runs").iterdir()
    found = json.loads((run / "result.json").read_text())["steps"]
    assert {step["state"] for step in found} == {"finished"}
    assert all(step["tps"] > 0 for step in found)
    return list(found)


def are_as_planned(steps: list[dict[str, Any]]) -> bool:
    """Both repeats of both variants; what others disturbed is measured again, beyond them."""
    planned = {(step["variant"], step["repeat"]) for step in steps if step["repeat"] <= 2}
    return len(planned) == 4 and len({variant for variant, _ in planned}) == 2


def test_an_experiment_that_is_killed_is_put_back_and_taken_up(
    server: Server, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    server.asked("ALTER SYSTEM SET work_mem = '5MB';\nSELECT pg_reload_conf()")
    before, file = server.asked(SHOWN), kept(server)
    (tmp_path / "own.toml").write_text(COUNTING)
    (tmp_path / "x.toml").write_text(on_target(server, database))
    words = [sys.executable, "-m", "loadstone", "experiment", "x.toml", "--yes"]
    with (tmp_path / "said").open("w") as said:
        run = subprocess.Popen(words, cwd=tmp_path, stdout=said, stderr=said, env=os.environ)
    try:
        until = time.monotonic() + LONGEST_S
        while server.asked(SHOWN) != CHANGED or not any(
            (tmp_path / "runs").glob("*/journal.jsonl")
        ):
            assert run.poll() is None, (tmp_path / "said").read_text()
            assert time.monotonic() < until
            time.sleep(0.05)
    finally:
        run.send_signal(signal.SIGKILL)
        run.wait(LONGEST_S)
    assert server.asked(SHOWN) == CHANGED
    assert "loadstone restore" in called("resume", "--yes", folder=tmp_path, code=3).stderr
    assert "restored: " in called("restore", folder=tmp_path).stdout
    assert (server.asked(SHOWN), kept(server)) == (before, file)
    called("resume", "--yes", folder=tmp_path)
    assert are_as_planned(steps_of(tmp_path))
    assert (server.asked(SHOWN), kept(server)) == (before, file)
    compared = called("compare", "last", folder=tmp_path).stdout
    assert "work_mem usual 5MB, other 64MB" in " ".join(compared.split())
    server.asked("ALTER SYSTEM RESET ALL;\nSELECT pg_reload_conf()")


def test_ways_of_sending_statements_are_compared_on_one_plan(
    server: Server, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    head, _, _ = on_target(server, database).partition("[[workload]]")
    sent = '[factor.sent.alone]\n[factor.sent.at-once.client]\nprotocol = "pipelined"\n'
    workload = '[[workload]]\nname = "oltp_read_write"\ntables = 1\ntable_size = 1000\n'
    (tmp_path / "x.toml").write_text(f"{head}{workload}{sent}")
    called("experiment", "x.toml", "--yes", folder=tmp_path)
    steps = steps_of(tmp_path)
    assert are_as_planned(steps)
    for step in steps:
        flights = step["statements"].get("flight")
        assert (flights is not None) == (step["variant"] == "sent=at-once"), step["variant"]
        statements = step["reads"] + step["writes"] + step["other"]
        assert flights is None or flights["count"] < statements / 10
    compared = called("compare", "last", folder=tmp_path).stdout
    assert "protocol: alone prepared, at-once pipelined" in " ".join(compared.split())


def test_one_plan_is_measured_on_servers_of_two_families(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("postgresql")
    need("mariadb")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "own.toml").write_text(COUNTING)
    head = f'restore = "none"\n{HEAD}[[workload]]\nname = "own.toml"\n'
    factor = (
        '[factor.server.mariadb]\nsandbox = { server = "mariadb" }\n'
        '[factor.server.postgresql]\nsandbox = { server = "postgresql" }\n'
    )
    (tmp_path / "x.toml").write_text(head + factor)
    said = called("experiment", "x.toml", "--no-observe", folder=tmp_path)
    assert "durability differs" not in said.stdout
    steps = steps_of(tmp_path)
    assert are_as_planned(steps)
    assert not [step["errors"] for step in steps if step["errors"]]
    compared = called("compare", "last", folder=tmp_path).stdout
    assert "transaction_isolation: mariadb REPEATABLE-READ, postgresql read committed" in compared
    assert "(none)" not in compared
    (tmp_path / "own.toml").write_text(COUNTING.replace("postgresql = ", "mysql2 = "))
    said = called("experiment", "x.toml", folder=tmp_path, code=4)
    assert "there is no dialect mysql2" in said.stderr
    only = 'dialect = "mysql"\n[transaction.a]\nstatements = ["SELECT 1"]\n'
    (tmp_path / "own.toml").write_text(only)
    said = called("experiment", "x.toml", folder=tmp_path, code=4)
    assert "own.toml:1: dialect: the file is not for PostgreSQL" in said.stderr


SESSIONS = '''
dialect = "postgresql"
[table.seen]
rows = 2
[table.seen.columns]
id = { type = "INT NOT NULL", sequence = true }
hits = { type = "INT NOT NULL", constant = 0 }
[transaction.count]
statements = [{ rows = 1, sql = """
  UPDATE seen SET hits = hits + 1
  WHERE id = CASE current_setting('work_mem') WHEN '64MB' THEN 2 ELSE 1 END""" }]
'''
"""Counts transactions by what their session has."""

MEMORY = "[factor.memory.usual]\n[factor.memory.large]\n"


def test_a_session_has_its_settings_and_the_server_does_not(
    server: Server, database: str, tmp_path: Path
) -> None:
    url = f"postgresql://postgres@/{database}?host={server.folder}&port={server.port}"
    before, file = server.asked(SHOWN), kept(server)
    (tmp_path / "own.toml").write_text(SESSIONS)
    called("prepare", "own.toml", "--target", url, folder=tmp_path)
    head = f'target = "{url}"\nrestore = "none"{HEAD}[[workload]]\nname = "own.toml"\n{MEMORY}'
    (tmp_path / "x.toml").write_text(head + 'session = { work_mem = "64MB" }\n')
    plan = called("experiment", "x.toml", "--dry-run", folder=tmp_path).stdout
    assert "memory=large: each connection of the load sets work_mem = 64MB for itself" in plan
    # It changes nothing for others, so that it takes no consent.
    called("experiment", "x.toml", folder=tmp_path)
    steps_of(tmp_path)
    assert (server.asked(SHOWN), kept(server)) == (before, file)
    hits = server.asked("SELECT hits > 0 FROM seen WHERE id < 3 ORDER BY id", database)
    assert hits == [["t"], ["t"]]
    called("report", "last", "-o", "page.html", folder=tmp_path)
    assert "session work_mem = 64MB" in (tmp_path / "page.html").read_text()
    assert "session work_mem" in called("compare", "last", folder=tmp_path).stdout


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("wrk_mem = 1", "the server has no such variable"),
        ('work_mem = "sixty"', "a session cannot set it: "),
        ('shared_buffers = "64MB"', "a session cannot set it: "),
    ],
)
def test_what_a_session_cannot_set_is_refused_by_line_before_anything_is_made(
    server: Server, database: str, tmp_path: Path, setting: str, why: str
) -> None:
    url = f"postgresql://postgres@/{database}?host={server.folder}&port={server.port}"
    (tmp_path / "own.toml").write_text(SESSIONS)
    head = f'target = "{url}"{HEAD}[[workload]]\nname = "own.toml"\n{MEMORY}'
    text = f"{head}session = {{ {setting} }}\n"
    (tmp_path / "x.toml").write_text(text)
    said = called("experiment", "x.toml", folder=tmp_path, code=4).stderr
    line = len(text.splitlines())
    assert f"x.toml:{line}: factor.memory.large.session.{setting.split()[0]}: {why}" in said
    assert server.asked("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'", database) == [
        ["0"]
    ]
