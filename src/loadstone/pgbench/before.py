"""What happens on one connection before a run: pgbench's tables are looked at and vacuumed."""

from __future__ import annotations

from loadstone.pgbench import log, tables
from loadstone.pgbench.errors import Failed
from loadstone.pgbench.reporting import Tables
from loadstone.pgbench.session import Session, refusal
from loadstone.pgbench.settings import Benchmark
from loadstone.pgbench.usage import VERSION, served
from loadstone.servers.errors import TargetError

_PARTITIONS = (
    "SELECT p.partstrat, (SELECT count(*) FROM pg_inherits AS i WHERE i.inhparent = c.oid)"
    " FROM pg_class AS c LEFT JOIN pg_partitioned_table AS p ON p.partrelid = c.oid"
    f" WHERE c.oid = to_regclass('{tables.ACCOUNTS}')"
)
_METHODS = {"r": "range", "h": "hash"}
_UNDEFINED_TABLE = "42P01"


def head(opened: Session) -> str:
    """The first line of a report: the server's version follows if its major version is another.

    Raises:
        Failed: the server does not tell its version.
    """
    rows = opened.rows("SHOW server_version")
    if not rows:
        raise Failed("the server does not tell its version: SHOW server_version has no row")
    ((version,),) = rows
    own, there = (str(each).partition(".")[0] for each in (VERSION, version))
    return f"pgbench ({served()}{'' if own == there else f', server {version}'})"


def look(opened: Session, asked: Benchmark) -> Tables:
    """The scale of the tables: a built-in script's is what they have, whatever was given.

    Raises:
        Failed: a built-in script needs tables that are not there.
    """
    if not any(script.is_builtin for script in asked.scripts):
        return Tables(scale=asked.scale or 1)
    scale = _branches(opened)
    if asked.scale is not None:
        log.warning(f"scale option ignored, using count from {tables.BRANCHES} table ({scale})")
    found = opened.rows(_PARTITIONS)
    if not found:
        raise Failed(
            f"no {tables.ACCOUNTS} table found in search_path",
            hint=_initialization_in(opened),
        )
    ((strategy, partitions),) = found
    method = _METHODS.get(strategy, strategy) if strategy else ""
    return Tables(scale, method, int(partitions) if strategy else 0)


def _branches(opened: Session) -> int:
    # In small letters, as the line of an error shows them.
    statement = f"select count(*) from {tables.BRANCHES}"
    try:
        ((scale,),) = opened.rows(statement)
    except TargetError as error:
        is_missing = error.code is not None and error.code.code == _UNDEFINED_TABLE
        raise Failed(
            f"could not count number of branches: {refusal(error, statement)}",
            hint=_initialization_in(opened) if is_missing else "",
        ) from error
    return int(scale)


def _initialization_in(opened: Session) -> str:
    database = opened.target.database or ""
    return f'Perhaps you need to do initialization ("pgbench -i") in database "{database}".'


def vacuum(opened: Session, asked: Benchmark) -> None:
    """Vacuum the tables as asked for; one that is not there is only reported."""
    if not asked.vacuums:
        return
    small = (f"VACUUM {tables.BRANCHES}", f"VACUUM {tables.TELLERS}")
    _vacuum(opened, "starting vacuum...", *small, f"TRUNCATE {tables.HISTORY}")
    if asked.vacuums_all:
        _vacuum(
            opened, f"starting vacuum {tables.ACCOUNTS}...", f"VACUUM ANALYZE {tables.ACCOUNTS}"
        )


def _vacuum(opened: Session, announced: str, *statements: str) -> None:
    log.begin(announced)
    for statement in statements:
        try:
            opened.rows(statement)
        except TargetError as error:
            log.error(refusal(error, statement))
            log.detail("(ignoring this error and continuing anyway)")
    log.line("end.")
