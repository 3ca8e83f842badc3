"""What libpq's parameters mean to both clients, on a real server."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from engine.driving import Document, a_plan, drive, events, session, workload
from loadstone.dropin import libpq
from loadstone.families import connect, family_of
from loadstone.model.exit_codes import ExitCode
from loadstone.model.target import Endpoint
from loadstone.postgresql.connect import ASK_FOR_TLS
from loadstone.postgresql.credentials import Surroundings, candidates
from loadstone.postgresql.databases import of
from loadstone.postgresql.login_errors import RefusedEitherWay
from loadstone.sandbox.certificates import make_certificates
from loadstone.servers.endpoint_request import EndpointRequest
from loadstone.servers.errors import TargetError
from postgres.server import PASSWORD, Server
from postgres.test_driving import over_tcp
from postgres.test_family import endpoint, local

pytestmark = [pytest.mark.server, pytest.mark.slow]

TABLE = session("CREATE TEMP TABLE sbtest1 (id INT, c INT)")
POINT = workload("oltp_point_select", tables=1, table_size=1)
SMALL = ("--tables", "1", "--table-size", "100", "--duration", "1s", "--warmup", "0s")


def plan(target: Document) -> Document:
    return a_plan(target, workload=POINT, session=TABLE, users=2, stop=events(10))


def over(server: Server, user: str, **tls: Any) -> Document:
    files = {"ca": None, "cert": None, "key": None}
    return over_tcp(server, "postgres", user=user, tls=files | tls)


def resolved(url: str, home: Path, **environment: str) -> Endpoint:
    around = Surroundings(environment=environment | {"PGPASSWORD": PASSWORD}, home=home)
    (found,) = candidates(EndpointRequest(url=url), surroundings=around).endpoints
    return found


@pytest.mark.parametrize(
    ("binding", "mechanism"),
    [
        ("require", "SCRAM-SHA-256-PLUS"),
        ("prefer", "SCRAM-SHA-256-PLUS"),
        ("disable", "SCRAM-SHA-256"),
    ],
)
def test_a_login_is_bound_to_tls_where_that_is_wanted(
    server: Server, tmp_path: Path, binding: str, mechanism: str
) -> None:
    url = f"postgresql://by_scram@127.0.0.1:{server.port}/postgres?sslmode=require"
    one = resolved(f"{url}&channel_binding={binding}", tmp_path)
    with connect(one) as connection:
        assert of(connection).current.auth.mechanism_name == mechanism
    step = drive(plan(one.for_engine())).finished()
    assert step.connected is not None
    assert step.connected.encrypted_users == 2


@pytest.mark.parametrize(
    ("user", "mode", "why"),
    [
        ("by_scram", "disabled", ("not encrypted", "there is no TLS session")),
        ("by_md5", "required", ("does not ask for SCRAM", "does not ask for SCRAM")),
        ("by_trust", "required", ("does not ask for SCRAM", "does not ask for SCRAM")),
        ("by_password", "required", ("does not ask for SCRAM", "does not ask for SCRAM")),
    ],
)
def test_a_login_that_must_be_bound_and_is_not_is_refused(
    server: Server, user: str, mode: str, why: tuple[str, str]
) -> None:
    tls: dict[str, Any] = {"mode": mode, "channel_binding": "require"}
    with pytest.raises(TargetError, match=f"channel_binding=require.*{why[0]}") as caught:
        connect(endpoint(server, "postgres", user, **tls))
    assert caught.value.kind == "login_refused"
    assert "scram-sha-256" in str(caught.value.hint)
    failed = drive(plan(over(server, user, **tls))).last.error
    assert failed is not None
    assert failed.kind == "login_refused"
    assert f"channel binding is required, and {why[1]}" in failed.message.replace("the server ", "")


@contextlib.contextmanager
def somebody_in_between(server: Server, folder: Path) -> Iterator[int]:
    """The port of who ends TLS with a certificate of their own, and passes everything on."""
    files = make_certificates(folder)
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    own.load_cert_chain(files.cert("server"), files.key("server"))
    onward = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    onward.check_hostname, onward.verify_mode = False, ssl.CERT_NONE

    def pass_on(accepted: socket.socket) -> None:
        with contextlib.suppress(OSError), accepted:
            accepted.recv(len(ASK_FOR_TLS))
            accepted.sendall(b"S")
            there = socket.create_connection(("127.0.0.1", server.port))
            there.sendall(ASK_FOR_TLS)
            there.recv(1)
            with (
                own.wrap_socket(accepted, server_side=True) as client,
                onward.wrap_socket(there) as real,
            ):
                other = {client: real, real: client}
                while True:
                    for one in select.select([client, real], [], [])[0]:
                        piece = one.recv(65536)
                        if not piece:
                            return
                        while one.pending():
                            piece += one.recv(one.pending())
                        other[one].sendall(piece)

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=pass_on, args=listener.accept()[:1], daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("binding", ["require", "disable"])
def test_a_login_that_is_bound_is_not_passed_on_by_somebody_in_between(
    server: Server, tmp_path: Path, binding: str
) -> None:
    with somebody_in_between(server, tmp_path / "tls") as port:
        url = f"postgresql://by_scram@127.0.0.1:{port}/postgres?sslmode=require"
        one = resolved(f"{url}&channel_binding={binding}", tmp_path)
        failed = drive(plan(one.for_engine())).last.error
        if binding == "disable":
            assert failed is None
            connect(one).close()
            return
        assert failed is not None
        assert "channel binding" in failed.message
        with pytest.raises(TargetError, match="channel binding"):
            connect(one)


def test_a_managed_databases_url_works_from_tables_to_report(
    server: Server, database: str, tmp_path: Path
) -> None:
    server.asked("GRANT ALL ON SCHEMA public TO by_scram", database)
    url = f"postgresql://by_scram:{PASSWORD}@127.0.0.1:{server.port}/{database}"
    url += "?sslmode=require&channel_binding=require&keepalives=1&application_name=shop"
    through = ("--target", url)
    called("prepare", *SMALL[:4], *through, folder=tmp_path)
    # The statement is tried once by a session of our own, which keeps its name.
    server.asked("CREATE TABLE seen (name TEXT); GRANT ALL ON seen TO PUBLIC", database)
    init = ("--init-sql", "INSERT INTO seen SELECT current_setting('application_name')")
    done = called("run", "oltp_point_select", *SMALL, *through, *init, "--json", folder=tmp_path)
    (step,) = json.loads(done.stdout)["steps"]
    assert step["encrypted_users"] > 0
    names = server.asked("SELECT DISTINCT name FROM seen ORDER BY 1", database)
    assert names == [["loadstone administration"], ["shop"]]


def test_the_systems_authorities_vouch_for_the_server(server: Server, tmp_path: Path) -> None:
    url = f"postgresql://by_scram@localhost:{server.port}/postgres?sslrootcert=system"
    one = resolved(url, tmp_path, SSL_CERT_FILE=str(server.authority))
    assert (one.target.tls.mode, one.target.tls.ca) == ("verify-identity", server.authority)
    with connect(one) as connection:
        assert family_of(one.target).describe_server(connection, one.target).encrypted
    drive(plan(one.for_engine())).finished()
    # This machine's own authorities have not signed the certificate.
    other = resolved(url, tmp_path)
    with pytest.raises(TargetError, match="certificate cannot be verified"):
        connect(other)
    failed = drive(plan(other.for_engine())).last.error
    assert failed is not None
    assert failed.kind == "tls_failed"


def test_a_login_refused_over_tls_is_tried_without_where_tls_is_only_preferred(
    server: Server,
) -> None:
    with connect(endpoint(server, "postgres", "only_clear", mode="preferred")) as connection:
        assert (
            not family_of(endpoint(server, "postgres").target)
            .describe_server(connection, endpoint(server, "postgres").target)
            .encrypted
        )
    step = drive(plan(over(server, "only_clear", mode="preferred"))).finished()
    assert step.connected is not None
    assert (step.connected.users, step.connected.encrypted_users) == (2, 0)
    assert "pg_hba.conf rejects connection" in (step.connected.refused_over_tls or "")
    assert (step.connected.why_in_clear, step.connected.connect_failures) == (None, {})
    for mode in ("required", "verify-ca"):
        tls = {"mode": mode, "ca": str(server.authority)}
        with pytest.raises(TargetError) as caught:
            connect(endpoint(server, "postgres", "only_clear", **tls))
        assert not isinstance(caught.value, RefusedEitherWay)
        failed = drive(plan(over(server, "only_clear", **tls))).last.error
        assert failed is not None
        assert (failed.code, failed.in_clear) == ("28000", None)


def test_a_login_that_is_refused_either_way_has_both_reasons(server: Server) -> None:
    one = endpoint(server, "postgres", "only_tls", "wrong", mode="preferred")
    with pytest.raises(RefusedEitherWay) as caught:
        connect(one)
    first, second = "password authentication failed", "pg_hba.conf rejects connection"
    said = caught.value.message
    assert said.index(first) < said.index(second)
    lines = libpq.of_login(caught.value, one).splitlines()
    assert [first in lines[0], second in lines[1], len(lines)] == [True, True, 2]
    target = over(server, "only_tls", mode="preferred") | {"password": "wrong"}
    failed = drive(plan(target)).last.error
    assert failed is not None
    assert (failed.kind, failed.code) == ("login_refused", "28P01")
    assert first in failed.message
    assert second in (failed.in_clear or "")
    assert libpq.of_failure(failed, one).splitlines() == lines


def test_a_run_says_why_it_is_in_clear(server: Server, database: str, tmp_path: Path) -> None:
    server.asked("GRANT ALL ON SCHEMA public TO only_clear", database)
    through = (
        "--target", f"postgresql://only_clear:{PASSWORD}@127.0.0.1:{server.port}/{database}",
    )  # fmt: skip
    called("prepare", *SMALL[:4], *through, folder=tmp_path)
    done = called("run", "oltp_point_select", *SMALL, *through, "--json", folder=tmp_path)
    (step,) = json.loads(done.stdout)["steps"]
    assert step["encrypted_users"] == 0
    assert any("the server refuses logins over TLS" in str(note) for note in step["notes"])


@pytest.mark.parametrize("mode", ["required", "verify-identity"])
def test_a_unix_socket_has_no_tls_whatever_asks_for_it(server: Server, mode: str) -> None:
    one = local(server, "postgres")
    tls = one.target.tls.model_copy(update={"mode": mode})
    one = one.model_copy(update={"target": one.target.model_copy(update={"tls": tls})})
    with connect(one) as connection:
        assert not family_of(one.target).describe_server(connection, one.target).encrypted
    step = drive(plan(one.for_engine())).finished()
    assert step.connected is not None
    assert step.connected.encrypted_users == 0


@pytest.mark.parametrize("sslmode", ["require", "verify-full"])
def test_a_socket_in_a_url_has_no_tls(server: Server, tmp_path: Path, sslmode: str) -> None:
    url = f"postgresql://postgres@/postgres?host={server.folder}&port={server.port}"
    one = resolved(f"{url}&sslmode={sslmode}", tmp_path)
    connect(one).close()
    drive(plan(one.for_engine())).finished()
    bound = resolved(f"{url}&channel_binding=require", tmp_path)
    with pytest.raises(TargetError, match="not encrypted"):
        connect(bound)


def pgbench(server: Server, database: str, script: Path, more: str, code: int = 0) -> str:
    """What pgbench's stand-in says of a script on stderr."""
    conninfo = f"host=127.0.0.1 port={server.port} dbname={database} {more}"
    words = ("pgbench", "-n", "-t", "2", "-f", str(script), conninfo)
    return called(*words, folder=script.parent, code=code).stderr


def test_sessions_of_pgbench_are_called_as_its_own(
    server: Server, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    monkeypatch.delenv("PGAPPNAME", raising=False)
    script = tmp_path / "name.sql"
    script.write_text("INSERT INTO seen SELECT current_setting('application_name');\n")
    server.asked("CREATE TABLE seen (name TEXT); GRANT ALL ON seen TO PUBLIC", database)

    def name(more: str = "") -> str:
        server.asked("TRUNCATE seen", database)
        pgbench(server, database, script, f"user=by_scram {more}")
        ((found,),) = server.asked("SELECT DISTINCT name FROM seen", database)
        return found

    assert name() == "pgbench"
    monkeypatch.setenv("PGAPPNAME", "mine")
    assert name() == "mine"
    assert name("application_name=x") == "x"


def test_drop_ins_send_a_password_in_clear_where_a_variable_allows_it(
    server: Server, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    script = tmp_path / "one.sql"
    script.write_text("SELECT 1;\n")
    login = {"host": "127.0.0.1", "port": str(server.port), "user": "by_password"}
    login |= {"password": PASSWORD, "db": database}
    options = [f"--pgsql-{name}={value}" for name, value in login.items()]

    def of_pgbench(sslmode: str, code: int) -> str:
        return pgbench(server, database, script, f"user=by_password sslmode={sslmode}", code)

    def of_sysbench(sslmode: str, code: int) -> str:
        line = ("sysbench", "oltp_read_only", "--db-driver=pgsql", *options)
        table = ("--tables=1", "--table-size=10", f"--pgsql-sslmode={sslmode}")
        return called(*line, *table, "prepare", folder=tmp_path, code=code).stdout

    server.asked("GRANT ALL ON SCHEMA public TO by_password", database)
    monkeypatch.delenv("LOADSTONE_CLEARTEXT_PASSWORD", raising=False)
    for said in (of_pgbench("require", 1), of_sysbench("require", 1)):
        assert "asks for the password itself" in said
        assert "LOADSTONE_CLEARTEXT_PASSWORD=1" in said
        assert "--enable-cleartext-plugin" not in said
    monkeypatch.setenv("LOADSTONE_CLEARTEXT_PASSWORD", "1")
    of_pgbench("require", 0)
    of_sysbench("require", 0)
    # Others could read it there.
    assert "others could read it" in of_pgbench("disable", 1)
    assert "others could read it" in of_sysbench("disable", 1)


@pytest.mark.parametrize("user", ["only_tls", "only_clear"])
def test_a_login_refused_either_way_has_the_lines_of_libpq(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: str
) -> None:
    monkeypatch.setenv("PGPASSWORD", "wrong")
    place = f"host=127.0.0.1 port={server.port} user={user} dbname=postgres"
    words = ("-n", "-t", "1", place)
    theirs = subprocess.run(
        [str(server.programs / "pgbench"), *words], text=True, capture_output=True, timeout=60
    )
    ours = called("pgbench", *words, folder=tmp_path, code=1)

    def attempts(text: str) -> list[str]:
        return [line for line in text.splitlines() if "connection to server at" in line]

    assert len(attempts(theirs.stderr)) == 2
    assert attempts(ours.stderr) == attempts(theirs.stderr)


def test_drop_ins_ask_for_no_tls_on_a_socket(server: Server, database: str, tmp_path: Path) -> None:
    place = f"host={server.folder} port={server.port} user=postgres dbname={database}"
    called("pgbench", "-i", "-q", f"{place} sslmode=verify-full", folder=tmp_path)
    login = {"host": str(server.folder), "port": str(server.port), "user": "postgres"}
    login |= {"db": database, "sslmode": "require"}
    options = (f"--pgsql-{name}={value}" for name, value in login.items())
    line = ("oltp_read_only", "--db-driver=pgsql", "--tables=1", "--table-size=10", *options)
    called("sysbench", *line, "prepare", folder=tmp_path)
    called("sysbench", *line, "--events=2", "--time=0", "run", folder=tmp_path)


@pytest.mark.parametrize("variable", ["PGREQUIREAUTH", "PGSSLCRL", "PGSSLCRLDIR"])
def test_a_check_that_is_not_made_is_refused_in_one_line(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "scram-sha-256")
    target = f"postgresql://by_trust@127.0.0.1:{server.port}/postgres"
    done = called("check", "--target", target, folder=tmp_path, code=ExitCode.USAGE)
    assert f"{variable} asks for a check that Loadstone does not make" in done.stderr
