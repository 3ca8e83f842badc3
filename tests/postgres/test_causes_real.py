"""Faults made for real on a durable PostgreSQL, and what is named first of its own causes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from cli.person import Person
from loadstone.sandbox import SandboxSpec, start_sandbox
from pooled import need
from postgres.diagnosed import accused, diagnosed
from postgres.test_commands import only_run

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.nightly]

SORTS = """
dialect = ["postgresql"]
[table.item]
rows = "10k"
[table.item.columns]
id = { type = "INT NOT NULL", sequence = true }
said = { type = "VARCHAR(120) NOT NULL", text = 100 }
[transaction.sort]
autocommit = true
statements = [
  "SELECT said FROM item WHERE id BETWEEN :low AND :high ORDER BY said OFFSET 1490 LIMIT 1",
]
[transaction.sort.parameters]
low = { integer = [1, 8000] }
high = { from = "low", add = 1499 }
"""
"""Each statement sorts 150 kB."""

CROSSING = """
dialect = ["postgresql"]
[table.pair]
rows = 20
[table.pair.columns]
id = { type = "INT NOT NULL", sequence = true }
n = { type = "INT NOT NULL", constant = 0 }
[transaction.both]
statements = [
  "UPDATE pair SET n = n + 1 WHERE id = :one",
  "UPDATE pair SET n = n + 1 WHERE id = :other",
]
[transaction.both.parameters]
one = { row = "pair" }
other = { row = "pair" }
"""
"""Transactions that lock two rows in any order."""

SEARCHING = """
dialect = ["postgresql"]
[table.item]
rows = "10k"
[table.item.columns]
id = { type = "INT NOT NULL", sequence = true }
n = { type = "INT NOT NULL", integer = [1, 10000] }
[transaction.search]
autocommit = true
statements = [ "SELECT id FROM item WHERE n = :one" ]
parameters.one = { integer = [1, 10000] }
"""
"""Each statement reads the whole table for a row."""

SOME = ("--tables", "2", "--table-size", "50000", "--distribution", "uniform")


@dataclass(frozen=True)
class Fault:
    """A setting that is set badly, and a load that feels it."""

    cause: str
    workload: str
    settings: Mapping[str, str] = field(default_factory=dict)
    tables: tuple[str, ...] = SOME
    users: str = "8"
    template: str = ""


FAULTS = (
    Fault("commit-delay", "oltp_update_non_index", {"commit_delay": "10000"}),
    Fault("shared-buffers-small", "oltp_point_select", {"shared_buffers": "256kB"}),
    Fault("temporary-files", "sorts", {"work_mem": "64kB"}, (), template=SORTS),
    Fault(
        "max-wal-size-small", "oltp_write_only", {"max_wal_size": "32MB", "min_wal_size": "32MB"}
    ),
    Fault("statement-log", "oltp_point_select", {"log_min_duration_statement": "0"}),
    Fault("jit", "oltp_point_select", {"jit_above_cost": "0"}),
    Fault("plan-cache", "oltp_point_select", {"plan_cache_mode": "force_custom_plan"}),
    Fault("missing-index", "searching", tables=(), template=SEARCHING),
    Fault("deadlocks", "crossing", {"deadlock_timeout": "500ms"}, (), template=CROSSING),
)
HEALTHY = (
    Fault("", "oltp_read_write"),
    Fault("", "oltp_point_select"),
    Fault("", "sorts", tables=(), template=SORTS),
)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@contextmanager
def person(folder: Path, settings: Mapping[str, str]) -> Iterator[Person]:
    spec = SandboxSpec(server=need("postgresql"), settings=dict(settings), max_connections=40)
    with start_sandbox(spec) as sandbox:
        yield Person(folder, sandbox, careful=False)


def driven(someone: Person, fault: Fault) -> Path:
    """The folder of the run that the fault's load made."""
    workload = fault.workload
    if fault.template:
        (someone.folder / f"{workload}.toml").write_text(fault.template)
        workload = f"{workload}.toml"
    someone.loadstone("prepare", workload, *someone.target, *fault.tables)
    someone.loadstone(
        "run", workload, *someone.target, *fault.tables, "--concurrency", fault.users,
        "--duration", "6s", "--warmup", "1s", "--out", "runs",
    )  # fmt: skip
    return only_run(someone.folder)


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.cause for fault in FAULTS])
def test_a_bad_setting_is_named_first_of_the_server_s_own_causes(
    fault: Fault, tmp_path: Path
) -> None:
    with person(tmp_path, fault.settings) as someone:
        found, (step,) = diagnosed(driven(someone, fault))
    assert [one.cause for one in found][:1] == [fault.cause], [one.sentence for one in found]
    assert step.account is not None
    for claim in found[0].claims:
        assert claim.share <= step.account.share_of(claim.place) + step.account.unnamed + 0.01
    assert found[0].share


@pytest.mark.parametrize("load", HEALTHY, ids=[load.workload for load in HEALTHY])
def test_a_healthy_server_has_nothing_of_its_own_to_blame(load: Fault, tmp_path: Path) -> None:
    with person(tmp_path, {}) as someone:
        found, _ = diagnosed(driven(someone, load))
    assert accused(found) == [], [one.sentence for one in found]


def test_commits_share_syncs_and_the_sentence_has_the_server_s_figures(tmp_path: Path) -> None:
    """Case A of the field: one user, then many, each with syncs of its own."""
    load = Fault("", "oltp_update_non_index", users="1,16")
    with person(tmp_path, {}) as someone:
        found, steps = diagnosed(driven(someone, load))
    assert accused(found) == []
    (few, many) = (step.server for step in steps)
    assert few is not None and few.transactions_per_sync is not None
    assert many is not None and many.transactions_per_sync is not None
    assert many.transactions_per_sync > few.transactions_per_sync
    (told,) = [one for one in found if one.cause == "group-commit"]
    said = re.search(r"carries ([\d.]+) transactions instead of ([\d.]+)", told.sentence)
    assert said is not None, told.sentence
    assert float(said[1]) == pytest.approx(many.transactions_per_sync, rel=0.01)
    assert float(said[2]) == pytest.approx(few.transactions_per_sync, rel=0.01)
    assert "syncs of the WAL" in told.sentence
