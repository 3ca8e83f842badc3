"""Options by the words of sysbench, pgbench, mysqlslap, HammerDB and k6: what they are called here.

The nearest spelling would mislead: `--threads` is not a misspelt `--shards`.
"""

from __future__ import annotations

from collections.abc import Collection

from loadstone.model.message import Message, say

_USERS = ("--concurrency", "--parallel", "--connections")
_TIME = ("--duration", "--time")
_HOST = ("--host", "--target")
_TABLES = ("--tables",)
_ROWS = ("--table-size",)
_WAREHOUSES = ("--warehouses",)

_CALLED_HERE: dict[str, tuple[str, ...]] = {
    "-c": _USERS,
    "-t": _USERS,
    "--threads": _USERS,
    "--num-threads": _USERS,
    "--users": _USERS,
    "--clients": _USERS,
    "--client": _USERS,
    "--connections": _USERS,
    "--concurrency": _USERS,
    "--virtual-users": _USERS,
    "--vus": _USERS,
    "--vu": _USERS,
    "-T": _TIME,
    "-d": _TIME,
    "--time": _TIME,
    "--max-time": _TIME,
    "--run-time": _TIME,
    "--runtime": _TIME,
    "--duration": _TIME,
    "--warmup-time": ("--warmup",),
    "--rampup": ("--warmup",),
    "--ramp-up": ("--warmup",),
    "--rampup-time": ("--warmup",),
    "--mysql-host": _HOST,
    "--mysql-port": ("--port", "--target"),
    "--mysql-socket": ("--socket", "--target"),
    "--mysql-user": ("--user", "--target"),
    "--mysql-password": ("--password",),
    "--mysql-db": ("--database", "--target"),
    "--db": ("--database", "--target"),
    "--schema": ("--database", "--target"),
    "--create-schema": ("--database", "--target"),
    "--mysql-ssl": ("--tls",),
    "--mysql-ssl-ca": ("--tls-ca",),
    "--mysql-ssl-cert": ("--tls-cert",),
    "--mysql-ssl-key": ("--tls-key",),
    "--ssl": ("--tls",),
    "--ssl-mode": ("--tls",),
    "--ssl-ca": ("--tls-ca",),
    "--mysql-compression": ("--compression",),
    "--mysql-storage-engine": ("--storage-engine",),
    "--mysql-table-engine": ("--storage-engine",),
    "--mysql-ignore-errors": ("--on-error",),
    "--ignore-errors": ("--on-error",),
    "--db-ps-mode": ("--prepared",),
    "--oltp-table-size": _ROWS,
    "--rows": _ROWS,
    "--oltp-tables-count": _TABLES,
    "--rand-type": ("--distribution",),
    "--rand-seed": ("--seed",),
    "--random-seed": ("--seed",),
    "--create-secondary": ("--secondary-index",),
    "--auto-inc": ("--auto-increment",),
    "--warehouse": _WAREHOUSES,
    "--count-ware": _WAREHOUSES,
    "--scale": ("--warehouses", "--table-size"),
    "--scale-factor": ("--warehouses", "--table-size"),
    "-R": ("--rate",),
    "--rps": ("--rate",),
    "--tx-rate": ("--rate",),
    "--stages": ("--phases",),
    "--stage": ("--phases",),
    "--jobs": ("--shards",),
    "-j": ("--shards",),
    "--thresholds": ("--threshold",),
    "--summary-export": ("--json",),
    "--output": ("--out",),
    "--port": ("--address",),
    "--listen": ("--address",),
}
"""Options of other tools, and what they may be called here: the first that a command has."""

_NEEDS_NONE: dict[str, Message] = {
    **dict.fromkeys(
        ("--report-interval", "--progress"), say("each second has a line; no option is needed")
    ),
    **dict.fromkeys(
        ("--events", "--max-requests", "--iterations", "--transactions", "--number-of-queries"),
        say("a step ends after a time, not after a number of events: --duration"),
    ),
    **dict.fromkeys(
        ("--percentile", "--histogram"),
        say("the result always has percentiles and the histogram; no option is needed"),
    ),
    "--db-driver": say("--target has it in its URL: mysql:// or postgresql://"),
}
"""Options of other tools that need no counterpart in commands that apply load."""


OF_TABLES = ("--tables", "--table-size", "--oltp-table-size", "--rows", "--scale", "--warehouses")
"""Options of what is loaded, which sysbench's users also give when they drop it."""


def called_here(word: str, known: Collection[str]) -> Message | None:
    """The hint for another tool's option, if a command with the options `known` has it."""
    word = word.replace("_", "-") if word.startswith("--") else word
    for option in _CALLED_HERE.get(word, ()):
        if option in known and option != word:
            return _hint(word, option)
    return _NEEDS_NONE.get(word) if "--duration" in known else None


def _hint(word: str, option: str) -> Message:
    if option == "--target":
        return say("the URL of --target has it: mysql://USER@HOST:PORT/SCHEMA")
    if word == "--mysql-password":
        return say("--password prompts for it, or set LOADSTONE_PASSWORD")
    if word in ("--mysql-db", "--db", "--schema", "--create-schema"):
        return say("did you mean --database? The URL of --target may end with it: /SCHEMA")
    return say("did you mean {word}?", word=option)
