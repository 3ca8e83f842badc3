"""Which server programs are on this machine, and how each must be started."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from loadstone.sandbox.errors import SandboxError

Flavour = Literal["mariadb", "mysql", "percona"]

_HOW_TO_GET = "apt-get install mariadb-server-core, or tools/get-mysql (touches no system folder)"
_NAMES = ("mariadbd", "mysqld")
_ELSEWHERE = ("/usr/sbin", "/usr/libexec", "/usr/local/sbin", "/usr/local/mysql/bin")
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


def find_server(wanted: str | None = None) -> ServerBinary:
    """The server to start: `mariadb`, `mysql`, a path, or by default whatever is there.

    Looked for on PATH, in /usr/sbin and its like, then in `.cache/` (the working folder's, this
    checkout's, the user's).

    Raises:
        SandboxError: nothing fits; says how to get one.
    """
    if wanted is not None and wanted not in ("mariadb", "mysql"):
        return _at_path(wanted)
    tried: set[Path] = set()
    found: list[ServerBinary] = []
    for place in _candidates():
        program = place.resolve()
        if program in tried:
            continue
        tried.add(program)
        binary = _asked_for_its_version(program)
        if binary is None:
            continue
        if binary.is_mariadb if wanted in (None, "mariadb") else not binary.is_mariadb:
            return binary
        found.append(binary)
    if wanted is None and found:
        return found[0]
    raise SandboxError(f"no {wanted or 'database'} server on this machine", _HOW_TO_GET)


def mariadb_plugins() -> Path | None:
    """Where tools/get-mariadb-plugins put the plugins outside MariaDB's core package."""
    for cache in _caches():
        if (cache / "mariadb-plugins" / "auth_ed25519.so").exists():
            return cache / "mariadb-plugins"
    return None


def _candidates() -> Iterator[Path]:
    on_path = (shutil.which(name) for name in _NAMES)
    yield from (Path(place) for place in on_path if place is not None)
    cached = (cache / root for cache in _caches() for root in _CACHED)
    for folder in (*map(Path, _ELSEWHERE), *cached):
        yield from (folder / name for name in _NAMES if (folder / name).is_file())


def _caches() -> list[Path]:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    checkout = Path(__file__).resolve().parents[3]
    return [Path(".cache").resolve(), checkout / ".cache", Path(home, "loadstone")]


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


def _asked_for_its_version(program: Path) -> ServerBinary | None:
    launcher, options = _unpacked(program)
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
    loaders = sorted(root.glob("usr/lib*/ld-linux*.so.*")) if root != Path("/") else []
    if not loaders:
        return (), ()
    libraries = [str(path.parent) for path in sorted(root.glob("usr/lib/*/libc.so.6"))]
    share = root / "usr/share/mysql"
    launcher = (
        str(loaders[0]),
        "--library-path",
        ":".join([*libraries, str(root / "usr/lib/mysql/private")]),
    )
    return launcher, (
        f"--lc-messages-dir={share}",
        f"--character-sets-dir={share / 'charsets'}",
        f"--plugin-dir={root / 'usr/lib/mysql/plugin'}",
        "--secure-file-priv=",
    )
