"""Which server programs are on this machine, and how each must be started."""

from __future__ import annotations

import grp
import os
import platform
import pwd
import re
import shutil
import stat
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from loadstone.sandbox.errors import SandboxError

Flavour = Literal["mariadb", "mysql", "percona"]

_HOW_TO_GET = "apt-get install mariadb-server-core, or tools/get-mysql (touches no system folder)"
_NAMES = ("mariadbd", "mysqld")
_ELSEWHERE = ("/usr/sbin", "/usr/libexec", "/usr/local/sbin", "/usr/local/mysql/bin")
_IN_A_ROOT = ("usr/sbin", "usr/libexec", "usr/bin", "usr/local/sbin", "usr/local/mysql/bin")
_LIBRARIES = ("usr/lib/*", "lib/*", "usr/lib64", "lib64", "usr/lib", "lib")
_MOST_LINKS = 40
_CACHED = ("mariadb/usr/sbin", "mysql/usr/sbin", "mariadb/bin", "mysql/bin")


@dataclass(frozen=True)
class ServerBinary:
    """A server program that answered `--version`, with what it needs to run from where it is."""

    program: Path
    flavour: Flavour
    version: str
    launcher: tuple[str, ...] = ()
    """What stands before the program: an unpacked server runs through its own loader."""
    options: tuple[str, ...] = ()
    """Server options that its place makes necessary."""

    @property
    def command(self) -> tuple[str, ...]:
        """The beginning of every command line of this server; no configuration file is read."""
        return (*self.launcher, str(self.program), "--no-defaults", *self.options)

    @property
    def is_mariadb(self) -> bool:
        """Whether it is of MariaDB's line; all others are of MySQL's."""
        return self.flavour == "mariadb"

    @property
    def release(self) -> tuple[int, int, int]:
        """The version as numbers, for comparison."""
        major, minor, patch = self.version.split(".")[:3]
        return int(major), int(minor), int(patch)

    @property
    def share(self) -> Path:
        """The folder with messages, character sets and MariaDB's system tables."""
        prefix = self.program.resolve().parents[1]
        for folder in (prefix / "share/mysql", prefix / "share/mariadb", prefix / "share"):
            if (folder / "charsets").is_dir():
                return folder
        return prefix / "share"


def find_server(wanted: str | None = None, root: Path | None = None) -> ServerBinary:
    """The server to start: `mariadb`, `mysql`, a path, or by default whatever is there.

    Looked for on PATH, in /usr/sbin and its like, then in this checkout's `.cache/` and the user's
    `~/.cache/loadstone`; with `root`, the folder of another system, only there.

    Raises:
        SandboxError: nothing fits; says how to get one.
    """
    if root is not None:
        return _in_root(root, wanted)
    if wanted is not None and wanted not in ("mariadb", "mysql"):
        return _at_path(wanted)
    asked = ((place.resolve(), None) for place in _candidates())
    found = _fitting(asked, wanted)
    if found is None:
        raise SandboxError(f"no {wanted or 'database'} server on this machine", _HOW_TO_GET)
    return found


def _fitting(
    programs: Iterable[tuple[Path, Path | None]], wanted: str | None
) -> ServerBinary | None:
    """The first of these programs, each with its root, that is what is wanted."""
    tried: set[Path] = set()
    found: list[ServerBinary] = []
    for program, root in programs:
        if program in tried:
            continue
        tried.add(program)
        binary = _asked_for_its_version(program, root)
        if binary is None:
            continue
        if binary.is_mariadb if wanted in (None, "mariadb") else not binary.is_mariadb:
            return binary
        found.append(binary)
    return found[0] if wanted is None and found else None


def mariadb_plugins() -> Path | None:
    """Where tools/get-mariadb-plugins put the plugins outside MariaDB's core package."""
    places = (cache / "mariadb-plugins" for cache in _caches())
    return next((place for place in places if _is_ours(place / "auth_ed25519.so")), None)


def _candidates() -> Iterator[Path]:
    on_path = (shutil.which(name) for name in _NAMES)
    yield from (Path(place) for place in on_path if place is not None)
    for folder in map(Path, _ELSEWHERE):
        yield from (folder / name for name in _NAMES if (folder / name).is_file())
    for folder in (cache / root for cache in _caches() for root in _CACHED):
        yield from (folder / name for name in _NAMES if _is_ours(folder / name))


def _caches() -> list[Path]:
    """Where fetched servers are. Never in the working folder: anybody may have put one there."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    home = named if named.is_absolute() else Path("~/.cache").expanduser()
    source = Path(__file__).resolve().parents[2]
    is_checkout = source.name == "src" and (source.parent / "pyproject.toml").is_file()
    return [*([source.parent / ".cache"] if is_checkout else []), home / "loadstone"]


def _is_ours(file: Path) -> bool:
    """Whether it is there, and nobody else can have put it there.

    It and all folders above it belong to who is trusted anyhow (us, root, or whose program this
    is), and nobody else may write to them. In a folder that is sticky nobody renames what is
    another's, so that others may have files of their own beside it.
    """
    trusted = _owners()
    try:
        real = file.resolve(strict=True)
        # Where a link leads, and the folders in which it could be made to lead elsewhere.
        folders = {*real.parents, *file.absolute().parents}
        found = [path.stat() for path in (real, *folders)]
    except OSError:
        return False
    return stat.S_ISREG(found[0].st_mode) and all(
        each.st_uid in trusted and not _others_may_write(each) for each in found
    )


def _others_may_write(found: os.stat_result) -> bool:
    if stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX:
        return False
    by_group = found.st_mode & stat.S_IWGRP and not _is_own_alone(found.st_gid)
    return bool(found.st_mode & stat.S_IWOTH or by_group)


def _is_own_alone(group: int) -> bool:
    """Whether a group has nobody but us in it, as many systems make one for each user."""
    try:
        name, there = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return there.gr_name == name and set(there.gr_mem) <= {name}


def _owners() -> set[int]:
    return {0, os.geteuid(), Path(__file__).stat().st_uid}


def _in_root(root: Path, wanted: str | None) -> ServerBinary:
    if not root.is_dir():
        raise SandboxError(f"there is no folder {root}", "give one that holds another system")
    root = root.resolve()
    named = wanted in (None, "mariadb", "mysql")
    places = [f"{folder}/{name}" for folder in _IN_A_ROOT for name in _NAMES]
    programs = [within(root, place) for place in (places if named else [str(wanted)])]
    there = ((program, root) for program in programs if program.is_file())
    found = _fitting(there, wanted if named else None)
    if found is None:
        raise SandboxError(
            f"no {wanted or 'database'} server that runs in {root}",
            "debootstrap --include=mariadb-server-core, or unpack its packages there with dpkg -x",
        )
    return found


def within(root: Path, path: str) -> Path:
    """Where a path leads for whoever has this root: links in it lead to other files from here."""
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


def _at_path(wanted: str) -> ServerBinary:
    program = Path(wanted).expanduser()
    if not program.is_file():
        raise SandboxError(
            f"no server program at {wanted!r}", "--server takes mariadb, mysql or a program's path"
        )
    binary = _asked_for_its_version(program.resolve())
    if binary is None:
        raise SandboxError(
            f"{wanted} does not answer --version as a MariaDB or MySQL server does",
            "--server takes mariadb, mysql or a program's path",
        )
    return binary


def _asked_for_its_version(program: Path, root: Path | None = None) -> ServerBinary | None:
    launcher, options = _foreign(root) if root else _unpacked(program)
    if root and not launcher:
        return None  # it would run with this system's libc
    try:
        answer = subprocess.run(
            [*launcher, str(program), "--no-defaults", "--version"],
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
            stdin=subprocess.DEVNULL,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"Ver (\d+\.\d+\.\d+)(\S*)", answer)
    if found is None:
        return None
    return ServerBinary(program, _flavour(answer), found[1], launcher, options)


def _flavour(answer: str) -> Flavour:
    if "mariadb" in answer.lower():
        return "mariadb"
    return "percona" if "percona" in answer.lower() else "mysql"


def _unpacked(program: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Launcher and options of a server that `dpkg -x` put into a folder of its own."""
    root = program.parents[2]
    if root == Path("/") or not any(root.glob("usr/lib*/ld-linux*.so.*")):
        return (), ()
    return _foreign(root)


def _foreign(root: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The same of any folder that holds another system: its loader, its libraries, its files."""
    places = [place for pattern in _LIBRARIES for place in sorted(root.glob(pattern))]
    folders = [*dict.fromkeys(within(root, str(place.relative_to(root))) for place in places)]
    loader = _loader(root, folders)
    if loader is None:
        return (), ()
    libraries = [folder for folder in folders if any(folder.glob("lib*.so.*"))]
    private = [root / "usr/lib/mysql/private", root / "usr/lib64/mysql/private"]
    launcher = (
        str(loader),
        "--inhibit-cache",  # which is this system's
        "--library-path",
        ":".join(map(str, [*libraries, *private])),
    )
    share = _first(root, "usr/share/mysql", "usr/share/mariadb")
    return launcher, (
        f"--lc-messages-dir={share}",
        f"--character-sets-dir={share / 'charsets'}",
        f"--plugin-dir={_first(root, 'usr/lib/mysql/plugin', 'usr/lib64/mysql/plugin')}",
        "--secure-file-priv=",
    )


def _loader(root: Path, folders: Sequence[Path]) -> Path | None:
    """The loader of this machine's processor; a folder may have those of others beside it."""
    machine = platform.machine().replace("_", "-")
    loaders = [loader for folder in folders for loader in sorted(folder.glob("ld-linux*.so.*"))]
    mine = [loader for loader in loaders if machine in loader.name]
    found = next(iter([*mine, *loaders]), None)
    return within(root, str(found.relative_to(root))) if found else None


def _first(root: Path, *names: str) -> Path:
    """The first of these that is there; else the first."""
    return next((root / name for name in names if (root / name).is_dir()), root / names[0])
