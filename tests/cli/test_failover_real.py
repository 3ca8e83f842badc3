"""The failover drill on real servers: acknowledged writes after a source is killed for good."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess, Popen
from typing import Any

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from cli.person import PATIENCE_S, Person, wait_until
from loadstone.runs import run_folder
from loadstone.runs.ledger import LEDGER
from loadstone.sandbox import Sandbox, SandboxSpec, start_sandbox
from pooled import KINDS_IN_TURN, Pool, need

pytestmark = [pytest.mark.server, pytest.mark.slow]

USERS = 8


@dataclass(frozen=True)
class Drill:
    """A server that users reach through a link to its socket; the link can lead to another one."""

    first: Sandbox
    home: Path

    @property
    def way(self) -> Path:
        return self.home / "way"

    @property
    def replica(self) -> Sandbox:
        assert self.first.replica is not None
        return self.first.replica

    def lead_to(self, sandbox: Sandbox) -> None:
        fresh = self.home / "fresh"
        fresh.symlink_to(sandbox.socket)
        fresh.replace(self.way)

    @property
    def person(self) -> Person:
        return Person(self.home, self.first)

    def loadstone(self, *words: str, code: int = 0) -> CompletedProcess[str]:
        return self.person.loadstone(*words, code=code)

    @property
    def url(self) -> str:
        return f"mysql://loadstone@localhost/{self.first.state.database}?socket={self.way}"

    def check(self, sandbox: Sandbox, code: int = 0) -> dict[str, Any]:
        """Check which of the last run's entries a server has."""
        words = ("ledger", "check", "last", "--json", "--target", sandbox.tcp.target.url)
        (found,) = json.loads(self.loadstone(*words, code=code).stdout)["steps"]
        return dict(found)

    @contextlib.contextmanager
    def load(self, *words: str) -> Iterator[Popen[str]]:
        """Users that write, once a first entry has been acknowledged."""
        options = ["--target", self.url, "--concurrency", str(USERS), "--warmup", "0s"]
        options += ["--duration", "600s", "--no-observe", *words]
        with self.person.starts("run", "ledger", *options) as run:
            wait_until(self._told, run)
            yield run

    def _told(self) -> bool:
        found = list(self.home.glob(f"runs/*/{LEDGER}"))
        return any(b'"told"' in path.read_bytes() for path in found)


def rows(sandbox: Sandbox, *statements: str) -> list[tuple[Any, ...]]:
    """Those of the last statement."""
    statements = (f"USE {sandbox.state.database}", *statements)
    with sandbox.connect() as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        return list(cursor.fetchall())


class Following:
    """A replica that follows by its server's own statements."""

    def __init__(self, replica: Sandbox) -> None:
        self._replica = replica
        self._word = "SLAVE" if replica.flavour == "mariadb" else "REPLICA"

    def has_applied_all(self) -> bool:
        with self._replica.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"SHOW {self._word} STATUS")
            status = cursor.fetchone()
            assert status is not None
            names = [column[0] for column in cursor.description or ()]
        state = dict(zip(names, status, strict=True))[f"{self._word.title()}_SQL_Running_State"]
        return "has read all relay log" in str(state)

    def cut_the_line(self) -> None:
        rows(self._replica, f"STOP {self._word} IO_THREAD")

    def promote(self) -> None:
        rows(self._replica, f"STOP {self._word} IO_THREAD")
        wait_until(self.has_applied_all)
        rows(self._replica, f"STOP {self._word}", f"RESET {self._word} ALL")


@pytest.fixture(params=KINDS_IN_TURN)
def server(request: pytest.FixtureRequest) -> str:
    return need(request.param)


@pytest.fixture
def drill(pool: Pool, tmp_path: Path) -> Iterator[Drill]:
    """A drill on a server that stays up."""
    with pool.schema() as first:
        yield prepared(first, tmp_path)


def prepared(first: Sandbox, home: Path) -> Drill:
    drill = Drill(first, home)
    drill.lead_to(first)
    # It feeds a replica, in most of these: that is meant, here and in the runs that follow.
    drill.loadstone("prepare", "ledger", "--tables", "2", "--target", drill.url, "--yes")
    return drill


def entries(sandbox: Sandbox) -> int:
    """The number of distinct entries of the only book."""
    counted = (
        f"SELECT COUNT(DISTINCT book, user_no, seq) FROM drill_ledger{table}" for table in (1, 2)
    )
    return sum(int(rows(sandbox, statement)[0][0]) for statement in counted)


def last_of_users(sandbox: Sandbox) -> dict[int, int]:
    """For each user, the greatest number of its entries."""
    found: dict[int, int] = {}
    for table in (1, 2):
        statement = f"SELECT user_no, MAX(seq) FROM drill_ledger{table} GROUP BY user_no"
        found |= {int(user): int(number) for user, number in rows(sandbox, statement)}
    return found


def all_have_more(now: dict[int, int], before: dict[int, int], more: int = 1) -> bool:
    return len(now) == USERS and all(now[user] >= before.get(user, 0) + more for user in now)


@pytest.mark.parametrize("semi_sync", [True, False], ids=["semi-sync", "asynchronous"])
def test_a_source_that_is_gone_for_good_loses_what_its_replica_never_had(
    server: str, semi_sync: bool, tmp_path: Path
) -> None:
    spec = SandboxSpec(server=server, replica=True, semi_sync=semi_sync)
    with start_sandbox(spec) as first:
        drill = prepared(first, tmp_path)
        following = Following(drill.replica)
        wait_until(following.has_applied_all)
        with drill.load("--timeline", "--json") as run:
            if not semi_sync:
                # The replica has to lag: a fast machine may otherwise have sent everything by
                # chance. A user that has written two more entries has had the first one
                # acknowledged.
                following.cut_the_line()
                cut = last_of_users(drill.first)
                wait_until(lambda: all_have_more(last_of_users(drill.first), cut, more=2), run)
            drill.first.kill()
            shutil.rmtree(drill.first.datadir)
            following.promote()
            before = last_of_users(drill.replica)
            drill.lead_to(drill.replica)
            wait_until(lambda: all_have_more(last_of_users(drill.replica), before), run)
            run.send_signal(signal.SIGINT)
            stdout, stderr = run.communicate(timeout=PATIENCE_S)
        assert run.returncode == (130 if semi_sync else 10), stderr
        (step,) = json.loads(stdout)["steps"]
        assert (step["state"], step["tally_balances"]) == ("stopped", True)
        (verdict,) = step["ledger"]
        found = {name: verdict[name] for name in ("twice", "though_refused", "altered")}
        assert found == {"twice": 0, "though_refused": 0, "altered": 0}
        assert verdict["is_complete"] and verdict["acknowledged"] >= step["events"]
        there = entries(drill.replica) - verdict["in_doubt_present"]
        assert verdict["lost"] == verdict["acknowledged"] - there
        assert (verdict["lost"] > 0) == (not semi_sync) == (not verdict["holds"])
        assert verdict["in_doubt_present"] + verdict["in_doubt_absent"] <= USERS
        if not semi_sync:
            assert "the ledger and mysql://" in stderr and " differ: " in stderr
            assert {place["what"] for place in verdict["places"]} == {"lost"}
        # A disk that stands still for a second makes one as well.
        outage = max(step["timeline"]["outages"], key=lambda one: one["outage_ms"])
        assert outage["users"] == USERS
        assert outage["from_s"] <= outage["last_success_s"] < outage["first_success_s"]
        assert outage["first_success_s"] <= outage["to_s"]
        between = 1000 * (outage["first_success_s"] - outage["last_success_s"])
        assert outage["outage_ms"] == pytest.approx(between, abs=0.01)
        assert outage["slowest_ms"] >= outage["median_ms"]
        assert {"CR_SERVER_LOST"} <= {error["name"] for error in outage["errors"]}
        asked = drill.check(drill.replica, code=0 if semi_sync else 10)
        same = ("acknowledged", "lost", "in_doubt_present", "in_doubt_absent", "places")
        assert {name: asked[name] for name in same} == {name: verdict[name] for name in same}
        shown = drill.loadstone("runs", "show", "last").stdout
        assert "  nobody was served for " in shown and "Ledger at" in shown


def test_what_a_killed_generator_was_told_is_there_and_what_was_done_to_it_is_found(
    server: str, pool: Pool, tmp_path: Path
) -> None:
    with pool.schema(server) as first:
        drill = prepared(first, tmp_path)
        with drill.load("--text") as run:
            run.send_signal(signal.SIGKILL)
            run.wait()
        found = drill.check(drill.first)
        assert (found["holds"], found["is_complete"]) == (True, False)
        assert found["acknowledged"] > 0 and found["lost"] == 0
        # A statement that the server had started when its client died may still be committed.
        assert found["untold_present"] <= entries(drill.first) - found["acknowledged"]

        user = "user_no = 1"
        table = "drill_ledger2"
        rows(
            drill.first,
            f"DELETE FROM {table} WHERE {user} AND seq BETWEEN 2 AND 3",
            f"INSERT INTO {table} (book, user_no, seq, amount)"
            f" SELECT book, user_no, seq, amount FROM {table} WHERE {user} AND seq = 1",
            f"UPDATE {table} SET amount = amount + 1 WHERE user_no = 3 AND seq = 1",
        )
        harmed = drill.check(drill.first, code=10)
        assert [harmed[name] for name in ("lost", "twice", "altered")] == [2, 1, 1]
        assert [place for place in harmed["places"] if place["what"] != "untold"] == [
            {"user": 1, "what": "lost", "first": 2, "last": 3},
            {"user": 1, "what": "twice", "first": 1, "last": 1},
            {"user": 3, "what": "altered", "first": 1, "last": 1},
        ]
        words = ("ledger", "check", "last", "--target", drill.first.tcp.target.url)
        said = drill.loadstone(*words, code=10)
        assert "  user 1: entries 2 to 3 acknowledged, but missing\n" in said.stdout
        assert "differ: 2 lost, 1 doubled, 1 altered" in said.stderr


def test_a_server_that_applies_what_it_refused_is_found_out(drill: Drill) -> None:
    words = ("--target", drill.url, "--duration", "500ms", "--warmup", "0s", "--no-observe")
    drill.loadstone("run", "ledger", *words, "--concurrency", "2")
    told = drill.check(drill.first)
    assert (told["holds"], told["is_complete"], told["untold_present"]) == (True, True, 0)
    assert told["sum_expected"] == told["sum_found"] > 0
    # The entry after the last one, which was never acknowledged to the user.
    rows(
        drill.first,
        "INSERT INTO drill_ledger1 (book, user_no, seq, amount) SELECT MAX(book), 0,"
        " MAX(seq) + 1, (MAX(seq) + 1) * 17 MOD 1000 + 1 FROM drill_ledger1",
    )
    found = drill.check(drill.first, code=10)
    assert (found["though_refused"], found["lost"], found["altered"]) == (1, 0, 0)
    (place,) = found["places"]
    assert (place["user"], place["what"]) == (0, "though_refused")


def test_the_rates_of_a_run_with_an_outage_agree_with_the_restarted_servers_counters(
    tmp_path: Path,
) -> None:
    """An acknowledged entry is a commit; the server forgets those of its last moment, no more."""
    with start_sandbox(SandboxSpec(server=need("mariadb"))) as first:
        drill = prepared(first, tmp_path)
        with drill.load("--timeline", "--observe", "--duration", "28s") as run:
            time.sleep(4)
            first.kill()
            time.sleep(5)
            first.start_again()
            out, err = run.communicate(timeout=PATIENCE_S)
        assert run.returncode == 0, err
        (step,) = run_folder.load(drill.person.only_run()).steps
    assert "Outage from" in out
    assert step.server is not None and step.server.commits_per_s and step.tps
    # Without those from the restart on, or over the seconds in which it was up, they would differ
    # by a third or more. Nobody read the counters of its last second.
    assert 0.6 < step.server.commits_per_s / step.tps < 1.15
    assert step.server.seconds == pytest.approx(step.seconds, abs=2)


def test_what_cannot_be_checked_is_said_in_a_line(drill: Drill) -> None:
    target = ("--target", drill.url)
    assert "there are no runs in runs" in drill.loadstone("ledger", "check", *target, code=8).stderr
    assert "with --target" in drill.loadstone("ledger", "check", code=2).stderr
    words = ("--duration", "500ms", "--warmup", "0s", "--no-observe", "--concurrency", "2")
    drill.loadstone("run", "ledger", *target, *words)
    assert (
        "step 7 of runs/ledger-"
        in drill.loadstone("ledger", "check", "--step", "7", *target, code=8).stderr
    )
    rows(drill.first, "DROP TABLE drill_ledger2")
    assert "1146" in drill.loadstone("ledger", "check", *target, code=3).stderr
