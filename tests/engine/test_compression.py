"""Compressed connections to real servers: what was agreed, and how many bytes were sent."""

from __future__ import annotations

import pytest

from engine.between import Between
from engine.conftest import on_mariadb, on_mysql
from engine.driving import (
    Document,
    Driving,
    Outcome,
    a_layout,
    a_load,
    a_plan,
    drive,
    events,
    load,
    local,
    once,
    seconds,
    session,
    tcp,
    workload,
)
from engine.servers import loaders, one, rows, variables
from loadstone import engine
from loadstone.model.null_server import NullServerSettings
from loadstone.model.target import Endpoint, Target
from loadstone.sandbox import Sandbox

pytestmark = pytest.mark.server

MARIADB, MYSQL = "mariadb", pytest.param("mysql", "zlib", marks=pytest.mark.mysql)
KINDS = [
    (MARIADB, "zlib"),
    MYSQL,
    pytest.param("mysql", "zstd", marks=pytest.mark.mysql),
]
each_kind = pytest.mark.parametrize(("server", "kind"), KINDS, indirect=["server"])

QUIT_PACKED = 7 + 5
"""Bytes of the quit command, not of the load: too short to be compressed, with the layer's header.
"""


def agreed(outcome: Outcome) -> tuple[int, str | None]:
    assert outcome.connected is not None, outcome.end
    return outcome.connected.compressed_users, outcome.connected.compression


def compressions(sandbox: Sandbox) -> set[str]:
    """The compression that MySQL reports for each connection of the engine."""
    numbers = ", ".join(str(number) for number, _ in loaders(sandbox)) or "0"
    said = rows(
        sandbox,
        "SELECT variable_value FROM performance_schema.status_by_thread JOIN"
        " performance_schema.threads USING (thread_id)"
        f" WHERE variable_name = 'Compression_algorithm' AND processlist_id IN ({numbers})",
    )
    return {str(value) for (value,) in said}


@each_kind
@pytest.mark.parametrize(("mode", "protocol"), [("disabled", "text"), ("required", "prepared")])
def test_a_whole_step_goes_through(quiet: Sandbox, kind: str, mode: str, protocol: str) -> None:
    plan = a_plan(
        tcp(quiet, mode, compression=[kind]), protocol=protocol, users=4, shards=2,
        stop=events(60), workload=workload("oltp_read_write"),
        session=session("SET @x = REPEAT('a', 100)"),
    )  # fmt: skip
    outcome = drive(plan).finished()
    assert agreed(outcome) == (4, kind)
    assert outcome.last.tally.succeeded == 60
    # Four users on one table may well meet in a deadlock.
    assert set(outcome.errors()) <= {"1213"}
    assert outcome.connected is not None
    assert outcome.connected.encrypted_users == (4 if mode == "required" else 0)


@on_mysql
@pytest.mark.parametrize("kind", ["zlib", "zstd"])
def test_the_server_says_the_same(quiet: Sandbox, kind: str) -> None:
    plan = a_plan(local(quiet, compression=[kind]), users=3, stop=seconds(60))
    with Driving(plan) as step:
        step.until_connected()
        assert compressions(quiet) == {kind}
        step.stop()


@each_kind
def test_bytes_are_those_on_the_wire_and_fewer(quiet: Sandbox, kind: str) -> None:
    carried: dict[str, tuple[int, int]] = {}
    for asked in ("off", kind):
        with Between(quiet.port) as between:
            target = tcp(quiet, compression=[asked]) | {"port": between.port}
            ranges = workload("oltp_read_only", range_size=100)
            outcome = drive(a_plan(target, stop=events(20), workload=ranges)).finished()
        counts = outcome.total()
        carried[asked] = (counts.bytes_in, counts.bytes_out)
        # Between also forwarded the login, which is not part of the load.
        assert QUIT_PACKED <= between.to_server - counts.bytes_out < 500
        assert 0 < between.from_server - counts.bytes_in < 500
    assert carried[kind][0] < 0.8 * carried["off"][0]


@each_kind
def test_crumbs_are_put_together(quiet: Sandbox, kind: str) -> None:
    with Between(quiet.port, pieces=True) as between:
        target = tcp(quiet, compression=[kind]) | {"port": between.port}
        ranges = workload("oltp_read_only", range_size=20)
        outcome = drive(a_plan(target, users=2, stop=events(4), workload=ranges)).finished()
    assert (outcome.last.tally.succeeded, outcome.errors()) == (4, {})


@each_kind
def test_more_than_16_mib_goes_both_ways(quiet: Sandbox, kind: str) -> None:
    size = 20 * 1024 * 1024
    with variables(quiet, max_allowed_packet=64 * 1024 * 1024):
        there = f"SET @there = LENGTH('{'ab' * (size // 2)}')"
        back = f"SELECT REPEAT('cd', {size // 2}), RANDOM_BYTES(1000)"
        asked = session(there, f"DO 1 / (@there = {size})", back)
        outcome = drive(a_plan(local(quiet, compression=[kind]), session=asked)).finished()
    assert agreed(outcome) == (1, kind)


@each_kind
@pytest.mark.parametrize("method", ["infile", "insert"])
def test_tables_are_loaded(shared: Sandbox, schema: str, kind: str, method: str) -> None:
    target = tcp(shared, database=schema, compression=[kind])
    plan = a_load(target, method=method, layout=a_layout(2, 5_000))
    end = load(plan).finished().last
    assert (end.rows, end.method) == (10_000, method)
    assert one(shared, "SELECT COUNT(*) FROM sbtest2", schema) == 5_000


@each_kind
def test_an_error_is_the_statements(quiet: Sandbox, kind: str) -> None:
    target = local(quiet, compression=[kind])
    outcome = drive(a_plan(target, workload=workload("oltp_read_only", tables=9), stop=events(50)))
    assert outcome.failure == ("statement_failed", 1146)


@on_mysql
def test_the_first_of_a_list_is_taken(quiet: Sandbox) -> None:
    for wish in (["zlib", "zstd"], ["zstd", "zlib", "off"]):
        assert agreed(drive(a_plan(local(quiet, compression=wish))).finished()) == (1, wish[0])
    assert agreed(drive(a_plan(local(quiet, compression=["off"]))).finished()) == (0, None)
    assert agreed(drive(a_plan(local(quiet, compression=[]))).finished()) == (0, None)


@on_mysql
def test_a_server_may_allow_only_some(quiet: Sandbox) -> None:
    with variables(quiet, protocol_compression_algorithms="zlib,uncompressed"):
        assert agreed(drive(a_plan(local(quiet, compression=["zstd", "zlib"])))) == (1, "zlib")
        assert refusal(local(quiet, compression=["zstd"])).endswith("the server offers zlib")
    with variables(quiet, protocol_compression_algorithms="zstd,uncompressed"):
        assert agreed(drive(a_plan(local(quiet, compression=["zlib", "off"])))) == (0, None)


@on_mariadb
def test_what_the_server_has_not_is_told_at_once(quiet: Sandbox) -> None:
    message = refusal(local(quiet, compression=["zstd"]))
    assert message == "compression: zstd is asked for, and the server offers zlib"
    assert agreed(drive(a_plan(local(quiet, compression=["zstd", "off"])))) == (0, None)


def test_the_null_server_says_that_it_has_none() -> None:
    server = engine.null_server(NullServerSettings())
    endpoint = Endpoint(target=Target(host="127.0.0.1", port=server.port, user="u"))
    message = refusal(endpoint.for_engine() | {"compression": ["zlib", "zstd"]})
    assert message == "compression: zlib or zstd is asked for, and the server offers none"
    server.stop()


def refusal(target: Document) -> str:
    outcome = drive(a_plan(target, connect=once()))
    assert outcome.failure == ("compression_refused", 2066)
    assert outcome.last.error is not None
    return outcome.last.error.message
