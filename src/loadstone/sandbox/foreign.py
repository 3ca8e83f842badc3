"""A folder that holds another system: resolves its links, and runs its programs."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path

_LIBRARIES = ("usr/lib/*", "lib/*", "usr/lib64", "lib64", "usr/lib", "lib")
_MOST_LINKS = 40


def within(root: Path, path: str) -> Path:
    """Resolve a path as a process with this root would; links in it lead elsewhere from here."""
    found, left = root, [*Path(path.lstrip("/")).parts][::-1]
    links = 0
    while left:
        part = left.pop()
        if part == "..":
            found = found if found == root else found.parent
            continue
        at = found / part
        if not at.is_symlink() or links == _MOST_LINKS:
            found = at
            continue
        links += 1
        target = Path(os.readlink(at))
        if target.is_absolute():
            found = root
        left += [*target.parts[1 if target.is_absolute() else 0 :]][::-1]
    return found


def launcher_in(root: Path, private: Sequence[str]) -> tuple[str, ...]:
    """The command that runs a program of another system's folder: its loader, with its libraries.

    `private`: folders of libraries that only such programs use.
    """
    places = [place for pattern in _LIBRARIES for place in sorted(root.glob(pattern))]
    folders = [*dict.fromkeys(within(root, str(place.relative_to(root))) for place in places)]
    loader = _loader(root, folders)
    if loader is None:
        return ()
    libraries = [folder for folder in folders if any(folder.glob("lib*.so.*"))]
    own = [root / folder for folder in private]
    return (
        str(loader),
        "--inhibit-cache",  # the cache is this system's
        "--library-path",
        ":".join(map(str, [*libraries, *own])),
    )


def _loader(root: Path, folders: Sequence[Path]) -> Path | None:
    """The loader for this machine's processor; a folder may also have those for others."""
    machine = platform.machine().replace("_", "-")
    loaders = [loader for folder in folders for loader in sorted(folder.glob("ld-linux*.so.*"))]
    mine = [loader for loader in loaders if machine in loader.name]
    found = next(iter([*mine, *loaders]), None)
    return within(root, str(found.relative_to(root))) if found else None


def first_of(root: Path, *names: str) -> Path:
    """The first of these paths that exists; else the first."""
    return next((root / name for name in names if (root / name).is_dir()), root / names[0])
