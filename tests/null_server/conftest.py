"""The null server, built once and started for each test."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from loadstone.sandbox.certificates import Certificates, make_certificates
from null_server.running import Running, serve

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def program() -> Path:
    """The program, built if its sources have changed."""
    command = ["cargo", "build", "--release", "--quiet", "--package", "loadstone-null-server"]
    subprocess.run(command, cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return target / "release/loadstone-null-server"


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Certificates for a server that offers TLS, and for clients that verify them."""
    return make_certificates(tmp_path_factory.mktemp("null_server") / "tls")


class Starter:
    """Starts servers, and ends them with the test."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.program = program
        self.folder = folder
        self.started: list[Running] = []

    def __call__(self, script: dict[str, Any] | None = None, *options: str) -> Running:
        """A server that follows a script."""
        folder = self.folder / str(len(self.started))
        folder.mkdir()
        self.started.append(serve(self.program, folder, script, options))
        return self.started[-1]


@pytest.fixture
def start(program: Path, tmp_path: Path) -> Iterator[Starter]:
    """Starts servers."""
    starter = Starter(program, tmp_path)
    yield starter
    for server in starter.started:
        server.end()
