"""The four tables of `pgbench -i`: the statements that make them, and the rows of the accounts.

Sizes and columns are those of the manual and of the tables that pgbench 15 makes:
https://www.postgresql.org/docs/15/pgbench.html, under `-i`.
"""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.pgbench.settings import Initialization

BRANCHES, TELLERS, ACCOUNTS, HISTORY = (
    "pgbench_branches", "pgbench_tellers", "pgbench_accounts", "pgbench_history",
)  # fmt: skip
_ALL = ", ".join((ACCOUNTS, BRANCHES, HISTORY, TELLERS))

ACCOUNTS_A_BRANCH = 100_000
_TELLERS_A_BRANCH = 10
_FIRST_SCALE_OF_BIGINT = 20_000
"""From here on the numbers of accounts are bigint, so that they never overflow."""
_ROWS_AT_ONCE = 10_000

DROP = f"DROP TABLE IF EXISTS {_ALL}"
TRUNCATE = f"TRUNCATE TABLE {_ALL}"
VACUUM = tuple(f"VACUUM ANALYZE {table}" for table in (BRANCHES, TELLERS, ACCOUNTS, HISTORY))


def create(wanted: Initialization, *, only_partitions: bool = False) -> Iterator[str]:
    """The statements that create the tables, and the partitions if there are any.

    `only_partitions`: these alone may be unlogged. As with pgbench 18, the four tables are logged.
    """
    aid = "bigint" if wanted.scale >= _FIRST_SCALE_OF_BIGINT else "int"
    full = f" WITH (fillfactor={wanted.fillfactor})"
    by = f" PARTITION BY {wanted.method} (aid)" if wanted.partitions else full
    columns = {
        HISTORY: (f"tid int, bid int, aid {aid}, delta int, mtime timestamp, filler char(22)", ""),
        TELLERS: ("tid int NOT NULL, bid int, tbalance int, filler char(84)", full),
        ACCOUNTS: (f"aid {aid} NOT NULL, bid int, abalance int, filler char(84)", by),
        BRANCHES: ("bid int NOT NULL, bbalance int, filler char(88)", full),
    }
    create_partition = "CREATE UNLOGGED TABLE" if wanted.unlogged else "CREATE TABLE"
    create_table = "CREATE TABLE" if only_partitions else create_partition
    place = f" TABLESPACE {_quoted(wanted.tablespace)}" if wanted.tablespace else ""
    for table, (listed, more) in columns.items():
        yield f"{create_table} {table} ({listed}){more}{place}"
    for number in range(1, wanted.partitions + 1):
        yield (
            f"{create_partition} {ACCOUNTS}_{number} PARTITION OF {ACCOUNTS}"
            f" FOR VALUES {_values_of(wanted, number)}{full}"
        )


def _values_of(wanted: Initialization, number: int) -> str:
    """The accounts of a partition: an equal range of them, or those whose hash falls on it."""
    count = wanted.partitions
    if wanted.method == "hash":
        return f"WITH (MODULUS {count}, REMAINDER {number - 1})"
    size = -(-wanted.scale * ACCOUNTS_A_BRANCH // count)
    first = "MINVALUE" if number == 1 else str((number - 1) * size + 1)
    end = "MAXVALUE" if number == count else str(number * size + 1)
    return f"FROM ({first}) TO ({end})"


def primary_keys(wanted: Initialization) -> Iterator[str]:
    """The statements that add the primary keys."""
    space = wanted.index_tablespace
    place = f" USING INDEX TABLESPACE {_quoted(space)}" if space else ""
    for table, column in ((BRANCHES, "bid"), (TELLERS, "tid"), (ACCOUNTS, "aid")):
        yield f"ALTER TABLE {table} ADD PRIMARY KEY ({column}){place}"


FOREIGN_KEYS = tuple(
    f"ALTER TABLE {table} ADD CONSTRAINT {table}_{column}_fkey"
    f" FOREIGN KEY ({column}) REFERENCES {other}"
    for table, column, other in (
        (TELLERS, "bid", BRANCHES),
        (ACCOUNTS, "bid", BRANCHES),
        (HISTORY, "bid", BRANCHES),
        (HISTORY, "tid", TELLERS),
        (HISTORY, "aid", ACCOUNTS),
    )
)


def small_tables(scale: int) -> tuple[str, str]:
    """The statements that fill branches and tellers."""
    return (
        f"INSERT INTO {BRANCHES} (bid, bbalance)"
        f" SELECT bid, 0 FROM generate_series(1, {scale}) AS bid",
        f"INSERT INTO {TELLERS} (tid, bid, tbalance)"
        f" SELECT tid, (tid - 1) / {_TELLERS_A_BRANCH} + 1, 0"
        f" FROM generate_series(1, {scale * _TELLERS_A_BRANCH}) AS tid",
    )


def accounts_by_server(scale: int) -> str:
    """The statement that makes the server itself fill the accounts."""
    return (
        f"INSERT INTO {ACCOUNTS} (aid, bid, abalance, filler)"
        f" SELECT aid, (aid - 1) / {ACCOUNTS_A_BRANCH} + 1, 0, ''"
        f" FROM generate_series(1, {scale * ACCOUNTS_A_BRANCH}) AS aid"
    )


def copy_accounts(*, frozen: bool) -> str:
    """The statement that takes the rows of the accounts.

    `frozen`: they need no VACUUM later; not for a partitioned table.
    """
    return f"COPY {ACCOUNTS} FROM STDIN{' WITH (FREEZE ON)' if frozen else ''}"


def accounts(scale: int) -> Iterator[bytes]:
    """The rows of the accounts in COPY's text format, 10,000 at a time."""
    assert ACCOUNTS_A_BRANCH % _ROWS_AT_ONCE == 0, "a piece has accounts of one branch"
    for first in range(1, scale * ACCOUNTS_A_BRANCH + 1, _ROWS_AT_ONCE):
        rest = f"\t{(first - 1) // ACCOUNTS_A_BRANCH + 1}\t0\t\n"
        numbers = map(str, range(first, first + _ROWS_AT_ONCE))
        yield (rest.join(numbers) + rest).encode()


def rows_of(pieces: Iterator[bytes]) -> Iterator[tuple[int, bytes]]:
    """The pieces of `accounts`, each with the number of rows up to its end."""
    for number, piece in enumerate(pieces, start=1):
        yield number * _ROWS_AT_ONCE, piece


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
