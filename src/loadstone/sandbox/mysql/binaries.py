"""Which programs MySQL's and MariaDB's servers are, and how each must be started."""

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
    """Flavour and version of a server, by what it says of itself; `None`: it is none."""
    found = re.search(r"Ver (\d+\.\d+\.\d+)(\S*)", answer)
    return None if found is None else (_flavour(answer), found[1])


def _flavour(answer: str) -> str:
    if "mariadb" in answer.lower():
        return "mariadb"
    return "percona" if "percona" in answer.lower() else "mysql"


def fits(binary: ServerBinary, wanted: str | None) -> bool:
    """Whether it is what is wanted: MariaDB's, where nobody says."""
    return is_mariadb(binary) if wanted in (None, "mariadb") else not is_mariadb(binary)


def is_mariadb(binary: ServerBinary) -> bool:
    """Whether it is of MariaDB's line; all others are of MySQL's."""
    return binary.flavour == "mariadb"


def command_of(binary: ServerBinary) -> tuple[str, ...]:
    """The beginning of every command line of this server; no configuration file is read."""
    return (*binary.launcher, str(binary.program), "--no-defaults", *binary.options)


def options_in(root: Path) -> tuple[str, ...]:
    """Options of a server in a folder that holds another system: where its files are."""
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
    """Where tools/get-mariadb-plugins put the plugins outside MariaDB's core package."""
    places = (cache / "mariadb-plugins" for cache in caches())
    return next((place for place in places if is_ours(place / "auth_ed25519.so")), None)
