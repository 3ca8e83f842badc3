"""`cleanup WORKLOAD` drops the tables of one workload, and no others."""

from __future__ import annotations

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from loadstone.lab.tables.discover import Wanted, _cleanup_command
from loadstone.lab.tables.load import Cleaning, TablesOf, _workload_of, tables_made_for
from loadstone.model.target import Target
from loadstone.servers.facts import KNOWN_LAYOUTS, TableFacts
from loadstone.servers.guard import (
    Consent,
    ListedTable,
    SchemaState,
    decide_cleanup,
    hash_of_columns,
)

HERE = Target(host="127.0.0.1", port=3306, user="u", database="shop")
YES = Consent(yes=True)
MADE = {
    "sbtest1": "sbtest",
    "hot_row1": "hot",
    "hot_product1": "products",
    "hot_order1": "orders",
    "tpcc_item": "tpcc",
    "tpcc_stock": "tpcc",
    "acc": "template",
    "product": "template",
}


def made(name: str) -> TableFacts:
    columns = KNOWN_LAYOUTS["sbtest"] if name.startswith("sbtest") else (("id", "int"),)
    return TableFacts(name=name, engine="InnoDB", columns=columns, created_s=7)


def listed(name: str, layout: str, made_s: int) -> ListedTable:
    return ListedTable(
        name=name,
        layout=layout,
        rows=1,
        seed=1,
        state="ready",
        columns_hash=hash_of_columns(made(name)),
        made_s=made_s,
    )


def schema() -> SchemaState:
    lines = [listed(name, layout, made_s=7) for name, layout in MADE.items()]
    # Since Loadstone made it, sysbench has dropped it and made it again.
    lines.append(listed("sbtest2", "sbtest", made_s=5))
    tables = tuple(map(made, (*MADE, "sbtest2", "sbtest3")))
    return SchemaState(schema_name="shop", exists=True, tables=tables, listed=tuple(lines))


@pytest.mark.parametrize(
    ("of", "drops"),
    [
        (None, set(MADE)),
        (tables_made_for("tpcc"), {"tpcc_item", "tpcc_stock"}),
        (tables_made_for("hot"), {"hot_row1", "hot_product1", "hot_order1"}),
        (tables_made_for("sbtest"), {"sbtest1"}),
        (TablesOf(frozenset({"template"}), frozenset({"acc"})), {"acc"}),
        (TablesOf(frozenset({"template"}), frozenset({"acc", "sbtest1"})), {"acc"}),
    ],
)
def test_only_the_tables_of_the_workload_are_dropped(of: TablesOf | None, drops: set[str]) -> None:
    state = schema()
    decision = decide_cleanup(state, HERE, YES, Cleaning(YES, of=of).names_in(state))
    assert set(decision.drops) == drops


@pytest.mark.parametrize(("layout", "drops"), [("sbtest", {1, 2, 3}), ("tpcc", set())])
def test_those_of_sysbench_belong_to_its_own_workloads(layout: str, drops: set[int]) -> None:
    state = schema()
    wanted = Cleaning(YES, of_sysbench=True, of=TablesOf(frozenset({layout})))
    names = wanted.names_in(state)
    found = decide_cleanup(state, HERE, YES, names, of_sysbench=True).drops
    assert {name for name in found if "sbtest" in name} == {f"sbtest{each}" for each in drops}


def test_hints_name_the_workload() -> None:
    words = "loadstone cleanup tpcc --target mysql://u@127.0.0.1:3306/shop"
    assert _cleanup_command(HERE, Wanted(workload="tpcc", layout="tpcc")) == words
    mix = Wanted(workload="oltp_read_only+oltp_insert", layout="sbtest")
    assert _cleanup_command(HERE, mix).startswith("loadstone cleanup oltp_read_write --target")
    assert (_workload_of("tpcc"), _workload_of("template")) == ("tpcc", "FILE")
