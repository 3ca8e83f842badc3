"""What is built, tested and shipped is pinned by hash, in Python as in Rust."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
LOCKS = sorted((PROJECT / "requirements").glob("*.txt"))
PINNED = re.compile(
    r"^[a-z0-9_.-]+(\[[a-z,]+\])?==[\w.!+]+( ; [^\\]+)?( \\\n +--hash=sha256:[0-9a-f]{64})+\n?$"
)
NOT_FOR_OLD_SYSTEMS = {"numpy", "scipy"}
"""Their newest releases have no wheel for glibc 2.17, so a bundle has older ones."""


def entries(lock: Path) -> Iterator[str]:
    """The requirements of a lock, each with its continued lines."""
    lines = [line for line in lock.read_text().splitlines() if not re.match(r"\s*(#|$)", line)]
    yield from re.split(r"\n(?! )", "\n".join(lines))


def versions(lock: Path) -> dict[str, str]:
    """The versions in a lock for one Python on one platform: each package once."""
    found = [re.match(r"([a-z0-9_.-]+)==([^ ;\\]+)", entry) for entry in entries(lock)]
    return {match[1]: match[2] for match in found if match}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_each_requirement_is_one_version_with_its_hashes(lock: Path) -> None:
    found = list(entries(lock))
    assert found
    assert [entry for entry in found if not PINNED.match(entry)] == []


@pytest.mark.parametrize(
    "entry",
    ["click==8.5.1", "click>=8.5 \\\n    --hash=sha256:" + 64 * "a", "--index-url x", "x @ git+y"],
)
def test_a_requirement_that_leaves_something_open_would_be_seen(entry: str) -> None:
    assert not PINNED.match(entry)


def test_each_wish_has_a_lock_and_is_locked_by_make_lock() -> None:
    wishes = {path.stem for path in (PROJECT / "requirements").glob("*.in")}
    compiled = re.findall(
        r"^compile requirements/(.+)\.txt", (PROJECT / "tools/lock").read_text(), re.M
    )
    assert wishes <= set(compiled)
    assert {lock.stem for lock in LOCKS} == set(compiled)


def test_a_bundle_holds_what_was_tested() -> None:
    tested = versions(PROJECT / "requirements/dev.txt")
    for name in ("bundle", "cluster", "lts-cpu"):
        shipped = versions(PROJECT / f"requirements/{name}.txt")
        other = {each for each in shipped.keys() & tested.keys() if shipped[each] != tested[each]}
        assert other <= NOT_FOR_OLD_SYSTEMS


def test_each_crate_is_ours_or_has_a_checksum() -> None:
    lock = tomllib.loads((PROJECT / "Cargo.lock").read_text())
    others = [crate for crate in lock["package"] if "source" in crate]
    assert len(others) > 50
    assert [crate["name"] for crate in others if "checksum" not in crate] == []
    assert {crate["source"].partition("+")[0] for crate in others} == {"registry"}
    ours = {crate["name"] for crate in lock["package"] if "source" not in crate}
    assert {name for name in ours if not name.startswith("loadstone-")} == set()
