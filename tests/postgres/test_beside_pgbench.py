"""Debian's pgbench and ours, by the same command lines."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from loadstone.lab.protection.company import beside_others
from loadstone.pgbench.connecting import endpoint_of
from loadstone.pgbench.settings import Place
from postgres.server import Server, as_user

pytestmark = [pytest.mark.server, pytest.mark.slow]

SCRIPTS = {
    "branches": (
        "\\set one random(1, 1)\n\\if :one = 1\nUPDATE pgbench_branches\n"
        "  SET bbalance = bbalance + :step WHERE bid = :one;\n\\else\nSELECT 0;\n\\endif\n"
    ),
    "conflict": (
        "BEGIN ISOLATION LEVEL SERIALIZABLE;\n"
        "UPDATE pgbench_branches SET bbalance = bbalance + 1 WHERE bid = 1;\nEND;\n"
    ),
    "zero": "\\set a 0\nSELECT 1;\nSELECT 1 / :a;\n",
    "divides": "\\set a 1 / 0\nSELECT 1;\n",
    "undefined": "\\set a :b + 1\nSELECT 1;\n",
    "missing": "SELECT * FROM missing;\n",
    "no_row": "SELECT 1 WHERE false \\gset\n",
    "dies": "SELECT pg_terminate_backend(pg_backend_pid());\n",
    "empty": "-- nothing\n",
    "open": "BEGIN;\nSELECT 1;\n",
    "pipeline": "\\startpipeline\nSELECT 1;\nSELECT 2;\n\\endpipeline\n",
    "sleeps": "\\sleep 20 ms\nSELECT 1;\n",
    "aborts": "\\if :client_id = 3\nSELECT 1 / 0;\n\\endif\nSELECT 1;\n",
}


def nightly(line: str) -> Any:
    """A command line of the long form of a test."""
    return pytest.param(line, marks=pytest.mark.nightly)


@dataclass(frozen=True)
class Said:
    """What a program printed, and its exit code."""

    out: str
    err: str
    code: int


@dataclass(frozen=True)
class Beside:
    """Both programs on a server, with a database of their own."""

    server: Server
    database: str
    folder: Path

    def words(self, line: str) -> list[str]:
        for name in SCRIPTS:
            line = line.replace(f"-f {name}", f"-f {self.folder}/{name}")
        place = ["-h", str(self.server.folder), "-p", str(self.server.port), "-U", "postgres"]
        return [*place, *line.replace("DIR", str(self.folder)).split(), self.database]

    def theirs(self, line: str) -> Said:
        program = str(self.server.programs / "pgbench")
        done = subprocess.run(
            [program, *self.words(line)], text=True, capture_output=True, timeout=60
        )
        return Said(done.stdout, done.stderr, done.returncode)

    def ours(self, line: str) -> Said:
        done = called("pgbench", *self.words(line), folder=self.folder, code=None)
        return Said(done.stdout, done.stderr, done.returncode)

    def both(self, line: str) -> tuple[Said, Said]:
        return self.theirs(line), self.ours(line)

    def asked(self, sql: str) -> list[list[str]]:
        return self.server.asked(sql, self.database)


@pytest.fixture
def beside(server: Server, database: str, tmp_path: Path) -> Beside:
    """Both programs, and an empty database."""
    for name, text in SCRIPTS.items():
        (tmp_path / name).write_text(text)
    return Beside(server, database, tmp_path)


@pytest.fixture
def filled(beside: Beside) -> Beside:
    """The same with pgbench's tables."""
    assert beside.theirs("-i -q").code == 0
    return beside


def masked(text: str) -> list[str]:
    """The lines without what differs from run to run."""
    lines = [line for line in text.splitlines() if not re.match(r"LINE \d|\s+\^", line)]
    lines = [re.sub(r"^pgbench \(15.*\)$", "pgbench (15)", line) for line in lines]
    return [re.sub(r" +", " ", re.sub(r"\d+(\.\d+)?", "#", line)) for line in lines]


def without_progress(lines: list[str]) -> list[str]:
    return [line for line in lines if not line.startswith("progress:")]


@pytest.mark.parametrize(
    "line",
    [
        "-c 2 -t 5",
        "-n -c 3 -j 2 -t 5 -r -b tpcb@2 -S -b si@0",
        nightly("-n -c 2 -t 5 --failures-detailed --max-tries=3 -N -v -S -r"),
        "-n -c 2 -R 200 -L 500 -T 2 -P 1 -r -S --random-seed=7",
        nightly("-n -c 2 -T 2 -P 1 --progress-timestamp --max-tries=0 -S"),
        "-n -C -c 2 -t 3 -S -M prepared -s 7",
        "-t 3 -f branches -D step=3 -s 7 -r",
        "-n -t 3 -M extended -f pipeline -r",
    ],
)
def test_reports_are_the_same(filled: Beside, line: str) -> None:
    theirs, ours = filled.both(line)
    assert theirs.code == ours.code == 0, ours.err
    assert masked(ours.out) == masked(theirs.out)
    said, wanted = masked(ours.err), masked(theirs.err)
    assert without_progress(said) == without_progress(wanted)
    if "-P" in line:
        # Whether the last interval still gets its line is a matter of chance in pgbench.
        assert {each for each in said if each.startswith("progress:")} == {
            each for each in wanted if each.startswith("progress:")
        }


@pytest.mark.parametrize(
    "line",
    [
        "-n -c 2 -t 3 -f zero",
        "-n -t 3 -f divides",
        nightly("-n -t 3 -f undefined -M prepared"),
        "-n -t 3 -f missing",
        nightly("-n -t 3 -f no_row"),
        "-n -t 3 -f dies",
        "-n -t 3 -f open",
        nightly("-t 3 -f zero -v"),
        nightly("-n -t 1 -f empty"),
        "-n -t 1",
        "-n -t 1 -p 1",
        nightly("-n -t 1 -U nobody"),
        "-i -I t --tablespace=missing",
        nightly("-i -I p --index-tablespace=missing"),
    ],
)
def test_what_fails_is_said_in_the_same_words(beside: Beside, line: str) -> None:
    theirs, ours = beside.both(line)
    assert ours.code == theirs.code != 0
    assert masked(ours.out) == masked(theirs.out)
    statements = re.compile(r"(Query was: ).*")
    said, wanted = (statements.sub(r"\1", one.err) for one in (ours, theirs))
    # Clients that run at once fail in any order.
    assert sorted(masked(said)) == sorted(masked(wanted))


@pytest.mark.parametrize("script", ["branches -D step=3", "sleeps"])
def test_what_is_executed_is_shown_by_the_same_words(filled: Beside, script: str) -> None:
    theirs, ours = (
        [line for line in said.err.splitlines() if "executing \\" in line]
        for said in filled.both(f"-n -t 2 -d -f {script}")
    )
    assert ours == theirs
    assert ours


@pytest.mark.parametrize("line", ["-n -t 1", "-t 3 -f divides -v", "-i -I d"])
def test_all_that_the_server_says_before_a_run_is_shown(beside: Beside, line: str) -> None:
    if "-i" in line:
        beside.asked("CREATE VIEW pgbench_accounts AS SELECT 1 AS aid")
    theirs, ours = beside.both(line)
    assert ours.code == theirs.code != 0
    said, wanted = (re.sub("Query was: .*", "", each.err) for each in (ours, theirs))
    assert said == wanted
    assert any(word in said for word in ("LINE 1: ", "HINT:  ", "(ignoring this error"))


def test_a_run_ends_with_the_first_client_that_is_aborted(beside: Beside) -> None:
    done = beside.ours("-n -c 4 -j 2 -T 60 --exit-on-abort -f aborts")
    assert (done.code, done.out.count("\n")) == (2, 1)
    aborted, why = done.err.splitlines()
    assert aborted.startswith("pgbench: error: client 3 script 0 aborted in command 1 query 0: ")
    assert why == "pgbench: error: Run was aborted due to an error in thread 1"


def test_too_many_clients_are_refused(filled: Beside) -> None:
    theirs, ours = filled.both("-n -S -c 60 -t 1")
    assert ours.code == theirs.code == 1
    assert masked(theirs.err)[0] in masked(ours.err)


@pytest.mark.parametrize(
    "line",
    [
        "-i -s 2 --foreign-keys",
        "-i -q -n -F 70 --partitions=3 --unlogged-tables",
        "-i -I dtGvpf --partitions=2 --partition-method=hash",
        nightly("-i -I dtgGp --tablespace=pg_default --index-tablespace=pg_default"),
    ],
)
def test_the_tables_are_the_same(beside: Beside, line: str) -> None:
    found = []
    for program in (beside.theirs, beside.ours):
        done = program(line)
        assert done.code == 0, done.err
        beside.asked("GRANT SELECT ON ALL TABLES IN SCHEMA public TO PUBLIC")
        found.append((dumped(beside), rows(beside), progress_once(masked(done.err))))
        # The second time there are tables to drop, and the server has nothing to remark.
        beside.asked(
            "DROP TABLE pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers"
        )
    assert found[0] == found[1]


def dumped(beside: Beside) -> list[str]:
    """The definition of all tables."""
    server = beside.server
    words = ["pg_dump", "-s", "-U", "postgres", "-h", str(server.folder), "-p", str(server.port)]
    done = subprocess.run(
        [*as_user(), str(server.programs / words[0]), *words[1:], beside.database],
        text=True, capture_output=True, check=True,
    )  # fmt: skip
    # Lines with a backslash have a key that is drawn each time.
    return [line for line in done.stdout.splitlines() if not line.startswith("\\")]


def rows(beside: Beside) -> list[list[str]]:
    """What is in the tables."""
    sums = ", ".join(
        f"(SELECT md5(coalesce(string_agg(t::text, ',' ORDER BY t::text), '')) FROM {table} AS t)"
        for table in ("pgbench_accounts", "pgbench_branches", "pgbench_tellers", "pgbench_history")
    )
    return beside.asked(f"SELECT {sums}")


def progress_once(lines: list[str]) -> list[str]:
    return list(dict.fromkeys(lines))


@pytest.mark.parametrize(
    "line",
    [
        "-c 3 -j 2 -t 3 -S",
        "-c 2 -T 1 -R 300 -L 15 --max-tries=2 -S -f sleeps",
        "-c 4 -T 1 -f conflict --failures-detailed --sampling-rate=0.9",
        nightly("-c 4 -t 40 -f conflict"),
        nightly("-c 2 -T 3 --aggregate-interval=1 -S"),
    ],
)
def test_log_files_have_the_same_form(filled: Beside, line: str) -> None:
    forms = []
    for name, program in (("theirs", filled.theirs), ("ours", filled.ours)):
        done = program(f"-n -l --log-prefix=DIR/{name} {line}")
        assert done.code == 0, done.err
        files = sorted(
            filled.folder.glob(f"{name}.*"), key=lambda path: (len(path.name), path.name)
        )
        lines = {each for path in files for each in masked(path.read_text())}
        ends = [path.name.removeprefix(files[0].name) for path in files]
        forms.append((ends, lines))
    assert forms[0] == forms[1]


@pytest.mark.smoke
def test_counts_are_what_the_server_has_done(filled: Beside) -> None:
    line = "-n -c 4 -t 50 -f conflict --max-tries=3 --failures-detailed -r -l --log-prefix=DIR/log"
    said = filled.ours(line).out
    ((balance,),) = filled.asked("SELECT bbalance FROM pgbench_branches")

    def count(name: str) -> int:
        found = re.search(rf"{name}: (\d+)", said)
        assert found, said
        return int(found[1])

    assert count("actually processed") == int(balance)
    failed = count("number of failed transactions")
    assert count("actually processed") + failed == 200
    assert count("serialization failures") + count("deadlock failures") == failed
    by_command = [line.split()[:3] for line in said.splitlines() if line.endswith(";")]
    assert sum(int(each[1]) for each in by_command) == failed
    assert sum(int(each[2]) for each in by_command) == count("total number of retries") > 0
    (path,) = filled.folder.glob("log.*")
    logged = [line.split() for line in path.read_text().splitlines()]
    assert len(logged) == 200
    assert sum(int(line[-1]) for line in logged) == count("total number of retries")
    assert sum(line[2] == "serialization" for line in logged) == failed


def test_an_initialization_warns_of_a_run(filled: Beside) -> None:
    place = Place(str(filled.server.folder), str(filled.server.port), "postgres", filled.database)
    with beside_others([endpoint_of(place)]):
        said = filled.ours("-i -I v").err
    warning = f"loadstone: warning: also running in schema {filled.database}: a run of postgres"
    assert said.startswith(warning)


def test_a_run_may_be_kept(filled: Beside) -> None:
    said = filled.ours("-n -c 2 -T 2 -S -N --loadstone-out DIR/runs")
    assert said.code == 0, said.err
    (folder,) = (filled.folder / "runs").iterdir()
    assert f"the run is in {folder}" in said.err
    shown = called("runs", "show", str(folder), folder=filled.folder).stdout
    assert "pgbench" in shown
