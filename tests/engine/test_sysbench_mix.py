"""The statement mix compared with sysbench's: one server, its general log, the same options."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from engine.driving import a_plan, drive, events, local, workload
from engine.servers import counters, execute, rows, variables, wait_until_nobody
from loadstone.sandbox import Sandbox
from pooled import Pool

pytestmark = [
    pytest.mark.server,
    pytest.mark.sysbench,
    pytest.mark.skipif(shutil.which("sysbench") is None, reason="sysbench is not installed"),
]

TABLES, SIZE = 3, 2000
EVENTS = 60

OPTIONS: dict[str, list[dict[str, Any]]] = {
    "oltp_read_write": [
        {},
        {"skip_trx": True},
        {"point_selects": 3, "simple_ranges": 2, "sum_ranges": 0, "order_ranges": 2,
         "distinct_ranges": 0, "index_updates": 2, "non_index_updates": 3, "delete_inserts": 2,
         "range_size": 5},
        {"range_selects": False},
    ],
    "oltp_read_only": [{}, {"skip_trx": True, "range_size": 7}],
    "oltp_write_only": [{}],
    "oltp_point_select": [{}],
    "oltp_insert": [{}],
    "oltp_delete": [{}],
    "oltp_update_index": [{}],
    "oltp_update_non_index": [{}],
    "select_random_points": [{}, {"random_points": 3}],
    "select_random_ranges": [{}, {"number_of_ranges": 3, "delta": 9}],
}  # fmt: skip
"""Every OLTP test of Debian's sysbench, with options that change its statements."""

CASES = [
    pytest.param(name, options, mode, id=f"{name}-{number}-{mode}")
    for name, variants in OPTIONS.items()
    for number, options in enumerate(variants)
    for mode in ("prepared", "text")
]

HANDLERS = {
    "reads": "Handler_read_",
    "writes": "Handler_write",
    "updates": "Handler_update",
    "deletes": "Handler_delete",
}

READ = re.compile(r"(?i)^select\b")
WRITE = re.compile(r"(?i)^(insert|update|delete)\b")


@dataclass(frozen=True)
class Mix:
    """What one program sent, and what the server counted."""

    shapes: list[str]
    """The shapes of its statements, in their order."""
    touched: dict[str, float]
    """The handler counters of the server's storage engine, by event."""


@dataclass(frozen=True)
class Logged:
    """The pool's server, with sysbench's own tables in two schemas."""

    oltp: Sandbox
    bulk: Sandbox

    def of(self, name: str) -> Sandbox:
        """The URL of the schema with this test's tables."""
        return self.bulk if name == "bulk_insert" else self.oltp


@pytest.fixture(scope="module")
def logged(pool: Pool) -> Iterator[Logged]:
    with pool.schema() as oltp, pool.schema() as bulk:
        sysbench(oltp, "oltp_read_write", {}, "text", "prepare")
        sysbench(bulk, "bulk_insert", {}, "text", "prepare")
        yield Logged(oltp, bulk)
        execute(oltp, "TRUNCATE mysql.general_log")


def sysbench(sandbox: Sandbox, name: str, options: dict[str, Any], mode: str, command: str) -> None:
    arguments = {
        "mysql-socket": sandbox.socket,
        "mysql-user": "loadstone",
        "mysql-password": sandbox.local.credentials.reveal(),
        "mysql-db": sandbox.local.target.database,
        "db-ps-mode": "auto" if mode == "prepared" else "disable",
        "tables": TABLES,
        "table-size": SIZE,
        "threads": 1,
        "events": EVENTS,
        "time": 0,
        "rand-seed": 7,
    }
    if name == "bulk_insert":
        del arguments["tables"], arguments["table-size"]
    given = {key.replace("_", "-"): value for key, value in options.items()}
    words = [f"--{key}={as_word(value)}" for key, value in (arguments | given).items()]
    subprocess.run(["sysbench", name, *words, command], check=True, capture_output=True, timeout=60)


def as_word(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def loadstone(
    sandbox: Sandbox, name: str, options: dict[str, Any], mode: str, number: int = EVENTS
) -> None:
    tables = 1 if name == "bulk_insert" else TABLES
    plan = a_plan(
        local(sandbox), protocol=mode, stop=events(number),
        workload=workload(name, tables, SIZE, **options), on_error="stop",
    )  # fmt: skip
    outcome = drive(plan).finished()
    assert outcome.last.tally.succeeded == number


def observe(sandbox: Sandbox, work: Callable[[], None]) -> Mix:
    wait_until_nobody(sandbox)
    execute(sandbox, "TRUNCATE mysql.general_log")
    with variables(sandbox, log_output="TABLE", general_log=1):
        before = counters(sandbox)
        work()
        after = counters(sandbox)
    said = rows(
        sandbox,
        "SELECT command_type, CONVERT(argument USING utf8mb4) FROM mysql.general_log"
        " WHERE thread_id IN (SELECT thread_id FROM mysql.general_log"
        " WHERE command_type <> 'Connect' AND argument LIKE '%sbtest%') ORDER BY event_time",
    )
    executed = [str(text) for kind, text in said if kind in ("Query", "Execute")]
    # The optimizer reads by range or the whole table, depending on keys: all kinds of reads are
    # summed.
    touched = {
        name: sum(after[each] - before[each] for each in after if each.startswith(prefix)) / EVENTS
        for name, prefix in HANDLERS.items()
    }
    return Mix([shape(text) for text in executed], touched)


def shape(text: str) -> str:
    """The statement without its values, its table's number and its number of parameters."""
    text = " ".join(text.split())
    text = re.sub(r"'(?:[^'\\]|\\.)*'", "?", text)
    text = re.sub(r"(?<![A-Za-z_0-9])-?\d+\b", "?", text)
    text = re.sub(r"\bsbtest\d+\b", "sbtestN", text)
    text = re.sub(r"\s*([(),=])\s*", r"\1", text)
    return text


def in_events(shapes: list[str]) -> list[tuple[str, ...]]:
    """Groups of as many statements as an event has: all have the same shapes."""
    per_event, rest = divmod(len(shapes), EVENTS)
    assert rest == 0, (len(shapes), shapes[:3], shapes[-3:])
    return [tuple(shapes[i : i + per_event]) for i in range(0, len(shapes), per_event)]


def by_class(event: tuple[str, ...]) -> Counter[str]:
    return Counter(
        "read" if READ.match(text) else "write" if WRITE.match(text) else "other" for text in event
    )


@pytest.mark.parametrize(("name", "options", "mode"), CASES)
def test_an_event_is_the_one_that_sysbench_has(
    logged: Logged, name: str, options: dict[str, Any], mode: str
) -> None:
    there = logged.of(name)
    theirs = observe(there, lambda: sysbench(there, name, options, mode, "run"))
    ours = observe(there, lambda: loadstone(there, name, options, mode))
    (their_event, *_), (our_event, *_) = in_events(theirs.shapes), in_events(ours.shapes)
    assert our_event == their_event
    assert set(in_events(ours.shapes)) == set(in_events(theirs.shapes))
    assert by_class(our_event) == by_class(their_event)
    for counter, per_event in theirs.touched.items():
        # Ranges extend past the table's end, and random rows may be missing: means of 60 events.
        assert ours.touched[counter] == pytest.approx(per_event, rel=0.25, abs=1.5), counter


def test_a_statement_of_bulk_insert_is_as_long_as_sysbenchs(logged: Logged) -> None:
    """sysbench counts rows as events, about 38,000 a statement; here a statement is an event."""
    there = logged.bulk
    theirs = observe(
        there, lambda: sysbench(there, "bulk_insert", {"events": 40_000}, "text", "run")
    )
    execute(there, f"TRUNCATE {there.local.target.database}.sbtest1")
    ours = observe(there, lambda: loadstone(there, "bulk_insert", {}, "text", 1))
    assert len(theirs.shapes[0]) > 38_000 * len("(?,?)")
    assert ours.shapes == theirs.shapes[:1]
