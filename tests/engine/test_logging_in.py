"""Every login method, against servers that have it."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from engine import servers
from engine.conftest import on_mariadb, on_mysql
from engine.driving import (
    Document,
    Driving,
    Outcome,
    a_plan,
    connecting,
    described,
    drive,
    local,
    once,
    seconds,
    tcp,
)
from engine.servers import execute, loaders, methods_of, rows
from loadstone.model.target import Tls
from loadstone.sandbox import Sandbox

pytestmark = pytest.mark.server

each_method = pytest.mark.parametrize(
    ("server", "method"),
    [
        ("mariadb", "mysql_native_password"),
        ("mariadb", "ed25519"),
        pytest.param("mysql", "caching_sha2_password", marks=pytest.mark.mysql),
        pytest.param("mysql", "sha256_password", marks=pytest.mark.mysql),
    ],
    indirect=["server"],
)


def account(sandbox: Sandbox, method: str | None, over: str) -> Document:
    tls = Tls(mode="required" if over == "tls" else "disabled")
    return described(sandbox.endpoint(method, "socket" if over == "socket" else "tcp", tls))


def log_in(target: Document) -> Outcome:
    return drive(a_plan(target))


@pytest.mark.parametrize("over", ["tcp", "tls", "socket"])
@each_method
def test_a_user_of_each_method_logs_in_over_each_transport(
    shared: Sandbox, server: str, method: str, over: str
) -> None:
    if method not in methods_of(server):
        pytest.skip("its plugin is not here: tools/get-mariadb-plugins")
    target = account(shared, method, over)
    execute(shared, "FLUSH PRIVILEGES")  # the cache of caching_sha2_password is empty after it
    for _ in ("the password itself", "its hash where the server keeps a cache"):
        outcome = log_in(target).finished()
        assert outcome.connected is not None
        assert outcome.connected.encrypted_users == (over == "tls")
        assert outcome.last.tally.succeeded == 1


@pytest.mark.parametrize("over", ["tcp", "tls", "socket"])
@each_method
def test_a_wrong_password_is_refused_at_once_in_the_servers_words(
    shared: Sandbox, server: str, method: str, over: str
) -> None:
    if method not in methods_of(server):
        pytest.skip("its plugin is not here: tools/get-mariadb-plugins")
    target = account(shared, method, over)
    execute(shared, "FLUSH PRIVILEGES")
    outcome = drive(a_plan(target | {"password": "wrong"}, connect=once()))
    assert outcome.failure == ("login_refused", 1045)
    error = outcome.last.error
    assert error is not None
    assert error.sql_state == "28000"
    assert error.message.startswith(f"Access denied for user '{target['user']}'@")
    assert "using password: YES" in error.message


@on_mysql
class TestCachingSha2Password:
    """Which key encrypts the password, distinguished by keys that are not the server's."""

    @pytest.fixture
    def target(self, shared: Sandbox) -> Document:
        execute(shared, "FLUSH PRIVILEGES")
        return account(shared, "caching_sha2_password", "tcp")

    @pytest.fixture
    def strange_key(self, tmp_path: Path) -> Path:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import rsa

        public = rsa.generate_private_key(public_exponent=65537, key_size=2048).public_key()
        path = tmp_path / "strange.pem"
        encoding, style = serialization.Encoding.PEM, serialization.PublicFormat
        path.write_bytes(public.public_bytes(encoding, style.SubjectPublicKeyInfo))
        return path

    def test_a_key_that_is_given_is_the_one_that_is_used(
        self, shared: Sandbox, target: Document, strange_key: Path
    ) -> None:
        refused = log_in(target | {"server_public_key": str(strange_key)})
        assert refused.failure == ("login_refused", 1045)
        name = "Caching_sha2_password_rsa_public_key"
        own_key = strange_key.with_name("own.pem")
        own_key.write_text(rows(shared, f"SHOW STATUS LIKE '{name}'")[0][1])
        log_in(target | {"server_public_key": str(own_key)}).finished()

    def test_after_a_full_login_the_next_needs_no_key(
        self, target: Document, strange_key: Path
    ) -> None:
        log_in(target).finished()
        log_in(target | {"server_public_key": str(strange_key)}).finished()

    def test_under_tls_and_over_the_socket_no_key_is_needed(
        self, shared: Sandbox, target: Document, strange_key: Path
    ) -> None:
        key = {"server_public_key": str(strange_key)}
        method = "caching_sha2_password"
        log_in(account(shared, method, "tls") | key).finished()
        execute(shared, "FLUSH PRIVILEGES")
        log_in(account(shared, method, "socket") | key).finished()

    def test_a_key_file_that_is_none_is_named(self, target: Document, tmp_path: Path) -> None:
        missing = tmp_path / "missing.pem"
        outcome = log_in(target | {"server_public_key": str(missing)})
        assert outcome.failure == ("plan", None)
        assert outcome.last.error is not None
        assert str(missing) in outcome.last.error.message
        missing.write_text("no key")
        outcome = log_in(target | {"server_public_key": str(missing)})
        assert outcome.failure[0] == "plan"


@pytest.mark.parametrize("over", ["tcp", "tls", "socket"])
def test_an_empty_password_is_one_too(shared: Sandbox, over: str) -> None:
    target = account(shared, None, over)
    with servers.account(shared, "nobody"):
        log_in(target | {"user": "nobody", "password": ""}).finished()
        refused = log_in(target | {"user": "nobody", "password": "something"})
    assert refused.failure == ("login_refused", 1045)


@on_mariadb
def test_a_method_that_is_not_built_is_named(shared: Sandbox, server: str) -> None:
    if "ed25519" not in methods_of(server):
        pytest.skip("no plugin is here: tools/get-mariadb-plugins")
    execute(
        shared,
        "INSTALL SONAME 'auth_pam_v1'",
        "CREATE OR REPLACE USER strange@'%' IDENTIFIED VIA pam",
    )
    try:
        outcome = log_in(tcp(shared) | {"user": "strange", "password": "secret"})
    finally:
        execute(shared, "DROP USER strange@'%'", "UNINSTALL SONAME 'auth_pam_v1'")
    assert outcome.failure == ("not_supported", 2059)
    assert outcome.last.error is not None
    assert "dialog" in outcome.last.error.message


@pytest.mark.parametrize("over", ["tcp", "socket"])
def test_an_unknown_schema_and_an_unknown_user_are_told_apart(shared: Sandbox, over: str) -> None:
    target = local(shared) if over == "socket" else tcp(shared)
    unknown = log_in(target | {"database": "no_such_schema"})
    assert unknown.failure == ("unknown_database", 1049)
    assert unknown.last.error is not None
    assert "no_such_schema" in unknown.last.error.message
    assert log_in(target | {"user": "no_such_user"}).failure == ("login_refused", 1045)


def test_a_login_without_a_schema_is_one_without(shared: Sandbox) -> None:
    outcome = log_in(tcp(shared) | {"database": None})
    assert outcome.failure == ("statement_failed", 1046)
    empty = log_in(tcp(shared) | {"database": ""})
    assert empty.failure == ("statement_failed", 1046)


@on_mysql
def test_the_server_sees_who_is_loading_it(quiet: Sandbox) -> None:
    table = "performance_schema.session_connect_attrs"
    with Driving(a_plan(tcp(quiet), stop=seconds(60))) as step:
        step.until_connected()
        (number, _), *_ = loaders(quiet)
        said = rows(
            quiet, f"SELECT attr_name, attr_value FROM {table} WHERE processlist_id = {number}"
        )
        step.stop()
    seen = dict(said)
    assert seen["program_name"] == "loadstone"
    assert seen["_pid"] == str(os.getpid())


def test_a_closed_port_and_a_missing_socket_are_unreachable_at_once(tmp_path: Path) -> None:
    import socket

    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        nobody: Document = {
            "host": "127.0.0.1", "port": port, "socket": None, "user": "u", "password": "",
            "database": None, "server_public_key": None,
            "tls": {"mode": "preferred", "ca": None, "cert": None, "key": None},
        }  # fmt: skip
        patient = connecting(timeout_s=60.0)
        began = time.monotonic()
        assert drive(a_plan(nobody, connect=patient)).failure == ("unreachable", 2003)
        missing = nobody | {"socket": str(tmp_path / "none.sock")}
        assert drive(a_plan(missing, connect=patient)).failure == ("unreachable", 2002)
        assert time.monotonic() - began < 20
        unknown = nobody | {"host": "no-such-host.invalid"}
        assert log_in(unknown).failure == ("unknown_host", 2005)
