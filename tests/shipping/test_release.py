"""`make release` before and after its builds: what it refuses, what it commits, signs and tags."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from loadstone import __version__
from tools.release import WITH_IMAGE

PROJECT = Path(__file__).resolve().parents[2]
SIGNER = "Release Test <release@loadstone.example>"
NEXT = "9.0.0"
PLACEHOLDER = "https://loadstone.example/"
BUILT = ("loadstone-9.0.0-cp311-abi3-x.whl", "loadstone-9.0.0-x.tar.gz", "loadstone_9.0.0_x.deb")

pytestmark = pytest.mark.slow  # a clone, a key and a commit each


@dataclass(frozen=True)
class Checkout:
    """A clone that is ready for a release, and the keys of its maintainer."""

    folder: Path
    keys: Path

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words,
            cwd=self.folder,
            env={**os.environ, "GNUPGHOME": str(self.keys), "PYTHONPATH": str(PROJECT)},
            capture_output=True,
            text=True,
        )

    def release(self, *words: str) -> subprocess.CompletedProcess[str]:
        # This checkout's tools, on the clone.
        return self.run(sys.executable, "-P", "-m", "tools.release", *words)

    def git(self, *words: str) -> str:
        done = self.run("git", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def change(self, name: str, old: str, new: str) -> None:
        path = self.folder / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    def commit(self, message: str) -> None:
        self.git("commit", "--quiet", "--all", "-m", message)


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    """The repository as it will be before its first release: with addresses, and with a key."""
    if shutil.which("gpg") is None:
        pytest.skip("not evaluated: no gpg here (apt-get install gnupg)")
    keys = tmp_path_factory.mktemp("k")  # short: gpg's sockets are in it
    keys.chmod(0o700)
    checkout = Checkout(tmp_path_factory.mktemp("release") / "clone", keys)
    subprocess.run(["git", "clone", "--quiet", PROJECT, checkout.folder], check=True)
    make_key = ["--quick-generate-key", SIGNER, "ed25519", "sign", "never"]
    made = checkout.run("gpg", "--batch", "--quiet", "--passphrase", "", *make_key)
    assert made.returncode == 0, made.stderr
    name, address = SIGNER.removesuffix(">").split(" <")
    for key, value in (("user.name", name), ("user.email", address), ("user.signingkey", address)):
        checkout.git("config", key, value)
    if PLACEHOLDER in (checkout.folder / "pyproject.toml").read_text():
        checkout.change("pyproject.toml", PLACEHOLDER, "https://loadstone.test/")
        checkout.commit("Addresses")
    # Right after a release there is nothing yet.
    checkout.change("CHANGELOG.md", "## Unreleased\n", "## Unreleased\n\n### Added\n- A line.\n")
    checkout.commit("News")
    yield checkout
    checkout.run("gpgconf", "--kill", "all")  # the agent that gpg has started


@pytest.fixture
def checkout(ready: Checkout, tmp_path: Path) -> Checkout:
    """A copy for one test."""
    folder = tmp_path / "clone"
    shutil.copytree(ready.folder, folder, symlinks=True)
    return Checkout(folder, ready.keys)


def built(checkout: Checkout) -> Path:
    """What the builds leave behind, in name: the builds have tests of their own."""
    dist = checkout.folder / "dist"
    dist.mkdir()
    for name in (*BUILT, "loadstone.cdx.json"):
        (dist / name).write_text(f"the bytes of {name}\n")
    return dist


def test_a_release_is_one_commit_with_the_number_and_the_changelog(checkout: Checkout) -> None:
    done = checkout.release("prepare", NEXT)
    assert done.returncode == 0, done.stderr
    assert checkout.git("log", "-1", "--format=%s") == f"Release {NEXT}"
    changed = checkout.git("show", "--name-only", "--format=").splitlines()
    assert changed == ["CHANGELOG.md", "Cargo.lock", "Cargo.toml", *sorted(WITH_IMAGE)]
    assert checkout.git("status", "--porcelain") == ""
    changelog = (checkout.folder / "CHANGELOG.md").read_text()
    assert re.search(rf"^## Unreleased\n\n## \[{NEXT}\] - \d{{4}}-\d\d-\d\d\n", changelog, re.M)
    lock = (checkout.folder / "Cargo.lock").read_text()
    assert f'name = "loadstone-python"\nversion = "{NEXT}"' in lock
    assert f'name = "loadstone-wire"\nversion = "{__version__}"' not in lock
    # It goes on where it stopped.
    again = checkout.release("prepare", NEXT)
    assert (again.returncode, again.stderr) == (0, f"{NEXT} is committed already\n")


def test_it_ends_with_signed_sums_the_notes_and_a_signed_tag(checkout: Checkout) -> None:
    assert checkout.release("prepare", NEXT).returncode == 0
    dist = built(checkout)
    done = checkout.release("seal")
    assert done.returncode == 0, done.stderr
    listed = [Path(line).name for line in done.stdout.splitlines()]
    assert set(listed) == {path.name for path in dist.iterdir()}
    words = ["sha256sum", "--check", "--strict", "--status", "SHA256SUMS"]
    assert subprocess.run(words, cwd=dist).returncode == 0
    assert checkout.run("gpg", "--verify", "dist/SHA256SUMS.asc").returncode == 0
    assert checkout.run("git", "tag", "--verify", f"v{NEXT}").returncode == 0
    assert checkout.git("rev-parse", f"v{NEXT}^{{commit}}") == checkout.git("rev-parse", "HEAD")
    notes = (dist / "RELEASE_NOTES.md").read_text()
    assert notes.startswith("### ")
    assert "\n## " not in notes
    # A sum that does not fit, and a signature of other sums, are seen.
    (dist / BUILT[0]).write_text("other bytes\n")
    assert subprocess.run(words, cwd=dist).returncode == 1
    (dist / "SHA256SUMS").write_text("")
    assert checkout.run("gpg", "--verify", "dist/SHA256SUMS.asc").returncode != 0


REFUSALS = [
    ("1.2", "error: '1.2' is no version"),
    ("0.0.1", f"error: 0.0.1 is older than {__version__}"),
]


@pytest.mark.parametrize(("version", "said"), REFUSALS)
def test_a_number_that_cannot_be_is_refused(checkout: Checkout, version: str, said: str) -> None:
    assert_refused(checkout, said, "prepare", version)


def test_a_tree_with_changes_is_refused(checkout: Checkout) -> None:
    checkout.change("README.md", "# Loadstone", "# Lodestone")
    (checkout.folder / "left-over").write_text("")
    assert_refused(checkout, "error: not committed: README.md and 1 more", "prepare", NEXT)


def test_what_is_tagged_is_not_released_again(checkout: Checkout) -> None:
    checkout.git("tag", f"v{NEXT}", "-m", "before")
    assert_refused(checkout, f"error: v{NEXT} is tagged already", "prepare", NEXT)


def test_nothing_to_tell_is_refused(checkout: Checkout) -> None:
    path = checkout.folder / "CHANGELOG.md"
    path.write_text("# Changelog\n\n## Unreleased\n\n## [0.0.9] - 2026-01-01\n\n### Fixed\n- x\n")
    checkout.commit("Nothing new")
    assert_refused(
        checkout, "error: CHANGELOG.md has nothing below '## Unreleased'", "prepare", NEXT
    )


def test_addresses_of_nobody_are_refused(checkout: Checkout) -> None:
    text = (checkout.folder / "pyproject.toml").read_text()
    (address,) = re.findall(r'^Documentation = "(.+)"$', text, re.MULTILINE)
    checkout.change("pyproject.toml", address, f"{PLACEHOLDER}docs/")
    checkout.commit("A placeholder")
    said = "error: pyproject.toml: Documentation is a placeholder, https://loadstone.example/docs/"
    assert_refused(checkout, said, "prepare", NEXT)


def test_a_key_that_is_not_there_is_refused(checkout: Checkout) -> None:
    checkout.git("config", "user.signingkey", "nobody@loadstone.example")
    said = "error: gpg has no secret key 'nobody@loadstone.example'"
    assert_refused(checkout, said, "prepare", NEXT)


def test_what_was_built_of_another_version_is_refused(checkout: Checkout) -> None:
    built(checkout)
    said = f"error: dist/{BUILT[0]} is not of {__version__}"
    assert_refused(checkout, said, "seal")
    (checkout.folder / "dist" / BUILT[2]).unlink()
    assert_refused(checkout, "error: dist/ has no *.deb", "seal")
    assert checkout.git("tag") == ""


def assert_refused(checkout: Checkout, said: str, *words: str) -> None:
    """One line and what to do, exit code 2, and nothing changed."""
    before = checkout.git("status", "--porcelain"), checkout.git("rev-parse", "HEAD")
    done = checkout.release(*words)
    assert done.returncode == 2
    first, second = done.stderr.splitlines()
    assert first == said
    assert second.startswith("hint:  ")
    assert (checkout.git("status", "--porcelain"), checkout.git("rev-parse", "HEAD")) == before
