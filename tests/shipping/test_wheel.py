"""The output of `make dist`: for old systems, complete, installed without Rust and network."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from pathlib import Path

import pytest

from loadstone import __version__
from tools.wheel_data import COMPLETION

DIST = Path(__file__).resolve().parents[2] / "dist"
WHEELS = sorted(DIST.glob("loadstone-*.whl"))
"""This machine's, and perhaps one that was cross-built."""
BUNDLES = sorted(DIST.glob(f"loadstone-*-{os.uname().machine}-*.tar.gz"))
GLIBC = (2, 17)
SYSTEM_LIBRARIES = {
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
}
"""Libraries that manylinux2014 allows: https://peps.python.org/pep-0599/#the-manylinux2014-policy
"""

pytestmark = pytest.mark.timeout(600)  # an installation writes half a gigabyte

if not (WHEELS and BUNDLES):
    pytest.skip("no dist/ here: make dist", allow_module_level=True)


@pytest.fixture(scope="module", params=WHEELS, ids=lambda path: path.stem.rpartition("2_17_")[2])
def wheel(request: pytest.FixtureRequest) -> zipfile.ZipFile:
    return zipfile.ZipFile(request.param)


@pytest.fixture(scope="module")
def engine(wheel: zipfile.ZipFile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The only compiled file of the wheel."""
    (name,) = (name for name in wheel.namelist() if name.endswith(".so"))
    return Path(wheel.extract(name, tmp_path_factory.mktemp("wheel")))


def read_elf(option: str, file: Path) -> str:
    if shutil.which("readelf") is None:
        pytest.skip("no readelf here: apt-get install binutils")
    words = ["readelf", "--wide", option, str(file)]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def test_the_engine_asks_for_no_newer_libc_than_it_says(engine: Path) -> None:
    asked = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", read_elf("--version-info", engine))
    wanted = {(int(major), int(minor)) for major, minor in asked}
    assert wanted
    assert max(wanted) <= GLIBC


def test_the_engine_asks_for_no_library_that_a_system_may_lack(engine: Path) -> None:
    needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", read_elf("--dynamic", engine)))
    loader = {name for name in needed if name.startswith("ld-linux")}
    assert needed - loader <= SYSTEM_LIBRARIES


def test_the_engine_names_no_folder_of_the_machine_that_made_it(engine: Path) -> None:
    said = engine.read_bytes()
    homes = {str(Path.home()), str(DIST.parent), os.environ.get("CARGO_HOME", str(Path.home()))}
    assert [home for home in homes if f"{home}/".encode() in said] == []


def test_the_wheel_has_the_package_its_licences_and_its_bill(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    (info,) = {name.partition("/")[0] for name in names if ".dist-info/" in name}
    for name in ("LICENSE", "NOTICE", "LICENSE-THIRD-PARTY.txt"):
        assert f"{info}/licenses/{name}" in names
    assert "loadstone/report/vendor/echarts.LICENSE" in names
    assert f"{info.removesuffix('.dist-info')}.data/scripts/loadstone-gate" in names
    bill = json.loads(wheel.read(f"{info}/sboms/loadstone.cdx.json"))
    assert bill["bomFormat"] == "CycloneDX"
    sources = DIST.parent / "src" / "loadstone"
    wanted = {
        path.relative_to(sources.parent).as_posix()
        for path in sources.rglob("*")
        if path.is_file() and path.suffix not in (".so", ".pyc")
    }
    assert wanted <= names


def test_the_wheel_has_what_man_shells_and_editors_look_for(wheel: zipfile.ZipFile) -> None:
    names = {name.partition(".data/data/")[2] for name in wheel.namelist()}
    assert {"share/man/man1/loadstone.1", "share/man/man1/loadstone-run.1"} <= names
    assert set(COMPLETION.values()) <= names
    assert "share/loadstone/experiment.schema.json" in names


def test_the_wheel_offers_the_extras(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    said = message_from_bytes(wheel.read(name))
    assert set(said.get_all("Provides-Extra", [])) == {"cluster", "lts-cpu", "push", "web"}
    wanted = said.get_all("Requires-Dist", [])
    assert any(each.startswith("ray") and "extra == 'cluster'" in each for each in wanted)
    core = {re.split(r"[^\w-]", each)[0] for each in wanted if "extra ==" not in each}
    assert not core & {"prometheus-client", "psutil", "pynacl", "ray", "starlette", "uvicorn"}


def test_a_second_build_elsewhere_gave_the_same_bytes(wheel: zipfile.ZipFile) -> None:
    first = Path(str(wheel.filename))
    again = DIST / "again" / first.name
    if not again.exists():
        pytest.skip("built once: make dist CHECK=1 builds twice")
    assert again.read_bytes() == first.read_bytes()


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle's folder."""
    folder = tmp_path_factory.mktemp("bundle")
    subprocess.run(["tar", "-C", folder, "-xf", BUNDLES[0]], check=True)
    (inner,) = folder.iterdir()
    return inner


@pytest.fixture(scope="module")
def installed(unpacked: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The program installed by the lines of INSTALL.txt, with neither compiler nor Rust on PATH."""
    python = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    home = tmp_path_factory.mktemp("home")
    said = (unpacked / "INSTALL.txt").read_text()
    lines = [line.strip() for line in said.splitlines() if line.startswith("    ")]
    make, install, ask, *more = lines
    if not make.startswith(f"{python} "):
        pytest.skip(f"the bundle is for another Python: {make}")
    assert all("-r lts-cpu.txt" in line or "-r cluster.txt" in line for line in more)
    make = make.replace(python, sys.executable, 1)
    done = subprocess.run(
        ["sh", "-euc", "\n".join([make, install, *more, ask])],
        cwd=unpacked,
        env=alone(home),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == f"loadstone {__version__}"
    yield home


def alone(home: Path) -> dict[str, str]:
    """The environment of a bare system: no package index is reached, either."""
    tools = home / "tools"
    if not tools.exists():
        tools.mkdir()
        for name in ("sh", "uname", "cat"):
            (tools / name).symlink_to(shutil.which(name) or name)
    return {
        "HOME": str(home),
        "PATH": str(tools),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }


@pytest.mark.slow
def test_the_installed_program_drives_a_load_and_reports_it(installed: Path) -> None:
    program = installed / "loadstone" / "bin" / "loadstone"
    server = subprocess.Popen(
        [program, "null-server", "--json"],
        env=alone(installed),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        target = json.loads(server.stdout.readline())["target"]
        words = ["run", "oltp_read_only", "--target", target, "--concurrency", "1,8"]
        told(installed, *words, "--duration", "2s", "--warmup", "0s", "--name", "first", "--json")
        told(installed, "diagnose", "first")
        told(installed, "report", "first", "-o", "first.html")
    finally:
        server.terminate()
        server.communicate(timeout=20)
    assert "<html" in (installed / "first.html").read_text()[:1000]


def told(home: Path, *arguments: str) -> str:
    """The stdout of a command, which must succeed."""
    done = subprocess.run(
        [home / "loadstone" / "bin" / "loadstone", *arguments],
        cwd=home,
        env=alone(home),
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_installed_program_runs_lua(installed: Path) -> None:
    """LuaJIT, compiled by zig: errors are thrown through C and caught, and FFI finds the engine."""
    script = installed / "thrown.lua"
    script.write_text(
        'local ffi = require("ffi")\n'
        'ffi.cdef("int getpid(void);")\n'
        "function event()\n"
        '  local fine, said = pcall(error, "thrown")\n'
        "  assert(not fine and said == 'thrown' and ffi.C.getpid() > 0)\n"
        "end\n"
    )
    server = subprocess.Popen(
        [installed / "loadstone" / "bin" / "loadstone", "null-server", "--json"],
        env=alone(installed),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stdout is not None
        port = json.loads(server.stdout.readline())["port"]
        where = ("--mysql-host=127.0.0.1", f"--mysql-port={port}", "--mysql-user=u")
        said = told(installed, "sysbench", *where, "--time=1", "--threads=2", str(script), "run")
    finally:
        server.terminate()
        server.communicate(timeout=20)
    assert int(re.findall(r"total number of events: +(\d+)", said)[0]) > 0


def test_a_file_that_was_changed_on_the_way_is_not_installed(
    unpacked: Path, tmp_path: Path
) -> None:
    """One more byte at the end of the wheel, which a zip file tolerates."""
    (ours,) = unpacked.glob("loadstone-*.whl")
    (tmp_path / ours.name).write_bytes(ours.read_bytes() + b"\n")
    locked = (unpacked / "requirements.txt").read_text().splitlines()
    (tmp_path / "ours.txt").write_text(
        "\n".join(line for line in locked if line.startswith("loadstone=="))
    )
    words = ["--no-deps", "--no-index", "--find-links", ".", "--require-hashes", "-r", "ours.txt"]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--dest", "got", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "DO NOT MATCH THE HASHES" in done.stderr
