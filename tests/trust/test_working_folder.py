"""Nothing is executed because it is in the working folder, which may be shared or downloaded."""

from __future__ import annotations

import ast
import os
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import loadstone
from loadstone.sandbox import SandboxError, find_server, trusted
from loadstone.sandbox.mysql import binaries, programs
from loadstone.web import sidecar
from loadstone.web.address import Address
from trust.tally import COUNTS

_SOURCE = Path(loadstone.__file__).parent
_PATIENCE_S = 60.0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The test's working folder, and its own home."""
    (tmp_path / "home").mkdir()
    (tmp_path / "shared").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home" / "state"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.chdir(tmp_path / "shared")
    return tmp_path / "shared"


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without a server, on which the program was installed as a wheel."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(programs, "elsewhere", ())
    monkeypatch.setattr(trusted, "__file__", "/usr/lib/python3/loadstone/sandbox/trusted.py")
    monkeypatch.setattr(trusted, "_owners", lambda: {0, os.geteuid()})


def trap(program: Path, ran: Path) -> Path:
    """A fake server program that records that it was asked for its version."""
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\necho $0 >> {ran}\necho mysqld Ver 9.1.0 for Linux\n")
    program.chmod(0o755)
    COUNTS["inputs tried"] += 1
    return program


@pytest.mark.usefixtures("nothing_installed")
def test_no_server_of_the_working_folder_is_started(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = folder / "ran"
    for root in ("mariadb", "mysql"):
        for place in ("usr/sbin", "bin"):
            for name in ("mariadbd", "mysqld"):
                trap(folder / ".cache" / root / place / name, ran)
                trap(folder / "loadstone" / root / place / name, ran)
    plugin = folder / ".cache" / "mariadb-plugins" / "auth_ed25519.so"
    plugin.parent.mkdir()
    plugin.touch()
    for home in (None, "", ".", ".cache"):
        if home is not None:
            monkeypatch.setenv("XDG_CACHE_HOME", home)
        for wanted in (None, "mariadb", "mysql"):
            with pytest.raises(SandboxError, match="no .* server on this machine"):
                find_server(wanted)
        assert binaries.mariadb_plugins() is None
    assert not ran.exists()


@pytest.mark.usefixtures("nothing_installed")
def test_a_fetched_server_is_started_where_nobody_else_can_have_put_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = folder / "ran"
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder.parent / "home"))
    program = trap(folder.parent / "home/loadstone/mysql/usr/sbin/mysqld", ran)
    assert find_server("mysql").program == program
    ran.unlink()
    above = [program, *program.parents[: len(Path("loadstone/mysql/usr/sbin/mysqld").parts)]]
    assert above[-1].name == "home"
    for place in above:
        before = place.stat().st_mode
        place.chmod(0o757)
        with pytest.raises(SandboxError):
            find_server("mysql")
        place.chmod(before)
    if os.geteuid() == 0:
        for place in above:
            before = place.stat().st_mode
            os.chown(place, -1, 65534)
            place.chmod(0o775)
            with pytest.raises(SandboxError):
                find_server("mysql")
            place.chmod(before)
            os.chown(place, 65534, 0)
            with pytest.raises(SandboxError):
                find_server("mysql")
            os.chown(place, 0, 0)
    assert not ran.exists()
    # All of that was fixed again.
    assert find_server("mysql").program == program


def _modules_of_the_page() -> list[str]:
    """All that the child could import first: the standard library, and all that is installed."""
    installed = {path.stem.partition(".")[0] for path in Path(urllib.__path__[0]).parent.glob("*")}
    site = Path(pytest.__file__).parents[1]
    return sorted(
        {name for name in sys.stdlib_module_names | installed if name.isidentifier()}
        | {path.stem for path in site.iterdir() if path.stem.isidentifier()}
        | {"sitecustomize", "usercustomize"}
    )


@pytest.mark.slow
def test_no_module_of_the_working_folder_is_run_by_the_live_page(folder: Path) -> None:
    ran = folder / "ran"
    for name in _modules_of_the_page():
        (folder / f"{name}.py").write_text(f"open({str(ran)!r}, 'a').write({name!r} + ' ')\n")
        COUNTS["inputs tried"] += 1
    with sidecar.live_page(folder / "runs", Address("127.0.0.1", 0)) as url:
        until = time.monotonic() + _PATIENCE_S
        while not _answers(url):
            assert not ran.exists(), ran.read_text()
            assert time.monotonic() < until, (
                folder.parent / "home/state/loadstone/live.log"
            ).read_text()
            time.sleep(0.05)
    assert not ran.exists(), ran.read_text()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=_PATIENCE_S):
            return True
    except urllib.error.HTTPError:
        return True  # it is the page, which requires its token
    except OSError:
        return False


def test_every_python_that_is_started_leaves_the_working_folder_out() -> None:
    started = [
        node
        for file in _SOURCE.rglob("*.py")
        if "sys.executable" in (text := file.read_text())
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.List | ast.Tuple)
        and "sys.executable" in map(ast.unparse, node.elts)
    ]
    assert started
    for command in started:
        words = [ast.unparse(word) for word in command.elts]
        assert words[words.index("sys.executable") + 1] == "'-P'", words
