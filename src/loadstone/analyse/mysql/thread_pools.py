"""The rules about thread pools, also those of ApsaraDB RDS and PolarDB.

A study of a managed MySQL 8.0 with 8 cores, 16 GB and this pool (on, 4 groups, 32 threads each)
drove `oltp_read_write` with 8 to 4,000 connections: the best rate, 12,700 TPS, at 32 connections,
and 12,200 from 256 to 4,000 of them; without the pool the rate fell as connections grew.

Sources: PolarDB, "Thread pool" (`thread_pool_size`: groups; `thread_pool_oversubscribe`: threads
that may execute statements at once in each group, 1 to 1,000).
"""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.analyse.advice import Advice, Server
from loadstone.model.figure import Count, Percent
from loadstone.model.message import say

MANY_CONNECTIONS = 512
"""From so many connections on a pool is worth a note."""

_BEST_TPS, _KEPT_TPS = 12_700, 12_200


def thread_pools(server: Server) -> Iterator[Advice]:
    """Advice on having a thread pool, and on how much the one that is on lets run at once."""
    most = server.number("max_connections") or 0
    if server.text("thread_handling") in ("pool-of-threads", "loaded-dynamically"):
        return
    enabled = _told(server, "thread_pool_enabled")
    if enabled is not None and enabled.upper() in ("ON", "1"):
        yield from _width(server, most)
    elif most >= MANY_CONNECTIONS and enabled is not None:
        why = say(
            "in a study of such a server with 8 cores the pool kept {share} of the best rate up to "
            "4,000 connections, and without it the rate fell as they grew",
            share=Percent(_KEPT_TPS / _BEST_TPS),
        )
        name, cause = "thread_pool_enabled", "no-thread-pool"
        yield Advice("note", name, enabled, why, "ON", cause=cause)
    elif most >= MANY_CONNECTIONS:
        why = say(
            "with thousands of active connections a thread pool sustains the rate; MariaDB has one "
            "(thread_handling=pool-of-threads), MySQL 9.7 a plugin"
        )
        handling = server.text("thread_handling") or ""
        yield Advice("note", "thread_handling", handling, why, cause="no-thread-pool")


def _width(server: Server, most: int) -> Iterator[Advice]:
    """How many statements the pool lets run at once, against cores and connections."""
    name = "thread_pool_oversubscribe"
    groups, each = _told(server, "thread_pool_size"), _told(server, name)
    if not (groups and each and groups.isdecimal() and each.isdecimal()):
        return
    at_once = int(groups) * int(each)
    told = {"groups": Count(int(groups)), "each": Count(int(each)), "at_once": Count(at_once)}
    cores = server.machine.cores
    if cores is not None and at_once < cores:
        why = say(
            "{groups} groups of {each} let {at_once} statements run at once, and there are {cores} "
            "cores",
            cores=Count(cores),
            **told,
        )
        yield Advice("slow", name, each, why, str(-(-cores // max(int(groups), 1))))
    elif 0 < most <= at_once:
        why = say(
            "{groups} groups of {each} let {at_once} statements run at once, and max_connections "
            "is {most}: the pool limits nothing",
            most=Count(most),
            **told,
        )
        yield Advice("note", name, each, why)
    else:
        why = say(
            "{groups} groups of {each} let {at_once} statements run at once; a study of such a "
            "server with 8 cores had 4 groups of 32 threads, 128 together, and kept {share} of its "
            "best rate up to 4,000 connections",
            share=Percent(_KEPT_TPS / _BEST_TPS),
            **told,
        )
        yield Advice("note", name, each, why)


def _told(server: Server, name: str) -> str | None:
    """A variable of the pool, also by its name in the service's console."""
    value = server.text(name)
    return server.text(f"loose_{name}") if value is None else value
