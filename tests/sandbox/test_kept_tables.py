"""Throwaway servers that start on the tables of an earlier one."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loadstone.families import family_of
from loadstone.model.message import Message
from loadstone.sandbox import Sandbox, SandboxError, SandboxSpec, kept_tables, start_sandbox
from loadstone.sandbox.kept_tables import Contents, Kept, clear_kept, kept_folders, start_loaded
from loadstone.sandbox.template import cache_folder
from pooled import KINDS_IN_TURN, QUICK, need

GIB = 2**30
NUMBERS = Contents("numbers to three", "numbers")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own, which has the templates of all, and keeps whatever was loaded."""
    templates = cache_folder("templates")
    own = tmp_path / "cache"
    (own / "loadstone").mkdir(parents=True)
    (own / "loadstone" / "templates").symlink_to(templates)
    monkeypatch.setenv("XDG_CACHE_HOME", str(own))
    monkeypatch.setenv("LOADSTONE_KEPT_GIB", "16")
    monkeypatch.setattr(kept_tables, "is_worth_keeping", lambda **_: True)
    return cache_folder("tables")


class Starts:
    """Starts servers of a kind, and counts how often they were loaded."""

    def __init__(self, kind: str) -> None:
        self.spec = SandboxSpec(server=need(kind), settings=dict(QUICK))
        self.loads = 0
        self.told: list[Message] = []

    def __call__(self, contents: Contents = NUMBERS, **settings: str) -> Sandbox:
        given = {**self.spec.settings, **settings}
        spec = self.spec.model_copy(update={"settings": given})
        return start_loaded(spec, contents, self._load, self.told.append)

    def _load(self, sandbox: Sandbox) -> None:
        self.loads += 1
        with sandbox.connect() as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE numbers (number INT PRIMARY KEY)")
            cursor.execute("INSERT INTO numbers VALUES (1), (2), (3)")
            connection.commit()


@pytest.fixture(params=KINDS_IN_TURN)
def starts(cache: Path, request: pytest.FixtureRequest) -> Starts:
    return Starts(request.param)


def answer(sandbox: Sandbox, statement: str) -> list[tuple[Any, ...]]:
    """Over TCP, with the password of this server."""
    with family_of(sandbox.tcp.target).connect(sandbox.tcp) as connection:
        with connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())


@pytest.mark.server
def test_the_next_server_has_the_rows_and_an_identity_of_its_own(starts: Starts) -> None:
    with starts() as first:
        was = answer(first, "SELECT @@GLOBAL.server_uuid") if first.flavour == "mysql" else []
        assert answer(first, "SELECT COUNT(*) FROM numbers") == [(3,)]
        with starts(innodb_buffer_pool_size="64M") as second:  # both at once
            assert starts.loads == 1
            assert answer(second, "SELECT SUM(number) FROM numbers") == [(6,)]
            assert second.accounts[0].password != first.accounts[0].password
            if was:
                assert answer(second, "SELECT @@GLOBAL.server_uuid") != was
    (kept,) = kept_folders()
    assert kept.tables == "numbers"
    assert kept.bytes > 2**20
    with starts(innodb_file_per_table="OFF"):
        assert starts.loads == 2  # other files
    with starts(Contents("numbers to four", "numbers")):
        assert starts.loads == 3


@pytest.mark.server
def test_a_start_is_timed_once_its_program_s_first_data_folder_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LOADSTONE_KEPT_GIB", "16")
    seen: list[bool] = []

    def start(spec: SandboxSpec) -> Sandbox:
        seen.append(any(cache_folder("templates").glob("mariadb-*/")))
        return start_sandbox(spec)

    monkeypatch.setattr(kept_tables, "start_sandbox", start)
    Starts("mariadb")().stop()
    assert seen == [True]


@pytest.mark.server
def test_a_damaged_folder_is_loaded_anew(cache: Path) -> None:
    starts = Starts("mariadb")
    starts().stop()
    (entry,) = cache.glob("mariadb-*")
    (entry / "data" / "ibdata1").write_bytes(b"damaged")
    with starts() as sandbox:
        assert starts.loads == 2
        assert answer(sandbox, "SELECT COUNT(*) FROM numbers") == [(3,)]
    assert str(starts.told[0]).startswith(
        "the tables that an earlier server has left are removed: "
    )
    with starts():
        assert starts.loads == 2


@pytest.mark.server
def test_what_cannot_be_kept_is_told_and_the_server_goes_on(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: Path, copy: Path) -> None:
        raise OSError(28, "No space left on device")

    starts = Starts("mariadb")
    monkeypatch.setattr(kept_tables, "copy_folder", full)
    with starts() as sandbox:
        assert answer(sandbox, "SELECT COUNT(*) FROM numbers") == [(3,)]
    assert [str(said) for said in starts.told] == [
        "its tables cannot be kept for the next server: No space left on device"
    ]
    assert not kept_folders()
    assert not list(cache.glob(".making-*"))


def put(cache: Path, name: str, size: int, used_s: float) -> None:
    """What a server has left, without its files."""
    entry = cache / name
    (entry / "data").mkdir(parents=True)
    kept = Kept(server="MariaDB 11.8.1", tables=name, bytes=size, used_s=used_s)
    (entry / "about.json").write_text(kept.model_dump_json())


@pytest.fixture
def room(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets how much of the disk is free."""

    def free(size: int) -> None:
        usage = shutil.disk_usage("/")
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=size))

    free(1000 * GIB)
    return free


def test_those_used_least_recently_make_room(cache: Path, room: Callable[[int], None]) -> None:
    for used_s, name in enumerate(("old", "middle", "new")):
        put(cache, name, 5 * GIB, used_s)
    assert kept_tables._make_room(cache, 5 * GIB, 16 * GIB)
    assert [kept.tables for kept in kept_folders()] == ["new", "middle"]
    assert not kept_tables._make_room(cache, 17 * GIB, 16 * GIB)
    assert len(kept_folders()) == 2
    room(2 * GIB)  # a quarter of 12 GiB is 3
    assert kept_tables._make_room(cache, GIB, 16 * GIB)
    assert not kept_folders()


def test_they_are_listed_and_removed(cache: Path) -> None:
    put(cache, "one", GIB, 1)
    put(cache, "two", GIB, 2)
    (cache / "unreadable").mkdir()
    assert [kept.tables for kept in kept_folders()] == ["two", "one"]
    assert clear_kept() == 2 * GIB
    assert not [entry for entry in cache.iterdir() if entry.name != ".lock"]


@pytest.mark.parametrize("given", ["many", "-1", "nan", "inf"])
def test_a_limit_that_is_none_is_refused(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOADSTONE_KEPT_GIB", given)
    with pytest.raises(SandboxError, match="LOADSTONE_KEPT_GIB is .*, which is no number of GiB"):
        start_loaded(SandboxSpec(), NUMBERS, lambda _: None, lambda _: None)


def test_only_loads_that_take_longer_than_a_start_are_worth_it() -> None:
    assert kept_tables.is_worth_keeping(start_s=1.0, load_s=1.1)
    assert not kept_tables.is_worth_keeping(start_s=1.0, load_s=0.9)
