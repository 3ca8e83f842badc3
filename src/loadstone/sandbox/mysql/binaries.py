"""Identifies MySQL's and MariaDB's server programs, and how each must be started."""

from __future__ import annotations

import re
from pathlib import Path

from loadstone.sandbox.binary import ServerBinary
from loadstone.sandbox.foreign import first_of
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
how_to_get = "apt-get install mariadb-server-core, or tools/get-mysql (touches no system folder)"
how_to_get_in_a_root = (
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


def fits(binary: ServerBinary, wanted: str | None) -> bool:
    """Whether the server is the requested one; MariaDB's if none was named."""
    return is_mariadb(binary) if wanted in (None, "mariadb") else not is_mariadb(binary)


def is_mariadb(binary: ServerBinary) -> bool:
    """Whether the server is MariaDB's; all others are MySQL's."""
    return binary.flavour == "mariadb"


def command_of(binary: ServerBinary) -> tuple[str, ...]:
    """The start of each of this server's command lines; it reads no configuration file."""
    return (*binary.launcher, str(binary.program), "--no-defaults", *binary.options)


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
    prefix = binary.program.resolve().parents[1]
    for folder in (prefix / "share/mysql", prefix / "share/mariadb", prefix / "share"):
        if (folder / "charsets").is_dir():
            return folder
    return prefix / "share"


def mariadb_plugins() -> Path | None:
    """The folder where tools/get-mariadb-plugins put plugins that MariaDB's core package lacks."""
    places = (cache / "mariadb-plugins" for cache in caches())
    return next((place for place in places if is_ours(place / "auth_ed25519.so")), None)
