"""Servers that are named with their version, and what differs between versions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from loadstone.cli.commands.sandbox import sandbox
from loadstone.model.error_codes import MYSQL
from loadstone.sandbox import SandboxError, SandboxSpec, ServerBinary, find_server, start_sandbox
from loadstone.sandbox.binaries import ways_to_missing
from loadstone.sandbox.mysql.binaries import mariadb_plugins
from loadstone.sandbox.mysql.initialise import _small_log
from loadstone.sandbox.mysql.releases import RELEASES
from loadstone.sandbox.programs import PROGRAMS, is_server_name
from loadstone.servers.connection import Connection
from pooled import need

LOCK = Path(__file__).resolve().parents[2] / "requirements/servers.lock"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only place where servers are looked for."""
    monkeypatch.setattr("loadstone.sandbox.binaries.caches", lambda: [tmp_path])
    monkeypatch.setattr("loadstone.sandbox.binaries.is_ours", Path.is_file)
    for family in PROGRAMS.values():
        monkeypatch.setattr(family, "elsewhere", ())
    monkeypatch.setattr("shutil.which", lambda name: None)
    return tmp_path


def program(place: Path, says: str) -> Path:
    place.parent.mkdir(parents=True)
    place.write_text(f"#!/bin/sh\n{says}\n")
    place.chmod(0o755)
    return place


def mysqld(cache: Path, folder: str, version: str) -> Path:
    return program(cache / folder / "mysqld", f"echo 'mysqld  Ver {version} for Linux'")


def test_a_version_picks_the_newest_server_that_begins_with_it(cache: Path) -> None:
    old = mysqld(cache, "mysql-8.0.15/bin", "8.0.15")
    new = mysqld(cache, "mysql-8.0/bin", "8.0.31")
    five = mysqld(cache, "mysql-5.7/bin", "5.7.22")
    found = {
        name: find_server(name).program
        for name in ("mysql-8.0", "mysql-8.0.15", "mysql-8", "mysql-5.7", "mysql-5.7.22")
    }
    expected = {"mysql-8.0": new, "mysql-8.0.15": old, "mysql-8": new}
    assert found == {**expected, "mysql-5.7": five, "mysql-5.7.22": five}


def test_an_old_server_is_started_only_when_its_version_is_named(cache: Path) -> None:
    mysqld(cache, "mysql-5.7/bin", "5.7.22")
    for wanted in ("mysql", None):
        with pytest.raises(SandboxError, match="server on this machine"):
            find_server(wanted)


def test_part_of_a_number_is_no_version(cache: Path) -> None:
    mysqld(cache, "mysql-8.0.15/bin", "8.0.15")
    with pytest.raises(SandboxError, match=r"no mysql-8\.0\.1 server on this machine"):
        find_server("mysql-8.0.1")


@pytest.mark.parametrize("name", RELEASES)
def test_a_missing_release_says_how_to_get_it(cache: Path, name: str) -> None:
    with pytest.raises(SandboxError, match=f"no {name} server on this machine") as refused:
        find_server(name)
    assert refused.value.hint == f"tools/get-server {name} (touches no system folder)"


def test_an_unknown_release_says_which_there_are(cache: Path) -> None:
    with pytest.raises(SandboxError) as refused:
        find_server("mysql-8.4")
    assert "tools/get-server fetches mysql-5.7, mysql-8.0.15" in str(refused.value.hint)


@pytest.mark.parametrize(
    ("library", "hint"),
    [
        ("libaio.so.1", "apt-get install libaio1"),
        ("libtinfo.so.5", "apt-get install libtinfo5"),
        ("libodd.so.2", "install the package that has libodd.so.2"),
    ],
)
def test_a_missing_library_is_named_with_its_package(cache: Path, library: str, hint: str) -> None:
    reason = "cannot open shared object file: No such file or directory"
    says = f"echo 'mysqld: error while loading shared libraries: {library}: {reason}' >&2; exit 127"
    place = program(cache / "mysql-5.7/bin/mysqld", says)
    for wanted in ("mysql-5.7", str(place)):
        with pytest.raises(SandboxError, match=f"needs the library {library}") as refused:
            find_server(wanted)
        assert refused.value.hint == hint


def test_an_unpacked_server_finds_its_messages_beside_it(cache: Path) -> None:
    mysqld(cache, "mysql-5.7/bin", "5.7.22")
    share = cache / "mysql-5.7/share"
    for folder in ("charsets", "english"):
        (share / folder).mkdir(parents=True)
    (share / "english/errmsg.sys").touch()
    assert find_server("mysql-5.7").options == (
        f"--lc-messages-dir={share}",
        f"--character-sets-dir={share}/charsets",
    )


@pytest.mark.parametrize(
    ("version", "option"),
    [
        ("5.7.22", "--innodb-log-file-size=4M"),
        ("8.0.15", "--innodb-log-file-size=4M"),
        ("8.0.29", "--innodb-log-file-size=4M"),
        ("8.0.30", "--innodb-redo-log-capacity=8M"),
        ("9.7.4", "--innodb-redo-log-capacity=8M"),
    ],
)
def test_the_redo_log_of_a_template_is_small_by_each_versions_own_variable(
    version: str, option: str
) -> None:
    assert _small_log(ServerBinary(Path("mysqld"), "mysql", version)) == option


def test_names_with_and_without_a_version_are_told_from_paths() -> None:
    names = ("mysql", "mariadb-10.11", "mysql-5.7.22", "mysql-x", "mysqld", "/usr/sbin/mysqld")
    assert [is_server_name(name) for name in names] == [True] * 3 + [False] * 3


def test_what_is_here_is_not_listed_as_missing() -> None:
    here = [
        ServerBinary(Path("mysqld"), "mysql", "8.0.31"),
        ServerBinary(Path("m"), "mariadb", "10.5.23"),
    ]
    missing = ways_to_missing(here)
    assert not {"mysql-8.0", "mariadb-10.5"} & set(missing)
    assert {"mysql-5.7", "mysql-8.0.15", "mysql-9", "mariadb-11.8"} <= set(missing)


def test_the_list_of_available_servers_has_those_here_and_how_to_get_the_rest(cache: Path) -> None:
    place = mysqld(cache, "mysql-5.7/bin", "5.7.22")
    said = json.loads(CliRunner().invoke(sandbox, ["list", "--available", "--json"]).stdout)
    assert said["here"] == [{"server": "mysql", "version": "5.7.22", "program": str(place)}]
    known = {name for family in PROGRAMS.values() for name in family.releases}
    assert set(said["missing"]) == known - {"mysql-5.7"}
    table = CliRunner().invoke(sandbox, ["list", "--available"]).stdout
    assert "mysql 5.7.22" in table
    assert "not here: tools/get-server mariadb-11.8" in table


@pytest.mark.parametrize(
    ("said", "fits"),
    [("1:10.11.14-0+deb12u2\n", True), ("1:11.8.9-0+deb13u1\n", False), (None, True)],
)
def test_plugins_are_those_of_the_server_s_series(
    cache: Path, monkeypatch: pytest.MonkeyPatch, said: str | None, fits: bool
) -> None:
    monkeypatch.setattr("loadstone.sandbox.mysql.binaries.caches", lambda: [cache])
    monkeypatch.setattr("loadstone.sandbox.mysql.binaries.is_ours", Path.is_file)
    plugins = cache / "mariadb-plugins"
    plugins.mkdir(parents=True)
    (plugins / "auth_ed25519.so").touch()
    if said is not None:
        (plugins / ".version").write_text(said)
    assert mariadb_plugins() == plugins
    assert mariadb_plugins((10, 11, 11)) == (plugins if fits else None)


def test_every_archive_is_pinned_by_its_hash() -> None:
    lines = [line.split() for line in LOCK.read_text().splitlines() if not line.startswith("#")]
    pinned = {name: digest for name, _, digest, _ in lines}
    assert {name for name in RELEASES if name.startswith(("mysql-5", "mysql-8"))} == set(pinned)
    assert {len(digest) for digest in pinned.values()} == {64}


@pytest.mark.server
@pytest.mark.nightly
def test_a_replica_of_5_7_follows_without_tls(state: Path) -> None:
    need("mysql-5.7")
    with start_sandbox(SandboxSpec(server="mysql-5.7", replica=True)) as started:
        assert started.replica is not None


@pytest.mark.server
@pytest.mark.nightly
@pytest.mark.parametrize("name", RELEASES)
def test_each_release_starts_takes_rows_and_starts_again(state: Path, name: str) -> None:
    need(name)
    with start_sandbox(SandboxSpec(server=name)) as started:
        assert PROGRAMS[MYSQL].fits(find_server(name), name)
        asked(started.connect(), "CREATE TABLE t (a INT PRIMARY KEY)", "INSERT INTO t VALUES (7)")
        started.restart(60)
        assert asked(started.connect(), "SELECT a FROM t") == ((7,),)


def asked(connection: Connection, *statements: str) -> object:
    with connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        return cursor.fetchall()
