"""Parameters of recipes: values, targets, what only root can do; one clear line for all else."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.recipes.filling import fill
from loadstone.recipes.recipe import RecipeRefused, recipe

URL = "mysql://bench@db1:3306/sbtest"


def text_of(name: str, *given: str, is_root: bool = True) -> str:
    return fill(recipe(name), given, quick=True, is_root=is_root).text


def refused(name: str, *given: str, is_root: bool = True) -> RecipeRefused:
    with pytest.raises(RecipeRefused) as told:
        fill(recipe(name), given, quick=True, is_root=is_root)
    assert "\n" not in told.value.message
    assert told.value.exit_code == 2
    return told.value


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("users=1, 8,64", "ladder = [1, 8, 64]"),
        ("duration=2m", 'duration = "2m"'),
        ("repeats=4", "repeats = 4"),
        ("rows=1m", "table_size = 1000000"),
        ("workload=oltp_delete", 'name = "oltp_delete"'),
        ("server=/opt/my sql/mysqld", 'server = "/opt/my sql/mysqld"'),
        ("buffer-pool=1G", 'innodb_buffer_pool_size = "1G"'),
    ],
)
def test_what_is_set_stands_in_the_file(given: str, line: str) -> None:
    assert line in text_of("group-commit", given).splitlines()


@pytest.mark.parametrize(
    ("recipe_name", "given", "said", "hint"),
    [
        (
            "group-commit",
            "tabels=4",
            "group-commit has no parameter tabels",
            "did you mean tables?",
        ),
        ("group-commit", "tables", "--set tables: write key=value", None),
        ("group-commit", "tables=", "--set tables=: write key=value", None),
        ("group-commit", "tables=none", "--set tables=none: ", "write a whole number"),
        ("group-commit", "users=1,1", "--set users=1,1: 1 is there twice", "leave one out"),
        ("group-commit", "duration=0", "--set duration=0: a time of zero", 'write "30s"'),
        (
            "group-commit",
            "server=oracle",
            "--set server=oracle: it is not a server",
            "write mariadb",
        ),
        (
            "group-commit",
            "workload=Drop;",
            "--set workload=Drop;: it is not a workload",
            "write oltp",
        ),
        (
            "group-commit",
            "target=mysql://u:p@db1/x",
            "--target mysql://u:p@db1/x: the URL has a password",
            "leave it out",
        ),
        ("group-commit", "target=db1", "--set target=db1: it names no server", "write a URL"),
        ("tls", "repeats=5", "--set repeats=5: variants are interleaved in both orders", "write 6"),
        ("thread-pool", "server=/x", "--set server=/x: it is not one of mariadb, mysql", "write"),
        (
            "network",
            "slow_rate=fast",
            '--set slow_rate=fast: "fast" is not a network speed',
            "write",
        ),
        ("instance-size", "cores_small=-1", "--set cores_small=-1: ", "write"),
    ],
)
def test_what_cannot_be_is_one_clear_line(
    recipe_name: str, given: str, said: str, hint: str | None
) -> None:
    error = refused(recipe_name, given)
    assert error.message.startswith(said)
    if hint:
        assert (error.hint or "").startswith(hint)


def test_a_password_in_a_url_is_refused_and_not_repeated_in_the_hint() -> None:
    error = refused("tls", "target=mysql://u:secret@db1/sbtest")
    assert "the URL has a password" in error.message
    assert "secret" not in (error.hint or "")


def test_a_key_is_set_once() -> None:
    assert refused("tls", "users=1", "users=2").message == "--set users is there twice"


def test_there_is_no_such_recipe() -> None:
    with pytest.raises(RecipeRefused, match="there is no recipe group-comit") as told:
        recipe("group-comit")
    assert told.value.hint == "did you mean group-commit?"


def test_a_dollar_sign_in_a_url_is_one() -> None:
    assert 'url = "mysql://a$b@db1/sbtest"' in text_of("tls", "target=mysql://a$b@db1/sbtest")


def test_what_only_root_can_do_says_what_else_there_is() -> None:
    error = refused("instance-size", is_root=False)
    assert error.message == "instance-size needs control groups, which only root can make"
    assert "--set small=mysql://" in (error.hint or "")
    ours = text_of("instance-size", f"small={URL}", f"large={URL}2", is_root=False)
    assert "cgroup" not in ours


def test_without_root_the_network_is_reckoned() -> None:
    filled = fill(recipe("network"), (), quick=True, is_root=False)
    assert "[factor" not in filled.text
    assert filled.note is not None
    assert filled.note.startswith("without root no bandwidth is limited")
    assert {each.kind for each in filled.expect} == {"line"}


def test_another_system_must_be_given() -> None:
    error = refused("os-upgrade")
    assert error.message.startswith("old is not set: it is the old system's folder")
    assert 'root = "/srv/old"' in text_of("os-upgrade", "old=/srv/old")
    assert "[factor.system.old.target]" in text_of("os-upgrade", f"old={URL}")


def test_a_folder_may_be_written_as_it_is_seen_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/srv/me")
    for given, whole in {"./old": tmp_path / "old", "~/old": "/srv/me/old"}.items():
        assert f'root = "{whole}"' in text_of("os-upgrade", f"old={given}")
    both = text_of("os-upgrade", "old=sandbox", "new=.cache/new")
    assert f'root = "{tmp_path}/.cache/new"' in both
    assert both.count("root = ") == 1


def test_a_server_with_a_version_has_the_pool_of_its_maker() -> None:
    text = text_of("thread-pool", "server=mariadb-10.11")
    assert 'server = "mariadb-10.11"' in text
    assert 'thread_handling = "pool-of-threads"' in text
