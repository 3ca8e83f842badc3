"""Sorts and temporary tables that do not fit, or that ask the system for memory each time."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import parts_of_work, server_cores
from loadstone.diagnosis.holds import CORES, Holds, part_of, priced
from loadstone.diagnosis.priced_work import share_of
from loadstone.diagnosis.rule import HoldsIn, Rule
from loadstone.diagnosis.trials import dynamic, mysql_release
from loadstone.model.figure import Bytes, Number, Percent
from loadstone.model.finding import Finding, Trial
from loadstone.model.message import Message, plain, say, say_in, sentences

MMAP_THRESHOLD = 32 * 1024 * 1024
"""[S] mallopt(3): glibc's greatest mmap threshold on 64 bits."""

SYS_SHARE = 0.5
"""[P] Kernel's share of the server's CPU: short statements over a socket alone take 20 to 30 %
(measured), the field's case was far beyond."""

FAULTS_A_SORT = 2.0
"""[P] Minor faults per sort: a kept buffer needs none. Measured with MariaDB 10.11, sorts of
100 of 400,000 rows: 4.5 with 33 and 64 MiB, 0.0 with 2 and 31 MiB; with MySQL 9.7 0.0 with all."""

MAPPED_S = 16e-6
"""[P] CPU of a sort whose buffer is mapped, touched and unmapped, beyond one that is kept: measured
16 to 35 µs there, where no other thread of the process waited for the same kernel lock."""

MERGES = 0.01
"""[P] Merge passes per event."""

PASS_S = 250e-6
"""[P] CPU of a merge pass: measured 240 to 300 µs (MariaDB 10.11, 250 rows of 120 bytes a sort)."""

TABLE_S = 400e-6
"""[P] CPU of a temporary table on disk beyond one in memory: measured 340 to 490 µs with MySQL 9.7
and 540 with MariaDB 10.11 (200 rows of 120 bytes)."""

TMP_DISK = 0.25
"""[P] Share of the temporary tables that go to disk."""

TEMPTABLE_RAM = "1073741824"
"""[S] The default of temptable_max_ram."""

TMP_TABLE = "67108864"
"""[P] Bytes that hold the temporary table of most queries; the smaller of two variables counts."""

TMP_EVENTS = 0.05
"""[P] Temporary tables on disk per event."""


def judge_cliff(case: Case) -> Finding | None:
    """The buffer is mapped and unmapped for each sort: page faults, and work in the kernel."""
    buffer = case.needed(case.number("sort_buffer_size"))
    ranges, scans = case.needed(case.rate("sort_range")), case.needed(case.rate("sort_scan"))
    sorts = ranges + scans
    faults = case.needed(case.host("minor_faults_per_s"))
    malloc = (case.variable("version_malloc_library") or "system").lower()
    if buffer < MMAP_THRESHOLD or "jemalloc" in malloc or "tcmalloc" in malloc or not sorts:
        return None
    each = faults / sorts
    kernel, total = case.host("process_cpu_sys"), server_cores(case)
    in_kernel = kernel / total if kernel is not None and total else None
    if each < FAULTS_A_SORT:
        return None  # the buffer is not mapped again, whatever its size
    pieces = _takes_pieces(case.variable("version") or "")
    strong = (in_kernel or 0.0) >= SYS_SHARE
    estimate = min(sorts * MAPPED_S / total, 1.0) if total else 0.0
    share = max(in_kernel or 0.0, estimate) if strong else estimate
    return Finding(
        cause="sort-buffer-cliff",
        group="setting",
        sentence=sentences(
            _page_faults(buffer, each, in_kernel),
            say("This version takes the buffer in pieces, so try it first.")
            if pieces
            else say("The buffer is mapped and unmapped for each sort."),
        ),
        evidence=(
            case.seen(plain("sort_buffer_size"), buffer, say_in("unit", "B"), MMAP_THRESHOLD),
            case.seen(say("minor faults per sort"), each, plain(""), FAULTS_A_SORT),
            case.seen(
                say("kernel's share of the server's CPU"), in_kernel or 0.0, plain(""), SYS_SHARE
            ),
        ),
        share=share,
        confidence=_sureness(pieces=pieces, strong=strong),
        remedy=say("Set sort_buffer_size to 2M (below 32M), or preload jemalloc."),
        trial=dynamic(
            case,
            {"sort_buffer_size": "2097152"},
            say("mapping and unmapping the sort buffer"),
        ),
        acts_on="server CPU",
    )


def _page_faults(buffer: float, each: float, in_kernel: float | None) -> Message:
    if in_kernel:
        return say(
            "sort_buffer_size={size} is at glibc's mmap threshold: {faults} page faults per sort, "
            "and {kernel} of the server's CPU is spent in the kernel.",
            size=Bytes(buffer),
            faults=Number(each),
            kernel=Percent(in_kernel),
        )
    return say(
        "sort_buffer_size={size} is at glibc's mmap threshold: {faults} page faults per sort.",
        size=Bytes(buffer),
        faults=Number(each),
    )


def _sureness(*, pieces: bool, strong: bool) -> float:
    """A version that takes the whole buffer, and page faults with each sort, are the strongest."""
    if pieces:
        return 0.3
    return 0.8 if strong else 0.6


def judge_merges(case: Case) -> Finding | None:
    """Sorts larger than their buffer go through temporary files."""
    passes = case.needed(case.rate("sort_merge_passes"))
    if not case.tps or passes < MERGES * case.tps:
        return None
    buffer = case.number("sort_buffer_size") or 0.0
    return Finding(
        cause="sort-buffer-small",
        group="setting",
        sentence=say(
            "Sorts do not fit sort_buffer_size={size}: {passes} merge passes per event go through "
            "temporary files.",
            size=Bytes(buffer),
            passes=Number(passes / case.tps),
        ),
        evidence=(
            case.seen(plain("sort_merge_passes"), passes / case.tps, say("per event"), MERGES),
        ),
        share=_share(case, PASS_S * passes),
        confidence=0.7,
        remedy=say(
            "Raise sort_buffer_size (below 32M) for these sessions, or create an index that gives "
            "the order."
        ),
        trial=_larger(case, buffer),
        acts_on="server CPU",
    )


def _larger(case: Case, buffer: float) -> Trial | None:
    proposed = int(min(8 * max(buffer, 262144), MMAP_THRESHOLD - 1048576))
    if proposed <= buffer:
        return None
    return dynamic(case, {"sort_buffer_size": str(proposed)}, say("sorting in temporary files"))


def judge_temporary(case: Case) -> Finding | None:
    """Temporary tables exceed the limit in memory, or have columns that go to disk.

    MariaDB makes one on disk for some of the questions by which Loadstone reads its counters.
    """
    tables = case.needed(case.rate_of_others("created_tmp_tables"))
    disk = case.needed(case.rate_of_others("created_tmp_disk_tables"))
    if not tables or disk < TMP_DISK * tables or not case.tps or disk < TMP_EVENTS * case.tps:
        return None
    return Finding(
        cause="temporary-tables-on-disk",
        group="setting",
        sentence=_on_disk(case, disk / tables, disk / case.tps),
        evidence=(
            case.seen(plain("created_tmp_disk_tables"), disk / tables, say("of all"), TMP_DISK),
            case.seen(
                say("created_tmp_disk_tables per event"), disk / case.tps, plain(""), TMP_EVENTS
            ),
        ),
        share=_share(case, TABLE_S * disk),
        confidence=0.7,
        remedy=_in_memory(case),
        trial=dynamic(
            case,
            {
                **({"big_tables": "OFF"} if case.is_on("big_tables") else {}),
                **({"temptable_max_ram": TEMPTABLE_RAM} if _is_short_of_ram(case) else {}),
                "tmp_table_size": TMP_TABLE,
                "max_heap_table_size": TMP_TABLE,
            },
            say("temporary tables on disk"),
        ),
        acts_on="server CPU",
    )


def _is_short_of_ram(case: Case) -> bool:
    """Whether all temporary tables together have less memory than by MySQL's default."""
    most = case.number("temptable_max_ram")
    return most is not None and most < float(TEMPTABLE_RAM)


def _in_memory(case: Case) -> Message:
    """What lets them stay in memory."""
    if case.is_on("big_tables"):
        return say("Set big_tables=OFF, which sends all temporary tables to disk.")
    if _is_short_of_ram(case):
        return say(
            "Raise temptable_max_ram ({size}), which all temporary tables share, and then "
            "tmp_table_size; or create an index for the grouping.",
            size=Bytes(case.number("temptable_max_ram") or 0.0),
        )
    return say("Raise tmp_table_size and max_heap_table_size, or create an index for the grouping.")


def _on_disk(case: Case, part: float, by_event: float) -> Message:
    figures = {"part": Percent(min(part, 1.0)), "each": Number(by_event)}
    if limit := case.number("tmp_table_size"):
        return say(
            "{part} of the temporary tables go to disk, {each} per event (tmp_table_size={size}).",
            **figures,
            size=Bytes(limit),
        )
    return say("{part} of the temporary tables go to disk, {each} per event.", **figures)


def _share(case: Case, cores: float) -> float | None:
    """The share of the users' time, or else of the server's CPU; `None`: neither is known."""
    share, used = share_of(case, cores), server_cores(case)
    if share is not None:
        return share
    return min(cores / used, 1.0) if used else None


def _holds_of(name: str, each_s: float) -> HoldsIn:
    """The work of these on a core, and as large a part of what the disk is waited for."""

    def holds(case: Case) -> Holds | None:
        parts = parts_of_work(case, each_s * (case.rate_of_others(name) or 0.0))
        part = max(parts.values(), default=0.0)
        return priced(parts | {"disk read": part, "disk write": part}) if part else None

    return holds


def _takes_pieces(version: str) -> bool:
    """MySQL from 8.0.12 on ([M]) takes the sort buffer as it is needed."""
    return mysql_release(version) >= (8, 0, 12)


CLIFF_RULE = Rule(
    "sort-buffer-cliff",
    say("sort_buffer_size is mapped again for each sort"),
    judge_cliff,
    holds=part_of(*CORES, is_priced=True),
)
MERGES_RULE = Rule(
    "sort-buffer-small",
    say("sort_buffer_size is too small"),
    judge_merges,
    holds=part_of(*CORES, "disk read", "disk write", is_priced=True),
    holds_in=_holds_of("sort_merge_passes", PASS_S),
)
TEMPORARY_RULE = Rule(
    "temporary-tables-on-disk",
    say("temporary tables on disk"),
    judge_temporary,
    holds=part_of(*CORES, "disk read", "disk write", is_priced=True),
    holds_in=_holds_of("created_tmp_disk_tables", TABLE_S),
)
