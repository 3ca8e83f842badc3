"""The rules of the review for MySQL and MariaDB: what makes figures unfair, slow or odd."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date

from loadstone.analyse.advice import Advice, Rule, Server
from loadstone.analyse.mysql.setting_effects import MEANINGS
from loadstone.analyse.mysql.thread_pools import thread_pools
from loadstone.model.figure import Bytes
from loadstone.model.message import Message, say, say_in

GIB, MIB = 1024**3, 1024**2
SMALL_REDO = GIB
SLOW_IO_CAPACITY = 200
MMAP_THRESHOLD = 32 * MIB
"""glibc's largest threshold on 64 bits: larger requests always use mmap (mallopt(3))."""


def _is_mariadb(server: Server) -> bool:
    """Whether the server is MariaDB, by its version string."""
    return "mariadb" in server.variables.get("version", "").lower()


def _costs(variable: str) -> Message:
    """What the setting means for speed."""
    return MEANINGS[variable].performance


def _lost(variable: str) -> Message:
    """What the setting means for durability."""
    meaning = MEANINGS[variable]
    return meaning.durability or meaning.performance


def _durability(server: Server) -> Iterator[Advice]:
    flush = server.text("innodb_flush_log_at_trx_commit")
    if flush not in (None, "1"):
        why = (
            say(
                "0 loses up to a second of commits with a crash of the server; compare only with "
                "servers that lose as much"
            )
            if flush == "0"
            else say(
                "2 loses up to a second of commits with a power cut; compare only with servers "
                "that lose as much"
            )
        )
        yield Advice("unfair", "innodb_flush_log_at_trx_commit", flush or "", why, "1")
    sync = server.text("sync_binlog")
    if server.is_on("log_bin") and sync not in (None, "1"):
        yield Advice("unfair", "sync_binlog", sync or "", _lost("sync_binlog"), "1")
    doublewrite = server.text("innodb_doublewrite")
    if doublewrite is not None and doublewrite.upper() in ("OFF", "0"):
        why = _both(_lost("innodb_doublewrite"), _costs("innodb_doublewrite"))
        yield Advice("unfair", "innodb_doublewrite", doublewrite, why, "ON", restart=True)


def _both(first: Message, second: Message) -> Message:
    return say_in("joined", "{first}; {second}", first=first, second=second)


def _binary_log(server: Server) -> Iterator[Advice]:
    if server.is_on("log_bin") is False:
        yield Advice("unfair", "log_bin", "OFF", _costs("log_bin"), "binlog", restart=True)
        return
    size = server.number("max_binlog_size")
    if size is not None and size < 512 * MIB:
        why = _costs("max_binlog_size")
        yield Advice("slow", "max_binlog_size", _size(size), why, "1G", cause="binlog-rotation")


def _buffer_pool(server: Server) -> Iterator[Advice]:
    name, small = "innodb_buffer_pool_size", "working-set"
    size, memory = server.number(name), server.machine.memory_bytes
    if size is None:
        return
    if memory is not None and size > 0.85 * memory:
        why = say(
            "the machine has {memory}: with connections and sorts it may swap",
            memory=Bytes(memory),
        )
        yield Advice("slow", name, _size(size), why, _round(0.7 * memory), cause="swapping")
    elif memory is not None and size < 0.25 * memory:
        why = say(
            "the machine has {memory}; {why}",
            memory=Bytes(memory),
            why=_costs(name),
        )
        yield Advice("slow", name, _size(size), why, _round(0.7 * memory), cause=small)
    elif memory is None and size <= 128 * MIB:
        why = say("the default, made for a laptop: {why}", why=_costs(name))
        yield Advice("slow", name, _size(size), why, cause=small)


def _redo_log(server: Server) -> Iterator[Advice]:
    name, size = "innodb_redo_log_capacity", server.number("innodb_redo_log_capacity")
    if size is None:
        name, one = "innodb_log_file_size", server.number("innodb_log_file_size")
        size = None if one is None else one * (server.number("innodb_log_files_in_group") or 1)
    if size is not None and size < SMALL_REDO:
        live = _is_mariadb(server) and server.release >= (10, 9)
        restart = name == "innodb_log_file_size" and not live
        why, cause = _costs(name), "redo-log-small"
        yield Advice("slow", name, _size(size), why, "4G", restart=restart, cause=cause)
    buffer = server.number("innodb_log_buffer_size")
    if buffer is not None and buffer < 16 * MIB:
        name, cause = "innodb_log_buffer_size", "log-buffer-small"
        yield Advice("note", name, _size(buffer), _costs(name), "64M", restart=True, cause=cause)


def _disk(server: Server) -> Iterator[Advice]:
    capacity = server.number("innodb_io_capacity")
    if capacity is not None and capacity <= SLOW_IO_CAPACITY and not server.machine.rotational:
        why = say("what one spinning disk can do: dirty pages pile up on anything faster")
        cause = "io-capacity-low"
        yield Advice("slow", "innodb_io_capacity", str(capacity), why, "2000", cause=cause)
    neighbours = server.text("innodb_flush_neighbors")
    if neighbours not in (None, "0") and server.machine.rotational is False:
        why = _costs("innodb_flush_neighbors")
        yield Advice("slow", "innodb_flush_neighbors", neighbours or "", why, "0")
    method = server.text("innodb_flush_method")
    if method is not None and method.lower() in ("", "fsync"):
        why = say("pages go through the system's cache as well, and are in memory twice")
        yield Advice("slow", "innodb_flush_method", method, why, "O_DIRECT", restart=True)


def _logging(server: Server) -> Iterator[Advice]:
    if server.is_on("general_log"):
        why = _costs("general_log")
        yield Advice("slow", "general_log", "ON", why, "OFF", cause="general-log")
    long_s = server.text("long_query_time")
    if server.is_on("slow_query_log") and long_s and re.fullmatch(r"0+(\.00\d*)?", long_s):
        why = say("nearly every statement is written to the slow log")
        yield Advice("slow", "long_query_time", long_s, why, "1", cause="slow-log")
    if server.is_on("performance_schema"):
        why = _costs("performance_schema")
        yield Advice("note", "performance_schema", "ON", why, cause="instrumentation")


def _query_cache(server: Server) -> Iterator[Advice]:
    size, kind = server.number("query_cache_size"), server.text("query_cache_type")
    if size and kind not in (None, "OFF", "0"):
        why = _costs("query_cache_type")
        yield Advice("slow", "query_cache_type", kind or "", why, "OFF", cause="query-cache")


def _connections(server: Server) -> Iterator[Advice]:
    most = server.number("max_connections")
    cache, tables = server.number("table_open_cache"), server.number("table_definition_cache")
    if cache is not None and most is not None and cache < most:
        why = say(
            "fewer open tables than max_connections ({most}): tables are opened again and again",
            most=most,
        )
        wanted, cause = str(max(4000, 2 * most)), "table-cache-small"
        yield Advice("slow", "table_open_cache", str(cache), why, wanted, cause=cause)
    if tables is not None and tables < 400:
        why = _costs("table_definition_cache")
        yield Advice("note", "table_definition_cache", str(tables), why, "2000")


def _sorts(server: Server) -> Iterator[Advice]:
    for name in ("sort_buffer_size", "join_buffer_size", "read_rnd_buffer_size"):
        size = server.number(name)
        if size is not None and size >= MMAP_THRESHOLD:
            why = _maybe_in_pieces(server, name)
            cause = "sort-buffer-cliff" if name == "sort_buffer_size" else None
            yield Advice("slow", name, _size(size), why, "2M", cause=cause)


def _maybe_in_pieces(server: Server, name: str) -> Message:
    pieces = name == "sort_buffer_size" and not _is_mariadb(server)
    if pieces and server.release >= (8, 0, 12):
        in_pieces = say("MySQL takes it in pieces since 8.0.12, so check whether it matters")
        return _both(_costs(name), in_pieces)
    return _costs(name)


_ENDS: dict[tuple[bool, tuple[int, int]], date] = {
    (False, (5, 6)): date(2021, 2, 28),
    (False, (5, 7)): date(2023, 10, 31),
    (False, (8, 0)): date(2026, 4, 30),
    (False, (8, 4)): date(2032, 4, 30),
    (True, (10, 3)): date(2023, 5, 25),
    (True, (10, 4)): date(2024, 6, 18),
    (True, (10, 5)): date(2025, 6, 24),
    (True, (10, 6)): date(2026, 7, 6),
    (True, (10, 11)): date(2028, 2, 16),
    (True, (11, 4)): date(2029, 5, 29),
}
"""The end of the vendor's support for each series, from Oracle's lifetime support policy (extended
support) and MariaDB's maintenance policy. Keys are whether it is MariaDB, and the series."""


def _version(server: Server) -> Iterator[Advice]:
    release, today = server.release, server.machine.today
    if len(release) < 2 or today is None:
        return
    end = _ENDS.get((_is_mariadb(server), (release[0], release[1])))
    if end is not None and end < today:
        why = say("vendor support ended on {day}", day=end.isoformat())
        yield Advice("note", "version", server.text("version") or "", why)


def _locks(server: Server) -> Iterator[Advice]:
    wait = server.number("innodb_lock_wait_timeout")
    if server.is_on("innodb_deadlock_detect") is False and (wait or 0) > 5:
        name = "innodb_lock_wait_timeout"
        yield Advice("slow", name, str(wait), _costs(name), "1", cause="row-locks")


RULES: Sequence[Rule] = (
    _durability,
    _binary_log,
    _buffer_pool,
    _redo_log,
    _disk,
    _logging,
    _query_cache,
    thread_pools,
    _connections,
    _sorts,
    _locks,
    _version,
)


def _size(size: int) -> str:
    for unit, name in ((GIB, "G"), (MIB, "M"), (1024, "K")):
        if size >= unit:
            return f"{size / unit:.3g}{name}"
    return str(size)


def _round(size: float) -> str:
    """The size, rounded down to whole GiB, or to 128 MiB below 1 GiB."""
    if size >= GIB:
        return f"{int(size // GIB)}G"
    return f"{max(int(size // (128 * MIB)), 1) * 128}M"
