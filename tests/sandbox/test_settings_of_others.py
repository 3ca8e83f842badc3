"""Settings of a server with other users, or of a replaced server: nobody's settings are harmed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from pydantic import SecretStr

from called import called
from engine.between import Between
from engine.servers import execute, one
from loadstone.lab.variables.journal import LeftChanged
from loadstone.lab.variables.lock import LOCK, SettingsInUse, SettingsLock
from loadstone.lab.variables.stage import SettingsReport, apply, staged
from loadstone.model.exit_codes import ExitCode
from loadstone.model.target import Credentials, Endpoint, Target
from loadstone.mysql.variables import set_variable
from loadstone.sandbox import Sandbox, SandboxSpec, start_sandbox
from loadstone.servers.connection import Connection
from pooled import Pool, need

pytestmark = pytest.mark.server

PASSWORD = "of-whoever-sets"
NAME = "max_connect_errors"
WANTED = {NAME: "200"}


@dataclass(frozen=True)
class Home:
    """A user's state folder, where the journals of old settings are."""

    folder: Path

    @property
    def settings(self) -> Path:
        found = self.folder / "loadstone" / "settings"
        found.mkdir(parents=True, exist_ok=True)
        return found

    @property
    def journals(self) -> list[Path]:
        return list(self.settings.iterdir())

    def restore(self, *words: str, code: int = 0) -> CompletedProcess[str]:
        environment = {"XDG_STATE_HOME": str(self.folder), "LOADSTONE_PASSWORD": PASSWORD}
        environment["LIBMYSQL_ENABLE_CLEARTEXT_PLUGIN"] = "1"
        return called("restore", *words, folder=self.folder, environment=environment, code=code)

    def killed_while_set(self, endpoint: Endpoint, wanted: Mapping[str, str] = WANTED) -> None:
        """Set variables and end as by kill -9: locks are gone, what is on disk remains."""
        lock = SettingsLock.take(endpoint)
        apply(endpoint, wanted, self.settings, lock).close(done=False)
        lock.close()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def other_home(tmp_path: Path) -> Home:
    return Home(tmp_path / "other")


def with_account(server: Sandbox) -> Sandbox:
    """The server with an account that may set variables, with the same password on all servers."""
    execute(
        server,
        "DROP USER IF EXISTS setter@'%'",
        f"CREATE USER setter@'%' IDENTIFIED BY '{PASSWORD}'",
        "GRANT ALL ON *.* TO setter@'%'",
    )
    return server


@pytest.fixture
def one_server(pool: Pool, server: str) -> Iterator[Sandbox]:
    yield (found := with_account(pool.server(server)))
    execute(found, f"SET GLOBAL {NAME} = 100", "DROP USER setter@'%'")


@pytest.fixture
def another(pool: Pool, server: str) -> Iterator[Sandbox]:
    yield (found := with_account(pool.server(server, {})))
    execute(found, f"SET GLOBAL {NAME} = 100", "DROP USER setter@'%'")


def at(port: int) -> Endpoint:
    target = Target(host="127.0.0.1", port=port, user="setter")
    # Through a forwarder as well, which cannot be recognised as a server.
    credentials = Credentials(password=SecretStr(PASSWORD), may_go_in_clear=True)
    return Endpoint(target=target, credentials=credentials)


def now(server: Sandbox) -> int:
    found: int = one(server, f"SELECT @@GLOBAL.{NAME}")
    return found


def test_an_address_that_leads_to_another_server_by_now_restores_nothing_there(
    one_server: Sandbox, another: Sandbox, home: Home
) -> None:
    with Between(one_server.port) as between:
        home.killed_while_set(at(between.port))
        between.server_port = another.port
        execute(another, f"SET GLOBAL {NAME} = 200")
        for words in (("--dry-run",), ()):
            said = home.restore(*words, code=ExitCode.GUARD)
            assert f"127.0.0.1:{between.port} is not the server whose variables were set" in (
                said.stderr
            )
            assert "--yes" in said.stderr
        assert (now(one_server), now(another), len(home.journals)) == (200, 200, 1)
        # The server itself is found at its new place.
        url = at(one_server.port).target.url
        assert f"would restore: {NAME} = 100 (now 200)" in (
            home.restore("--target", url, "--dry-run").stdout
        )
        assert (now(one_server), len(home.journals)) == (200, 1)
        assert f"restored: {NAME}" in home.restore("--target", url).stdout
    assert (now(one_server), now(another), home.journals) == (100, 200, [])


def test_with_yes_another_server_is_given_what_the_journal_says_and_nothing_else(
    one_server: Sandbox, another: Sandbox, home: Home
) -> None:
    with Between(one_server.port) as between:
        home.killed_while_set(at(between.port))
        (journal,) = home.journals
        # The line was cut: on the server itself any difference would be restored as well.
        *lines, last = journal.read_text().splitlines(keepends=True)
        assert '"new": 200' in last
        journal.write_text("".join(lines))
        between.server_port = another.port
        execute(another, f"SET GLOBAL {NAME} = 200")
        durable = one(another, "SELECT @@GLOBAL.innodb_flush_log_at_trx_commit")
        assert durable != one(one_server, "SELECT @@GLOBAL.innodb_flush_log_at_trx_commit")
        said = home.restore("--yes")
    assert said.stdout.endswith(f": restored: {NAME}\n")
    assert (now(another), home.journals) == (100, [])
    assert one(another, "SELECT @@GLOBAL.innodb_flush_log_at_trx_commit") == durable


def test_a_run_that_ends_on_another_server_leaves_it_alone_and_says_so(
    one_server: Sandbox, another: Sandbox, home: Home
) -> None:
    with (
        Between(one_server.port) as between,
        pytest.raises(LeftChanged, match="is not the server whose variables were set"),
        staged(at(between.port), WANTED, home.settings),
    ):
        between.server_port = another.port
        between.cut()
        execute(another, f"SET GLOBAL {NAME} = 200")
    assert (now(one_server), now(another), len(home.journals)) == (200, 200, 1)


@pytest.mark.slow
def test_a_server_that_was_restarted_has_forgotten_what_was_set(mariadb: str, home: Home) -> None:
    with start_sandbox(SandboxSpec(server=mariadb, password=PASSWORD)) as own:
        with_account(own)
        home.killed_while_set(at(own.port))
        restarted(own)
        assert "nothing to restore: a restart since then" in home.restore("--dry-run").stdout
        assert len(home.journals) == 1
        assert "nothing to restore: a restart since then" in home.restore().stdout
        assert (now(own), home.journals) == (100, [])


@pytest.mark.mysql
@pytest.mark.slow
def test_what_somebody_has_made_outlive_a_restart_is_told(home: Home) -> None:
    left = f"persisted as the run had set it, and left: {NAME}"
    with start_sandbox(SandboxSpec(server=need("mysql"), password=PASSWORD)) as own:
        with_account(own)
        home.killed_while_set(at(own.port))
        execute(own, f"SET PERSIST {NAME} = 200")
        said = home.restore(code=ExitCode.LEFT_CHANGED)
        assert f"restored: {NAME}" in said.stdout and left in said.stderr
        assert now(own) == 100
        home.killed_while_set(at(own.port))
        restarted(own)
        said = home.restore(code=ExitCode.LEFT_CHANGED)
        assert "nothing to restore: a restart since then" in said.stdout and left in said.stderr
        assert (now(own), home.journals) == (200, [])


def restarted(server: Sandbox) -> None:
    """Restart with an empty option file: MySQL ignores persisted variables if it has none."""
    empty = server.folder / "empty.cnf"
    empty.touch()
    words = (
        f"--defaults-file={empty}" if word == "--no-defaults" else word
        for word in server.state.command
    )
    server.state = server.state.model_copy(update={"command": tuple(words)})
    server.halt()
    # A server's start is known to the second, and these take less.
    time.sleep(1 - time.time() % 1)
    server.start_again()


def test_a_journal_that_cannot_be_read_is_told_and_blocks_its_own_server_alone(
    one_server: Sandbox, home: Home
) -> None:
    endpoint = at(one_server.port)
    (home.settings / "db1:3306-1-2.jsonl").write_text("nothing of ours\n")
    with staged(endpoint, WANTED, home.settings):
        assert now(one_server) == 200
    home.killed_while_set(endpoint)
    said = home.restore(code=ExitCode.LEFT_CHANGED)
    assert "db1:3306-1-2.jsonl" in said.stderr and f"restored: {NAME}" in said.stdout
    assert (now(one_server), len(home.journals)) == (100, 1)
    (home.settings / f"127.0.0.1:{one_server.port}-1-2.jsonl").write_text("nor this\n")
    with pytest.raises(LeftChanged), staged(endpoint, WANTED, home.settings):
        pytest.fail("it was set")
    assert now(one_server) == 100


def test_who_comes_second_is_told_who_has_set_variables(
    one_server: Sandbox, home: Home, other_home: Home
) -> None:
    endpoint = at(one_server.port)
    with staged(endpoint, WANTED, home.settings):
        with (
            pytest.raises(
                SettingsInUse,
                match=r"another client is setting variables of .* at the moment: "
                r"setter from \S+ \(connection \d+, "
                r"since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\)",
            ),
            staged(endpoint, {NAME: "300"}, other_home.settings),
        ):
            pytest.fail("it was set")
        assert now(one_server) == 200
    assert (now(one_server), other_home.journals) == (100, [])


def test_who_may_not_see_the_holder_is_told_its_connection(one_server: Sandbox, home: Home) -> None:
    humble = Credentials(password=SecretStr("humble"), may_go_in_clear=True)
    target = at(one_server.port).target.model_copy(update={"user": "humble"})
    execute(one_server, "CREATE USER humble IDENTIFIED BY 'humble'")
    try:
        with (
            staged(at(one_server.port), WANTED, home.settings),
            pytest.raises(SettingsInUse, match=r"connection \d+, which this account may not see"),
        ):
            SettingsLock.take(Endpoint(target=target, credentials=humble))
    finally:
        execute(one_server, "DROP USER humble")


def test_a_server_that_is_gone_when_they_are_to_be_put_back_is_left_changed(
    one_server: Sandbox, home: Home
) -> None:
    with Between(one_server.port) as between:
        with (
            pytest.raises(LeftChanged, match="are not put back: ") as left,
            staged(at(between.port), WANTED, home.settings),
        ):
            between.shut = True
            between.cut()
        assert left.value.exit_code == ExitCode.LEFT_CHANGED
        assert left.value.hint and "loadstone restore" in left.value.hint
        assert (now(one_server), len(home.journals)) == (200, 1)
        between.shut = False
        home.restore()
    assert (now(one_server), home.journals) == (100, [])


def test_so_it_is_where_it_goes_after_the_first_of_two_was_set(
    one_server: Sandbox, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Between(one_server.port) as between:

        def gone_at_the_second(connection: Connection, target: Target, name: str, sql: str) -> None:
            if name != NAME:
                between.shut = True
                between.cut()
            set_variable(connection, target, name, sql)

        monkeypatch.setattr("loadstone.mysql.family.set_variable", gone_at_the_second)
        wanted = {**WANTED, "max_connections": "333"}
        with (
            pytest.raises(LeftChanged, match="are not put back: "),
            staged(at(between.port), wanted, home.settings),
        ):
            raise AssertionError("they are not all set")
        between.shut = False
        home.restore()
    assert (now(one_server), home.journals) == (100, [])


def test_a_lock_that_was_lost_is_taken_again_before_anything_is_put_back(
    one_server: Sandbox, home: Home
) -> None:
    told = SettingsReport()
    with staged(at(one_server.port), WANTED, home.settings, told):
        kill_the_holder(one_server)
    assert (now(one_server), home.journals, told.left) == (100, [], [])
    (note,) = told.notes
    assert "for a while others could have set its variables as well" in note


def test_nobody_puts_back_under_somebody_who_came_when_the_lock_was_lost(
    one_server: Sandbox, home: Home, other_home: Home
) -> None:
    endpoint = at(one_server.port)
    with contextlib.ExitStack() as other:
        with (
            pytest.raises(
                LeftChanged,
                match="are not put back: another client is setting variables of .* at the mom",
            ),
            staged(endpoint, WANTED, home.settings),
        ):
            kill_the_holder(one_server)
            other.enter_context(staged(endpoint, {NAME: "300"}, other_home.settings))
        assert (now(one_server), len(home.journals)) == (300, 1)
        assert "another client is setting variables of" in home.restore(code=ExitCode.GUARD).stderr
    assert (now(one_server), other_home.journals) == (200, [])
    home.restore()
    assert (now(one_server), home.journals) == (100, [])


def kill_the_holder(server: Sandbox) -> None:
    number = one(server, f"SELECT IS_USED_LOCK('{LOCK}')")
    execute(server, f"KILL {number}")
