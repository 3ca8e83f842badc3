"""Scripts of pgbench that run programs amid the load."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from engine.driving import events, seconds
from postgres.server import Server
from postgres.test_pgbench import pgbench, run, scripted

pytestmark = [pytest.mark.server, pytest.mark.slow]

PATIENCE_S = 20.0


@pytest.fixture
def seen(server: Server, database: str) -> str:
    """A database with a table for what the scripts have seen."""
    server.asked("CREATE TABLE seen (value BIGINT)", database)
    server.asked("GRANT ALL ON seen TO PUBLIC", database)
    return database


def test_a_variable_gets_what_pgbench_would_give_it(
    server: Server, seen: str, tmp_path: Path
) -> None:
    script = (
        "\\setshell v expr 40 + :scale\nINSERT INTO seen VALUES (:v);\n"
        "\\setshell v echo ' -7  '; exit 3\nINSERT INTO seen VALUES (:v);\n"
        "\\setshell v printf '8\\n9'\nINSERT INTO seen VALUES (:v);\n"
        f"\\shell echo ::v a:v :v > {tmp_path}/said\n"
    )
    (tmp_path / "script").write_text(script)
    words = ("-n", "-t", "1", "-D", "scale=1", "-f", str(tmp_path / "script"))
    pgbench(server, *words, seen)
    said, found = (tmp_path / "said").read_text(), server.asked("SELECT * FROM seen", seen)
    assert (said, found) == (":v a:v 8\n", [["41"], ["-7"], ["8"]])
    server.asked("TRUNCATE seen", seen)
    run(server, seen, scripted(script), users=1, stop=events(1))
    assert ((tmp_path / "said").read_text(), server.asked("SELECT * FROM seen", seen)) == (
        said, found,
    )  # fmt: skip


def test_users_wait_for_their_own_programs_alone(server: Server, seen: str) -> None:
    load = scripted("\\shell sleep 0.5\nSELECT 1;\n")
    step = run(server, seen, load, users=8, stop=events(8))
    latency = step.latency()["service"]
    assert latency.min is not None
    assert latency.min >= 500_000_000
    assert step.last.seconds < 8 * 0.5


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("\\shell exit 3", "line 1: the program has failed: exit status: 3"),
        ("\\shell /no/such/program", "line 1: the program has failed: exit status: 127"),
        ("\\setshell v echo 1.5", "line 1: the program has printed '1.5', not an integer"),
        ("\\setshell v true", "line 1: the program has printed nothing"),
        ("\\shell echo :nobody", "line 1: there is no variable nobody"),
        (
            "\\startpipeline\nSELECT 2;\n\\shell false\n\\endpipeline",
            "line 3: the program has failed: exit status: 1",
        ),
    ],
)
def test_a_program_that_fails_fails_the_event(
    server: Server, seen: str, script: str, said: str
) -> None:
    load = scripted(f"{script}\nSELECT 1;\n", in_text=False)
    changes = {"protocol": "extended", "on_error": "continue", "stop": events(4)}
    step = run(server, seen, load, **changes)
    assert (step.last.tally.failed, step.errors()) == (4, {"02000": 4})
    assert step.errors_said["02000"].message == said


def test_no_program_has_a_password(
    server: Server, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LOADSTONE_PASSWORD", "LOADSTONE_TOKEN", "PGPASSWORD", "MYSQL_PWD", "OTHER"):
        monkeypatch.setenv(name, "geheim")
    script = "\\setshell v env | grep -c geheim\nINSERT INTO seen VALUES (:v);\n"
    run(server, seen, scripted(script), users=1, stop=events(1))
    assert server.asked("SELECT * FROM seen", seen) == [["1"]]


def runs(process: int) -> bool:
    """Whether it has not ended; a dead one may lie there until somebody clears it away."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_programs_and_what_they_started_end_with_the_step(
    server: Server, seen: str, tmp_path: Path
) -> None:
    numbers = tmp_path / "numbers"
    script = f"\\shell sleep 1000 & echo $$ $! >> {numbers}; wait\nSELECT 1;\n"
    run(server, seen, scripted(script), users=2, stop=seconds(1.0), drain_s=0.1)
    found = [int(number) for number in numbers.read_text().split()]
    assert len(found) == 4
    until = time.monotonic() + PATIENCE_S
    while any(map(runs, found)):
        assert time.monotonic() < until
        time.sleep(0.01)
