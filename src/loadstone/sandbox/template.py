"""A fresh data folder in a moment: initialised once for each server binary, then copied.

MySQL takes seconds to initialise, MariaDB a fraction of one; a copy takes about a tenth.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from loadstone.sandbox.binaries import ServerBinary
from loadstone.sandbox.errors import SandboxError
from loadstone.sandbox.state import locked

_FORMAT = "1"
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


def copy_template(binary: ServerBinary, datadir: Path) -> None:
    """Make `datadir` an initialised data folder of that server, without users but root."""
    template = _template(binary)
    shutil.copytree(template, datadir)
    datadir.chmod(0o700)


def run_as_root() -> tuple[str, ...]:
    """The servers refuse to run as root unless told that it is meant."""
    return ("--user=root",) if os.geteuid() == 0 else ()


def _template(binary: ServerBinary) -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(home, "loadstone", "templates")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    template = folder / f"{binary.flavour}-{binary.version}-{_build_of(binary)}"
    if template.is_dir():
        return template
    with locked(folder / f"{template.name}.lock"):
        if not template.is_dir():
            with _half_made(template) as half:
                _initialise(binary, half / "data")
                (half / "data").rename(template)
    return template


def _build_of(binary: ServerBinary) -> str:
    stat = binary.program.stat()
    facts = (_FORMAT, binary.program.resolve(), stat.st_size, stat.st_mtime_ns, os.geteuid())
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:12]


@contextlib.contextmanager
def _half_made(template: Path) -> Iterator[Path]:
    # The lock that we hold is this template's: others may be in the making beside it.
    prefix = f"{template.name}.making-"
    for left in template.parent.glob(f"{glob.escape(prefix)}*"):
        shutil.rmtree(left, ignore_errors=True)  # of one that was killed
    half = Path(tempfile.mkdtemp(prefix=prefix, dir=template.parent))
    try:
        yield half
    finally:
        shutil.rmtree(half, ignore_errors=True)


def _initialise(binary: ServerBinary, datadir: Path) -> None:
    if binary.is_mariadb:
        datadir.mkdir(mode=0o700)
        done = _run(binary, datadir, ("--bootstrap", *_MARIADB_BOOTSTRAP), _system_tables(binary))
    else:
        done = _run(binary, datadir, ("--initialize-insecure", *_MYSQL_INITIALISE), b"")
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        faults = [line for line in lines if "ERROR" in line] or lines or ["(no output)"]
        raise SandboxError(
            f"{binary.program} cannot initialise a data folder: {faults[0].strip()}",
            f"is there room and write permission in {datadir.parent.parent}?",
        )
    (datadir / "auto.cnf").unlink(missing_ok=True)  # an identity: every copy makes its own


_MARIADB_BOOTSTRAP = (
    "--log-warnings=0",
    "--enforce-storage-engine=",
    "--max-allowed-packet=8M",
    "--innodb-log-file-size=10M",
)
_MYSQL_INITIALISE = ("--innodb-redo-log-capacity=8M",)


def _run(
    binary: ServerBinary, datadir: Path, options: tuple[str, ...], feed: bytes
) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            # Of its own: MariaDB clears away what it finds in the folder of temporary tables.
            [
                *(*binary.command, f"--datadir={datadir}", f"--tmpdir={datadir.parent}"),
                *(*run_as_root(), *options),
            ],
            input=feed,
            capture_output=True,
            timeout=_INITIALISING_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxError(f"{binary.program} cannot initialise a data folder: {error}") from None


def _system_tables(binary: ServerBinary) -> bytes:
    # The bootstrap reads a statement a line, and stops at the first that it cannot read.
    parts = [b"create database if not exists mysql;\nuse mysql;\nSET @auth_root_socket=NULL;\n"]
    for name in _MARIADB_TABLES:
        place = binary.share / name
        if place.exists():
            parts.append(place.read_bytes())
        elif name == _MARIADB_TABLES[0]:
            raise SandboxError(
                f"{binary.program} has no system tables beside it ({place} is missing)",
                "install the whole server package",
            )
    return b"\n".join(parts)
