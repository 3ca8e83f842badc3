"""Identifies MySQL's and MariaDB's server programs, and how each must be started."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from loadstone.model.message import say
from loadstone.sandbox.binary import ServerBinary
from loadstone.sandbox.foreign import first_of
from loadstone.sandbox.mysql.releases import RELEASES, release_named
from loadstone.sandbox.trusted import caches, is_ours

servers = ("mariadb", "mysql")
makers = ("MariaDB", "MySQL")
labels = {"mariadb": "MariaDB", "mysql": "MySQL", "percona": "Percona Server"}
names = ("mariadbd", "mysqld")
elsewhere = ("/usr/sbin", "/usr/libexec", "/usr/local/sbin", "/usr/local/mysql/bin")
in_a_root = ("usr/sbin", "usr/libexec", "usr/bin", "usr/local/sbin", "usr/local/mysql/bin")
cached = ("mariadb/usr/sbin", "mysql/usr/sbin", "mariadb/bin", "mysql/bin")
private_libraries = ("usr/lib/mysql/private", "usr/lib64/mysql/private")
version_options = ("--no-defaults", "--version")
libraries = {
    "libaio.so.1": "libaio1",
    "libnuma.so.1": "libnuma1",
    "libtinfo.so.5": "libtinfo5",
    "libncurses.so.5": "libncurses5",
}
releases = tuple(RELEASES)
cached_releases = tuple(dict.fromkeys(release.folder for release in RELEASES.values()))
how_to_get_in_a_root = say(
    "debootstrap --include=mariadb-server-core, or unpack its packages there with dpkg -x"
)


def read_version(answer: str) -> tuple[str, str] | None:
    """Flavour and version from the output of `--version`; `None`: it is no such server."""
    found = re.search(r"Ver (\d+\.\d+\.\d+)(\S*)", answer)
    return None if found is None else (_flavour(answer), found[1])


def _flavour(answer: str) -> str:
    if "mariadb" in answer.lower():
        return "mariadb"
    return "percona" if "percona" in answer.lower() else "mysql"


def how_to_get(wanted: str | None) -> str:
    """How to get a server if there is none: this one, or any."""
    if wanted in RELEASES:
        return say("tools/get-server {release} (touches no system folder)", release=wanted)
    if wanted is not None and release_named(wanted):
        known = ", ".join(name for name in RELEASES if name.startswith(wanted.partition("-")[0]))
        return say(
            "tools/get-server fetches {known}; --server also takes a program's path", known=known
        )
    return say("apt-get install mariadb-server-core, or tools/get-mysql (touches no system folder)")


def is_name(wanted: str | None) -> bool:
    """Whether it is a server's name, with or without a version."""
    return wanted in servers or has_version(wanted)


def has_version(wanted: str | None) -> bool:
    """Whether it is a name with a version, such as mysql-5.7 or mariadb-10.11.6."""
    return wanted is not None and release_named(wanted) is not None


def fits(binary: ServerBinary, wanted: str | None) -> bool:
    """Whether the server is the requested one; MariaDB's if none was named."""
    release = release_named(wanted or "")
    if release is not None:
        flavour, version = release
        return (flavour == "mariadb") == is_mariadb(binary) and _begins(binary.release, version)
    return is_mariadb(binary) if wanted in (None, "mariadb") else not is_mariadb(binary)


def _begins(release: Sequence[int], version: Sequence[int]) -> bool:
    return tuple(release[: len(version)]) == tuple(version)


def is_mariadb(binary: ServerBinary) -> bool:
    """Whether the server is MariaDB's; all others are MySQL's."""
    return binary.flavour == "mariadb"


def command_of(binary: ServerBinary) -> tuple[str, ...]:
    """The start of each of this server's command lines; it reads no configuration file."""
    return (*binary.launcher, str(binary.program), "--no-defaults", *binary.options)


def options_beside(program: Path) -> tuple[str, ...]:
    """The file locations of a server that was unpacked from an archive of its own.

    MySQL 5.7 looks for its messages where it was to be installed.
    """
    share = _share_of(program)
    if program.is_relative_to("/usr") or not (share / "english/errmsg.sys").is_file():
        return ()
    return (f"--lc-messages-dir={share}", f"--character-sets-dir={share / 'charsets'}")


def options_in(root: Path) -> tuple[str, ...]:
    """Options with the file locations of a server in a folder that holds another system."""
    share = first_of(root, "usr/share/mysql", "usr/share/mariadb")
    return (
        f"--lc-messages-dir={share}",
        f"--character-sets-dir={share / 'charsets'}",
        f"--plugin-dir={first_of(root, 'usr/lib/mysql/plugin', 'usr/lib64/mysql/plugin')}",
        "--secure-file-priv=",
    )


def share_of(binary: ServerBinary) -> Path:
    """The folder with messages, character sets and MariaDB's system tables."""
    return _share_of(binary.program.resolve())


def _share_of(program: Path) -> Path:
    prefix = program.parents[1]
    for folder in (prefix / "share/mysql", prefix / "share/mariadb", prefix / "share"):
        if (folder / "charsets").is_dir():
            return folder
    return prefix / "share"


def mariadb_plugins(release: Sequence[int] | None = None) -> Path | None:
    """The folder where tools/get-mariadb-plugins put plugins that MariaDB's core package lacks.

    `release`: that of the server, which loads no plugins of another series; `None`: any.
    """
    places = (cache / "mariadb-plugins" for cache in caches())
    found = (place for place in places if is_ours(place / "auth_ed25519.so"))
    return next((place for place in found if release is None or _is_of(place, release)), None)


def _is_of(plugins: Path, release: Sequence[int]) -> bool:
    """Whether plugins belong to a series such as 10.11; those without their version to any."""
    try:
        said = (plugins / ".version").read_text()
    except OSError:
        return True
    series = re.search(r"(\d+)\.(\d+)\.", said)
    return series is None or [int(part) for part in series.groups()] == [*release[:2]]
