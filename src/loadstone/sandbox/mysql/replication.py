"""Sets up a sandbox's second server as a replica of the first."""

from __future__ import annotations

import time

from loadstone.families import connect
from loadstone.model.target import Endpoint
from loadstone.sandbox.binary import ServerBinary
from loadstone.sandbox.errors import SandboxError
from loadstone.sandbox.mysql.binaries import is_mariadb
from loadstone.servers.connection import Connection

_LINK_S = 30.0


def connect_replica(
    primary: Endpoint, replica: Endpoint, binary: ServerBinary, primary_port: int
) -> None:
    """Start replication from the primary's first binary log, and wait until it works.

    Both servers ran the same first statements themselves, so their data is equal at that point.

    Raises:
        SandboxError: the replica does not follow; quotes its reason.
    """
    words = _Words(binary)
    password = primary.credentials.reveal()
    user = primary.target.user or ""
    with connect(replica) as connection, connection.cursor() as cursor:
        # Both servers of a sandbox have the same main user, with the same password.
        cursor.execute(words.change(primary_port), (user, password))
        cursor.execute(words.start)
        _wait_until_it_follows(connection, words)


class _Words:
    """The statements and column names of one server's replication."""

    def __init__(self, binary: ServerBinary) -> None:
        self._binary = binary
        old = is_mariadb(binary) or binary.release < (8, 0, 23)
        self._source = "MASTER" if old else "SOURCE"
        self._command = "CHANGE MASTER TO" if old else "CHANGE REPLICATION SOURCE TO"
        end = "SLAVE" if old else "REPLICA"
        self.start = f"START {end}"
        self.status = f"SHOW {end} STATUS"
        self.running = (f"{end.title()}_IO_Running", f"{end.title()}_SQL_Running")

    def change(self, port: int) -> str:
        """The statement that sets the source; user and password are its parameters."""
        word = self._source
        text = f"{self._command} {word}_HOST='127.0.0.1', {word}_PORT={port}"
        text += f", {word}_USER=%s, {word}_PASSWORD=%s, {word}_CONNECT_RETRY=1"
        if is_mariadb(self._binary):
            return f"{text}, MASTER_USE_GTID=slave_pos, MASTER_SSL=0"
        # caching_sha2_password sends a password only through TLS; the link stays on loopback, so
        # servers without that method need none.
        ssl = int(self._binary.release >= (8, 0, 4))
        return f"{text}, {word}_SSL={ssl}, {word}_LOG_FILE='binlog.000001', {word}_LOG_POS=4"


def _wait_until_it_follows(connection: Connection, words: _Words) -> None:
    deadline = time.monotonic() + _LINK_S
    while True:
        status = _status(connection, words.status)
        if all(status.get(column) == "Yes" for column in words.running):
            return
        trouble = status.get("Last_IO_Error") or status.get("Last_SQL_Error")
        if time.monotonic() > deadline:
            reason = trouble or f"{status.get(words.running[0], 'it says nothing')} (IO thread)"
            raise SandboxError(f"the replica does not follow its primary: {reason}")
        time.sleep(0.02)


def _status(connection: Connection, statement: str) -> dict[str, str]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        row = cursor.fetchone()
        names = [column[0] for column in cursor.description or ()]
    return {} if row is None else dict(zip(names, (str(value) for value in row), strict=True))
