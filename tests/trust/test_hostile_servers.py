"""Hostile servers, and both of Loadstone's clients: the engine's and PyMySQL."""

from __future__ import annotations

import random
import socket
import ssl
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import SecretStr

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from engine.driving import a_load, a_plan, connecting, described, drive, load, session
from loadstone.cli.errors import exit_code_of
from loadstone.families import connect
from loadstone.lab.step.failures import as_error
from loadstone.model.records import EngineFailure
from loadstone.model.target import Credentials, Endpoint, Target, Tls, TlsMode
from loadstone.mysql import administration
from loadstone.mysql.connect import statement_errors
from loadstone.sandbox.certificates import Certificates, fingerprint_of, make_certificates
from loadstone.servers.connection import Timeouts
from loadstone.servers.errors import TargetError
from trust import hostile
from trust.hostile import OK, Hostile, Peer, Script, greeting, logs_in

SECRET = "unique-Kz8qW3-secret"
PATIENT = Timeouts(connect_s=60, statement_s=60)
HURRIED = Timeouts(connect_s=60, statement_s=0.3)
"""Seconds for a step that would otherwise last for ever."""


# Not known as a server of this host: a tunnel may lead to such a port as well.
LOOPBACK = "127.0.0.1"


def endpoint(server: Hostile, tls: TlsMode | Tls = "preferred", clear: bool = False) -> Endpoint:
    where = {"host": LOOPBACK, "port": server.port, "user": "bench", "database": "shop"}
    how = tls if isinstance(tls, Tls) else Tls(mode=tls)
    target = Target(tls=how, **where)  # type: ignore[arg-type]
    given = {"password": SecretStr(SECRET), "source": "the test", "may_go_in_clear": clear}
    return Endpoint(target=target, credentials=Credentials.model_validate(given))


def administered(
    server: Hostile,
    tls: TlsMode | Tls = "preferred",
    timeouts: Timeouts = PATIENT,
    *,
    clear: bool = False,
) -> TargetError:
    """The outcome of the connection for administration."""
    place = endpoint(server, tls, clear)
    with (
        pytest.raises(TargetError) as refused,
        connect(place, timeouts, database=None) as connection,
        statement_errors(place.target),
        connection.cursor() as cursor,
    ):
        cursor.execute("SELECT name FROM information_schema.tables")
    return refused.value


def driven(server: Hostile, tls: TlsMode | Tls = "preferred", *, clear: bool = False) -> str:
    """The engine's outcome: the error that ends the step."""
    return engine_error(server, tls, clear=clear).message


def engine_error(
    server: Hostile, tls: TlsMode | Tls = "preferred", *, clear: bool = False
) -> EngineFailure:
    told = session("SELECT name FROM t")
    policy = connecting(retries=0, timeout_s=60.0)
    plan = a_plan(described(endpoint(server, tls, clear)), session=told, connect=policy)
    end = drive(plan).last
    assert end.reason == "failed"
    assert end.error is not None
    return end.error


def told(server: Hostile, text: str) -> bool:
    """Whether the server has received it."""
    return text.encode() in b"".join(server.heard)


IN_CLEAR, UNDER_ITS_KEY = hostile.asks_for_the_password_in_clear, hostile.sends_a_key_of_its_own
GIVEN_UP = ("not_supported", "public_key_needed", "password_withheld", "protocol")

GIVE_AWAY: dict[str, Script] = {
    "in clear": IN_CLEAR,
    "in a dialog": hostile.asks_in_a_dialog,
    "under its key": UNDER_ITS_KEY,
    "under its key, older": hostile.sends_a_key_of_its_own_the_older_way,
    "at once": hostile.names_a_method_that_begins_with_the_password,
}


@pytest.mark.parametrize("script", GIVE_AWAY.values(), ids=GIVE_AWAY.keys())
def test_a_password_is_not_given_away_over_an_open_line(script: Script) -> None:
    with Hostile(script) as server:
        error = administered(server)
        said = driven(server)
    assert error.exit_code == 3
    assert error.kind in GIVEN_UP
    words = ("public key", "asks for the password itself", "not supported", "verdict was expected")
    assert any(word in said for word in words), said
    assert any(b"bench" in packet for packet in server.heard)  # it was spoken to
    assert not told(server, SECRET)
    # A value encrypted with a key of 2048 bits has 256 bytes.
    assert 256 not in map(len, server.heard)


def heard_of(certificates: Certificates) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.cert("server"), certificates.key("server"))
    return context


@pytest.fixture(scope="module")
def strangers(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """A self-made certificate: for this host, but signed by no known authority."""
    return make_certificates(tmp_path_factory.mktemp("hostile") / "tls")


@pytest.mark.parametrize("tls", ["disabled", "preferred", "required"])
@pytest.mark.parametrize("script", GIVE_AWAY.values(), ids=GIVE_AWAY.keys())
def test_a_password_does_not_go_to_whoever_shows_a_certificate(
    script: Script, tls: TlsMode, strangers: Certificates
) -> None:
    with Hostile(script, heard_of(strangers)) as server:
        error = administered(server, tls)
        failure = engine_error(server, tls)
    assert any(b"bench" in packet for packet in server.heard)  # it was spoken to
    assert not told(server, SECRET)
    if tls == "disabled":  # declined: there the server may send its key
        return
    assert error.kind in GIVEN_UP
    assert failure.kind in (*GIVEN_UP, "protocol")
    assert 256 not in map(len, server.heard)
    for said in (error, as_error(failure, [])):
        if getattr(said, "kind", None) == "password_withheld":
            assert "nothing proves whose certificate this is" in said.message
            assert "\n" not in f"{said.message}{said.hint}"
            for way in (
                "--tls verify-ca",
                "--tls-fingerprint",
                "unix socket",
                "--enable-cleartext",
            ):
                assert way in (said.hint or "")


@pytest.mark.parametrize("script", [IN_CLEAR, UNDER_ITS_KEY])
def test_a_certificate_that_does_not_verify_ends_it_before_the_login(
    script: Script, strangers: Certificates, tmp_path: Path
) -> None:
    others = make_certificates(tmp_path / "others")
    wants = [
        Tls(mode="verify-ca", ca=others.ca),
        Tls(mode="preferred", fingerprint=fingerprint_of(others.cert("server"))),
        Tls(mode="required", fingerprint=fingerprint_of(strangers.cert("client"))),
    ]
    with Hostile(script, heard_of(strangers)) as server:
        for tls in wants:
            error = administered(server, tls, clear=True)
            failure = engine_error(server, tls, clear=True)
            assert (error.kind, failure.kind) == ("tls_failed", "tls_failed")
            if tls.fingerprint:
                shown = fingerprint_of(strangers.cert("server"))
                assert shown in error.message
                assert shown in failure.message
            for hint in (error.hint, as_error(failure, []).hint):
                assert hint is not None
                assert "--tls-fingerprint" in hint
                assert "required" not in hint
    assert not any(b"bench" in packet for packet in server.heard)


@pytest.mark.parametrize("script", [IN_CLEAR, UNDER_ITS_KEY])
def test_a_password_goes_to_the_server_that_is_meant_and_where_that_is_said(
    script: Script, strangers: Certificates
) -> None:
    meant = [
        (Tls(mode="verify-ca", ca=strangers.ca), False),
        (Tls(mode="required", fingerprint=fingerprint_of(strangers.cert("server"))), False),
        (Tls(mode="required"), True),
    ]
    for tls, clear in meant:
        for ask in (administered, driven):
            with Hostile(script, heard_of(strangers)) as server:
                ask(server, tls, clear=clear)
            assert told(server, SECRET), (tls, ask)
    # No mode sends it over an unencrypted line.
    with Hostile(script) as server:
        administered(server, clear=True)
        driven(server, clear=True)
    assert not told(server, SECRET)


def test_the_command_line_says_what_to_do_and_takes_it(
    strangers: Certificates, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOADSTONE_PASSWORD", SECRET)
    with Hostile(IN_CLEAR, heard_of(strangers)) as server:
        url = f"mysql://bench@{LOOPBACK}:{server.port}/shop"
        check = ["check", "--target", url]
        assert exit_code_of(check) == 3
        said = capfd.readouterr().err
        assert "mysql_clear_password" in said
        assert "--enable-cleartext-plugin" in said
        assert not told(server, SECRET)
        assert exit_code_of([*check, "--enable-cleartext-plugin"]) == 3  # it refuses every client
        assert told(server, SECRET)
        server.heard.clear()
        monkeypatch.setenv("LIBMYSQL_ENABLE_CLEARTEXT_PLUGIN", "1")
        assert exit_code_of(check) == 3
        assert told(server, SECRET)


def test_a_server_without_tls_hears_nothing_where_tls_is_required() -> None:
    with Hostile(logs_in) as server:
        assert administered(server, tls="required").kind == "tls_refused"
        assert "does not offer TLS" in driven(server, tls="required")
    assert server.heard == []


def test_a_file_that_nobody_offered_is_refused_and_reported() -> None:
    with Hostile(hostile.asks_for_a_file) as server:
        assert "asked for a file of this machine" in administered(server).message
        assert '"/etc/hostname" although none was offered' in driven(server)
    assert not told(server, Path("/etc/hostname").read_text().strip())


def test_a_load_gives_away_its_rows_and_no_file(tmp_path: Path) -> None:
    """The loader offers a file: the rows that it makes, whatever name the server asks for."""
    secret = tmp_path / "secret"
    secret.write_text("the content of a file\n")
    asked: list[bytes] = []

    def asks(peer: Peer) -> None:
        logs_in(peer)
        while True:
            said = peer.receive()
            if b"local_infile" in said:
                hostile.answer_one(peer)
            elif b"LOAD DATA" in said:
                asked.append(said)
                peer.send(b"\xfb" + str(secret).encode())
            else:
                peer.send(OK)

    with Hostile(asks) as server:
        policy = connecting(retries=0, timeout_s=60.0)
        plan = a_load(described(endpoint(server)), method="infile", connect=policy)
        assert load(plan).last.reason == "failed"
    assert asked
    assert any(b"-" in packet and b"\t" in packet for packet in server.heard)  # rows were sent
    assert not told(server, "the content of a file")


def test_a_login_without_end_is_given_up() -> None:
    with Hostile(hostile.never_decides) as server:
        began = time.monotonic()
        assert administered(server).exit_code == 3
        assert "has not decided after 10 packets" in driven(server)
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("script", [hostile.sends_rows_without_end, hostile.drips])
def test_an_answer_has_a_limit_in_bytes_and_in_time(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(administration, "MOST_BYTES", 4 << 20)
    with Hostile(script) as server:
        began = time.monotonic()
        error = administered(server, timeouts=HURRIED)
        spent_s = time.monotonic() - began
    assert error.exit_code == 3
    assert "longer than" in error.message or error.kind == "timed_out"
    assert spent_s < 60
    assert sum(map(len, server.heard)) < 10_000


def _garbage() -> list[bytes]:
    """Greetings that are truncated or damaged, other protocols, and noise, from a seed."""
    whole = Recorded.of(lambda peer: peer.send(greeting()))
    noise = random.Random(20)
    damaged = []
    for _ in range(24):
        data = bytearray(whole)
        for _ in range(noise.randint(1, 4)):
            data[noise.randrange(len(data))] = noise.randrange(256)
        damaged.append(bytes(data))
    others = [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-OpenSSH_9.2\r\n", b"", b"\0" * 64]
    cut = [whole[:length] for length in range(0, len(whole), 9)]
    return [*others, *cut, *damaged, *(noise.randbytes(noise.randint(1, 200)) for _ in range(8))]


class Recorded(Peer):
    """Records what a script would send."""

    @classmethod
    def of(cls, script: Callable[[Peer], None]) -> bytes:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            script(cls(ours, []))
            return theirs.recv(65536)


def test_bytes_that_are_no_protocol_are_an_error_and_no_bug() -> None:
    waiting = iter(garbage := _garbage())
    with Hostile(lambda peer: peer.raw(next(waiting, b""))) as server:
        for number in range(len(garbage)):
            # Preparing TLS takes far longer than all else: the system's authorities are read.
            tls: TlsMode = "disabled" if number % 4 else "preferred"
            assert administered(server, tls).exit_code == 3
    assert not told(server, SECRET)
    # The engine's parser has its own fuzzing; here only the end of a step with an error is tested.
    waiting = iter(some := garbage[::8])
    with Hostile(lambda peer: peer.raw(next(waiting, b""))) as server:
        for _ in some:
            driven(server)
    assert not told(server, SECRET)


def test_words_of_a_server_do_not_drive_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LOADSTONE_PASSWORD", SECRET)
    bell = b"\xff\x15\x04#28000\x1b]0;owned\x07\x1b[2J denied" + b"x" * 100_000

    def refuses(peer: Peer) -> None:
        peer.send(greeting(version=b"10.11-MariaDB\x1b[31m"))
        peer.receive()
        peer.send(bell)

    with Hostile(refuses) as server:
        url = f"mysql://bench@127.0.0.1:{server.port}/shop"
        assert exit_code_of(["run", "oltp_read_write", "--target", url]) == 3
        assert exit_code_of(["check", "--target", url]) == 3
        message = driven(server)
    said = "".join(capfd.readouterr())
    for text in (said, message):
        assert "denied" in text
        assert "\x1b" not in text
        assert "\x07" not in text
    assert len(said) < 10_000
    assert len(message) < 10_000
