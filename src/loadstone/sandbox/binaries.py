"""Finds the server programs on this machine, and how each must be started."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from loadstone.sandbox.binary import ServerBinary
from loadstone.sandbox.errors import SandboxError
from loadstone.sandbox.foreign import launcher_in, within
from loadstone.sandbox.programs import PROGRAMS, SERVERS, ServerPrograms, meant_by
from loadstone.sandbox.trusted import caches, is_ours


def find_server(wanted: str | None = None, root: Path | None = None) -> ServerBinary:
    """The server to start: by its name (`SERVERS`), by its path, or by default whatever is there.

    It is searched on PATH, in /usr/sbin and similar folders, then in this checkout's `.cache/` and
    the user's `~/.cache/loadstone`; with `root`, the folder of another system, only there.

    Raises:
        SandboxError: nothing fits; says how to get one.
    """
    if root is not None:
        return _in_root(root, wanted)
    if wanted is not None and wanted not in SERVERS:
        return _at_path(wanted)
    for family in meant_by(wanted):
        asked = ((place.resolve(), None) for place in _candidates(PROGRAMS[family]))
        found = _fitting(asked, family, wanted)
        if found is not None:
            return found
    how = _each(family.how_to_get for family in map(PROGRAMS.__getitem__, meant_by(wanted)))
    raise SandboxError(f"no {wanted or 'database'} server on this machine", how)


def _each(words: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(words))


def _fitting(
    programs: Iterable[tuple[Path, Path | None]], family: str, wanted: str | None
) -> ServerBinary | None:
    """The first of these programs, each with its root, that fits."""
    tried: set[Path] = set()
    found: list[ServerBinary] = []
    for program, root in programs:
        if program in tried:
            continue
        tried.add(program)
        binary = _asked_for_its_version(program, family, root)
        if binary is None:
            continue
        if PROGRAMS[family].fits(binary, wanted):
            return binary
        found.append(binary)
    return found[0] if wanted is None and found else None


def _candidates(family: ServerPrograms) -> Iterator[Path]:
    names = family.names
    on_path = (shutil.which(name) for name in names)
    yield from (Path(place) for place in on_path if place is not None)
    for folder in map(Path, family.elsewhere):
        yield from (folder / name for name in names if (folder / name).is_file())
    for folder in (cache / root for cache in caches() for root in family.cached):
        yield from (folder / name for name in names if is_ours(folder / name))


def _in_root(root: Path, wanted: str | None) -> ServerBinary:
    if not root.is_dir():
        raise SandboxError(f"there is no folder {root}", "give one that holds another system")
    root = root.resolve()
    is_named = wanted is None or wanted in SERVERS
    for family in meant_by(wanted):
        known = PROGRAMS[family]
        places = [f"{folder}/{name}" for folder in known.in_a_root for name in known.names]
        programs = [within(root, place) for place in (places if is_named else [str(wanted)])]
        there = ((program, root) for program in programs if program.is_file())
        found = _fitting(there, family, wanted if is_named else None)
        if found is not None:
            return found
    how = _each(
        family.how_to_get_in_a_root for family in map(PROGRAMS.__getitem__, meant_by(wanted))
    )
    raise SandboxError(f"no {wanted or 'database'} server that runs in {root}", how)


def _at_path(wanted: str) -> ServerBinary:
    program = Path(wanted).expanduser()
    takes = f"--server takes {', '.join(SERVERS)} or a program's path"
    if not program.is_file():
        raise SandboxError(f"no server program at {wanted!r}", takes)
    for family in PROGRAMS:
        binary = _asked_for_its_version(program.resolve(), family)
        if binary is not None:
            return binary
    makers = " or ".join(maker for family in PROGRAMS.values() for maker in family.makers)
    raise SandboxError(f"{wanted} does not answer --version as a {makers} server does", takes)


def _asked_for_its_version(
    program: Path, family: str, root: Path | None = None
) -> ServerBinary | None:
    known = PROGRAMS[family]
    system = root or _unpacked_in(program)
    launcher = launcher_in(system, known.private_libraries) if system else ()
    if root and not launcher:
        return None  # it would run with this system's libc
    try:
        answer = subprocess.run(
            [*launcher, str(program), *known.version_options],
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
            stdin=subprocess.DEVNULL,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    found = known.read_version(answer)
    if found is None:
        return None
    flavour, version = found
    options = known.options_in(system) if system and launcher else ()
    return ServerBinary(program, flavour, version, launcher, options, family)


def _unpacked_in(program: Path) -> Path | None:
    """The folder into which `dpkg -x` unpacked a server; `None`: it is in none."""
    root = program.parents[2]
    if root == Path("/") or not any(root.glob("usr/lib*/ld-linux*.so.*")):
        return None
    return root
