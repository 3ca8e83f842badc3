"""Ways to install on a bare Debian 12 and 13: from nothing to the first ladder in a minute.

A plain user without a compiler and without a network types what docs/install.md says; only root
reaches Debian's archive. What is counted is the CPU time of all commands: a busy machine takes
longer, but does no more.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loadstone import __version__
from shipping.bare_debian import PROJECT, PYTHONS, BareDebian, bare_debian

DIST = PROJECT / "dist"
BUNDLE = DIST / "bundle"
MINUTE = 60
FOLDER = "--no-index --find-links /mnt"
LADDER = "--concurrency 1,2,4 --duration 1s --warmup 0s --name first --out runs"
INSTALL = "apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q -y install {}"
ONLY = "--no-install-recommends"
"""Of what pipx recommends, a compiler is part."""
NO_COMPILER = "for name in cc gcc rustc cargo; do if command -v $name; then exit 1; fi; done"
ON_NULL_SERVER = """
cd ~
$LOADSTONE null-server --port 3306 --json >server.json &
until [ -s server.json ]; do sleep 0.1; done
$LOADSTONE run oltp_point_select --target 'mysql://root@127.0.0.1/sbtest' $LADDER >&2
cat runs/first-*/result.json
"""
ON_THROWAWAY_SERVER = f"""
cd ~
loadstone run oltp_point_select {LADDER} >&2
cat runs/first-*/result.json
"""
WAYS = {
    "pip": (
        "python3-venv",
        f"python3 -m venv ~/loadstone && ~/loadstone/bin/pip install {FOLDER} 'loadstone[web]'",
        "$HOME/loadstone/bin/loadstone",
    ),
    "pipx": (
        "pipx",
        "export PIP_NO_INDEX=1 PIP_FIND_LINKS='/mnt /usr/share/python-wheels'\n"
        "pipx install 'loadstone[web]'",
        "$HOME/.local/bin/loadstone",
    ),
    "uvx": ("python3", ":", f"/usr/local/bin/uvx --offline {FOLDER} loadstone"),
    "bundle": (
        "python3-venv",
        "python3 -m venv ~/loadstone\n~/loadstone/bin/pip install --no-index --find-links /mnt"
        " --require-hashes -r /mnt/requirements.txt",
        "$HOME/loadstone/bin/loadstone",
    ),
}
"""Debian's package, how to install, and how to call it then; as docs/install.md has them."""
TRIED = [
    (release, way) for release in PYTHONS for way in WAYS if (release, way) != ("trixie", "bundle")
]
"""A bundle is for one Python, by default that of Debian 12."""

pytestmark = [pytest.mark.slow, pytest.mark.nightly, pytest.mark.timeout(1200)]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A folder of wheels for a release's Python; the bundle is for 3.11."""
    made: dict[str, Path] = {"bookworm": BUNDLE}

    def of_release(release: str) -> Path:
        if not BUNDLE.is_dir():
            pytest.skip("not evaluated: no dist/ here: make dist")
        if release not in made:
            folder = tmp_path_factory.mktemp(release)
            folder.chmod(0o755)
            words = ["tools/fetch-wheels", "requirements/bundle.txt", PYTHONS[release], str(folder)]
            done = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f"not evaluated: {done.stderr.strip()}")
            for wheel in BUNDLE.glob("loadstone-*.whl"):
                shutil.copy(wheel, folder)
            made[release] = folder
        return made[release]

    return of_release


@pytest.fixture
def system(release: str, wheels: Callable[[str], Path], tmp_path: Path) -> Iterator[BareDebian]:
    """A bare Debian of this test, which has no compiler and sees a folder of wheels."""
    with thrown_away(release, tmp_path, wheels(release)) as made:
        yield made


@contextmanager
def thrown_away(release: str, folder: Path, mounted: Path) -> Iterator[BareDebian]:
    """A bare Debian whose files take no place afterwards."""
    try:
        yield bare_debian(release, folder / "system", mounted)
    finally:
        shutil.rmtree(folder / "system")


def judge(result: str, cpu_before_s: float) -> None:
    """The ladder was measured, and all commands since took less than a minute of a core."""
    steps = json.loads(result)["steps"]
    assert [step["concurrency"] for step in steps] == [1, 2, 4]
    assert all(step["tps"] > 0 for step in steps)
    assert cpu_s() - cpu_before_s < MINUTE


def cpu_s() -> float:
    """The CPU time of all processes that this one has started and that have ended."""
    times = os.times()
    return times.children_user + times.children_system


@pytest.mark.parametrize(("release", "way"), TRIED)
def test_a_folder_of_wheels_is_enough(system: BareDebian, way: str) -> None:
    package, install, program = WAYS[way]
    if way == "uvx":
        for name in ("uv", "uvx"):
            system.add(PROJECT / ".venv/bin" / name, "usr/local/bin")
    before_s = cpu_s()
    system.as_root(INSTALL.format(f"{ONLY} {package}"))
    system.as_reader(NO_COMPILER)
    system.as_reader(install)
    words = f"LOADSTONE=\"{program}\"\nLADDER='{LADDER}'"
    assert f"loadstone {__version__}" in system.as_reader(f"{words}\n$LOADSTONE --version")
    judge(system.as_reader(words + ON_NULL_SERVER), before_s)


@pytest.mark.parametrize("release", PYTHONS)
def test_the_debian_package_brings_a_server_for_the_first_ladder(
    release: str, tmp_path: Path
) -> None:
    packages = sorted(DIST.glob(f"loadstone_{__version__}_*.deb"))
    if not packages:
        pytest.skip("not evaluated: no Debian package in dist/: make deb")
    with thrown_away(release, tmp_path, DIST) as system:
        before_s = cpu_s()
        system.as_root(INSTALL.format(f"/mnt/{packages[0].name}"))
        system.as_reader(NO_COMPILER)
        assert f"loadstone {__version__}" in system.as_reader("loadstone --version")
        judge(system.as_reader(ON_THROWAWAY_SERVER), before_s)
