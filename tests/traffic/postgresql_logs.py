"""Logs in PostgreSQL's formats, made for tests: their content is known."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from typing import NamedTuple


class Said(NamedTuple):
    """A record of the log."""

    session: int
    message: str
    detail: str = ""
    at_ms: int = 0
    severity: str = "LOG"
    query: str = ""
    database: str = "shop"


def time_of(one: Said) -> str:
    ms = one.at_ms
    return f"2026-11-22 10:{ms // 60_000:02}:{ms // 1000 % 60:02}.{ms % 1000:03} UTC"


def csvlog(said: Iterable[Said], columns: int = 26) -> bytes:
    """PostgreSQL 14's csvlog has 26 columns, 13's 24, and those before 23."""
    out = io.StringIO()
    for place, one in enumerate(said):
        row = [
            time_of(one), "app", one.database, "500", "[local]", f"692181a0.{one.session:x}",
            str(place + 1), "SELECT", "2026-11-22 09:00:00 UTC", "3/12", "0", one.severity,
            "00000", one.message, one.detail, "", "", "", "", one.query, "", "", "psql",
            "client backend", "", "0",
        ]  # fmt: skip
        plain = {3, 6, 10}
        cells = [
            cell if at in plain or not cell else '"' + cell.replace('"', '""') + '"'
            for at, cell in enumerate(row[:columns])
        ]
        # The server quotes no times, sessions and severities.
        for at in {0, 5, 8, 11, 12} & set(range(columns)):
            cells[at] = row[at]
        out.write(",".join(cells) + "\n")
    assert len(list(csv.reader(io.StringIO(out.getvalue())))) == out.getvalue().count('UTC,"app"')
    return out.getvalue().encode("utf-8", "surrogateescape")


def jsonlog(said: Iterable[Said]) -> bytes:
    lines = []
    for place, one in enumerate(said):
        found = {
            "timestamp": time_of(one), "user": "app", "dbname": one.database, "pid": 500,
            "session_id": f"692181a0.{one.session:x}", "line_num": place + 1,
            "error_severity": one.severity, "message": one.message, "detail": one.detail,
            "statement": one.query,
        }  # fmt: skip
        lines.append(json.dumps({key: each for key, each in found.items() if each != ""}))
    return "".join(f"{line}\n" for line in lines).encode()
