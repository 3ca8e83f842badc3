"""What the engine counts, compared with the server's own counters."""

from __future__ import annotations

import pytest

from engine.driving import (
    Document,
    Driving,
    Outcome,
    a_plan,
    drive,
    events,
    local,
    seconds,
    session,
    tcp,
    workload,
)
from engine.servers import asked, counters, grown, loaders, one, rows, variables, wait_until_nobody
from loadstone.sandbox import Sandbox

pytestmark = pytest.mark.server


def by(over: str, sandbox: Sandbox) -> Document:
    """The sandbox's main user over `tcp`, `tls` or `socket`."""
    if over == "socket":
        return local(sandbox)
    return tcp(sandbox, "required" if over == "tls" else "disabled")


def counted(sandbox: Sandbox, plan: Document) -> tuple[Outcome, dict[str, int]]:
    """Run a step; returns it, and by how much the server's counters grew."""
    before = counters(sandbox)
    outcome = drive(plan).finished()
    wait_until_nobody(sandbox)
    after = counters(sandbox)
    return outcome, {name: after[name] - before.get(name, 0) for name in after}


@pytest.mark.parametrize("shards", [1, 2])
@pytest.mark.parametrize("protocol", ["prepared", "text"])
def test_statements_and_events_are_as_many_as_the_server_counts(
    quiet: Sandbox, protocol: str, shards: int
) -> None:
    plan = a_plan(
        tcp(quiet), protocol=protocol, users=1 if shards == 1 else 3, shards=shards,
        stop=events(30), workload=workload("oltp_read_write"),
        # An update to the value that is there changes no row and counts as other: no seed twice.
        seed=2 * shards + len(protocol),
    )  # fmt: skip
    outcome, grew = counted(quiet, plan)
    counts, tally = outcome.total(), outcome.last.tally
    assert (tally.succeeded, tally.failed, counts.events) == (30, 0, 30)
    begun = 30 + counts.restarts
    assert grew["Com_begin"] == begun
    assert grew["Com_commit"] == 30
    if not counts.restarts:
        assert (counts.reads, counts.writes, counts.other) == (14 * 30, 4 * 30, 2 * 30)
    # Every statement that succeeded or failed, and nothing else.
    answered = counts.queries + sum(outcome.errors().values())
    kinds = ("Com_select", "Com_update", "Com_delete", "Com_insert", "Com_begin", "Com_commit")
    assert sum(grew[kind] for kind in kinds) == answered
    assert outcome.of_target(0, "queries") == counts.queries


@pytest.mark.parametrize("over", ["tcp", "tls", "socket"])
def test_prepared_and_text_read_the_same_rows(quiet: Sandbox, over: str) -> None:
    target = by(over, quiet)
    reads = workload("oltp_read_only")
    seen = {}
    for protocol in ("prepared", "text"):
        plan = a_plan(target, protocol=protocol, workload=reads, stop=events(20))
        outcome, grew = counted(quiet, plan)
        counts = outcome.total()
        assert (counts.reads, counts.writes, counts.other) == (14 * 20, 0, 2 * 20)
        seen[protocol] = {name: grew[name] for name in ("Handler_read_key", "Handler_read_next")}
        prepared = grew["Com_stmt_prepare"] if protocol == "text" else 0
        assert prepared == 0
    # The same seed: the same keys, and so the same rows; SHOW STATUS itself reads a few.
    assert seen["prepared"]["Handler_read_next"] > 20 * 4 * 50
    assert seen["prepared"] == pytest.approx(seen["text"], abs=20)


def test_prepared_statements_are_prepared_once_and_closed_with_the_connection(
    quiet: Sandbox, server: str
) -> None:
    plan = a_plan(tcp(quiet), users=2, stop=events(200), workload=workload("oltp_read_write"))
    outcome, grew = counted(quiet, plan)
    # Nine kinds of statements on two tables, BEGIN and COMMIT; MySQL does not prepare BEGIN.
    assert grew["Com_stmt_prepare"] <= 2 * (9 * 2 + 2)
    assert grew["Com_stmt_execute"] >= 17 * 200
    assert one(quiet, "SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'") is not None
    assert rows(quiet, "SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'")[0][1] == "0"
    assert set(outcome.errors()) <= {"1213"}


def test_what_cannot_be_prepared_goes_as_text_and_is_no_error(quiet: Sandbox, server: str) -> None:
    """MySQL refuses to prepare BEGIN (1295); MariaDB prepares it."""
    plan = a_plan(tcp(quiet), stop=events(10), workload=workload("oltp_read_only"))
    outcome, grew = counted(quiet, plan)
    assert outcome.errors() == {}
    assert outcome.errors_said == {}
    assert grew["Com_begin"] == 10
    texts = grew["Com_begin"] + grew["Com_commit"] + grew["Com_select"] - grew["Com_stmt_execute"]
    assert texts >= (10 if server == "mysql" else 0)


@pytest.mark.parametrize("over", ["tcp", "tls", "socket"])
@pytest.mark.parametrize("protocol", ["prepared", "text"])
def test_bytes_are_those_that_the_server_sent_and_received(
    quiet: Sandbox, protocol: str, over: str
) -> None:
    target = by(over, quiet)
    plan = a_plan(target, protocol=protocol, users=2, stop=events(1000))
    outcome, grew = counted(quiet, plan)
    counts = outcome.total()
    # The rest is the login, which is not part of the load, and the answer to SHOW STATUS.
    assert 0 <= grew["Bytes_received"] - counts.bytes_out < 4_000
    assert 0 <= grew["Bytes_sent"] - counts.bytes_in < 60_000
    assert counts.bytes_in > 100_000


def test_mariadb_says_once_what_a_statements_columns_are(quiet: Sandbox, server: str) -> None:
    """An answer has a head (6 bytes), a row (126) and an end (11); a definition takes 50 more."""
    counts = drive(a_plan(tcp(quiet), stop=events(500))).finished().total()
    assert (counts.bytes_in / counts.queries < 160) == (server == "mariadb")


@pytest.mark.parametrize("over", ["tcp", "tls", "socket"])
def test_a_row_and_a_statement_of_more_than_16_mib(quiet: Sandbox, over: str) -> None:
    length = 17 * 1024 * 1024
    target = by(over, quiet)
    init = session(
        f"SELECT REPEAT('a', {length})",
        f"SET @long = LENGTH('{'b' * length}')",
        f"SET @ok = IF(@long = {length}, 1, (SELECT 1 UNION SELECT 2))",
        f"SELECT REPEAT('c', {2**24 - 1 - 4}), REPEAT('d', {2**24 - 1})",
    )
    with variables(quiet, max_allowed_packet=64 * 1024 * 1024):
        outcome = drive(a_plan(target, session=init))
    outcome.finished()
    assert outcome.last.tally.succeeded == 1


def test_a_statement_beyond_what_the_server_takes_is_its_failure(quiet: Sandbox) -> None:
    init = session(f"SET @long = LENGTH('{'b' * (2**20)}')")
    with variables(quiet, max_allowed_packet=2**19):
        outcome = drive(a_plan(tcp(quiet), session=init))
    assert outcome.failure in {("statement_failed", 1153), ("unreachable", 2013)}


class TestSession:
    """The session variables that the engine sets, as the session itself reports them."""

    @pytest.mark.parametrize(
        ("charset", "expected"),
        [("utf8mb4", "utf8mb4"), ("latin1", "latin1"), ("cp1251", "cp1251"), ("ucs2", None)],
    )
    def test_the_character_set_is_in_force(
        self, quiet: Sandbox, charset: str, expected: str | None
    ) -> None:
        outcome = drive(
            a_plan(
                tcp(quiet), session=must_be("character_set_client", expected or "", charset=charset)
            )
        )
        if expected is None:
            assert outcome.failure == ("statement_failed", 1231)
        else:
            outcome.finished()

    @pytest.mark.parametrize("level", ["read-committed", "SERIALIZABLE", "Read Uncommitted"])
    def test_the_isolation_level_is_in_force(self, quiet: Sandbox, level: str) -> None:
        name = "transaction_isolation"
        if rows(quiet, f"SHOW VARIABLES LIKE '{name}'") == []:
            name = "tx_isolation"
        value = level.upper().replace(" ", "-")
        drive(a_plan(tcp(quiet), session=must_be(name, value, isolation=level))).finished()
        wrong = must_be(name, "REPEATABLE-READ", isolation=level)
        assert drive(a_plan(tcp(quiet), session=wrong)).failure == ("statement_failed", 1242)

    def test_statements_are_carried_out_on_every_connection_in_their_order(
        self, quiet: Sandbox
    ) -> None:
        told = session("SET @a = 1", "SET @a = @a + 1", *must_be("@a", "2", user=True)["init_sql"])
        drive(a_plan(tcp(quiet), users=5, stop=events(5), session=told)).finished()

    def test_one_that_fails_is_told_with_its_text(self, quiet: Sandbox) -> None:
        outcome = drive(a_plan(tcp(quiet), session=session("SET @a = 1", "SELEKT 1")))
        assert outcome.failure == ("statement_failed", 1064)
        assert outcome.last.error is not None
        assert outcome.last.error.statement == "SELEKT 1"


def must_be(name: str, value: str, *, user: bool = False, **changes: str) -> Document:
    """A query that fails with 1242, a subquery of two rows, unless the variable has this value."""
    variable = name if user else f"@@SESSION.{name}"
    return session(f"SET @ok = IF({variable} = '{value}', 1, (SELECT 1 UNION SELECT 2))", **changes)


def test_a_users_connections_are_there_while_the_step_runs_and_gone_after_it(
    quiet: Sandbox,
) -> None:
    before = counters(quiet)
    with Driving(a_plan(local(quiet), users=7, stop=seconds(60))) as step:
        step.until_connected()
        assert len(loaders(quiet)) == 7
        step.stop()
    wait_until_nobody(quiet)
    # They quit properly: the server counts none as aborted.
    after = counters(quiet)
    assert grown(before, after, "Aborted_clients") == {"Aborted_clients": 0}
    with quiet.connect() as connection:
        assert asked(connection, "SELECT 1") == [(1,)]
