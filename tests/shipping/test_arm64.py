"""The ARM64 wheel that another kind of processor cross-built, run by qemu's user mode."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from loadstone import __version__

PROJECT = Path(__file__).resolve().parents[2]
BUNDLE = PROJECT / "dist" / "bundle-aarch64"
SYSTEM = PROJECT / ".cache" / "arm64-python"
QEMU = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")

pytestmark = [pytest.mark.slow, pytest.mark.nightly, pytest.mark.timeout(1800)]

if os.uname().machine == "aarch64":
    pytest.skip("not evaluated: this is ARM64 itself (test_wheel.py)", allow_module_level=True)
if not BUNDLE.is_dir():
    pytest.skip("not evaluated: make dist MACHINE=aarch64", allow_module_level=True)
if QEMU is None:
    pytest.skip("not evaluated: apt-get install qemu-user-static", allow_module_level=True)
if not SYSTEM.is_dir():
    pytest.skip("not evaluated: tools/get-arm64-python", allow_module_level=True)


@dataclass(frozen=True)
class Arm64:
    """The bundle's packages, for Debian's Python of ARM64."""

    folder: Path

    def open(self, *arguments: str) -> subprocess.Popen[str]:
        """Start the program."""
        python = SYSTEM / "usr/bin/python3"
        return subprocess.Popen(
            [str(QEMU), str(python), "-m", "loadstone", *arguments],
            cwd=self.folder,
            env={
                "HOME": str(self.folder),
                "PATH": "/usr/bin:/bin",
                "PYTHONPATH": str(self.folder / "packages"),
                "QEMU_LD_PREFIX": str(SYSTEM),
                "LANG": "C.UTF-8",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str) -> str:
        """The stdout of a command, which must succeed."""
        process = self.open(*arguments)
        out, err = process.communicate(timeout=800)
        assert process.returncode == 0, out + err
        return out

    @contextmanager
    def null_server(self) -> Iterator[dict[str, str]]:
        """A null server, of ARM64 as well; what it says of itself."""
        server = self.open("null-server", "--json")
        try:
            assert server.stdout is not None
            yield json.loads(server.stdout.readline())
        finally:
            server.terminate()
            server.communicate(timeout=120)


@pytest.fixture(scope="module")
def arm64(tmp_path_factory: pytest.TempPathFactory) -> Arm64:
    folder = tmp_path_factory.mktemp("arm64")
    for wheel in BUNDLE.glob("*.whl"):
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(folder / "packages")
    return Arm64(folder)


def test_it_climbs_its_first_ladder(arm64: Arm64) -> None:
    assert arm64.run("--version") == f"loadstone {__version__}\n"
    with arm64.null_server() as server:
        words = ("run", "oltp_point_select", "--target", server["target"], "--concurrency", "1,2,4")
        arm64.run(*words, "--duration", "2s", "--warmup", "0s", "--name", "first")
    (run,) = (arm64.folder / "runs").iterdir()
    steps = json.loads((run / "result.json").read_text())["steps"]
    assert [step["concurrency"] for step in steps] == [1, 2, 4]
    assert all(step["tps"] > 0 and step["tally_balances"] for step in steps)
    assert '"aarch64"' in (run / "environment.json").read_text()
    assert "| users |" in arm64.run("report", "first", "--markdown")


def test_its_luajit_throws_and_catches(arm64: Arm64) -> None:
    script = arm64.folder / "thrown.lua"
    script.write_text(
        "function event()\n"
        '  local fine, said = pcall(error, "thrown")\n'
        "  assert(not fine and said == 'thrown' and jit.arch == 'arm64')\n"
        '  db_query("SELECT 1")\n'
        "end\n"
    )
    with arm64.null_server() as server:
        where = ("--mysql-host=127.0.0.1", f"--mysql-port={server['port']}", "--mysql-user=u")
        said = arm64.run("sysbench", *where, "--time=2", "--threads=2", str(script), "run")
    assert int(re.findall(r"total number of events: +(\d+)", said)[0]) > 0
