"""The rows and the partitions of `-i`, without a server."""

from __future__ import annotations

from loadstone.pgbench import tables
from loadstone.pgbench.initializing import progress
from loadstone.pgbench.settings import Initialization, Place


def wanted(**changes: object) -> Initialization:
    return Initialization(Place(), **changes)  # type: ignore[arg-type]


def test_accounts_are_numbered_and_each_branch_has_as_many() -> None:
    pieces = list(tables.rows_of(tables.accounts(2)))
    assert pieces[0][0] == 10_000
    assert pieces[-1][0] == 200_000
    lines = b"".join(piece for _, piece in pieces).split(b"\n")
    assert (lines[0], lines[99_999]) == (b"1\t1\t0\t", b"100000\t1\t0\t")
    assert (lines[100_000], lines[199_999], lines[200_000]) == (
        b"100001\t2\t0\t", b"200000\t2\t0\t", b"",
    )  # fmt: skip


def test_partitions_cover_all_accounts() -> None:
    bounds = [
        statement.partition("FOR VALUES ")[2].partition(" WITH")[0]
        for statement in tables.create(wanted(partitions=3))
        if "PARTITION OF" in statement
    ]
    assert bounds == [
        "FROM (MINVALUE) TO (33335)", "FROM (33335) TO (66669)", "FROM (66669) TO (MAXVALUE)",
    ]  # fmt: skip


def test_partitions_alone_are_unlogged_where_the_server_refuses_more() -> None:
    tables_and_partitions = wanted(unlogged=True, partitions=2)

    def unlogged(**changes: bool) -> list[bool]:
        made = tables.create(tables_and_partitions, **changes)
        return [statement.startswith("CREATE UNLOGGED TABLE") for statement in made]

    assert unlogged() == [True] * 6
    assert unlogged(only_partitions=True) == [False] * 4 + [True] * 2


def test_from_a_scale_on_numbers_of_accounts_are_wide() -> None:
    assert "aid int NOT NULL" in " ".join(tables.create(wanted(scale=19_999)))
    assert "aid bigint NOT NULL" in " ".join(tables.create(wanted(scale=20_000)))


def test_names_of_tablespaces_are_quoted() -> None:
    made = list(tables.create(wanted(tablespace='a"b')))
    assert all(statement.endswith('TABLESPACE "a""b"') for statement in made)
    (first, *_) = tables.primary_keys(wanted(index_tablespace="fast"))
    assert first.endswith('USING INDEX TABLESPACE "fast"')


def test_progress_estimates_the_time_that_remains() -> None:
    assert progress(100_000, 400_000, 2.0) == (
        "100000 of 400000 tuples (25%) done (elapsed 2.00 s, remaining 6.00 s)"
    )
