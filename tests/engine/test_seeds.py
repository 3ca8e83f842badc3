"""The same seed gives the same keys for each virtual user, and the same rows."""

from __future__ import annotations

import contextlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from engine.driving import Driving, a_layout, a_load, a_plan, load, local, seconds, workload
from engine.servers import asked, execute, rows, variables, wait_until_nobody
from loadstone.sandbox import Sandbox
from pooled import Pool

pytestmark = pytest.mark.server

USERS = 6
# Not a number of events: the shard that wakes up first may do all of them.
LONG_ENOUGH = seconds(0.5)
STATEMENTS = 7
"""Of an event."""
READS = workload("oltp_read_only", 3, 500, point_selects=3)
READS["distribution"] = {"kind": "uniform"}
MIX = [
    {"name": "two", "users": 2, "workload": READS},
    {"name": "others", "weight": 1, "workload": READS},
    {"name": "rest", "weight": 2, "workload": READS},
]


@pytest.fixture(scope="module")
def logged(pool: Pool) -> Iterator[Sandbox]:
    with pool.schema() as sandbox:
        load(a_load(local(sandbox), layout=a_layout(3, 500))).finished()
        yield sandbox
        execute(sandbox, "TRUNCATE mysql.general_log")


def keys(
    sandbox: Sandbox, shards: int, seed: int, parts: int = 1, **changes: Any
) -> list[tuple[str, ...]]:
    """The statements that each user sent; connections do not identify users."""
    wait_until_nobody(sandbox)
    execute(sandbox, "TRUNCATE mysql.general_log")
    plan = a_plan(
        local(sandbox), workload=READS, users=USERS, shards=shards, seed=seed, stop=LONG_ENOUGH
    )
    plan |= changes
    if "members" in plan:
        del plan["workload"]
    with variables(sandbox, log_output="TABLE", general_log=1):
        with contextlib.ExitStack() as stack:
            cut = [plan | {"part": {"number": number, "of": parts}} for number in range(parts)]
            together = [stack.enter_context(Driving(part)) for part in cut]
        for each in together:
            each.outcome.finished()
    said = rows(
        sandbox,
        "SELECT thread_id, CONVERT(argument USING utf8mb4) FROM mysql.general_log"
        " WHERE command_type IN ('Query', 'Execute') AND argument LIKE 'SELECT%FROM sbtest%'",
    )
    by_user = defaultdict(list)
    for thread, text in said:
        by_user[thread].append(str(text))
    return sorted(tuple(texts) for texts in by_user.values())


def agree(one: list[tuple[str, ...]], other: list[tuple[str, ...]]) -> bool:
    """Users differ in speed: of two sequences, the shorter is the beginning of the longer."""
    assert len(one) == len(other) == USERS
    known = {user[:3]: user for user in one}
    assert len(known) == USERS
    return all(
        user[:3] in known and all(a == b for a, b in zip(known[user[:3]], user, strict=False))
        for user in other
    )


def test_each_user_has_the_same_keys_whatever_the_shards_and_the_protocol(logged: Sandbox) -> None:
    reference = keys(logged, shards=1, seed=5)
    assert all(len(user) >= STATEMENTS for user in reference)
    for shards, protocol in ((2, "text"), (3, "text"), (1, "prepared")):
        assert agree(reference, keys(logged, shards, 5, protocol=protocol)), (shards, protocol)


@pytest.mark.parametrize("more", [{}, {"members": MIX}], ids=["one", "mix"])
def test_each_user_has_the_same_keys_whatever_the_parts(
    logged: Sandbox, more: dict[str, Any]
) -> None:
    reference = keys(logged, shards=1, seed=5, protocol="text", **more)
    for parts, shards in ((2, 1), (3, 2)):
        cut = keys(logged, shards, 5, parts=parts, protocol="text", **more)
        assert agree(reference, cut), (parts, shards)


def test_another_seed_has_other_keys(logged: Sandbox) -> None:
    assert not agree(keys(logged, 1, 5), keys(logged, 1, 6))


def test_users_have_keys_of_their_own(logged: Sandbox) -> None:
    users = keys(logged, 1, 5)
    assert len({user[:3] for user in users}) == USERS
    numbers = Counter(re.findall(r"\d+", " ".join(" ".join(user) for user in users)))
    assert len(numbers) > 100


def checksums(sandbox: Sandbox, schema: str, tables: int) -> list[int]:
    with sandbox.connect() as connection:
        names = ", ".join(f"{schema}.sbtest{number}" for number in range(1, tables + 1))
        return [int(row[1]) for row in asked(connection, f"CHECKSUM TABLE {names}")]


def test_loaded_rows_depend_on_the_seed_alone(shared: Sandbox) -> None:
    ways = {
        "one": {"parallel": 1, "method": "infile"},
        "many": {"parallel": 5, "method": "infile"},
        "insert": {"parallel": 3, "method": "insert"},
        "other": {"parallel": 2, "method": "infile", "seed": 43},
    }
    layout = a_layout(2, 25_500, secondary_index=False)  # two ranges a table
    sums = {}
    for name, how in ways.items():
        schema = f"seed_{name}"
        execute(shared, f"DROP DATABASE IF EXISTS {schema}", f"CREATE DATABASE {schema}")
        target = local(shared, database=schema)
        loaded = load(a_load(target, layout=layout, **how)).finished()
        assert loaded.last.rows_loaded == 51_000
        assert loaded.last.method == how["method"]
        sums[name] = checksums(shared, schema, 2)
        execute(shared, f"DROP DATABASE {schema}")
    assert sums["one"] == sums["many"] == sums["insert"]
    assert sums["one"][0] != sums["one"][1]
    assert all(a != b for a, b in zip(sums["one"], sums["other"], strict=True))
