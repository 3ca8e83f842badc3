"""The null server behind TLS, with the engine as its client."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from loadstone.families import connect
from loadstone.model.target import Endpoint, Tls
from loadstone.model.target_url import parse_target_url
from loadstone.mysql.facts import describe_server
from loadstone.sandbox.certificates import Certificates, make_certificates
from null_server.conftest import Starter
from null_server.driven import Driven, drive
from null_server.judging import judge, seen_once
from null_server.running import Running, Stamp, quantile

pytestmark = pytest.mark.timeout(600)  # the program may have to be built first

REQUIRED = {"mode": "required"}


class Encrypted:
    """Starts servers that offer TLS."""

    def __init__(self, start: Starter, files: Certificates) -> None:
        self.start = start
        self.files = files

    def __call__(self, script: dict[str, Any] | None = None, *options: str) -> Running:
        cert, key = str(self.files.cert("server")), str(self.files.key("server"))
        return self.start(script, "--tls-cert", cert, "--tls-key", key, *options)


@pytest.fixture
def encrypted(start: Starter, certificates: Certificates) -> Encrypted:
    return Encrypted(start, certificates)


@pytest.mark.parametrize(
    ("users", "auth"),
    [
        (1, "mysql_native_password"),
        (64, "mysql_native_password"),
        (64, "caching_sha2_password"),
        pytest.param(1000, "caching_sha2_password", marks=pytest.mark.slow),
    ],
)
def test_counts_are_exact(encrypted: Encrypted, users: int, auth: str) -> None:
    server = encrypted(None, "--auth", auth)
    driven = drive(server, users=users, seconds=0.5, tls=REQUIRED)
    assert driven.end.reason == "finished"
    assert driven.connected is not None
    assert driven.connected.encrypted_users == users
    assert (driven.connected.tls or "").startswith("TLSv1.3 TLS_AES")
    status = server.status()
    assert driven.end.tally.succeeded == status["executes"] == status["answered"]
    assert (status["encrypted"], status["prepares"]) == (users, users)
    assert (status["errors"], status["garbled"], status["tls_failed"], status["owed"]) == (0,) * 4
    assert len(server.stamps("execute")) == status["executes"]


@pytest.mark.parametrize("pieces", [1, 100])
def test_records_in_pieces_are_put_together(encrypted: Encrypted, pieces: int) -> None:
    server = encrypted({"pieces": {"bytes": pieces, "login": True}})
    driven = drive(server, users=8, seconds=0.5, tls=REQUIRED)
    assert driven.end.reason == "finished"
    assert driven.end.tally.succeeded == server.status()["answered"] > 0


@pytest.mark.nightly
@pytest.mark.timing
def test_a_slow_line_shows_in_the_latency(encrypted: Encrypted) -> None:
    def step(_: int) -> tuple[Driven, Sequence[Stamp]]:
        server = encrypted({"pieces": {"bytes": 50, "every_us": 8000}})
        driven = drive(server, users=4, seconds=1, judged=True, tls=REQUIRED)
        stamps = server.stamps("execute")
        # The record is four pieces, the first of them at once.
        assert quantile([stamp.took_ns for stamp in stamps], 0.5) >= 23_900_000
        return driven, stamps

    judge(step, "p50", "p90")


def test_a_stall_is_seen_once_by_each_connection(encrypted: Encrypted) -> None:
    server = encrypted(
        {"service": {"kind": "constant", "us": 1000}, "stalls": [{"at_s": 0.3, "for_s": 0.8}]}
    )
    driven = drive(server, users=8, seconds=1.5, tls=REQUIRED)
    seen_once(driven, server.stamps("execute"))


def test_dropped_connections_are_encrypted_again(encrypted: Encrypted) -> None:
    server = encrypted({"drops": [{"kind": "at", "at_s": 0.3, "connections": "all"}]})
    driven = drive(server, users=8, seconds=1.2, tls=REQUIRED)
    status = server.status()
    assert driven.end.reason == "finished"
    assert driven.total("reconnects") == status["dropped"] == 8
    assert status["encrypted"] == 16
    assert driven.end.tally.succeeded == status["answered"]


@pytest.mark.parametrize("by_socket", [False, True])
def test_openssl_agrees(encrypted: Encrypted, certificates: Certificates, by_socket: bool) -> None:
    server = encrypted({"pieces": {"bytes": 100, "login": True}}, "--range-rows", "1000")
    with (
        server.connect(by_socket=by_socket, ssl_ca=str(certificates.ca)) as session,
        session.cursor() as cursor,
    ):
        assert cursor.execute("SELECT c FROM sbtest1 WHERE id BETWEEN 1 AND 1000") == 1000
        assert cursor.execute(f"INSERT INTO sbtest1 (c) VALUES ('{'x' * 100_000}')") == 1
        cursor.execute("SHOW SESSION STATUS LIKE 'Ssl_%'")
        assert dict(cursor.fetchall())["Ssl_version"] == "TLSv1.3"
    assert server.status()["encrypted"] == 1


def test_clients_without_tls_get_in_too(encrypted: Encrypted) -> None:
    server = encrypted()
    driven = drive(server, users=8, seconds=0.5)
    status = server.status()
    assert driven.end.tally.succeeded == status["answered"] > 0
    assert status["encrypted"] == 0


def test_its_certificate_is_looked_at(
    encrypted: Encrypted, certificates: Certificates, tmp_path: Path
) -> None:
    server = encrypted()
    known = {"mode": "verify-identity", "ca": str(certificates.ca)}
    assert drive(server, users=1, seconds=0.2, tls=known).end.reason == "finished"
    stranger = {"mode": "verify-ca", "ca": str(make_certificates(tmp_path / "strangers").ca)}
    end = drive(server, users=1, seconds=0.2, tls=stranger).end
    assert end.error is not None
    assert end.error.kind == "tls_failed"
    assert server.status()["tls_failed"] == 1


def test_loadstone_sees_that_it_is_encrypted(encrypted: Encrypted) -> None:
    server = encrypted()
    target, _ = parse_target_url(f"mysql://u@127.0.0.1:{server.port}/sbtest?tls=required")
    assert target.tls == Tls(mode="required")
    with connect(Endpoint(target=target)) as connection:
        facts = describe_server(connection, target)
    assert facts.cipher.startswith("TLS_AES_")
