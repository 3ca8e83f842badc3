"""A wheel's metadata, as the builder reads it from pyproject.toml."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from email import message_from_string
from email.message import Message
from pathlib import Path

import pytest

from loadstone import __version__

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def metadata(tmp_path_factory: pytest.TempPathFactory) -> Message:
    """The metadata as the builder makes it, without compiling anything."""
    place = tmp_path_factory.mktemp("metadata")
    maturin = Path(sys.executable).with_name("maturin")
    words = [str(maturin), "pep517", "write-dist-info", "--metadata-directory", str(place)]
    subprocess.run([*words, "--interpreter", sys.executable], cwd=ROOT, check=True, timeout=60)
    (written,) = place.glob("*.dist-info/METADATA")
    return message_from_string(written.read_text())


def test_it_has_all_that_the_project_says(metadata: Message) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (metadata["Name"], metadata["Version"]) == ("loadstone", __version__)
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Author"] == metadata["Maintainer"] == "The Loadstone authors"
    assert metadata["Keywords"] == ",".join(project["keywords"])
    assert metadata.get_all("Classifier") == project["classifiers"]
    urls = [f"{name}, {url}" for name, url in sorted(project["urls"].items())]
    assert metadata.get_all("Project-URL") == urls
