"""The Debian package: what is in it, and for whom."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from loadstone import __version__

DIST = Path(__file__).resolve().parents[2] / "dist"
PACKAGES = sorted(DIST.glob("loadstone_*.deb"))
HOME = "./usr/lib/loadstone"

pytestmark = pytest.mark.slow

if not PACKAGES:
    pytest.skip("no Debian package in dist/: make deb", allow_module_level=True)


def said(*words: str) -> str:
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def names() -> set[str]:
    lines = said("dpkg-deb", "--contents", str(PACKAGES[0])).splitlines()
    assert {line.split()[1] for line in lines} == {"root/root"}
    return {line.split(maxsplit=5)[5].partition(" -> ")[0] for line in lines}


def test_it_is_for_the_pythons_of_both_releases_and_names_its_libraries() -> None:
    fields = said("dpkg-deb", "--field", str(PACKAGES[0]))
    assert f"\nVersion: {__version__}\n" in fields
    (needs,) = (line for line in fields.splitlines() if line.startswith("Depends: "))
    for wanted in ("python3 (>= 3.11~)", "python3 (<< 3.14~)", "libc6 (>= 2.", "libgcc-s1"):
        assert wanted in needs
    assert re.search("@[A-Z]+@", fields) is None


def test_each_python_has_what_was_compiled_for_it_and_no_other(names: set[str]) -> None:
    for python, other in (("3.11", "313"), ("3.13", "311")):
        own = {name for name in names if name.startswith(f"{HOME}/python{python}/")}
        tag = f"cpython-{python.replace('.', '')}-"
        for package in ("numpy/", "scipy/", "pydantic_core/"):
            assert any(f"python{python}/{package}" in name and tag in name for name in own)
        assert not [name for name in own if f"cpython-{other}-" in name]
    shared = {name for name in names if name.startswith(f"{HOME}/python3/")}
    assert f"{HOME}/python3/loadstone/_engine.abi3.so" in shared
    assert not [name for name in shared if ".cpython-" in name]


def test_it_has_programs_completion_and_licences_and_nothing_compiled_beforehand(
    names: set[str],
) -> None:
    assert {
        "./usr/bin/loadstone",
        "./usr/bin/loadstone-sysbench",
        "./usr/bin/loadstone-pgbench",
        "./usr/bin/loadstone-gate",
        "./usr/share/bash-completion/completions/loadstone",
        "./usr/share/zsh/vendor-completions/_loadstone",
        "./usr/share/fish/vendor_completions.d/loadstone.fish",
        "./usr/share/doc/loadstone/copyright",
        "./usr/share/doc/loadstone/LICENSE-THIRD-PARTY.txt.gz",
    } <= names
    assert not [name for name in names if name.endswith(".pyc") or "/tests/test_" in name]
    assert all(name.startswith("./usr/") or name in ("./", "./usr/") for name in names)


def test_what_lintian_may_find_has_its_place(names: set[str]) -> None:
    """`make deb` itself fails at anything else."""
    assert "./usr/share/lintian/overrides/loadstone" in names
