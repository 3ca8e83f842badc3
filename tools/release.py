"""The parts of `make release` before and after the builds.

    python -m tools.release prepare VERSION    checks, the number, the changelog, the commit
    python -m tools.release seal               the sums, the notes, a signature, the tag
    python -m tools.release describe VERSION   the sums and the notes alone, as a forge's job does

A release that stopped in between continues when it is started again: what is done is left alone.
Nothing is uploaded, and no branch is pushed.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from tools.changelog import ChangelogError, notes_of, released

PROJECT = Path.cwd()
NUMBER = re.compile(r'^(version = ")([^"]+)(")$', re.MULTILINE)
VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
WITH_IMAGE = tuple(
    f"docs/kubernetes/{name}" for name in ("job.yaml", "reader.yaml", "chart/Chart.yaml")
)
"""They name the image of this version."""

SUMS, NOTES = "SHA256SUMS", "RELEASE_NOTES.md"
PUBLISHED = ("*.whl", "*.tar.gz", "*.deb", "*.cdx.json")
REBUILD = "make dist CHECK=1 && make deb"
REFUSED = 2


class Refusal(Exception):
    """The release cannot go on: what is wrong, and what to do."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.hint = hint


def main(words: Sequence[str]) -> int:
    """Run a part; 2 if it was refused."""
    parts: dict[tuple[str, int], Callable[..., object]] = {
        ("prepare", 2): prepare,
        ("seal", 1): seal,
        ("describe", 2): describe,
    }
    part = parts.get((words[0] if words else "", len(words)))
    if part is None:
        print("error: usage: make release VERSION=1.2.3", file=sys.stderr)
        return REFUSED
    try:
        part(*words[1:])
    except Refusal as refusal:
        print(f"error: {refusal}\nhint:  {refusal.hint}", file=sys.stderr)
        return REFUSED
    return 0


def prepare(version: str) -> None:
    """The commit of a release: the number in Cargo.toml and Cargo.lock, its part of the changelog.

    Raises:
        Refusal: the tree, the version, the changelog or the addresses are not ready.
    """
    check_version(version)
    check_tree()
    check_key()
    check_addresses()
    if number() == version and said("git", "log", "-1", "--format=%s") == f"Release {version}":
        print(f"{version} is committed already", file=sys.stderr)
        return
    changelog = PROJECT / "CHANGELOG.md"
    today = datetime.now(UTC).date()
    try:
        text = released(changelog.read_text(), version, today)
    except ChangelogError as error:
        raise Refusal(str(error), "write what a user notices: CONTRIBUTING.md") from error
    changelog.write_text(text)
    before = number()
    manifest = PROJECT / "Cargo.toml"
    manifest.write_text(NUMBER.sub(rf"\g<1>{version}\g<3>", manifest.read_text(), count=1))
    for name in WITH_IMAGE:
        file = PROJECT / name
        file.write_text(
            re.sub(rf"(?<![\d.]){re.escape(before)}(?![\d.])", version, file.read_text())
        )
    said("cargo", "update", "--workspace", "--offline", "--quiet")
    said("git", "commit", "--quiet", "--all", "-m", f"Release {version}")
    print(f"committed: Release {version}", file=sys.stderr)


def seal() -> None:
    """The sums of what was built, signed; the version's part of the changelog; the signed tag.

    Raises:
        Refusal: something was not built, or not from this commit.
    """
    version = number()
    check_tree()
    check_key()
    sums = describe(version)
    key = signing_key()
    said("gpg", "--batch", "--yes", "--armor", "--local-user", key, "--detach-sign", str(sums))
    said("git", "tag", "--sign", f"v{version}", "-m", f"Loadstone {version}")
    for path in (*built(version), sums, Path(f"{sums}.asc"), sums.with_name(NOTES)):
        print(f"dist/{path.name}")
    print(f"tagged v{version}; to publish: RELEASING.md, step 4", file=sys.stderr)


def describe(version: str) -> Path:
    """The sums of what was built, and the version's part of the changelog; the file of the sums.

    Raises:
        Refusal: the tree is of another version, or something of this one was not built.
    """
    if version != number():
        raise Refusal(f"Cargo.toml has {number()}, not {version}", "check the tag out")
    files = built(version)
    try:
        notes = notes_of((PROJECT / "CHANGELOG.md").read_text(), version)
    except ChangelogError as error:
        raise Refusal(str(error), f"make release VERSION={version}") from error
    (PROJECT / "dist" / NOTES).write_text(notes)
    sums = PROJECT / "dist" / SUMS
    sums.write_text("".join(f"{sha256_of(path)}  {path.name}\n" for path in files))
    return sums


def built(version: str) -> list[Path]:
    """What is published, by name; each kind is there, and of this version."""
    files = sorted(path for kind in PUBLISHED for path in (PROJECT / "dist").glob(kind))
    for kind in PUBLISHED:
        if not any(path.match(kind) for path in files):
            raise Refusal(f"dist/ has no {kind}", REBUILD)
    for path in files:
        if path.suffix != ".json" and version not in path.name:
            raise Refusal(f"dist/{path.name} is not of {version}", REBUILD)
    return files


def number() -> str:
    """The version in Cargo.toml, the only place that has it."""
    known = tomllib.loads((PROJECT / "Cargo.toml").read_text())
    return str(known["workspace"]["package"]["version"])


def check_version(version: str) -> None:
    """A new version has three numbers, no tag, and is no older than the one in Cargo.toml."""
    if not VERSION.fullmatch(version):
        raise Refusal(f"'{version}' is no version", "make release VERSION=1.2.3")
    if said("git", "tag", "--list", f"v{version}"):
        raise Refusal(f"v{version} is tagged already", "a released version is never changed")
    if ordered(version) < ordered(number()):
        raise Refusal(f"{version} is older than {number()}", "RELEASING.md: the version number")


def ordered(version: str) -> tuple[int, ...]:
    """A version as numbers that compare."""
    return tuple(int(part) for part in version.split("."))


def check_tree() -> None:
    """Everything is committed, so that the tag has all that was built."""
    changed = said("git", "status", "--porcelain").splitlines()
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise Refusal(f"not committed: {changed[0][3:]}{more}", "git commit or git stash first")


def check_key() -> None:
    """There is a key to sign with."""
    key = signing_key()
    if subprocess.run(["gpg", "--list-secret-keys", key], capture_output=True).returncode:
        raise Refusal(f"gpg has no secret key '{key}'", "git config user.signingkey KEY")


def signing_key() -> str:
    """What git signs tags with: its setting, else the committer's address."""
    key = subprocess.run(["git", "config", "user.signingkey"], capture_output=True, text=True)
    return key.stdout.strip() or said("git", "config", "user.email")


def check_addresses() -> None:
    """Names under .example belong to nobody (RFC 2606): a release has real ones."""
    urls = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["urls"]
    for name, url in urls.items():
        if ".example/" in url:
            what = f"pyproject.toml: {name} is a placeholder, {url}"
            raise Refusal(what, "RELEASING.md: before the first release")


def sha256_of(path: Path) -> str:
    """As sha256sum prints it."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def said(*words: str) -> str:
    """What a program prints; one that fails ends the release with its last line."""
    done = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["it said nothing"]
        raise Refusal(f"{' '.join(words[:2])} failed: {lines[-1]}", "look at what it needs")
    return done.stdout.rstrip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
