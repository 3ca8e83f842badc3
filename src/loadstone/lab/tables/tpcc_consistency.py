"""The consistency conditions of TPC-C (specification 5.11, clause 3.3.2), asked of a server.

A statement of each condition returns what does not hold: nothing, where the tables are consistent.
All are asked in one snapshot, so the answer is right while others write, too.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from loadstone.lab.tables.discover import Wanted, refuse_unfinished
from loadstone.model.frozen import Frozen
from loadstone.model.target import Endpoint, Target
from loadstone.mysql import tpcc_tables
from loadstone.mysql.connect import Connection, Timeouts, connect, statement_errors
from loadstone.mysql.errors import TargetError
from loadstone.mysql.guard import read_schema

_STATEMENT_S = 3600.0
"""The last conditions join all order lines."""

_SHOWN = 3
"""How many places are shown where a condition does not hold."""

_DELIVERED = (
    " LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS delivered"
    " FROM tpcc_orders JOIN tpcc_order_line"
    " ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id"
    " WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) AS orders"
    " ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id"
)


class Condition(Frozen):
    """One of the twelve."""

    number: int
    says: str
    """In the specification's names."""
    broken: str
    """A statement whose rows are the places where it does not hold."""


class Verdict(Frozen):
    """What became of one condition."""

    condition: int
    says: str
    holds: bool
    examples: tuple[dict[str, str | None], ...] = ()
    """Columns and values of the first places where it does not."""
    more: bool = False
    """Whether there are others."""
    seconds: float


CONDITIONS = (
    Condition(
        number=1,
        says="W_YTD = sum(D_YTD) of each warehouse",
        broken="SELECT w_id, w_ytd, SUM(d_ytd) AS sum_d_ytd FROM tpcc_warehouse"
        " LEFT JOIN tpcc_district ON d_w_id = w_id GROUP BY w_id, w_ytd"
        " HAVING NOT (w_ytd <=> SUM(d_ytd))",
    ),
    Condition(
        number=2,
        says="D_NEXT_O_ID - 1 = max(O_ID) = max(NO_O_ID) of each district",
        # Where all orders are delivered there is no NO_O_ID.
        broken="SELECT * FROM (SELECT d_w_id, d_id, d_next_o_id - 1 AS last_given,"
        " (SELECT MAX(o_id) FROM tpcc_orders WHERE o_w_id = d_w_id AND o_d_id = d_id)"
        " AS last_order,"
        " (SELECT MAX(no_o_id) FROM tpcc_new_order WHERE no_w_id = d_w_id AND no_d_id = d_id)"
        " AS last_new_order FROM tpcc_district) AS districts"
        " WHERE NOT (last_given <=> last_order)"
        " OR last_given <> COALESCE(last_new_order, last_given)",
    ),
    Condition(
        number=3,
        says="max(NO_O_ID) - min(NO_O_ID) + 1 = rows of NEW-ORDER of each district",
        broken="SELECT no_w_id, no_d_id, MIN(no_o_id) AS first, MAX(no_o_id) AS last,"
        " COUNT(*) AS found FROM tpcc_new_order GROUP BY no_w_id, no_d_id"
        " HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)",
    ),
    Condition(
        number=4,
        says="sum(O_OL_CNT) = rows of ORDER-LINE of each district",
        broken="SELECT o_w_id, o_d_id, counted, found FROM"
        " (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS counted FROM tpcc_orders"
        " GROUP BY o_w_id, o_d_id) AS orders LEFT JOIN"
        " (SELECT ol_w_id, ol_d_id, COUNT(*) AS found FROM tpcc_order_line"
        " GROUP BY ol_w_id, ol_d_id) AS parts ON ol_w_id = o_w_id AND ol_d_id = o_d_id"
        " WHERE NOT (counted <=> found)",
    ),
    Condition(
        number=5,
        says="O_CARRIER_ID is null where the order has a row in NEW-ORDER, and only there",
        broken="SELECT o_w_id, o_d_id, o_id, o_carrier_id, no_o_id FROM tpcc_orders"
        " LEFT JOIN tpcc_new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id"
        " WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)",
    ),
    Condition(
        number=6,
        says="O_OL_CNT = rows of ORDER-LINE of each order",
        broken="SELECT o_w_id, o_d_id, o_id, o_ol_cnt, COUNT(ol_number) AS found"
        " FROM tpcc_orders LEFT JOIN tpcc_order_line"
        " ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id"
        " GROUP BY o_w_id, o_d_id, o_id, o_ol_cnt HAVING o_ol_cnt <> COUNT(ol_number)",
    ),
    Condition(
        number=7,
        says="OL_DELIVERY_D is null where O_CARRIER_ID of the order is, and only there",
        broken="SELECT ol_w_id, ol_d_id, ol_o_id, ol_number, ol_delivery_d, o_carrier_id"
        " FROM tpcc_order_line LEFT JOIN tpcc_orders"
        " ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id"
        " WHERE o_id IS NULL OR (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)",
    ),
    Condition(
        number=8,
        says="W_YTD = sum(H_AMOUNT) of each warehouse",
        broken="SELECT w_id, w_ytd, paid FROM tpcc_warehouse LEFT JOIN"
        " (SELECT h_w_id, SUM(h_amount) AS paid FROM tpcc_history GROUP BY h_w_id) AS payments"
        " ON h_w_id = w_id WHERE NOT (w_ytd <=> paid)",
    ),
    Condition(
        number=9,
        says="D_YTD = sum(H_AMOUNT) of each district",
        broken="SELECT d_w_id, d_id, d_ytd, paid FROM tpcc_district LEFT JOIN"
        " (SELECT h_w_id, h_d_id, SUM(h_amount) AS paid FROM tpcc_history"
        " GROUP BY h_w_id, h_d_id) AS payments ON h_w_id = d_w_id AND h_d_id = d_id"
        " WHERE NOT (d_ytd <=> paid)",
    ),
    Condition(
        number=10,
        says="C_BALANCE = sum(OL_AMOUNT) of what was delivered - sum(H_AMOUNT) of each customer",
        broken="SELECT c_w_id, c_d_id, c_id, c_balance, delivered, paid FROM tpcc_customer"
        + _DELIVERED
        + " LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS paid FROM tpcc_history"
        " GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS payments"
        " ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id"
        " WHERE c_balance <> COALESCE(delivered, 0) - COALESCE(paid, 0)",
    ),
    Condition(
        number=11,
        # The specification's form is of tables as they are loaded; what was delivered since is
        # in no NEW-ORDER any more.
        says="rows of ORDER - rows of NEW-ORDER - sum(C_DELIVERY_CNT) = 2100 of each district",
        broken="SELECT d_w_id, d_id, ordered, waiting, delivered FROM tpcc_district LEFT JOIN"
        " (SELECT o_w_id, o_d_id, COUNT(*) AS ordered FROM tpcc_orders GROUP BY o_w_id, o_d_id)"
        " AS orders ON o_w_id = d_w_id AND o_d_id = d_id LEFT JOIN"
        " (SELECT no_w_id, no_d_id, COUNT(*) AS waiting FROM tpcc_new_order"
        " GROUP BY no_w_id, no_d_id) AS new_orders ON no_w_id = d_w_id AND no_d_id = d_id LEFT JOIN"
        " (SELECT c_w_id, c_d_id, SUM(c_delivery_cnt) AS delivered FROM tpcc_customer"
        " GROUP BY c_w_id, c_d_id) AS customers ON c_w_id = d_w_id AND c_d_id = d_id"
        " WHERE COALESCE(ordered, 0) - COALESCE(waiting, 0) - COALESCE(delivered, 0) <> 2100",
    ),
    Condition(
        number=12,
        says="C_BALANCE + C_YTD_PAYMENT = sum(OL_AMOUNT) of what was delivered, of each customer",
        broken="SELECT c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, delivered"
        " FROM tpcc_customer"
        + _DELIVERED
        + " WHERE c_balance + c_ytd_payment <> COALESCE(delivered, 0)",
    ),
)

REQUIRED = tuple(condition.number for condition in CONDITIONS[:4])
"""Those that a test sponsor has to show (clause 3.3.2)."""


def verdicts(endpoint: Endpoint, numbers: Sequence[int]) -> Iterator[Verdict]:
    """Ask for the conditions of these numbers, one after the other.

    Raises:
        TargetError: the server cannot be reached or refuses, has no tables of TPC-C, or their load
            did not finish.
    """
    target = endpoint.target
    with connect(endpoint, Timeouts(statement_s=_STATEMENT_S)) as connection:
        _check_tables(connection, target)
        _take_snapshot(connection, target)
        for condition in CONDITIONS:
            if condition.number in numbers:
                yield _verdict(connection, target, condition)


def _check_tables(connection: Connection, target: Target) -> None:
    schema = target.database or ""
    state = read_schema(connection, target, schema)
    used = [table for table in state.tables if table.layout == "tpcc"]
    there = {table.name for table in used}
    if missing := [name for name in tpcc_tables.NAMES if name not in there]:
        raise TargetError(
            "missing_table",
            f"schema {schema} at {target.place} has no table {missing[0]} of tpcc",
            f"loadstone prepare tpcc --target {target.url}",
        )
    refuse_unfinished(target, Wanted(workload="tpcc", layout="tpcc"), state, used)


def _take_snapshot(connection: Connection, target: Target) -> None:
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")


def _verdict(connection: Connection, target: Target, condition: Condition) -> Verdict:
    began = time.monotonic()
    with statement_errors(target), connection.cursor() as cursor:
        cursor.execute(f"{condition.broken} LIMIT {_SHOWN + 1}")
        rows = cursor.fetchall()
        names = [str(column[0]) for column in cursor.description or ()]
    return Verdict(
        condition=condition.number,
        says=condition.says,
        holds=not rows,
        examples=tuple(_named(names, row) for row in rows[:_SHOWN]),
        more=len(rows) > _SHOWN,
        seconds=time.monotonic() - began,
    )


def _named(names: Sequence[str], row: Sequence[Any]) -> dict[str, str | None]:
    return {
        name: None if value is None else str(value) for name, value in zip(names, row, strict=True)
    }
