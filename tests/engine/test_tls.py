"""Encryption, as the server reports it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.conftest import Start, on_mariadb, on_mysql
from engine.driving import (
    Document,
    Driving,
    Outcome,
    a_plan,
    described,
    drive,
    local,
    once,
    seconds,
    tcp,
)
from engine.servers import account, execute, loaders, one, rows
from engine.truth import null_target
from loadstone.model.records import Connected
from loadstone.model.target import Tls
from loadstone.sandbox import Sandbox
from loadstone.sandbox.certificates import make_certificates

pytestmark = pytest.mark.server


def tls(sandbox: Sandbox, mode: str, host: str = "127.0.0.1", **files: Path | None) -> Document:
    way = described(sandbox.endpoint(tls=Tls(mode=mode, **files)))  # type: ignore[arg-type]
    return way | {"host": host}


def ciphers(sandbox: Sandbox) -> list[str]:
    """The cipher of each connection of the engine, as the server's own status by thread has it."""
    if one(sandbox, "SELECT @@version LIKE '%MariaDB%'"):
        return []
    numbers = ", ".join(str(number) for number, _ in loaders(sandbox)) or "0"
    said = rows(
        sandbox,
        "SELECT variable_value FROM performance_schema.status_by_thread JOIN"
        " performance_schema.threads USING (thread_id)"
        f" WHERE variable_name = 'Ssl_version' AND processlist_id IN ({numbers})",
    )
    return [str(value) for (value,) in said]


@pytest.mark.parametrize(
    ("mode", "over", "encrypted"),
    [
        ("disabled", "tcp", 0),
        ("preferred", "tcp", 4),
        ("required", "tcp", 4),
        ("preferred", "socket", 0),
        ("required", "socket", 4),
    ],
)
def test_a_mode_means_what_the_field_takes_it_for(
    quiet: Sandbox, mode: str, over: str, encrypted: int
) -> None:
    way = quiet.endpoint(over=over, tls=Tls(mode=mode))  # type: ignore[arg-type]
    before = int(rows(quiet, "SHOW GLOBAL STATUS LIKE 'Ssl_accepts'")[0][1])
    with Driving(a_plan(described(way), users=4, stop=seconds(60))) as step:
        connected = step.until_connected().connected
        assert connected is not None
        seen = ciphers(quiet)
        step.stop()
    finished = int(rows(quiet, "SHOW GLOBAL STATUS LIKE 'Ssl_finished_accepts'")[0][1])
    assert connected.encrypted_users == encrypted
    assert finished >= encrypted
    after = int(rows(quiet, "SHOW GLOBAL STATUS LIKE 'Ssl_accepts'")[0][1])
    assert after - before == encrypted
    if seen:
        assert seen == ["TLSv1.3" if encrypted else ""] * 4
    assert (connected.tls or "").startswith("TLSv1.3 TLS_AES" if encrypted else "")
    assert (step.outcome.last.reason, step.outcome.last.error) == ("stopped", None)


def test_the_server_refuses_those_without_encryption_and_takes_those_with(shared: Sandbox) -> None:
    login = {"user": "careful", "password": "careful"}
    with account(shared, "careful", "IDENTIFIED BY 'careful' REQUIRE SSL"):
        assert drive(a_plan(tls(shared, "disabled") | login)).failure == ("login_refused", 1045)
        drive(a_plan(tls(shared, "required") | login)).finished()


class TestCertificates:
    @pytest.fixture
    def strangers(self, tmp_path: Path) -> Path:
        return make_certificates(tmp_path / "strangers").ca

    @pytest.mark.parametrize("mode", ["verify-ca", "verify-identity"])
    @pytest.mark.parametrize("over", ["127.0.0.1", "localhost", "socket"])
    def test_the_right_authority_is_believed(self, shared: Sandbox, mode: str, over: str) -> None:
        ca = shared.certificates.ca
        if over == "socket":
            target = local(shared) | {"tls": tls(shared, mode, ca=ca)["tls"]}
        else:
            target = tls(shared, mode, over, ca=ca)
        outcome = drive(a_plan(target)).finished()
        assert outcome.connected is not None
        assert outcome.connected.encrypted_users == 1

    @pytest.mark.parametrize("mode", ["verify-ca", "verify-identity"])
    def test_another_authority_is_not(self, shared: Sandbox, strangers: Path, mode: str) -> None:
        outcome = drive(a_plan(tls(shared, mode, ca=strangers), connect=once()))
        assert outcome.failure == ("tls_failed", 2026)
        assert "invalid peer certificate" in message(outcome)

    def test_an_authority_is_needed_to_look_at_certificates(self, shared: Sandbox) -> None:
        outcome = drive(a_plan(tls(shared, "verify-ca")))
        assert outcome.failure == ("plan", None)
        assert "tls.ca" in message(outcome)

    def test_a_file_that_holds_no_certificate_is_named(
        self, shared: Sandbox, tmp_path: Path
    ) -> None:
        empty = tmp_path / "empty.pem"
        for text in ("", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"):
            empty.write_text(text)
            outcome = drive(a_plan(tls(shared, "verify-ca", ca=empty)))
            assert outcome.failure == ("plan", None)
            assert str(empty) in message(outcome)

    def test_a_users_certificate_is_shown_to_a_server_that_asks_for_it(
        self, shared: Sandbox
    ) -> None:
        files = shared.certificates
        login = {"user": "known", "password": "known"}
        without = tls(shared, "verify-ca", ca=files.ca)
        shown = tls(
            shared, "verify-ca", ca=files.ca, cert=files.cert("client"), key=files.key("client")
        )
        with account(shared, "known", "IDENTIFIED BY 'known' REQUIRE X509"):
            assert drive(a_plan(without | login)).failure == ("login_refused", 1045)
            drive(a_plan(shown | login)).finished()

    def test_a_certificate_without_its_key_is_refused(self, shared: Sandbox) -> None:
        files = shared.certificates
        half = tls(shared, "required", cert=files.cert("client"))
        outcome = drive(a_plan(half))
        assert outcome.failure == ("plan", None)
        assert "tls.cert and tls.key go together" in message(outcome)

    def test_a_key_of_another_certificate_is_refused(
        self, shared: Sandbox, strangers: Path
    ) -> None:
        files = shared.certificates
        other = strangers.with_name("client-key.pem")
        mixed = tls(shared, "required", cert=files.cert("client"), key=other)
        outcome = drive(a_plan(mixed))
        assert outcome.failure == ("plan", None)
        assert "tls.cert and tls.key" in message(outcome)


def knock(target: Document) -> Connected:
    """Log in to a server that has no tables."""
    outcome = drive(a_plan(target))
    assert outcome.connected is not None, outcome.end
    return outcome.connected


def message(outcome: Outcome) -> str:
    assert outcome.last.error is not None
    return outcome.last.error.message


@on_mariadb
def test_a_certificate_for_another_name_is_refused_by_identity_alone(
    start: Start, tmp_path: Path
) -> None:
    files = certificate_for(tmp_path / "elsewhere", "db1.example.com")
    settings = {
        "ssl_ca": str(files.ca), "ssl_cert": str(files.cert("server")),
        "ssl_key": str(files.key("server")),
    }  # fmt: skip
    sandbox = start(settings)
    assert knock(tls(sandbox, "verify-ca", ca=files.ca)).encrypted_users == 1
    for host in ("127.0.0.1", "localhost"):
        outcome = drive(a_plan(tls(sandbox, "verify-identity", host, ca=files.ca)))
        assert outcome.failure == ("tls_failed", 2026)
        assert "not valid for name" in message(outcome)


def certificate_for(folder: Path, name: str) -> Any:
    """A certificate like the sandbox's own, but for another host."""
    from cryptography import x509

    from loadstone.sandbox import certificates

    with pytest.MonkeyPatch.context() as patch:
        names = x509.SubjectAlternativeName([x509.DNSName(name)])
        patch.setattr(x509, "SubjectAlternativeName", lambda _: names)
        return certificates.make_certificates(folder)


@on_mysql
def test_the_certificates_that_mysql_makes_for_itself_pass_verify_ca(start: Start) -> None:
    sandbox = start({"auto_generate_certs": "ON"}, tls=False)
    ca = sandbox.datadir / "ca.pem"
    assert ca.exists()
    assert knock(tls(sandbox, "verify-ca", ca=ca)).encrypted_users == 1
    refused = drive(a_plan(tls(sandbox, "verify-identity", ca=ca)))
    assert refused.failure == ("tls_failed", 2026)


def test_a_server_without_tls_is_told_at_once() -> None:
    with null_target() as (_, target):
        required = target | {"tls": target["tls"] | {"mode": "required"}}
        assert drive(a_plan(required, connect=once())).failure == ("tls_refused", 2026)
        preferred = knock(target | {"tls": target["tls"] | {"mode": "preferred"}})
    assert (preferred.encrypted_users, preferred.tls) == (0, None)


def test_a_real_server_without_tls_is_told_as_well(server: str, start: Start) -> None:
    off = {"skip_ssl": "1"} if server == "mariadb" else {"tls_version": ""}
    sandbox = start(off, tls=False)
    refused = drive(a_plan(tcp(sandbox, "required"), connect=once()))
    assert refused.failure == ("tls_refused", 2026)
    preferred = knock(tcp(sandbox, "preferred"))
    assert (preferred.encrypted_users, preferred.tls) == (0, None)


@on_mysql
def test_tls_12_alone_is_enough(shared: Sandbox) -> None:
    (before,) = rows(shared, "SELECT @@GLOBAL.tls_version")[0]
    try:
        execute(shared, "SET GLOBAL tls_version = 'TLSv1.2'", "ALTER INSTANCE RELOAD TLS")
        assert (knock(tcp(shared, "required")).tls or "").startswith("TLSv1.2 TLS_ECDHE_")
    finally:
        execute(shared, f"SET GLOBAL tls_version = '{before}'", "ALTER INSTANCE RELOAD TLS")
