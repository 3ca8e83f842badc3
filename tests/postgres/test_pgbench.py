"""The engine runs pgbench's scripts as pgbench does: its own built-in ones, on its own tables."""

from __future__ import annotations

import re
import subprocess
from collections import Counter

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from engine.driving import Document, Outcome, a_plan, drive, events
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
