"""A running null server: its address, its status, and the log of stamps that it writes."""

from __future__ import annotations

import csv
import json
import math
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql

Session = pymysql.connections.Connection  # type: ignore[type-arg, unused-ignore]


@dataclass(frozen=True)
class Stamp:
    """One answer, as the server logged it."""

    connection: int
    kind: str
    outcome: str
    errno: int
    received_ns: int
    due_ns: int
    sent_ns: int

    @property
    def took_ns(self) -> int:
        """From the first byte of the command to the last of the answer."""
        return self.sent_ns - self.received_ns


@dataclass
class Running:
    """A server in a process of its own."""

    process: subprocess.Popen[str]
    port: int
    socket: Path
    log: Path

    def connect(self, *, by_socket: bool = False, **more: Any) -> Session:
        """A session, unencrypted unless the options say otherwise; the caller closes it."""
        place = {"unix_socket": str(self.socket)} if by_socket else {"port": self.port}
        in_clear = "ssl_ca" not in more
        return pymysql.connect(
            host="127.0.0.1", user="u", password="any", ssl_disabled=in_clear, **place, **more
        )

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of one statement, in a session of its own."""
        with self.connect() as session, session.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def status(self) -> dict[str, int]:
        """The server's counters; the test fails if they do not balance."""
        status = {str(name): int(value) for name, value in self.ask("SHOW NULL STATUS")}
        load = status["executes"] + status["queries"]
        parts = ("answered", "errors", "dropped_answers", "owed")
        assert load == sum(status[part] for part in parts), status
        return status

    def end(self) -> int:
        """End it as a user does; returns its exit code."""
        if self.process.poll() is None:
            self.process.terminate()
        if self.process.stdout is not None:
            self.process.stdout.close()
        return self.process.wait(20)

    def stamps(self, *kinds: str) -> list[Stamp]:
        """The log after the server's end, of some kinds of answers or of all."""
        assert self.end() == 0
        with self.log.open(newline="") as lines:
            every = [
                Stamp(
                    connection=int(row["connection"]),
                    kind=row["kind"],
                    outcome=row["outcome"],
                    errno=int(row["errno"]),
                    received_ns=int(row["received_ns"]),
                    due_ns=int(row["due_ns"]),
                    sent_ns=int(row["sent_ns"]),
                )
                for row in csv.DictReader(lines)
            ]
        return [stamp for stamp in every if not kinds or stamp.kind in kinds]


def serve(
    program: Path, folder: Path, script: dict[str, Any] | None, options: Sequence[str]
) -> Running:
    """Start a server and wait until it listens."""
    socket, log = folder / "null.sock", folder / "log.csv"
    words = ["--socket", str(socket), "--log", str(log), "--duration", "280s", *options]
    if script is not None:
        path = folder / "script.json"
        path.write_text(json.dumps(script))
        words += ["--script", str(path)]
    process = subprocess.Popen([program, *words], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = json.loads(process.stdout.readline())
    assert said["pid"] == process.pid
    return Running(process, said["port"], Path(said["socket"]), log)


def quantile(values: Sequence[int], wanted: float) -> int:
    """The smallest value that this share of all values does not exceed, as HdrHistogram counts."""
    ordered = sorted(values)
    return ordered[max(math.ceil(wanted * len(ordered)), 1) - 1]
