"""Others use the disk that holds the server's data, for any family."""

from __future__ import annotations

from collections.abc import Callable

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.holds import PAGE_READS, PAGE_WAITS, SYNC_WAITS, time_at
from loadstone.diagnosis.locked_rows import due_to
from loadstone.diagnosis.page_reads import reads_by_event, reads_share
from loadstone.diagnosis.rule import Rule
from loadstone.model.error_codes import POSTGRESQL
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import plain, say, say_in

BUSY = 0.4
"""[P] Share of the time in which the disk is busy, from which the server often finds others in its
way. Writers around the page cache had a disk of many queues busy 53 to 86 % of the time."""

TIMES = 4.0
"""[P] Others' bytes as a multiple of the server's own: a file system's journal, which belongs to no
process, writes one and a half times what a load of small commits does.
"""

FEWEST_BYTES = 20e6
"""[P] Others' bytes a second, lower bound."""

FLUSHES = 2.0
"""[P] Others' flushes as a multiple of the server's syncs. In 138 steps of six
releases on ext4 the disk made 0.6 to 1.0 flushes for each of them in the median of a release, and
1.8 at most (PostgreSQL with a checkpoint every second)."""

FEWEST_FLUSHES = 100.0
"""[P] Others' flushes a second, lower bound."""

WAITS = 0.3
"""[P] Share of the users' time in commit from which they feel the disk."""

READING = 0.1
"""[P] Share of the users' time at disk reads from which they feel the disk too."""

READS = 0.1
"""[P] Pages that an event reads from which it feels the disk too (DIAGNOSIS 14)."""


def rule_of(commit_share: Callable[[Case], float | None]) -> Rule:
    """The rule for servers of whose users' time `commit_share` says how much is in commit."""
    return Rule(
        "disk-neighbour",
        say("others use the server's disk"),
        lambda case: _judge(case, commit_share),
        reads="files",
        holds=time_at(*SYNC_WAITS, *PAGE_READS, *PAGE_WAITS),
    )


def _judge(case: Case, commit_share: Callable[[Case], float | None]) -> Finding | None:
    """The disk moves or flushes far more than the server's process asks for, and is always busy."""
    busy = case.needed(case.host("disk_busy"))
    in_commit = commit_share(case) or 0.0
    if (by_flushes := _by_flushes(case, busy, in_commit)) is not None:
        return by_flushes
    moved = sum(
        case.needed(case.host(name)) for name in ("disk_read_bytes_per_s", "disk_write_bytes_per_s")
    )
    own = case.needed(case.host_rate("process.read_bytes"))
    own += case.needed(case.host_rate("process.written_bytes"))
    others = moved - own
    if busy < BUSY or others < max(FEWEST_BYTES, TIMES * own):
        return None
    if in_commit + due_to(case, *SYNC_WAITS) < WAITS and not _reads_are_felt(case):
        return None
    disk = case.step.host.disk if case.step.host else None
    return Finding(
        cause="disk-neighbour",
        group="validity",
        sentence=say(
            "Others use the server's disk: of {moved} MB a second on {disk} the server moves {own} "
            "MB, and the disk is busy {busy} of the time. Do not compare these figures.",
            moved=Number(moved / 1e6),
            disk=disk,
            own=Number(own / 1e6),
            busy=Percent(busy),
        ),
        evidence=(
            case.seen(
                say("bytes of others on the disk"),
                others,
                say_in("unit", "B/s"),
                max(FEWEST_BYTES, TIMES * own),
            ),
            case.seen(plain("disk_busy"), busy, say("of the time"), BUSY),
            case.seen(say("users in commit"), in_commit, say("of their time"), WAITS),
        ),
        share=max(in_commit * min(busy, 1.0), _reading(case, busy)),
        confidence=0.8,
        remedy=say("Find them (iotop, pidstat -d), or give the server a disk of its own."),
    )


def _by_flushes(case: Case, busy: float, in_commit: float) -> Finding | None:
    """Small writes that others sync are few bytes, and commits wait behind each flush."""
    flushes, own = case.host("disk_flushes_per_s"), case.rate("log_syncs")
    if flushes is None or own is None:
        return None
    own += sum(case.rate(name) or 0.0 for name in ("binlog_syncs", "data_syncs"))
    others = flushes - own
    if busy < BUSY or in_commit < WAITS or others < max(FEWEST_FLUSHES, FLUSHES * own):
        return None
    return Finding(
        cause="disk-neighbour",
        group="validity",
        sentence=say(
            "Others use the server's disk: of {all} flushes a second on {disk} the server asks for "
            "{own}, and the disk is busy {busy} of the time. Do not compare these figures.",
            all=Number(flushes),
            disk=case.step.host.disk if case.step.host else None,
            own=Number(own),
            busy=Percent(busy),
        ),
        evidence=(
            case.seen(
                say("flushes of others"),
                others,
                say_in("unit", "/s"),
                max(FEWEST_FLUSHES, FLUSHES * own),
            ),
            case.seen(plain("disk_busy"), busy, say("of the time"), BUSY),
            case.seen(say("users in commit"), in_commit, say("of their time"), WAITS),
        ),
        share=in_commit * min(busy, 1.0),
        confidence=0.8,
        remedy=say("Find them (iotop, pidstat -d), or give the server a disk of its own."),
    )


def _reads_are_felt(case: Case) -> bool:
    """Whether users wait for the disk's reads: as looks show, else as events read pages at all."""
    account = case.step.account
    if account is not None and (account.view == "threads" or case.family == POSTGRESQL):
        # What is read may be in the kernel's cache.
        return account.share_of(*PAGE_READS) >= READING
    return (reads_by_event(case) or 0.0) >= READS


def _reading(case: Case, busy: float) -> float:
    """Share of the users' time at disk reads while others use the disk; else of an event's work."""
    account = case.step.account
    if account is not None and account.view == "threads":
        return account.share_of(*PAGE_READS) * min(busy, 1.0)
    return reads_share(case) or 0.0
