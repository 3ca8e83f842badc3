"""The repository's texts: no machine's own addresses, no broken links, no outdated lists."""

import re
import subprocess
from pathlib import Path

import pytest

from house.repository import Repository
from loadstone.cli.app import COMMANDS
from loadstone.model.exit_codes import ExitCode
from tools.reference import PAGES

PUBLIC_TARGETS = (
    ["help", "demo", "build", "test", "test-all", "test-rust", "test-quick", "test-python"]
    + ["test-slow", "test-cluster", "coverage", "lint", "fmt", "bench", "trials", "proofs"]
    + ["recipes", "faults", "servers", "trust", "soak", "nightly", "docs", "dist", "deb"]
    + ["release", "lock", "clean"]
)  # fmt: skip

# In pieces, so that this file itself does not contain them.
REGISTRY_HOSTS = [
    ("pypi", "org"),
    ("pythonhosted", "org"),
    ("static", "crates", "io"),
    ("index", "crates", "io"),
    ("npmjs", "org"),
    ("deb", "debian", "org"),
    ("archive", "ubuntu", "com"),
]
HOME = re.compile(r"(?<![\w.$}~-])/(home|Users)/[a-z]\w*/|(?<![\w.$}~-])/(root|work)/\w")


def test_no_registry_is_named(repository: Repository) -> None:
    hosts = [".".join(pieces) for pieces in REGISTRY_HOSTS]
    assert not [
        (name, host) for name in repository.names for host in hosts if host in repository.text(name)
    ]


def test_no_path_of_one_machine_is_named(repository: Repository) -> None:
    assert not [
        (name, line.strip())
        for name in repository.names
        for line in repository.text(name).splitlines()
        if HOME.search(line)
    ]


def test_each_locked_package_has_a_hash(repository: Repository) -> None:
    for lock in repository.named(".txt", under="requirements/"):
        entries = re.split(r"\n(?=[a-z])", repository.text(lock))
        pinned = [entry for entry in entries if re.match(r"[a-z]", entry)]
        assert pinned
        assert not [entry for entry in pinned if "--hash=sha256:" not in entry]


def test_the_changelog_has_room_for_what_is_not_released(repository: Repository) -> None:
    assert re.search(r"^## \[?Unreleased\]?$", repository.text("CHANGELOG.md"), re.MULTILINE)


def _is_kept(path: Path) -> bool:
    """Whether a file is in the checkout, and not only after `make docs`."""
    written = path.resolve().parent.name == "reference" and path.stem in PAGES
    return path.exists() and not written


def test_each_link_to_a_file_leads_to_one(repository: Repository) -> None:
    broken = [
        (name, link)
        for name in repository.named(".md")
        for link in re.findall(r"\]\(([^)\s#]+)[^)]*\)", repository.text(name))
        if not re.match(r"[a-z]+:", link)
        and not _is_kept((repository.root / name).parent.joinpath(link))
    ]
    assert not broken


def test_each_decision_has_a_number_of_its_own(repository: Repository) -> None:
    numbers = [Path(name).name[:4] for name in repository.named(".md", under="docs/decisions/0")]
    assert numbers
    assert sorted(numbers) == sorted(set(numbers))


def test_the_exit_codes_document_lists_exactly_the_exit_codes(repository: Repository) -> None:
    rows = re.findall(
        r"^\| (\d+) \| `([A-Z_]+)` \|", repository.text("docs/exit-codes.md"), re.MULTILINE
    )
    assert {name: int(code) for code, name in rows} == {code.name: code.value for code in ExitCode}


def test_the_page_of_rights_names_each_command(repository: Repository) -> None:
    named = re.findall(r"`([a-z-]+)[ `]", repository.text("docs/privileges.md"))
    assert sorted(COMMANDS.keys() - set(named)) == []


def test_help_names_each_public_target(repository: Repository) -> None:
    said = subprocess.run(
        ["make", "--no-print-directory"],
        cwd=repository.root,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert [line.split()[0] for line in said.splitlines()] == PUBLIC_TARGETS


@pytest.mark.parametrize("command", ["make demo", "make test"])
def test_the_readme_has_the_two_commands(repository: Repository, command: str) -> None:
    assert re.search(rf"^{command}\b", repository.text("README.md"), re.MULTILINE)
