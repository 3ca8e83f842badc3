"""One server for all tests here, and both programs to run against it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from loadstone.sandbox import Sandbox
from loadstone.sysbench import program
from pooled import Pool

Done = subprocess.CompletedProcess[str]
Program = Callable[..., Done]


@pytest.fixture(scope="module")
def server(pool: Pool) -> Iterator[Sandbox]:
    """A server with a schema for the tests of a module, which create and remove their tables."""
    pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")
    with pool.schema() as own:
        yield own


@pytest.fixture(scope="module")
def connection(server: Sandbox) -> tuple[str, ...]:
    """The options that name the server, as a user writes them."""
    target = server.tcp.target
    return (
        f"--mysql-host={target.host}",
        f"--mysql-port={target.port}",
        f"--mysql-user={target.user}",
        f"--mysql-password={server.tcp.credentials.reveal()}",
        f"--mysql-db={target.database}",
    )


def carried_out(program: list[str], words: tuple[str, ...], folder: Path) -> Done:
    return subprocess.run(
        [*program, *words],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        cwd=folder,
        env={name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        | {"HOME": str(folder)},
        timeout=60,
    )


@pytest.fixture
def ours(tmp_path: Path) -> Program:
    def run(*words: str) -> Done:
        done = carried_out([sys.executable, "-m", "loadstone.cli", "sysbench"], words, tmp_path)
        assert "Traceback" not in done.stderr + done.stdout
        return done

    return run


@pytest.fixture
def ours_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Program:
    """Ours within this process: starting another takes longer than most command lines do."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> Done:
        capsys.readouterr()
        code = program.main(words)
        said = capsys.readouterr()
        return Done(list(words), code, said.out, said.err)

    return run


@pytest.fixture
def theirs(tmp_path: Path) -> Program:
    return lambda *words: carried_out(["sysbench"], words, tmp_path)
