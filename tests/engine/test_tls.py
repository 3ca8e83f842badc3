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
    a_load,
    a_plan,
    described,
    drive,
    events,
    load,
    local,
    once,
    seconds,
    tcp,
)
from engine.servers import account, execute, loaders, one, rows
from engine.test_scripts import a_script
from engine.truth import null_target
from loadstone.families import connect
from loadstone.model.records import Connected
from loadstone.model.target import Tls, TlsVersion
from loadstone.sandbox import Sandbox
from loadstone.sandbox.certificates import fingerprint_of, make_certificates
from loadstone.servers.errors import TargetError

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


class TestOldServers:
    """A server that speaks what MySQL did until 2019: rustls has nothing in common with it."""

    OLD_CIPHER = {"tls_version": "TLSv1.2", "ssl_cipher": "ECDHE-ECDSA-AES128-SHA256"}
    SPOKEN = "TLSv1.2 TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256"
    OLD_VERSION = {"tls_version": "TLSv1.1", "ssl_cipher": "DEFAULT:@SECLEVEL=0"}

    @on_mariadb
    def test_their_ciphers_are_spoken_by_both_of_our_clients(self, start: Start) -> None:
        sandbox = start(self.OLD_CIPHER)
        for mode in ("preferred", "required"):
            connected = knock(tls(sandbox, mode))
            assert (connected.encrypted_users, connected.tls) == (1, self.SPOKEN)
            assert (connected.connect_failures, connected.why_in_clear) == ({}, None)
        assert cipher_of(sandbox, Tls(mode="required")) == "ECDHE-ECDSA-AES128-SHA256"

    @on_mariadb
    def test_load_and_tables_go_over_them(self, start: Start) -> None:
        """Answers of several records, statements of several, and many connections at once."""
        sandbox = start(self.OLD_CIPHER)
        target = tls(sandbox, "required")
        load(a_load(target)).finished()
        outcome = drive(a_plan(target, users=16, stop=events(800))).finished()
        assert outcome.connected is not None
        assert outcome.connected.encrypted_users == 16
        assert outcome.last.tally.succeeded == 800

    @on_mariadb
    def test_scripts_connect_over_them(self, start: Start, tmp_path: Path) -> None:
        script = tmp_path / "asks.lua"
        script.write_text(
            "function thread_init() con = sysbench.sql.driver():connect() end\n"
            "function event() con:query('SELECT 1') end\n"
        )
        target = tls(start(self.OLD_CIPHER), "required")
        outcome = drive(a_script(script, target, users=4, stop=events(40))).finished()
        assert outcome.connected is not None
        assert (outcome.connected.encrypted_users, outcome.connected.tls) == (4, self.SPOKEN)
        assert outcome.connected.connect_failures == {}
        assert outcome.total("window", "drain").events == 40

    @on_mariadb
    def test_what_a_server_must_prove_is_the_same(self, start: Start, tmp_path: Path) -> None:
        sandbox = start(self.OLD_CIPHER)
        own, strangers = sandbox.certificates.ca, make_certificates(tmp_path / "strangers")
        for mode in ("verify-ca", "verify-identity"):
            assert knock(tls(sandbox, mode, ca=own)).tls == self.SPOKEN
            refused = drive(a_plan(tls(sandbox, mode, ca=strangers.ca), connect=once()))
            assert refused.failure == ("tls_failed", 2026)
            assert "cannot be verified" in message(refused)
        way = tls(sandbox, "required")
        pinned = {"fingerprint": fingerprint_of(sandbox.certificates.cert("server"))}
        assert knock(way | {"tls": way["tls"] | pinned}).tls == self.SPOKEN
        other = {"fingerprint": fingerprint_of(strangers.cert("server"))}
        refused = drive(a_plan(way | {"tls": way["tls"] | other}, connect=once()))
        assert refused.failure == ("tls_failed", 2026)
        assert "another fingerprint" in message(refused)

    @on_mariadb
    def test_their_versions_are_spoken_where_they_are_named(self, start: Start) -> None:
        sandbox = start(self.OLD_VERSION)
        preferred = knock(tls(sandbox, "preferred"))
        assert preferred.encrypted_users == 0
        assert "versions of TLS that were not allowed" in (preferred.why_in_clear or "")
        assert cipher_of(sandbox, Tls(mode="preferred")) == ""
        refused = drive(a_plan(tls(sandbox, "required"), connect=once()))
        assert refused.failure == ("tls_failed", 2026)
        named = Tls(mode="required", versions=("TLSv1.1",))
        spoken = knock(described(sandbox.endpoint(tls=named)) | {"host": "127.0.0.1"})
        assert (spoken.tls or "").startswith("TLSv1.1 TLS_ECDHE_ECDSA_")
        assert cipher_of(sandbox, named).startswith("ECDHE-ECDSA-")
        with pytest.raises(TargetError, match="TLS failed"):
            cipher_of(sandbox, Tls(mode="required"))

    @pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
    @on_mariadb
    def test_a_version_that_is_named_is_the_one_that_is_spoken(
        self, shared: Sandbox, version: TlsVersion
    ) -> None:
        named = Tls(mode="required", versions=(version,))
        spoken = knock(described(shared.endpoint(tls=named)) | {"host": "127.0.0.1"})
        assert (spoken.tls or "").startswith(f"{version} ")
        is_of_13 = cipher_of(shared, named).startswith("TLS_")
        assert is_of_13 == (version == "TLSv1.3")

    @on_mariadb
    def test_a_cipher_that_only_openssl_has_may_be_named(self, shared: Sandbox) -> None:
        named = Tls(mode="required", ciphers=("ECDHE-ECDSA-AES256-SHA384",))
        spoken = knock(described(shared.endpoint(tls=named)) | {"host": "127.0.0.1"})
        assert spoken.tls == "TLSv1.2 TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384"
        unknown = Tls(mode="required", ciphers=("NULL-MD5",))
        refused = drive(a_plan(described(shared.endpoint(tls=unknown))))
        assert refused.failure == ("plan", None)
        assert message(refused) == "tls.ciphers: none of NULL-MD5 is known"


def cipher_of(sandbox: Sandbox, tls: Tls) -> str:
    """The cipher of a connection for administration, as the server says it."""
    endpoint = sandbox.endpoint(tls=tls)
    target = endpoint.target.model_copy(update={"host": "127.0.0.1"})
    connection = connect(endpoint.model_copy(update={"target": target}))
    with connection, connection.cursor() as cursor:
        cursor.execute("SHOW SESSION STATUS LIKE 'Ssl_cipher'")
        return str(cursor.fetchone()[1])
