"""Data folders as they are created, for servers that are started for the first time at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.sandbox import template
from loadstone.sandbox.binary import ServerBinary


def binary(tmp_path: Path, version: str) -> ServerBinary:
    program = tmp_path / "mariadbd"
    program.touch()
    return ServerBinary(program, "mariadb", version)


def test_two_servers_in_the_making_leave_each_other_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    one, other = (binary(tmp_path, version) for version in ("11.8.1", "11.8.2"))

    def initialise(which: ServerBinary, datadir: Path) -> None:
        datadir.mkdir()
        (datadir / "ibdata1").write_text(which.version)
        if which == one:
            template.copy_template(other, tmp_path / "other")

    monkeypatch.setattr(template, "_initialise", initialise)
    template.copy_template(one, tmp_path / "one")
    assert (tmp_path / "one" / "ibdata1").read_text() == "11.8.1"
    assert (tmp_path / "other" / "ibdata1").read_text() == "11.8.2"


def test_what_a_killed_one_left_is_cleared_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    server = binary(tmp_path, "11.8.1")
    left: list[Path] = []

    def killed(which: ServerBinary, datadir: Path) -> None:
        left.append(datadir.parent)
        raise RuntimeError

    def initialise(which: ServerBinary, datadir: Path) -> None:
        datadir.mkdir()

    with monkeypatch.context() as patched, pytest.raises(RuntimeError):
        patched.setattr(template, "_initialise", killed)
        template.copy_template(server, tmp_path / "first")
    left[0].mkdir()
    monkeypatch.setattr(template, "_initialise", initialise)
    template.copy_template(server, tmp_path / "second")
    assert not left[0].exists()
