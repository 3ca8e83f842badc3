"""Logs in the servers' formats, made for tests: their content is known."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

Did = tuple[int, str, str]
"""A session's number, a command of the general log, and its text."""


def iso(us: int) -> str:
    """The time so many microseconds after ten o'clock."""
    return f"2026-11-22T10:{us // 60_000_000:02}:{us // 1_000_000 % 60:02}.{us % 1_000_000:06}Z"


def general_of_mysql(did: Iterable[Did], step_us: int = 1_000) -> bytes:
    lines = ["/usr/sbin/mysqld, Version: 8.4.3 (MySQL Community Server - GPL). started with:"]
    lines.append("Tcp port: 3306  Unix socket: /tmp/mysql.sock")
    lines.append("Time                 Id Command    Argument")
    for place, (session, command, text) in enumerate(did):
        us = place * step_us
        stamp = iso(us)
        lines.append(f"{stamp}\t{session:5} {command}\t{text}")
    return "\n".join([*lines, ""]).encode("utf-8", "surrogateescape")


def general_of_mariadb(did: Iterable[Did], a_second: int = 10) -> bytes:
    """MariaDB's general log; of the entries in a second only the first has a time."""
    lines = ["/usr/sbin/mariadbd, Version: 10.11.14-MariaDB-log (Debian). started with:"]
    lines.append("Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock")
    lines.append("Time\t\t    Id Command\tArgument")
    for place, (session, command, text) in enumerate(did):
        second = place // a_second
        stamp = f"261122 {10 + second // 3600:2}:{second // 60 % 60:02}:{second % 60:02}\t"
        time = stamp if place % a_second == 0 else "\t\t"
        lines.append(f"{time}{session:6} {command}\t{text}")
    return "\n".join([*lines, ""]).encode("utf-8", "surrogateescape")


def slow_of_mysql(did: Iterable[Did], step_us: int = 1_000) -> bytes:
    lines = ["/usr/sbin/mysqld, Version: 8.4.3 (MySQL Community Server - GPL). started with:"]
    lines.append("Tcp port: 3306  Unix socket: /tmp/mysql.sock")
    lines.append("Time                 Id Command    Argument")
    for place, (session, command, text) in enumerate(did):
        us = place * step_us + 500
        stamp = iso(us)
        lines.append(f"# Time: {stamp}")
        lines.append(f"# User@Host: app[app] @ localhost [127.0.0.1]  Id: {session:5}")
        lines.append("# Query_time: 0.000500  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1")
        lines.append("SET timestamp=1795341600;")
        lines.append(f"{text};" if command == "Query" else f"# administrator command: {command};")
    return "\n".join([*lines, ""]).encode("utf-8", "surrogateescape")


def slow_of_mariadb(did: Iterable[Did], a_second: int = 10) -> bytes:
    lines = ["/usr/sbin/mariadbd, Version: 10.11.14-MariaDB-log (Debian). started with:"]
    lines.append("Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock")
    lines.append("Time\t\t    Id Command\tArgument")
    for place, (session, command, text) in enumerate(did):
        if place % a_second == 0:
            lines.append(f"# Time: 261122 10:00:{place // a_second % 60:02}")
        lines.append("# User@Host: app[app] @ localhost [127.0.0.1]")
        lines.append(f"# Thread_id: {session}  Schema: shop  QC_hit: No")
        lines.append("# Query_time: 0.000500  Lock_time: 0.000001  Rows_sent: 1  Rows_examined: 1")
        lines.append("# Rows_affected: 0  Bytes_sent: 60")
        lines.append(f"SET timestamp={1795341600 + place // a_second};")
        lines.append(f"{text};" if command == "Query" else f"# administrator command: {command};")
    return "\n".join([*lines, ""]).encode("utf-8", "surrogateescape")


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path
