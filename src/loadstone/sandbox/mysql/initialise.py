"""Creates a data folder as a server of MySQL's family does at its first start."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from loadstone.sandbox.binary import ServerBinary
from loadstone.sandbox.errors import SandboxError
from loadstone.sandbox.mysql.binaries import command_of, is_mariadb, share_of
from loadstone.sandbox.mysql.keeping import without_identity

_INITIALISING_S = 300
# In the order in which MariaDB's own mariadb-install-db feeds them to the server. That script is
# not used because Debian's core package lacks a program that it calls.
_MARIADB_TABLES = (
    "mysql_system_tables.sql",
    "mysql_performance_tables.sql",
    "mysql_system_tables_data.sql",
    "maria_add_gis_sp_bootstrap.sql",
    "mysql_sys_schema.sql",
)


def run_as_root() -> tuple[str, ...]:
    """The option without which the servers refuse to run as root."""
    return ("--user=root",) if os.geteuid() == 0 else ()


def initialise(binary: ServerBinary, datadir: Path) -> None:
    """Create a data folder that has no users but root.

    Raises:
        SandboxError: it cannot be created; quotes the server's reason.
    """
    if is_mariadb(binary):
        datadir.mkdir(mode=0o700)
        done = _run(binary, datadir, ("--bootstrap", *_MARIADB_BOOTSTRAP), _system_tables(binary))
    else:
        done = _run(binary, datadir, ("--initialize-insecure", _small_log(binary)), b"")
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        faults = [line for line in lines if "ERROR" in line] or lines or ["(no output)"]
        raise SandboxError(
            f"{binary.program} cannot initialise a data folder: {faults[0].strip()}",
            f"is there room and write permission in {datadir.parent.parent}?",
        )
    without_identity(datadir)


_MARIADB_BOOTSTRAP = (
    "--log-warnings=0",
    "--enforce-storage-engine=",
    "--max-allowed-packet=8M",
    "--innodb-log-file-size=10M",
)


def _small_log(binary: ServerBinary) -> str:
    """A small redo log, as the template is copied; the server's first start makes its own."""
    if binary.release >= (8, 0, 30):
        return "--innodb-redo-log-capacity=8M"
    return "--innodb-log-file-size=4M"


def _run(
    binary: ServerBinary, datadir: Path, options: tuple[str, ...], feed: bytes
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            # A separate folder, since MariaDB clears the folder of temporary tables.
            [
                *(*command_of(binary), f"--datadir={datadir}", f"--tmpdir={datadir.parent}"),
                *(*run_as_root(), *options),
            ],
            input=feed,
            capture_output=True,
            timeout=_INITIALISING_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxError(f"{binary.program} cannot initialise a data folder: {error}") from None


def _first_file(folder: Path, *names: str) -> Path:
    """The first of these files that exists, else the first: MariaDB 11 renamed some."""
    return next((folder / name for name in names if (folder / name).is_file()), folder / names[0])


def _system_tables(binary: ServerBinary) -> bytes:
    # The bootstrap reads one statement a line, and stops at the first that it cannot read.
    parts = [b"create database if not exists mysql;\nuse mysql;\nSET @auth_root_socket=NULL;\n"]
    for name in _MARIADB_TABLES:
        place = _first_file(share_of(binary), name, name.replace("mysql_", "mariadb_"))
        if place.exists():
            parts.append(place.read_bytes())
        elif name == _MARIADB_TABLES[0]:
            raise SandboxError(
                f"{binary.program} has no system tables next to it ({place} is missing)",
                "install the whole server package",
            )
    return b"\n".join(parts)
