"""Another session holds what the load needs: its share of the users' time is the truth."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from loadstone.families import connect
from loadstone.model.target import Endpoint
from loadstone.runs.account import ENOUGH_LOOKS
from postgres.diagnosed import accused, diagnosed
from postgres.server import Server, standby_of
from postgres.sessions import DEADLINE_S, did
from postgres.test_commands import only_run, url
from postgres.test_family import local

pytestmark = [pytest.mark.server, pytest.mark.slow]

ON_S, OFF_S = 0.3, 0.2
TOLERANCE = 0.12
"""A run of three seconds has some sixty looks."""

LONGER_S = (3, 9, 27)
"""A machine with others on it may be too slow for the ten looks that an interval takes."""


@dataclass
class Held:
    """For how long something was held, and for how long it was not."""

    spans: list[tuple[float, float]] = field(default_factory=list)

    def part(self, from_s: float, to_s: float) -> float:
        """The part of a time in which it was held."""
        inside = [min(end, to_s) - max(start, from_s) for start, end in self.spans]
        return sum(max(one, 0.0) for one in inside) / (to_s - from_s)


@contextmanager
def held(at: Endpoint, statement: str) -> Iterator[Held]:
    """A session that takes it again and again."""
    found, over = Held(), threading.Event()

    def work() -> None:
        with connect(at) as session:
            while not over.is_set():
                did(session, "BEGIN")
                did(session, statement)
                start = time.monotonic()
                over.wait(ON_S)
                found.spans.append((start, time.monotonic()))
                did(session, "ROLLBACK")
                over.wait(OFF_S)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join(DEADLINE_S)


class Taken(NamedTuple):
    """What another session takes, and how that is named."""

    statement: str
    cause: str
    place: str


TAKEN = (
    Taken("LOCK TABLE sbtest1", "table-locks", "table lock"),
    Taken("SELECT count(*) FROM (SELECT FROM sbtest1 FOR UPDATE) AS x", "row-locks", "row lock"),
)


@pytest.mark.parametrize("taken", TAKEN, ids=[one.cause for one in TAKEN])
def test_what_another_session_holds_is_named_with_the_time_that_it_takes(
    server: Server, database: str, tmp_path: Path, taken: Taken
) -> None:
    target = ("--target", url(server, database))
    called("prepare", *target, "--tables", "1", "--table-size", "200", folder=tmp_path)
    for seconds in LONGER_S:
        (folder := tmp_path / str(seconds)).mkdir()
        with held(local(server, database), taken.statement) as holder:
            began = time.monotonic()
            called(
                "run", "oltp_update_non_index", *target, "--yes", "--concurrency", "4",
                "--duration", str(seconds), "--warmup", "1", folder=folder,
            )  # fmt: skip
            ended = time.monotonic()
        found, (step,) = diagnosed(only_run(folder))
        if seconds < LONGER_S[-1] and (step.account is None or step.account.looks < ENOUGH_LOOKS):
            continue
        assert [one.cause for one in found][:1] == [taken.cause], [one.sentence for one in found]
        assert step.account is not None
        (entry,) = (one for one in step.account.entries if one.place == taken.place)
        break
    assert entry.low is not None and entry.high is not None
    truth = holder.part(began, ended)
    assert entry.low - TOLERANCE <= truth <= entry.high + TOLERANCE


APPLY_S = 0.02
COMMITS = ("replica", "log sync", "commit", "on core", "waiting for a core")


@contextmanager
def slow_standby(server: Server) -> Iterator[None]:
    """A standby that applies each commit late, and that commits wait for."""
    with standby_of(server, "127.0.0.3") as standby:
        late = f"ALTER SYSTEM SET recovery_min_apply_delay = '{round(APPLY_S * 1000)}ms'"
        standby.asked(f"{late};\nSELECT pg_reload_conf()")
        server.asked(
            "ALTER SYSTEM SET synchronous_standby_names = '*';\n"
            "ALTER SYSTEM SET synchronous_commit = 'remote_apply';\nSELECT pg_reload_conf()"
        )
        try:
            yield
        finally:
            server.asked("ALTER SYSTEM RESET ALL;\nSELECT pg_reload_conf()")


@pytest.mark.nightly
def test_commits_wait_for_a_standby_that_applies_them_late(
    server: Server, database: str, tmp_path: Path
) -> None:
    target = ("--target", url(server, database))
    called("prepare", *target, "--tables", "1", "--table-size", "200", folder=tmp_path)
    with slow_standby(server):
        called(
            "run", "oltp_insert", *target, "--yes", "--concurrency", "4", "--duration", "3",
            "--warmup", "1", folder=tmp_path,
        )  # fmt: skip
    found, (step,) = diagnosed(only_run(tmp_path))
    assert [one.cause for one in found][:1] == ["synchronous-standby"], [
        one.sentence for one in found
    ]
    assert "have applied it" in found[0].sentence
    assert step.account is not None and step.tps is not None
    # From a commit's begin to the standby's answer it takes the delay at least, and a user is at
    # one of these places. Looks are a sample: the upper end is what they do not rule out.
    spent = sum(one.high or one.share for one in step.account.entries if one.place in COMMITS)
    assert spent * step.account.users / step.tps >= APPLY_S
    # How wide its interval is depends on how steady the machine was.
    foretold = found[0].foretold
    assert foretold is not None and foretold.tps > step.tps


BUSY_S = 8
BUSY = f"SET statement_timeout = '{BUSY_S}s'; DO $$ BEGIN LOOP PERFORM 1; END LOOP; END $$"
"""A statement that uses a core for so long."""


@pytest.mark.nightly
def test_another_client_that_works_is_named(server: Server, database: str, tmp_path: Path) -> None:
    target = ("--target", url(server, database))
    called("prepare", *target, "--tables", "1", "--table-size", "200", folder=tmp_path)
    other = threading.Thread(target=server.psql, args=(BUSY, "postgres"))
    other.start()
    called(
        "run", "oltp_point_select", *target, "--yes", "--concurrency", "4", "--duration", "3",
        "--warmup", "1", folder=tmp_path,
    )  # fmt: skip
    other.join(DEADLINE_S)
    found, _ = diagnosed(only_run(tmp_path))
    assert "other-clients" in accused(found), [one.sentence for one in found]


@pytest.mark.nightly
def test_a_transaction_that_stays_open_is_named_where_rows_change(
    server: Server, database: str, tmp_path: Path
) -> None:
    target = ("--target", url(server, database))
    called("prepare", *target, "--tables", "1", "--table-size", "50", folder=tmp_path)
    load = ("--yes", "--concurrency", "4", "--warmup", "6", "--text")
    with connect(local(server, database)) as holder:
        did(holder, "CREATE TABLE mine (id INT)")
        did(holder, "BEGIN")
        did(holder, "INSERT INTO mine VALUES (1)")
        called("run", "oltp_update_non_index", *target, *load, "--duration", "6", folder=tmp_path)
        did(holder, "ROLLBACK")
    found, _ = diagnosed(only_run(tmp_path))
    assert "long-transaction" in [one.cause for one in found], [one.sentence for one in found]
