"""Checks the consistency conditions of TPC-C (specification 5.11, clause 3.3.2) on a server.

All queries use one snapshot, so the answer is right while others write, too.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from loadstone.families import connect, family_of
from loadstone.lab.tables.discover import Wanted, refuse_unfinished
from loadstone.model.message import Message, say
from loadstone.model.target import Endpoint, Target
from loadstone.model.with_messages import WithMessages
from loadstone.servers import tpcc_tables
from loadstone.servers.connection import Connection, Timeouts
from loadstone.servers.errors import TargetError

_STATEMENT_S = 3600.0
"""Long, because the last conditions join all order lines."""

_SHOWN = 3
"""How many places are shown where a condition does not hold."""


class Condition(WithMessages):
    """One of the twelve conditions."""

    number: int
    says: Message
    """The condition in the specification's names."""


class Verdict(WithMessages):
    """The result of one condition."""

    condition: int
    says: Message
    holds: bool
    examples: tuple[dict[str, str | None], ...] = ()
    """Columns and values of the first places that violate it."""
    more: bool = False
    """Whether there are further violations."""
    seconds: float


CONDITIONS = tuple(
    Condition(number=number, says=says)
    for number, says in enumerate(
        (
            say("W_YTD = sum(D_YTD) of each warehouse"),
            say("D_NEXT_O_ID - 1 = max(O_ID) = max(NO_O_ID) of each district"),
            say("max(NO_O_ID) - min(NO_O_ID) + 1 = rows of NEW-ORDER of each district"),
            say("sum(O_OL_CNT) = rows of ORDER-LINE of each district"),
            say("O_CARRIER_ID is null where the order has a row in NEW-ORDER, and only there"),
            say("O_OL_CNT = rows of ORDER-LINE of each order"),
            say("OL_DELIVERY_D is null where O_CARRIER_ID of the order is, and only there"),
            say("W_YTD = sum(H_AMOUNT) of each warehouse"),
            say("D_YTD = sum(H_AMOUNT) of each district"),
            say(
                "C_BALANCE = sum(OL_AMOUNT) of what was delivered - sum(H_AMOUNT) of each customer"
            ),
            # The specification's form applies to freshly loaded tables; orders that have been
            # delivered since are no longer in NEW-ORDER.
            say("rows of ORDER - rows of NEW-ORDER - sum(C_DELIVERY_CNT) = 2100 of each district"),
            say(
                "C_BALANCE + C_YTD_PAYMENT = sum(OL_AMOUNT) of what was delivered, of each customer"
            ),
        ),
        1,
    )
)

REQUIRED = tuple(condition.number for condition in CONDITIONS[:4])
"""The conditions that a test sponsor has to show (clause 3.3.2)."""


def verdicts(endpoint: Endpoint, numbers: Sequence[int]) -> Iterator[Verdict]:
    """Check the conditions with these numbers, one after the other.

    Raises:
        TargetError: the server cannot be reached or refuses, has no tables of TPC-C, or their load
            did not finish.
    """
    target = endpoint.target
    with connect(endpoint, Timeouts(statement_s=_STATEMENT_S)) as connection:
        _check_tables(connection, target)
        family_of(target).take_snapshot(connection, target)
        for condition in CONDITIONS:
            if condition.number in numbers:
                yield _verdict(connection, target, condition)


def foreign_keys(endpoint: Endpoint) -> int:
    """The number of foreign keys of the tables.

    Raises:
        TargetError: the server cannot be reached, or refuses.
    """
    with connect(endpoint, Timeouts(statement_s=_STATEMENT_S)) as connection:
        return family_of(endpoint.target).count_foreign_keys(connection, endpoint.target)


def _check_tables(connection: Connection, target: Target) -> None:
    schema = target.database or ""
    state = family_of(target).read_schema(connection, target, schema)
    used = [table for table in state.tables if table.layout == "tpcc"]
    there = {table.name for table in used}
    if missing := [name for name in tpcc_tables.NAMES if name not in there]:
        raise TargetError(
            "missing_table",
            say(
                "schema {schema} at {place} has no table {table} of {workload}",
                schema=schema,
                place=target.place,
                table=missing[0],
                workload="tpcc",
            ),
            f"loadstone prepare tpcc --target {target.url}",
        )
    refuse_unfinished(target, Wanted(workload="tpcc", layout="tpcc"), state, used)


def _verdict(connection: Connection, target: Target, condition: Condition) -> Verdict:
    began = time.monotonic()
    places = family_of(target).broken_places(connection, target, condition.number, _SHOWN + 1)
    return Verdict(
        condition=condition.number,
        says=condition.says,
        holds=not places,
        examples=tuple(places[:_SHOWN]),
        more=len(places) > _SHOWN,
        seconds=time.monotonic() - began,
    )
