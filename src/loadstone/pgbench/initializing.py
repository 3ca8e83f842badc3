"""`pgbench -i`: makes and fills the tables, step by step.

As pgbench does, it drops the four tables by their names, no matter who made them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from loadstone.dropin.company import warn_of_others
from loadstone.model.target import Endpoint
from loadstone.pgbench import log, tables
from loadstone.pgbench.session import Session, session
from loadstone.pgbench.settings import Initialization

_QUIET_S = 5.0
_FIRST_TO_REFUSE = 180_000
"""The first version that refuses partitioned tables that are unlogged."""


@dataclass(frozen=True)
class Step:
    """A step of an initialization."""

    announced: str
    """The line when it begins."""
    summed_up: str
    """Its name in the last line."""
    run: Callable[[Session, Initialization], None]


def initialize(wanted: Initialization, endpoint: Endpoint) -> int:
    """Run the steps; returns the exit code.

    Raises:
        Failed: the server cannot be reached, or refused a statement.
    """
    taken: list[str] = []
    began_s = time.monotonic()
    with session(endpoint, "initialization") as opened:
        warn_of_others(opened.connection, endpoint)
        for letter in wanted.steps:
            step, step_began_s = _STEPS[letter], time.monotonic()
            log.line(step.announced)
            step.run(opened, wanted)
            taken.append(f"{step.summed_up} {time.monotonic() - step_began_s:.2f} s")
    log.line(f"done in {time.monotonic() - began_s:.2f} s ({', '.join(taken)}).")
    return 0


def _drop(opened: Session, wanted: Initialization) -> None:
    _execute(opened, [tables.DROP])


def _create(opened: Session, wanted: Initialization) -> None:
    only_partitions = _unlogs_only_partitions(opened, wanted)
    statements = list(tables.create(wanted, only_partitions=only_partitions))
    whole = len(statements) - wanted.partitions
    _execute(opened, statements[:whole])
    if wanted.partitions:
        log.line(f"creating {wanted.partitions} partitions...")
    _execute(opened, statements[whole:])


def _unlogs_only_partitions(opened: Session, wanted: Initialization) -> bool:
    """Whether a partitioned table is to be unlogged, and the server refuses that."""
    if not wanted.unlogged or not wanted.partitions:
        return False
    rows = opened.rows("SHOW server_version_num")
    return any(int(number) >= _FIRST_TO_REFUSE for (number,) in rows)


def _generate(opened: Session, wanted: Initialization) -> None:
    opened.execute("BEGIN")
    _execute(opened, [tables.TRUNCATE, *tables.small_tables(wanted.scale)])
    copy = tables.copy_accounts(frozen=not _is_partitioned(opened))
    opened.copy(copy, _with_progress(tables.accounts(wanted.scale), wanted))
    opened.execute("COMMIT")


def _generate_there(opened: Session, wanted: Initialization) -> None:
    scale = wanted.scale
    small = tables.small_tables(scale)
    filling = [tables.TRUNCATE, *small, tables.accounts_by_server(scale)]
    _execute(opened, ["BEGIN", *filling, "COMMIT"])


def _is_partitioned(opened: Session) -> bool:
    found = opened.rows(f"SELECT relkind FROM pg_class WHERE oid = '{tables.ACCOUNTS}'::regclass")
    return [row[0] for row in found] == ["p"]


def _with_progress(pieces: Iterator[bytes], wanted: Initialization) -> Iterator[bytes]:
    """The pieces; a line says at times how many rows went into them."""
    total = wanted.scale * tables.ACCOUNTS_A_BRANCH
    began_s = told_s = time.monotonic()
    for rows, piece in tables.rows_of(pieces):
        yield piece
        now_s = time.monotonic()
        if wanted.quiet:
            is_time = rows == total or now_s - told_s >= _QUIET_S
        else:
            is_time = rows % tables.ACCOUNTS_A_BRANCH == 0
        if is_time:
            told_s = now_s
            log.line(progress(rows, total, now_s - began_s))


def progress(rows: int, total: int, elapsed_s: float) -> str:
    """The line about rows that were sent."""
    remaining_s = (total - rows) * elapsed_s / rows
    return (
        f"{rows} of {total} tuples ({rows * 100 // total}%) done"
        f" (elapsed {elapsed_s:.2f} s, remaining {remaining_s:.2f} s)"
    )


def _vacuum(opened: Session, wanted: Initialization) -> None:
    _execute(opened, tables.VACUUM)


def _primary_keys(opened: Session, wanted: Initialization) -> None:
    _execute(opened, tables.primary_keys(wanted))


def _foreign_keys(opened: Session, wanted: Initialization) -> None:
    _execute(opened, tables.FOREIGN_KEYS)


def _execute(opened: Session, statements: Iterable[str]) -> None:
    for statement in statements:
        opened.execute(statement)
        for notice in opened.notices():
            log.line(notice)


_STEPS: Mapping[str, Step] = {
    "d": Step("dropping old tables...", "drop tables", _drop),
    "t": Step("creating tables...", "create tables", _create),
    "g": Step("generating data (client-side)...", "client-side generate", _generate),
    "G": Step("generating data (server-side)...", "server-side generate", _generate_there),
    "v": Step("vacuuming...", "vacuum", _vacuum),
    "p": Step("creating primary keys...", "primary keys", _primary_keys),
    "f": Step("creating foreign keys...", "foreign keys", _foreign_keys),
}
