"""Cases in which others are at the server, on its host, or on the way to it."""

from __future__ import annotations

from typing import get_args

from faults import injections, others
from faults.case import Case, Draw, Fault, Load, Removal, Server, both
from faults.ground import RELAXED, TABLES, relaxed
from faults.scripted import RECONNECTS

_FOR_METADATA = (
    "SELECT COUNT(*) FROM information_schema.processlist WHERE STATE LIKE '%metadata lock%'"
)
_REPORT = (
    "SELECT SUM(LENGTH(a.c) + LENGTH(b.pad)) FROM sbtest1 a STRAIGHT_JOIN sbtest2 b"
    " STRAIGHT_JOIN (SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) AS more"
)
_REPORT_IN_ORDER = (
    "SELECT sum(length(a.c) + length(b.pad)) FROM sbtest1 a CROSS JOIN sbtest2 b"
    " CROSS JOIN generate_series(1, 3)"
)
"""Hundreds of millions of rows: it ends when it is killed."""


def other_clients(draw: Draw) -> Fault:
    """Another generator drives the same server."""
    threads = draw.between(2, 8)
    return Fault(
        causes=("other-clients",),
        size=f"{threads} others",
        load=Load(draw.of_these("oltp_read_only", "oltp_read_write"), draw.ladder(2, 4, 16)),
        inject=others.clients("oltp_point_select", threads, 300),
        removal=Removal(),
    )


def report(draw: Draw) -> Fault:
    """Somebody's one statement reads whole tables all the time."""
    return Fault(
        causes=("other-clients",),
        size="a join of two tables",
        load=Load(draw.of_these("oltp_point_select", "oltp_read_only"), draw.ladder(2, 4, 16)),
        inject=others.statement(_REPORT_IN_ORDER if draw.server == "postgresql" else _REPORT),
        removal=Removal(),
    )


def storm(draw: Draw) -> Fault:
    """Others open a connection for each statement."""
    threads = draw.between(4, 12)
    return Fault(
        causes=("connection-storm", "other-clients"),
        size=f"{threads} others",
        load=Load("oltp_read_only", draw.ladder(2, 4, 16)),
        inject=others.clients(RECONNECTS, threads, 200),
        settings={"thread_cache_size": "0"},
        removal=Removal(),
    )


def held_rows(draw: Draw) -> Fault:
    """A session keeps rows that the load wants to change."""
    hold_s = round(draw.part(0.6, 1.5), 2)
    return Fault(
        causes=("row-locks",),
        size=f"{hold_s} s of {hold_s + 0.3:.2f} s",
        load=Load(draw.of_these("oltp_update_non_index", "oltp_write_only"), draw.ladder(2, 4, 24)),
        inject=others.rows_held(hold_s, 0.3),
        settings=RELAXED,
        removal=Removal(),
    )


def ddl(draw: Draw) -> Fault:
    """Tables are copied again and again by ALTER TABLE, and not changed meanwhile."""
    number = draw.between(1, TABLES)
    copy = f"ALTER TABLE sbtest{number} FORCE, ALGORITHM=COPY, LOCK=SHARED"
    return Fault(
        causes=("table-locks",),
        size=f"sbtest{number} copied",
        load=Load("oltp_write_only", draw.ladder(2, 8, 24)),
        inject=both(
            others.repeated((copy,), 0.05),
            injections.sampled(_FOR_METADATA, 2, "connections waiting for a table's definition"),
        ),
        removal=Removal(),
    )


def flushed_tables(draw: Draw) -> Fault:
    """Somebody closes all tables again and again."""
    pause_s = round(draw.part(0.001, 0.005), 4)
    return Fault(
        causes=("tables-flushed", "table-locks"),
        size=f"FLUSH TABLES every {1000 * pause_s:.1f} ms",
        load=Load("oltp_point_select", draw.ladder(4, 16, 48), ("--text",)),
        inject=both(
            others.repeated(("FLUSH LOCAL TABLES",), pause_s),
            injections.counted("Opened_tables", 1000, "tables opened"),
        ),
        removal=Removal(),
    )


def paused(draw: Draw) -> Fault:
    """Somebody stops the server's process for some tenths of a second, again and again."""
    stop_s = round(draw.part(0.3, 0.6), 2)
    return Fault(
        causes=("server-paused",),
        size=f"{stop_s} s again and again",
        load=Load(draw.of_these("oltp_read_write", "oltp_read_only"), draw.ladder(2, 4, 16)),
        inject=others.stopped(stop_s),
        settings=relaxed(draw.server),
        removal=Removal(),
    )


def lossy_way(draw: Draw) -> Fault:
    """Some of the server's packets never come."""
    share = round(draw.part(0.01, 0.05), 3)
    return Fault(
        causes=("packet-loss",),
        size=f"{share:.1%} of the packets",
        load=Load("oltp_point_select", draw.ladder(4, 8, 32)),
        inject=others.lost_packets(share),
        behind_a_line=True,
        removal=Removal(),
    )


def disk_hog(draw: Draw) -> Fault:
    """Others write to the server's disk."""
    count = draw.between(1, 3)
    return Fault(
        causes=("disk-neighbour", "disk-cap"),
        size=f"{count} writers",
        load=Load("oltp_update_non_index", draw.ladder(1, 2, 16)),
        inject=others.disk_hogs(count),
        removal=Removal(),
    )


def short_of_memory(draw: Draw) -> Fault:
    """A part of the server's memory is in swap."""
    part = round(draw.part(0.12, 0.25), 2)
    return Fault(
        causes=("swapping",),
        size=f"{part:.0%} of its memory left",
        load=Load("oltp_point_select", draw.ladder(2, 4, 16), times=1.4),
        inject=others.short_of_memory(part),
        in_memory_group=True,
        removal=Removal(),
    )


def one_core(draw: Draw) -> Fault:
    """The server may run on one of the cores only."""
    return Fault(
        causes=("cpu-pinned",),
        size="1 core",
        load=Load(draw.of_these("oltp_point_select", "oltp_read_only"), draw.ladder(4, 8, 32)),
        inject=others.one_core,
        removal=Removal(),
    )


_ALL: tuple[Server, ...] = get_args(Server)

CASES: tuple[Case, ...] = (
    Case("other-clients", other_clients, _ALL),
    Case("report", report, _ALL),
    Case("storm", storm),
    Case("held-rows", held_rows),
    Case("ddl", ddl),
    Case("flushed-tables", flushed_tables),
    Case("paused", paused, _ALL),
    Case("lossy-way", lossy_way, ("mariadb",)),
    Case("disk-hog", disk_hog, ("mariadb",)),
    Case("short-of-memory", short_of_memory, ("mariadb",)),
    Case("one-core", one_core, _ALL),
)
