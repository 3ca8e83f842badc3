"""The page over TLS: what browsers get, and files that cannot be used."""

from __future__ import annotations

import http.client
import socket
import ssl
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from called import called
from loadstone.sandbox.certificates import Certificates, make_certificates
from loadstone.web import serving
from loadstone.web.address import found
from loadstone.web.tls import TlsFiles, TlsRefused
from recorded import recorded_run
from scripted_engine import Script
from web.served import PATIENCE_S, Answer, Served, served


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("tls") / "set")


@pytest.fixture
def files(made: Certificates) -> TlsFiles:
    return TlsFiles(made.cert("server"), made.key("server"))


def trusting(made: Certificates) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(made.ca))


def get(server: Served, made: Certificates, path: str, **headers: str) -> Answer:
    """As a browser that trusts the certificates' authority."""
    connection = http.client.HTTPSConnection(
        "127.0.0.1", server.address.port, timeout=PATIENCE_S, context=trusting(made)
    )
    try:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        names = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, names, response.read())
    finally:
        connection.close()


def test_the_link_opens_the_page_and_its_cookie_is_for_tls_alone(
    tmp_path: Path, made: Certificates, files: TlsFiles, script: Script
) -> None:
    run = recorded_run(tmp_path)
    with served(tmp_path, tls=files) as server:
        assert server.link.startswith(f"https://{server.host}/?token=")
        opened = get(server, made, f"/?token={server.keys.token}")
        assert opened.status == 303
        assert found(tmp_path) == server.link
        cookie = opened.headers["set-cookie"]
        assert {"Secure", "HttpOnly", "SameSite=Strict"} <= set(cookie.split("; "))
        listed = get(server, made, "/api/runs", Cookie=cookie.partition(";")[0])
        assert [one["name"] for one in listed.json["runs"]] == [run.name]
        assert get(server, made, "/api/runs").status == 401


def test_without_tls_the_cookie_is_not_refused_by_the_browser(
    tmp_path: Path, script: Script
) -> None:
    with served(tmp_path) as server:
        cookie = server.get(f"/?token={server.keys.token}", Cookie="").headers["set-cookie"]
        assert "Secure" not in cookie


def test_plain_http_and_old_tls_get_nothing(
    tmp_path: Path, made: Certificates, files: TlsFiles
) -> None:
    with served(tmp_path, tls=files) as server:
        with socket.create_connection(("127.0.0.1", server.address.port), PATIENCE_S) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            try:
                assert b"HTTP" not in plain.recv(4096)
            except ConnectionResetError:
                pass  # as little
        old = trusting(made)
        with pytest.warns(DeprecationWarning):
            old.maximum_version = ssl.TLSVersion.TLSv1_1
        with (
            socket.create_connection(("127.0.0.1", server.address.port), PATIENCE_S) as plain,
            pytest.raises(ssl.SSLError),
        ):
            old.wrap_socket(plain, server_hostname="127.0.0.1")


def test_a_client_that_never_shakes_hands_is_cut_off(
    tmp_path: Path, files: TlsFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "IDLE_S", 0.1)
    with (
        served(tmp_path, tls=files) as server,
        socket.create_connection(("127.0.0.1", server.address.port), PATIENCE_S) as silent,
    ):
        assert silent.recv(1) == b""


def encrypted(key: Path, to: Path) -> Path:
    loaded = serialization.load_pem_private_key(key.read_bytes(), None)
    to.write_bytes(
        loaded.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.BestAvailableEncryption(b"a passphrase"),
        )
    )
    return to


def test_files_that_cannot_be_used_are_named(tmp_path: Path, made: Certificates) -> None:
    cert, key, other = made.cert("server"), made.key("server"), made.key("client")
    cut = tmp_path / "cut.pem"
    cut.write_text(cert.read_text()[:200])
    locked = encrypted(key, tmp_path / "locked.pem")
    missing = tmp_path / "missing.pem"
    for certificate, its_key, why in [
        (missing, key, f"cannot read {missing}: No such file or directory"),
        (cert, missing, f"cannot read {missing}: No such file or directory"),
        (key, key, f"{key} has no certificate in PEM form"),
        (cert, cert, f"{cert} has no private key in PEM form"),
        (cert, other, f"the key in {other} is not that of the certificate in {cert}"),
        (cert, locked, f"the key in {locked} is encrypted"),
        (cut, key, f"cannot use {cut} with {key}: "),
    ]:
        with pytest.raises(TlsRefused) as refused:
            TlsFiles(certificate, its_key).context()
        assert refused.value.message.startswith(why)


@pytest.mark.parametrize("name", ["https://bench.example", "bench.example:443", "bench/"])
def test_a_name_is_that_of_a_host(tmp_path: Path, name: str) -> None:
    refused = called("serve", f"--host-name={name}", folder=tmp_path, code=2)
    assert "is not the name of a host" in refused.stderr


def test_the_command_line_needs_both_files(tmp_path: Path, made: Certificates) -> None:
    cert, key = str(made.cert("server")), str(made.key("server"))
    alone = called("serve", "--tls-cert", cert, folder=tmp_path, code=2)
    assert "--tls-cert needs --tls-key" in alone.stderr
    alone = called("serve", "--tls-key", key, folder=tmp_path, code=2)
    assert "--tls-key needs --tls-cert" in alone.stderr
    words = ("--tls-cert", cert, "--tls-key", str(made.key("client")))
    other = called("serve", *words, folder=tmp_path, code=2)
    assert "is not that of the certificate" in other.stderr
