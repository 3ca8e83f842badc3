"""The repository as these tests see it: its files and their text."""

import functools
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Repository:
    """The files that are committed, or would be."""

    root: Path
    names: tuple[str, ...]

    def named(self, *suffixes: str, under: str = "") -> list[str]:
        """Names with one of these suffixes (if none is given, any), below a folder."""
        return [
            name
            for name in self.names
            if name.startswith(under) and (not suffixes or name.endswith(suffixes))
        ]

    def text(self, name: str) -> str:
        """The file's text; bytes that are not text are replaced."""
        return _text(self.root / name)


@functools.cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def read_repository() -> Repository:
    """The files of this checkout, without those that git ignores."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    names = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    return Repository(ROOT, tuple(sorted(names)))
