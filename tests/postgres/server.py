"""A PostgreSQL of its own for tests: it refuses to run as root, so root starts it as nobody."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from loadstone.sandbox.certificates import Certificates, make_certificates
from ports import free_port

VERSION = os.environ.get("LOADSTONE_POSTGRES")
"""Another version to test with, which `tools/get-postgres VERSION` has fetched."""
CACHE = Path(__file__).parents[2] / ".cache"
FETCHED = CACHE / (f"postgresql-{VERSION}" if VERSION else "postgres")
INSTALLED = () if VERSION else (Path("/usr/lib/postgresql"),)
PLACES = (*INSTALLED, FETCHED / "usr/lib/postgresql")
"""Where Debian's packages have it, and where tools/get-postgres puts it."""
USER = "nobody"
LONGEST_S = 120.0
PASSWORD = "it's a pässword"
AUTHORITY = "ca.pem"

RULES = """
host all by_trust 127.0.0.1/32 trust
host all by_md5 127.0.0.1/32 md5
host all by_password 127.0.0.1/32 password
hostnossl all only_tls 127.0.0.1/32 reject
hostssl all only_clear 127.0.0.1/32 reject
host all all 127.0.0.1/32 scram-sha-256
local all,replication all trust
"""
"""Who may log in, and how: pg_hba.conf."""

ACCOUNTS = f"""
CREATE ROLE by_trust LOGIN;
CREATE ROLE by_scram LOGIN PASSWORD '{PASSWORD.replace("'", "''")}';
CREATE ROLE only_tls LOGIN PASSWORD '{PASSWORD.replace("'", "''")}';
CREATE ROLE only_clear LOGIN PASSWORD '{PASSWORD.replace("'", "''")}';
CREATE ROLE by_password LOGIN PASSWORD '{PASSWORD.replace("'", "''")}';
GRANT pg_signal_backend TO by_scram;
SET password_encryption = 'md5';
CREATE ROLE by_md5 LOGIN PASSWORD '{PASSWORD.replace("'", "''")}';
"""

SETTINGS = {
    "ssl": "on",
    "ssl_cert_file": "server-cert.pem",
    "ssl_key_file": "server-key.pem",
    "fsync": "off",
    "deadlock_timeout": "50ms",
    "max_connections": "20",
}
NONE: Mapping[str, str] = {}
STARTING = ("starting up", "not yet accepting connections", "could not connect")
"""What psql says of a server that will take statements."""


@dataclass(frozen=True)
class Server:
    """A running server."""

    folder: Path
    port: int
    programs: Path
    """The folder with psql and pgbench."""
    address: str = "127.0.0.1"

    def psql(self, sql: str, database: str = "postgres") -> subprocess.CompletedProcess[str]:
        """Execute statements as the superuser."""
        words = [str(self.programs / "psql"), "-XqAt", "-v", "ON_ERROR_STOP=1", "-U", "postgres"]
        words += ["-h", str(self.folder), "-p", str(self.port), "-d", database]
        return subprocess.run([*as_user(), *words], input=sql, text=True, capture_output=True)

    def asked(self, sql: str, database: str = "postgres") -> list[list[str]]:
        """The rows of an answer, as texts."""
        done = self.psql(sql, database)
        assert done.returncode == 0, done.stderr
        return [line.split("|") for line in done.stdout.splitlines()]

    @property
    def authority(self) -> Path:
        """The certificate of the authority that signed the server's."""
        return self.folder / AUTHORITY

    @property
    def log(self) -> str:
        """What the server has said."""
        return (self.folder / "log").read_text(errors="replace")


def find_programs() -> Path | None:
    """The folder with the newest server's programs; `None`: there is none."""
    found = [path.parent for place in PLACES for path in place.glob("*/bin/initdb")]
    return max(found, key=lambda folder: int(folder.parent.name), default=None)


@contextmanager
def started(programs: Path, settings: Mapping[str, str] = NONE) -> Iterator[Server]:
    """A server with the accounts above, gone at the end of the block."""
    folder = Path(tempfile.mkdtemp(prefix="loadstone-postgres-"))
    try:
        server = Server(folder, free_port(), within_reach(programs, folder))
        prepare(server)
        with running(server, settings):
            server.asked(ACCOUNTS)
            yield server
    finally:
        shutil.rmtree(folder)


@contextmanager
def standby_of(primary: Server, address: str) -> Iterator[Server]:
    """A hot standby of a running server, gone at the end of the block.

    It has the same port at another address.
    """
    folder = Path(tempfile.mkdtemp(prefix="loadstone-postgres-"))
    try:
        folder.chmod(0o755)
        own(folder)
        server = Server(folder, primary.port, primary.programs, address)
        words = [str(server.programs / "pg_basebackup"), "-D", str(folder / "data"), "-R", "-N"]
        words += [
            "-h",
            str(primary.folder),
            "-p",
            str(primary.port),
            "-U",
            "postgres",
            "-c",
            "fast",
        ]
        subprocess.run([*as_user(), *words], check=True, capture_output=True, cwd=folder)
        with running(server):
            yield server
    finally:
        shutil.rmtree(folder)


@contextmanager
def running(server: Server, more: Mapping[str, str] = NONE) -> Iterator[None]:
    """The server on its data, until the end of the block."""
    folder = server.folder
    words = [str(server.programs / "postgres"), "-D", str(folder / "data")]
    words += ["-p", str(server.port), "-k", str(folder)]
    settings = {**SETTINGS, **more, "listen_addresses": server.address}
    words += [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([*as_user(), *words], stdout=log, stderr=log, cwd=folder)
    try:
        wait_for(server, process)
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(LONGEST_S)


def within_reach(programs: Path, folder: Path) -> Path:
    """The programs where the server's user can run them: a checkout may be root's alone."""
    if os.getuid() != 0 or not programs.is_relative_to(FETCHED):
        return programs
    folder.chmod(0o755)
    # Another version's programs start with the libraries next to them.
    parts = ("usr",) if VERSION else ("usr/lib/postgresql", "usr/share/postgresql")
    for part in parts:
        shutil.copytree(FETCHED / part, folder / part, symlinks=True)
    return folder / programs.relative_to(FETCHED)


def prepare(server: Server) -> None:
    """Make the data, and give the user what it has to read."""
    folder = server.folder
    certificates = make_certificates(folder / "tls")
    own(folder)
    words = [str(server.programs / "initdb"), "-D", str(folder / "data"), "-U", "postgres"]
    words += ["-E", "UTF8", "--locale=C", "--auth=trust", "--no-sync"]
    subprocess.run([*as_user(), *words], check=True, capture_output=True, cwd=folder)
    (folder / "data" / "pg_hba.conf").write_text(RULES)
    for source, name in files(certificates).items():
        target = folder / name if name == AUTHORITY else folder / "data" / name
        shutil.copy(source, target)
        own(target)


def files(certificates: Certificates) -> dict[Path, str]:
    """What the server and its clients need, by the names that they get."""
    return {
        certificates.ca: AUTHORITY,
        certificates.cert("server"): "server-cert.pem",
        certificates.key("server"): "server-key.pem",
    }


def own(path: Path) -> None:
    """Give a file or folder to the server's user."""
    if os.getuid() == 0:
        user = pwd.getpwnam(USER)
        os.chown(path, user.pw_uid, user.pw_gid)
    path.chmod(0o700 if path.is_dir() else 0o600)


def as_user() -> list[str]:
    """The words that make a program run as the server's user, and end with us."""
    if os.getuid() != 0:
        return ["setpriv", "--pdeathsig", "KILL"]
    user = pwd.getpwnam(USER)
    ids = [f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    return ["setpriv", *ids, "--pdeathsig", "KILL"]


def wait_for(server: Server, process: subprocess.Popen[bytes]) -> None:
    """Wait until it takes statements."""
    until = time.monotonic() + LONGEST_S
    while not (server.folder / f".s.PGSQL.{server.port}").exists():
        assert process.poll() is None, server.log
        assert time.monotonic() < until, f"no socket in time: {server.log}"
        time.sleep(0.02)
    while (done := server.psql("SELECT 1")).returncode:
        assert any(one in done.stderr for one in STARTING) and time.monotonic() < until, done.stderr
        time.sleep(0.1)
