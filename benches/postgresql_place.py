"""The same place with PostgreSQL: a durable sandbox, reached over its unix socket."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches.place import Asked, Place, allow_descriptors, build_programs, find
from loadstone.sandbox import SandboxSpec, start_sandbox

CONNECTIONS = 800
_FLOOR_MODES = {"prepared": "postgres", "text": "postgres_text"}


@dataclass(frozen=True)
class PostgresqlPlace(Place):
    """A PostgreSQL to measure against; without TLS."""

    def url(self, *, tls: bool = False) -> str:
        """The server over its unix socket."""
        folder, port = self.sandbox.socket.parent, self.sandbox.port
        return f"postgresql://{self.user}@/sbtest?host={folder}&port={port}"

    def engine_target(self, *, tls: bool = False) -> dict[str, Any]:
        """The same server in a plan of the engine."""
        socket = str(self.sandbox.socket)
        return {**super().engine_target(tls=tls), "family": "postgresql", "socket": socket}

    def sysbench_login(self, *, tls: bool = False) -> list[str]:
        """sysbench's options for the same server."""
        return [
            "--db-driver=pgsql",
            f"--pgsql-host={self.sandbox.socket.parent}",
            f"--pgsql-port={self.sandbox.port}",
            f"--pgsql-user={self.user}",
            f"--pgsql-password={self.password}",
            "--pgsql-db=sbtest",
        ]

    def floor_login(self) -> list[str]:
        """The floor's options for the same server."""
        return ["--socket", str(self.sandbox.socket), "--user", self.user]

    def floor_mode(self, mode: str) -> str:
        """The floor's name for a kind of load on this server."""
        return _FLOOR_MODES[mode]

    def libpq(self) -> dict[str, str]:
        """The environment of programs that use libpq: the same server, and the password."""
        return {
            "PGHOST": str(self.sandbox.socket.parent),
            "PGPORT": str(self.sandbox.port),
            "PGUSER": self.user,
            "PGPASSWORD": self.password,
            "PGDATABASE": "sbtest",
        }

    def connected(self) -> int:
        """The server's number of connections, that of the question included."""
        with self.sandbox.connect() as connection, connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
            )
            ((connected,),) = cursor.fetchall()
        return int(connected)

    def empty_schema(self) -> None:
        """Recreate the schema, and write down what is still to be written of the old one."""
        with self.sandbox.connect() as connection, connection.cursor() as cursor:
            for statement in ("DROP SCHEMA public CASCADE", "CREATE SCHEMA public", "CHECKPOINT"):
                cursor.execute(statement)


@contextmanager
def open_place(asked: Asked, folder: Path) -> Iterator[PostgresqlPlace]:
    """A durable sandbox, and the programs, built if missing."""
    programs = build_programs()
    sysbench = find("sysbench")
    allow_descriptors()
    spec = SandboxSpec(server="postgresql", database="sbtest", max_connections=CONNECTIONS)
    with start_sandbox(spec) as sandbox:
        yield PostgresqlPlace(sandbox, sysbench, *programs, folder, asked)
