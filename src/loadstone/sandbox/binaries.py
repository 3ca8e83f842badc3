"""Finds the server programs on this machine, and how each must be started."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from loadstone.model.message import Message, plain, say, say_in
from loadstone.sandbox.binary import ServerBinary
from loadstone.sandbox.errors import SandboxError
from loadstone.sandbox.foreign import launcher_in, within
from loadstone.sandbox.programs import PROGRAMS, SERVERS, ServerPrograms, is_server_name, meant_by
from loadstone.sandbox.trusted import caches, is_ours


def find_server(wanted: str | None = None, root: Path | None = None) -> ServerBinary:
    """The server to start: by its name (`SERVERS`), by its path, or by default whatever is there.

    A name may have a version, such as mysql-5.7: the newest that is here and begins with it.

    It is searched on PATH, in /usr/sbin and similar folders, then in this checkout's `.cache/` and
    the user's `~/.cache/loadstone`; with `root`, the folder of another system, only there.

    Raises:
        SandboxError: nothing fits; says how to get one.
    """
    if root is not None:
        return _in_root(root, wanted)
    if wanted is not None and not is_server_name(wanted):
        return _at_path(wanted)
    for family in meant_by(wanted):
        if PROGRAMS[family].has_version(wanted):
            return _of_version(str(wanted), family)
        asked = ((place.resolve(), None) for place in _candidates(PROGRAMS[family]))
        found = _fitting(asked, family, wanted)
        if found is not None:
            return found
    raise _no_server(wanted)


def available_servers() -> list[ServerBinary]:
    """All servers on this machine: installed, and in the caches."""
    return [found for family in PROGRAMS for found in _all_of(family)]


def ways_to_missing(here: Iterable[ServerBinary]) -> dict[str, str]:
    """How to get each of the known releases that is not among these servers, by name."""
    there = list(here)
    return {
        name: known.how_to_get(name)
        for known in PROGRAMS.values()
        for name in known.releases
        if not any(known.fits(each, name) for each in there)
    }


def _no_server(wanted: str | None) -> SandboxError:
    meant = map(PROGRAMS.__getitem__, meant_by(wanted))
    how = _each(family.how_to_get(wanted) for family in meant)
    return SandboxError(_none(wanted), how)


def _of_version(wanted: str, family: str) -> ServerBinary:
    known = PROGRAMS[family]
    fitting = [found for found in _all_of(family) if known.fits(found, wanted)]
    if not fitting:
        for folder in _folders_of(known, wanted):
            for name in known.names:
                _check_libraries(folder / name, known)
        raise _no_server(wanted)
    return max(fitting, key=lambda found: found.release)


def _folders_of(known: ServerPrograms, wanted: str) -> list[Path]:
    """The folders of a cache that are named for that release."""
    named = [part for part in known.cached_releases if part.partition("/")[0] == wanted]
    return [cache / part for cache in caches() for part in named]


def _all_of(family: str) -> list[ServerBinary]:
    known = PROGRAMS[family]
    places = [*_candidates(known), *_in_caches(known.names, known.cached_releases)]
    programs = dict.fromkeys(place.resolve() for place in places)
    asked = (_asked_for_its_version(program, family) for program in programs)
    return [found for found in asked if found is not None]


def _none(wanted: str | None) -> Message:
    if wanted is None:
        return say("no database server on this machine")
    return say("no {wanted} server on this machine", wanted=wanted)


def _each(ways: Iterable[str]) -> Message:
    first, *others = map(plain, dict.fromkeys(ways))
    for other in others:
        first = say_in("joined", "{first}; {second}", first=first, second=other)
    return first


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
    for folder in _matching(Path("/"), family.elsewhere):
        yield from (folder / name for name in names if (folder / name).is_file())
    yield from _in_caches(names, family.cached)


def _in_caches(names: Sequence[str], roots: Sequence[str]) -> Iterator[Path]:
    for folder in (found for cache in caches() for found in _matching(cache, roots)):
        yield from (folder / name for name in names if is_ours(folder / name))


def _matching(base: Path, patterns: Sequence[str]) -> Iterator[Path]:
    """The folders of these patterns below a folder; of one pattern the highest version first."""
    for pattern in patterns:
        if "*" in pattern:
            yield from sorted(base.glob(pattern.lstrip("/")), key=_numbers_in, reverse=True)
        else:
            yield base / pattern


def _numbers_in(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", str(path))]


def _in_root(root: Path, wanted: str | None) -> ServerBinary:
    if not root.is_dir():
        raise SandboxError(f"there is no folder {root}", "give one that holds another system")
    root = root.resolve()
    is_named = wanted is None or is_server_name(wanted)
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
    for known in PROGRAMS.values():
        _check_libraries(program, known)
    makers = " or ".join(maker for family in PROGRAMS.values() for maker in family.makers)
    raise SandboxError(f"{wanted} does not answer --version as a {makers} server does", takes)


def _check_libraries(program: Path, known: ServerPrograms) -> None:
    """Name the library that keeps a program from starting, and its package.

    Raises:
        SandboxError: there is one.
    """
    try:
        said = subprocess.run(
            [str(program), *known.version_options],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=20,
            check=False,
            stdin=subprocess.DEVNULL,
        ).stderr
    except (OSError, subprocess.SubprocessError):
        return
    found = re.search(r"loading shared libraries: ([^:\s]+): cannot open", said)
    if found is None:
        return
    missing = found[1]
    package = known.libraries.get(missing)
    raise SandboxError(
        f"{program} needs the library {missing}, which is not on this machine",
        f"apt-get install {package}" if package else f"install the package that has {missing}",
    )


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
    options = known.options_in(system) if system and launcher else known.options_beside(program)
    return ServerBinary(program, flavour, version, launcher, options, family)


def _unpacked_in(program: Path) -> Path | None:
    """The folder into which `dpkg -x` unpacked a server; `None`: it is in none."""
    root = program.parents[2]
    if root == Path("/") or not any(
        loader for lib in ("usr/lib*", "lib*") for loader in root.glob(f"{lib}/ld-linux*.so.*")
    ):
        return None
    return root
