"""The Containerfile: what it copies is built, what it calls exists, and it does not run as root."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from loadstone import __version__
from shipping.bare_debian import bare_system
from shipping.rootless import Podman, rootless_podman

PROJECT = Path(__file__).resolve().parents[2]
BUNDLE = PROJECT / "dist" / "bundle"
KNOWN = {"ARG", "FROM", "RUN", "COPY", "ENV", "USER", "WORKDIR", "ENTRYPOINT", "CMD"}


@dataclass(frozen=True)
class Step:
    """An instruction, with its continued lines joined."""

    instruction: str
    words: str


def steps() -> list[Step]:
    """The steps, by https://docs.docker.com/reference/dockerfile/#format."""
    text = (PROJECT / "Containerfile").read_text()
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [Step(*line.split(maxsplit=1)) for line in joined.splitlines()]


def words_of(instruction: str) -> list[str]:
    return [step.words for step in steps() if step.instruction == instruction]


def last_stage() -> list[Step]:
    every = steps()
    begun = max(number for number, step in enumerate(every) if step.instruction == "FROM")
    return every[begun:]


def test_each_instruction_is_one_that_both_builders_know() -> None:
    assert {step.instruction for step in steps()} <= KNOWN


def test_what_is_copied_was_made_before() -> None:
    made = (PROJECT / "tools" / "dist").read_text()
    stages = re.findall(r"AS (\w+)", " ".join(words_of("FROM")))
    for copied in words_of("COPY"):
        *options, source, _ = copied.split()
        if options:
            (stage,) = (option.removeprefix("--from=") for option in options)
            assert stage in stages
            assert any(f"venv {source} " in run for run in words_of("RUN"))
        else:
            assert f'folder="dist/{source}"' in made
            assert '>"$folder/requirements.txt"' in made


def test_each_argument_is_given_a_value_and_used() -> None:
    text = (PROJECT / "Containerfile").read_text()
    for argument in words_of("ARG"):
        name, _, value = argument.partition("=")
        assert value
        assert f"${{{name}}}" in text


def test_its_commands_are_valid_and_its_program_is_one_of_ours() -> None:
    for run in words_of("RUN"):
        assert subprocess.run(["sh", "-n", "-c", run]).returncode == 0
    scripts = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["scripts"]
    (program,) = re.findall(r'^\["([^"]+)"\]$', words_of("ENTRYPOINT")[0])
    assert program in scripts


def test_what_it_installs_is_in_debian() -> None:
    if shutil.which("apt-cache") is None:
        pytest.skip("no apt here")
    wanted = {
        word
        for run in words_of("RUN")
        for listed in re.findall(r"--no-install-recommends ([^&]+)", run)
        for word in listed.split()
    }
    servers = [argument for argument in words_of("ARG") if argument.startswith("SERVER=")]
    names = {*(wanted - {"${SERVER}"}), *(each.partition("=")[2] for each in servers)}
    assert "python3-venv" in names
    words = ["apt-cache", "pkgnames"]
    known = set(subprocess.run(words, capture_output=True, text=True).stdout.split())
    if "python3" not in known:
        pytest.skip("apt has no lists here")
    assert names <= known


def test_it_ends_as_a_user_of_its_own() -> None:
    users = [step.words for step in last_stage() if step.instruction == "USER"]
    assert users
    assert users[-1] not in ("root", "0")
    made = [step.words for step in last_stage() if step.instruction == "RUN"]
    assert any(re.search(rf"useradd .* {users[-1]}$", run) for run in made)


@pytest.fixture(scope="module")
def podman() -> Iterator[Podman]:
    """Below /var/tmp, since every folder above must be open to the plain user."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        home = Path(place) / "home"
        home.mkdir()
        Path(place).chmod(0o755)
        yield rootless_podman(home)


@pytest.fixture(scope="module")
def image(podman: Podman) -> str:
    """The image, built by a plain user on a debootstrapped base: no registry is reached."""
    if not BUNDLE.is_dir():
        pytest.skip("not evaluated: no dist/ here: make dist")
    base = "localhost/bare"
    with subprocess.Popen(
        ["tar", "-C", bare_system("bookworm"), "--exclude=./dev/*", "-cf", "-", "."],
        stdout=subprocess.PIPE,
    ) as packed:
        assert packed.stdout is not None
        podman.run("import", "-", base, stdin=packed.stdout.fileno())
    shutil.copytree(BUNDLE, podman.folder / "dist" / "bundle")
    shutil.copy(PROJECT / "Containerfile", podman.folder)
    words = ("--network", "host", "--build-arg", f"BASE={base}", "-f", "Containerfile", "dist")
    podman.run("build", "-t", "localhost/loadstone", *words)
    return "localhost/loadstone"


NOTHING = ("--rm", "--network", "none", "--cap-drop", "ALL", "--read-only")
HOME = ("--tmpfs", "/var/lib/loadstone:rw,mode=1777")
"""What a run writes; the rest of the file system is read-only."""


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.timeout(2400)
def test_the_image_runs_the_demo_as_its_own_user_on_a_read_only_file_system(
    podman: Podman, image: str
) -> None:
    assert podman.run("run", *NOTHING, image, "--version") == f"loadstone {__version__}"
    assert int(podman.run("run", *NOTHING, "--entrypoint", "id", image, "-u")) > 0
    refused = podman.attempt("run", *NOTHING, "--entrypoint", "touch", image, "/opt/file")
    assert "Read-only file system" in refused.stderr
    result = json.loads(podman.run("run", *NOTHING, *HOME, image, "demo", "--json"))
    assert max(step["tps"] for step in result["steps"]) > 0


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.timeout(2400)
def test_the_image_has_the_size_that_the_documentation_says(podman: Podman, image: str) -> None:
    text = (PROJECT / "docs" / "install.md").read_text()
    (told,) = re.findall(r"the image has (\d+) MB", " ".join(text.split()))
    size = int(podman.run("image", "inspect", "--format", "{{.Size}}", image))
    assert size / 1e6 == pytest.approx(int(told), rel=0.1)
