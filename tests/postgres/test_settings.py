"""Settings of a real PostgreSQL are set for a while, and its file is then as it was before."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from loadstone.lab.variables.journal import LeftChanged, left_behind
from loadstone.lab.variables.put_back import put_back, take_over
from loadstone.lab.variables.stage import SettingsReport, staged
from loadstone.model.target import Credentials, Endpoint, Target
from loadstone.servers.errors import SettingsError
from postgres.server import PASSWORD, Server
from sandbox.killed_settings import Killed

pytestmark = [pytest.mark.server, pytest.mark.slow]

SHOWN = ("work_mem", "checkpoint_timeout", "random_page_cost", "jit")
WANTED = {"work_mem": "64MB", "checkpoint_timeout": "600", "jit": "OFF"}


@pytest.fixture
def one(server: Server, database: str) -> Iterator[Endpoint]:
    """A superuser at a server in whose file a setting and another's default are already."""
    server.asked(
        "ALTER SYSTEM SET work_mem = '5000kB';\nALTER SYSTEM SET random_page_cost = 4;\n"
        "SELECT pg_reload_conf()"
    )
    target = Target(
        family="postgresql",
        socket=server.folder / f".s.PGSQL.{server.port}",
        user="postgres",
        database=database,
    )
    yield Endpoint(target=target, server_is_here=True)
    server.asked("ALTER SYSTEM RESET ALL;\nSELECT pg_reload_conf()")


def kept(server: Server) -> list[str]:
    """The lines of the file, in which each change is written as the last one."""
    return sorted((server.folder / "data/postgresql.auto.conf").read_text().splitlines())


def shown(server: Server) -> list[str]:
    (row,) = server.asked("SELECT " + ", ".join(f"current_setting('{name}')" for name in SHOWN))
    return row


def test_settings_are_in_effect_in_between_and_the_file_is_as_before(
    server: Server, one: Endpoint, tmp_path: Path
) -> None:
    before, file, told = shown(server), kept(server), SettingsReport()
    assert before == ["5000kB", "5min", "4", "on"]
    with staged(one, {**WANTED, "random_page_cost": "4.0"}, tmp_path, told):
        assert shown(server) == ["64MB", "10min", "4", "off"]
        assert kept(server) != file
    assert (shown(server), kept(server), told.left) == (before, file, [])
    assert left_behind(tmp_path).staged == ()


@pytest.mark.parametrize(
    "refused_one",
    [
        ("fsync", "on", "it is on the server's command line"),
        ("shared_buffers", "1GB", "it is read only when the server or a session starts"),
        ("log_connections", "on", "it is read only when the server or a session starts"),
        ("search_path", "a, b", "it is a list of names"),
        ("client_encoding", "LATIN1", "each session of the load sets it by itself"),
        ("no_such_setting", "1", "has no setting no_such_setting"),
        ("work_mem; DROP", "1", "has no setting"),
        ("work_mem", "64M", "22023 invalid value for parameter"),
        ("maintenance_work_mem", "2MB", "ALTER DATABASE sets it"),
        ("temp_buffers", "2MB", "ALTER ROLE sets it"),
    ],
)
def test_what_would_not_be_in_effect_is_refused_and_nothing_stays(
    server: Server, one: Endpoint, tmp_path: Path, refused_one: tuple[str, str, str]
) -> None:
    name, value, said = refused_one
    database = one.target.database
    server.asked(f"ALTER DATABASE {database} SET maintenance_work_mem = '3MB'")
    server.asked(f"ALTER ROLE postgres IN DATABASE {database} SET temp_buffers = '3MB'")
    before, file = shown(server), kept(server)
    with pytest.raises(SettingsError) as refused, staged(one, {**WANTED, name: value}, tmp_path):
        raise AssertionError("it is not set")
    assert said in refused.value.message
    assert refused.value.hint
    assert (shown(server), kept(server)) == (before, file)
    assert left_behind(tmp_path).staged == ()


def test_a_limit_that_our_own_session_has_too_is_set_for_all_others(
    server: Server, one: Endpoint, tmp_path: Path
) -> None:
    with staged(one, {"statement_timeout": "7min"}, tmp_path):
        assert server.asked("SHOW statement_timeout") == [["7min"]]
    assert server.asked("SHOW statement_timeout") == [["0"]]


def test_files_that_the_server_does_not_read_are_named_before_anything_is_set(
    server: Server, one: Endpoint, tmp_path: Path
) -> None:
    wrong, file = server.folder / "data/postgresql.conf", kept(server)
    was = wrong.read_text()
    wrong.write_text(was + "no_such_setting = 1\n")
    try:
        with pytest.raises(SettingsError) as refused, staged(one, WANTED, tmp_path):
            raise AssertionError("it is not set")
        assert kept(server) == file
    finally:
        wrong.write_text(was)
    assert f"postgresql.conf:{len(was.splitlines()) + 1} is wrong" in refused.value.message
    assert "unrecognized configuration parameter" in refused.value.message
    assert left_behind(tmp_path).staged == ()


def test_files_that_the_server_does_not_read_any_more_hide_nothing_of_what_is_put_back(
    server: Server, one: Endpoint, tmp_path: Path
) -> None:
    wrong, before, file = server.folder / "data/postgresql.conf", shown(server), kept(server)
    was = wrong.read_text()
    try:
        with pytest.raises(LeftChanged) as refused, staged(one, WANTED, tmp_path):
            wrong.write_text("no_such_setting = 1\n" + was)
    finally:
        wrong.write_text(was)
    assert "postgresql.conf:1 is wrong" in refused.value.message
    (staging,) = left_behind(tmp_path).staged
    journal = take_over(staging)
    assert journal is not None
    assert put_back(journal, one).told() == []
    assert (shown(server), kept(server)) == (before, file)


def test_who_may_not_set_anything_is_told_the_right(
    server: Server, one: Endpoint, tmp_path: Path
) -> None:
    target = one.target.model_copy(update={"user": "by_scram", "socket": None, "port": server.port})
    less = Endpoint(target=target, credentials=Credentials(password=SecretStr(PASSWORD)))
    with pytest.raises(SettingsError) as refused, staged(less, WANTED, tmp_path):
        raise AssertionError("it is not set")
    assert "cannot set work_mem" in refused.value.message
    assert "superuser" in str(refused.value.hint)


def test_a_run_that_was_killed_at_any_moment_is_put_back(
    server: Server, one: Endpoint, tmp_path: Path
) -> None:
    before, file = shown(server), kept(server)
    killed = Killed(one, tmp_path, {"work_mem": "64MB", "random_page_cost": "4.0"})
    try:
        acts = killed.acts()
        assert (shown(server), kept(server)) == (before, file)
        assert acts > 6
        for moment, when in itertools.product(range(1, acts + 1), ("before", "after")):
            killed.at(moment, when)
            for staging in left_behind(tmp_path).staged:
                journal = take_over(staging)
                assert journal is not None
                done = put_back(journal, one)
                assert done.told() == [], (moment, when)
            assert (shown(server), kept(server)) == (before, file), (moment, when)
            assert left_behind(tmp_path).staged == ()
    finally:
        killed.end()


def test_what_another_client_sets_in_between_is_left(
    server: Server, one: Endpoint, tmp_path: Path
) -> None:
    told = SettingsReport()
    with staged(one, {"work_mem": "64MB"}, tmp_path, told):
        server.asked("ALTER SYSTEM SET work_mem = '7MB'")
        server.asked("SELECT pg_reload_conf()")
    assert "set by another client since, and left: work_mem" in told.left[0]
    assert shown(server)[0] == "7MB"
