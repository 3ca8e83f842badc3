"""Throwaway servers of PostgreSQL, on the server that is installed here."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.model.target import Endpoint
from loadstone.sandbox import (
    Sandbox,
    SandboxError,
    SandboxSpec,
    clear_leftovers,
    sandbox_at,
    start_sandbox,
)
from loadstone.sandbox.pooler import FOLDER
from loadstone.sandbox.postgresql.binaries import releases, sibling
from loadstone.sandbox.postgresql.pgbouncer import check_pooler
from loadstone.sandbox.processes import poolers_of, servers_of
from pooled import need

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def postgresql() -> str:
    return need("postgresql")


@pytest.fixture(scope="module")
def started(postgresql: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """One for the tests that only look, with a user for each login method."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        spec = SandboxSpec(
            server=postgresql,
            auth=("scram", "md5"),
            settings={"work_mem": "5MB"},
            max_connections=9,
        )
        with start_sandbox(spec) as sandbox:
            yield sandbox


@pytest.fixture
def pgbouncer() -> str:
    try:
        check_pooler("pgbouncer", {})
    except SandboxError as error:
        pytest.skip(f"{error.message}: {error.hint}")
    return "pgbouncer"


def psql(
    server: Sandbox, login: Endpoint, sql: str, **more: str
) -> subprocess.CompletedProcess[str]:
    target = login.target
    words = {
        "host": str(target.socket.parent if target.socket else target.host),
        "port": str(server.port), "user": str(target.user), "dbname": str(target.database), **more,
    }  # fmt: skip
    conninfo = " ".join(f"{name}={value}" for name, value in words.items())
    own = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return subprocess.run(
        [str(sibling(server.state.command, "psql")), "-XAtw", "-v", "ON_ERROR_STOP=1", conninfo],
        input=sql,
        env={**own, "PGPASSWORD": login.credentials.reveal()},
        text=True,
        capture_output=True,
    )


def asked(server: Sandbox, login: Endpoint, sql: str, **more: str) -> list[str]:
    done = psql(server, login, sql, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("over", ["tcp", "socket"])
@pytest.mark.parametrize("method", [None, "scram-sha-256", "md5"])
def test_each_user_logs_in_with_its_password_alone(
    started: Sandbox, method: str | None, over: str
) -> None:
    login = started.endpoint(method, over)
    sql = "SELECT current_user, current_database()"
    assert asked(started, login, sql) == [f"{login.target.user}|sbtest"]
    stored = "SELECT left(passwd, 3) FROM pg_shadow WHERE usename = current_user"
    assert asked(started, login, stored) == ["md5" if method == "md5" else "SCR"]
    refused = psql(
        started,
        started.endpoint("scram" if method == "md5" else "md5", over),
        "",
        user=str(login.target.user),
    )
    assert "password authentication failed" in refused.stderr


def test_it_proves_its_name_by_tls(started: Sandbox) -> None:
    sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
    proof = {"sslmode": "verify-full", "sslrootcert": str(started.certificates.ca)}
    assert asked(started, started.tcp, sql, **proof) == ["t"]


def test_it_is_durable_and_has_the_settings_that_were_asked_for(started: Sandbox) -> None:
    expected = {
        "fsync": "on",
        "synchronous_commit": "on",
        "full_page_writes": "on",
        "max_connections": "9",
        "work_mem": "5MB",
    }
    assert started.settings == expected
    for name, value in expected.items():
        assert asked(started, started.local, f"SHOW {name}") == [value]
    assert asked(started, started.local, "SHOW listen_addresses; SHOW server_encoding") == [
        "127.0.0.1",
        "UTF8",
    ]


def test_it_does_not_run_as_root_and_writes_only_to_its_own_folders(started: Sandbox) -> None:
    status = Path(f"/proc/{started.pid}/status").read_text()
    fields = dict(line.split(":\t", 1) for line in status.splitlines())
    assert "0" not in fields["Uid"].split()
    assert int(fields["CapEff"], 16).bit_count() == (1 if os.geteuid() == 0 else 0)
    uid = int(fields["Uid"].split()[0])
    owned = {path.name for path in started.folder.iterdir() if path.stat().st_uid == uid}
    if os.geteuid() == 0:
        assert owned == {"data", "run"}


def test_a_crash_leaves_the_data_and_no_process(state: Path, postgresql: str) -> None:
    with start_sandbox(SandboxSpec(server=postgresql)) as sandbox:
        asked(sandbox, sandbox.local, "CREATE TABLE t AS SELECT 7 AS a")
        assert len(servers_of(sandbox.datadir)) > 1
        memory = shared_memory_of(sandbox)
        assert memory
        sandbox.kill()
        assert servers_of(sandbox.datadir) == []
        assert not any(path.exists() for path in memory)
        sandbox.start_again()
        assert asked(sandbox, sandbox.tcp, "SELECT a FROM t") == ["7"]
        assert "automatic recovery" in sandbox.error_log.read_text()
        with psql_that_waits(sandbox):  # a shutdown does not wait for clients
            sandbox.restart()
        assert asked(sandbox, sandbox.tcp, "SELECT a FROM t") == ["7"]
        assert "automatic recovery" not in sandbox.error_log.read_text()
        datadir = sandbox.datadir
    assert servers_of(datadir) == []


def shared_memory_of(sandbox: Sandbox) -> list[Path]:
    """The files of the shared memory that its processes have mapped."""
    maps = [Path(f"/proc/{one.pid}/maps").read_text() for one in servers_of(sandbox.datadir)]
    words = {word for text in maps for word in text.split()}
    return [Path(word) for word in words if word.startswith("/dev/shm/PostgreSQL.")]


class psql_that_waits:
    """A client that stays connected."""

    def __init__(self, server: Sandbox) -> None:
        self._client = subprocess.Popen(
            [str(sibling(server.state.command, "psql")), "-XAtq", server.login_words.strip('"')],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert self._client.stdin and self._client.stdout
        self._client.stdin.write(b"SELECT 1;\n")
        self._client.stdin.flush()
        assert self._client.stdout.readline() == b"1\n"

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        self._client.communicate()


OWNER = """
import sys
from loadstone.sandbox import SandboxSpec, start_sandbox
server, *pooler = sys.argv[1:]
sandbox = start_sandbox(SandboxSpec(server=server, pooler=pooler[0] if pooler else None))
print(sandbox.folder, flush=True)
sys.stdin.read()
"""


def owner(*words: str) -> subprocess.Popen[str]:
    """A process with which a sandbox ends."""
    program = [sys.executable, "-c", OWNER, *words]
    return subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )


def test_it_and_its_pooler_end_with_their_killed_owner(
    state: Path, postgresql: str, pgbouncer: str
) -> None:
    with owner(postgresql, pgbouncer) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        known = [*servers_of(folder / "data"), *poolers_of(folder / FOLDER)]
        assert len(known) > 2
        process.kill()
    assert all(mark.wait_until_gone(60) for mark in known)
    assert clear_leftovers() == [folder.name]
    assert not folder.exists()


def test_an_owner_killed_while_it_starts_one_leaves_nothing_after_the_next_start(
    state: Path, postgresql: str
) -> None:
    for wait_s in (0.0, 0.2, 0.4, 0.8):
        with owner(postgresql) as process:
            while not list(state.glob("*/state.json")):
                time.sleep(0.002)
            time.sleep(wait_s)
            process.kill()
        folders = [entry for entry in state.iterdir() if entry.is_dir()]
        clear_leftovers()
        assert [entry for entry in folders if entry.exists() or servers_of(entry / "data")] == []


def test_another_server_starts_on_a_copy_of_its_data(
    state: Path, postgresql: str, tmp_path: Path
) -> None:
    with start_sandbox(SandboxSpec(server=postgresql, auth=("md5",))) as first:
        asked(first, first.local, "CREATE TABLE t AS SELECT 7 AS a")
        first.halt()
        spec = SandboxSpec(server=postgresql, data=first.datadir)
        with start_sandbox(spec) as second:
            assert asked(second, second.tcp, "SELECT a FROM t") == ["7"]
            assert asked(second, second.tcp, "SELECT count(*) FROM pg_shadow") == ["1"]
            assert second.accounts[0].password != first.accounts[0].password


@pytest.mark.nightly
@pytest.mark.parametrize("name", releases)
def test_each_release_starts_crashes_and_starts_again(state: Path, name: str) -> None:
    with start_sandbox(SandboxSpec(server=need(name))) as sandbox:
        assert f"postgresql-{sandbox.version}".startswith(f"{name}.")
        asked(sandbox, sandbox.local, "CREATE TABLE t AS SELECT 7 AS a")
        assert len(servers_of(sandbox.datadir)) > 1
        sandbox.kill()
        sandbox.start_again()
        assert asked(sandbox, sandbox.tcp, "SELECT a FROM t") == ["7"]
        sandbox.restart()
        assert asked(sandbox, sandbox.tcp, "SELECT a FROM t") == ["7"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"settings": {"bogus": "1"}}, 'unrecognized configuration parameter "bogus"'),
        ({"settings": {"wal_level": "minimal"}}, "requires wal_level"),
        ({"settings": {"port": "5432"}}, "--set port: a sandbox chooses that itself"),
        ({"settings": {"Listen_Addresses": "*"}}, "--set Listen_Addresses: a sandbox chooses that"),
        ({"auth": ("ed25519",)}, "postgresql has no ed25519"),
        ({"database": "a" * 64}, "too long"),
    ],
)
def test_what_it_cannot_do_is_refused(
    state: Path, postgresql: str, more: dict[str, object], said: str
) -> None:
    with pytest.raises(SandboxError, match=said):
        start_sandbox(SandboxSpec.model_validate({"server": postgresql, **more}))


def test_its_prompt_is_psql_which_needs_no_password(state: Path, postgresql: str) -> None:
    with start_sandbox(SandboxSpec(server=postgresql, name="it", password="it's: a\\word")):
        words = [sys.executable, "-m", "loadstone", "sandbox", "shell", "it", "-e", "SELECT 6 * 7"]
        done = subprocess.run(words, text=True, capture_output=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert "42" in done.stdout


def test_a_pooler_stands_in_front_of_it_until_both_end(
    state: Path, postgresql: str, pgbouncer: str
) -> None:
    spec = SandboxSpec(
        server=postgresql,
        auth=("md5",),
        pooler=pgbouncer,
        pooler_settings={"default_pool_size": "1"},
    )
    with start_sandbox(spec) as sandbox:
        pooled = sandbox.pooled
        assert pooled is not None
        port, proof = str(pooled.target.port), str(sandbox.certificates.ca)
        backend = "SELECT pg_backend_pid()"
        first = asked(sandbox, pooled, backend, port=port)
        assert asked(sandbox, pooled, backend, port=port) == first  # the connection is kept
        md5 = sandbox.endpoint("md5")
        tls = {"port": port, "sslmode": "verify-full", "sslrootcert": proof}
        assert asked(sandbox, md5, "SELECT current_user", **tls) == ["loadstone_md5"]
        known = sandbox_at(pooled.target)
        assert known is not None
        assert known.name == sandbox.name
        assert sandbox.state.pooler is not None
        sandbox.state.pooler.process.signal(signal.SIGKILL)
        sandbox.kill()
        sandbox.start_again()
        assert asked(sandbox, pooled, backend, port=port) != first
        home = sandbox.folder / FOLDER
        assert poolers_of(home) == [sandbox.state.pooler.process]
    assert poolers_of(home) == []


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"pooler_settings": {"pool_mode": "bogus"}}, "pgbouncer does not start: invalid value"),
        ({"pooler_settings": {"listen_port": "1"}}, "a sandbox chooses that itself"),
        ({"pooler": "odyssey"}, "there is no pooler 'odyssey'"),
        ({"pooler": None, "pooler_settings": {"pool_mode": "session"}}, "needs --pooler"),
    ],
)
def test_a_pooler_that_cannot_start_is_refused(
    state: Path, postgresql: str, pgbouncer: str, more: dict[str, object], said: str
) -> None:
    spec = {"server": postgresql, "pooler": pgbouncer, **more}
    with pytest.raises(SandboxError, match=said):
        start_sandbox(SandboxSpec.model_validate(spec))


def test_servers_of_mysql_have_no_pooler(state: Path, mariadb: str) -> None:
    with pytest.raises(SandboxError, match="has no pooler"):
        start_sandbox(SandboxSpec(server=mariadb, pooler="pgbouncer"))
