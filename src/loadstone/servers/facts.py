"""What a server is and which tables it has, in the same terms for all families."""

from __future__ import annotations

import hashlib
import re
from typing import Literal

from loadstone.model.compatible import Flavour
from loadstone.model.frozen import Frozen
from loadstone.model.managed import Managed
from loadstone.servers import tpcc_tables

Value = int | float | str | None
"""A variable's value, as the server returns it."""

Numbered = Literal["sbtest", "bulk", "hot", "products", "orders", "ledger"]
"""Layouts whose tables are numbered."""

Layout = Literal["sbtest", "bulk", "hot", "products", "orders", "ledger", "tpcc", "template"]

_NAME = re.compile(r"(sbtest|hot_row|hot_product|hot_order|drill_ledger)([1-9][0-9]*)")
# Columns as crates/workload makes them; `sbtest` is sysbench's. Display widths (int(11)) are
# ignored.
KNOWN_LAYOUTS: dict[Numbered, tuple[tuple[str, str], ...]] = {
    "sbtest": (("id", "int"), ("k", "int"), ("c", "char(120)"), ("pad", "char(60)")),
    "bulk": (("id", "int"), ("k", "int")),
    "hot": (("product", "int"), ("stock", "bigint"), ("sold", "bigint")),
    "products": (("product", "int"), ("price", "int"), ("name", "char(60)")),
    "orders": (("id", "bigint"), ("product", "int"), ("buyer", "int"), ("pieces", "int")),
    "ledger": (
        ("id", "bigint"),
        ("book", "bigint"),
        ("user_no", "int"),
        ("seq", "bigint"),
        ("amount", "int"),
    ),
}
TABLE_NAMES: dict[Numbered, str] = {
    "sbtest": "sbtest",
    "bulk": "sbtest",
    "hot": "hot_row",
    "products": "hot_product",
    "orders": "hot_order",
    "ledger": "drill_ledger",
}
"""By layout, the part of a table's name before the number."""
_MARK = re.compile(r"loadstone ([0-9a-f]{16})")


class Between(Frozen):
    """What answers clients in a server's place, and passes statements on to it."""

    name: str | None
    """Its product, if it says so."""
    shares_sessions: bool
    """Whether it gives a session with a lock to other clients, too."""
    greeting_s: float
    """Seconds from the end of connecting to the first byte that it sent."""
    ping_s: float
    """Seconds of the fastest ping, which it may answer itself."""
    statement_s: float
    """Seconds of the fastest statement that reads nothing."""


class ServerFacts(Frozen):
    """The server as it describes itself; `variables` has all of them, as text."""

    version: str
    flavour: Flavour
    comment: str
    variables: dict[str, str]
    not_default: tuple[str, ...] | None = None
    """Variables that somebody has set to another value than the server's own; `None`: it does not
    tell."""
    connected: int | None
    """Connections at that moment, including ours."""
    started_s: float | None = None
    """When it was started, in seconds of this machine's clock since boot (`CLOCK_BOOTTIME`)."""
    cipher: str
    """Cipher of the connection that asked; empty if it is not encrypted."""
    max_connections: int | None = None
    """How many connections the server accepts."""
    read_only: bool = False
    """Whether it refuses writes, as a replica does."""
    thread_pool: str | None = None
    """The kind of the active thread pool, if there is one."""
    service: Managed | None = None
    """The managed service that it belongs to, if it is one that is known."""
    is_passed_on: bool = False
    """Whether something else answers its clients, as a proxy does."""
    between: Between | None = None
    """That, where it is known in detail."""
    is_readdressed: bool = False
    """Whether it sees its clients at other ports than they have, as behind a proxy of TCP."""

    @property
    def encrypted(self) -> bool:
        """Whether the server says that the connection that asked is encrypted."""
        return bool(self.cipher)


class TableFacts(Frozen):
    """One table of a schema, as the server describes it."""

    name: str
    engine: str | None
    columns: tuple[tuple[str, str], ...]
    """Names and types, in order."""
    is_view: bool = False
    mark: str | None = None
    """The mark that `comment_of` wrote into its comment."""
    created_s: int | None = None
    """When it was made or last rebuilt, in seconds since 1970; `None` if unknown.

    On both MariaDB and MySQL, creating an index, TRUNCATE and OPTIMIZE change it; rows and ANALYZE
    do not.
    """

    @property
    def layout(self) -> Layout | None:
        """The known layout that it matches exactly, in name and columns; `None` if there is none.

        For `tpcc` the names of the columns decide: nobody else's tables have those names.
        """
        if not self.is_view and self.name in tpcc_tables.TABLES:
            names = tuple(name for name, _ in self.columns)
            return "tpcc" if names == tpcc_tables.TABLES[self.name] else None
        found = _NAME.fullmatch(self.name)
        if self.is_view or found is None:
            return None
        # sysbench 0.5 made its integers unsigned, 1.0 does not.
        columns = tuple((name, kind.removesuffix(" unsigned")) for name, kind in self.columns)
        return next(
            (
                layout
                for layout, those in KNOWN_LAYOUTS.items()
                if columns == those and found[1] == TABLE_NAMES[layout]
            ),
            None,
        )

    @property
    def number(self) -> int | None:
        """The N of sbtestN, hot_rowN, hot_productN, hot_orderN or drill_ledgerN."""
        found = _NAME.fullmatch(self.name)
        return int(found[2]) if found else None


class RowCount(Frozen):
    """How many rows a table has; its highest id if counting took too long."""

    rows: int
    exact: bool


def comment_of(mark: str) -> str:
    """The comment of a table that Loadstone makes; `mark`: 16 random hexadecimal digits.

    A table keeps its comment through ALTER and RENAME. A copy made with LIKE has it, too: no two
    tables of ours have the same mark, so one of the two is known not to be ours.
    """
    return f"loadstone {mark}"


def mark_for(name: str, mark: str) -> str:
    """The mark of a table with this name among those made together: half of it is random."""
    return mark[:_HALF] + hashlib.sha256(name.encode()).hexdigest()[:_HALF]


_HALF = 8


def mark_in(comment: str) -> str | None:
    """The mark that `comment_of` wrote into a comment; `None` if there is none."""
    found = _MARK.fullmatch(comment)
    return found[1] if found else None
