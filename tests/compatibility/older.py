"""The run folders of earlier versions, as fixtures."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDERS = Path(__file__).parent / "folders"


@dataclass(frozen=True)
class Older:
    """A run that an earlier version made."""

    path: Path

    @property
    def version(self) -> Path:
        """The folder with everything that this version left."""
        return self.path.parent

    @property
    def name(self) -> str:
        """The name that the run was given."""
        return self.path.name.rpartition("-")[0]

    @property
    def expected(self) -> Any:
        """The figures that the version itself showed for the run."""
        text = (self.version / "expected" / f"{self.path.name}.json").read_text()
        return json.loads(text)

    def copied(self, home: Path) -> Path:
        """Copy the run into a `runs` folder, as for a user to whom it was sent."""
        copy = home / "runs" / self.path.name
        shutil.copytree(self.path, copy)
        return copy


VERSIONS = sorted(path for path in FOLDERS.iterdir() if path.is_dir())
RUNS = sorted(
    (Older(journal.parent) for version in VERSIONS for journal in version.glob("*/journal.jsonl")),
    key=lambda run: run.path,
)


def ident(value: Older | Path) -> str:
    """The test id of a run."""
    return f"{value.version.name}-{value.name}" if isinstance(value, Older) else value.name


def of_kind(*names: str) -> list[Older]:
    """The runs of these names, from all versions."""
    return [run for run in RUNS if run.name in names]


def become_their_maker(version: Path, state: Path) -> None:
    """Install the secret of the user who made a version's folders, who then owns them."""
    key = state / "loadstone/seal.key"
    key.parent.mkdir(parents=True)
    key.touch(0o600)
    key.write_bytes(bytes.fromhex((version / "seal.key.hex").read_text()))
