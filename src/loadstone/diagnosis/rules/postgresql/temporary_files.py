"""Sorts, hashes and other work that does not fit work_mem goes through temporary files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from loadstone.analyse.postgresql.settings import MIB, size_of
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.cpu import parts_of_work
from loadstone.diagnosis.holds import CORES, Holds, priced, time_at
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql import counted, page_reads
from loadstone.diagnosis.trials import dynamic, free_memory
from loadstone.diagnosis.users_time import time_of
from loadstone.model.account import Place
from loadstone.model.figure import Bytes, Number, Percent
from loadstone.model.finding import Evidence, Finding, Trial
from loadstone.model.message import Message, plain, say, say_in, sentences

CPU_S_A_BYTE = 2.3e-9
"""[P] The server's CPU for a byte that is written to a temporary file and read back, in addition to
the same sort in memory. Measured with PostgreSQL 15: 1,500 rows of 104 bytes, 182 kB of files per
event, 1,089 µs with work_mem=64kB compared with 663 µs with 16MB.
"""

MATTERS = 0.05
"""[P] Share of the users' time from which it counts."""

LARGER = 4
"""[P] Times the bytes in files that the same work needs in memory, upper bound: rows are packed in
files, and have pointers in memory."""

FREE_TAKEN = 0.5
"""[P] Share of the free memory that all users together may take in a trial."""

_FILES = ("pg_stat_database.target.temp_files", "pg_stat_database.temp_files")
_BYTES = ("pg_stat_database.target.temp_bytes", "pg_stat_database.temp_bytes")


def judge(case: Case) -> Finding | None:
    """What the files take: on cores by their bytes, and the waits for reads and writes of them."""
    if not case.needed(_counted(case, _BYTES)) or not case.tps:
        return None
    share = case.needed(time_of(case, _parts(case)))
    if share < MATTERS:
        return None
    return Finding(
        cause="temporary-files",
        group="setting",
        sentence=sentences(*_said(case, share)),
        evidence=tuple(_evidence(case, share)),
        share=share,
        confidence=0.8,
        remedy=say(
            "Raise work_mem for these sessions (each sort or hash of each session may take so "
            "much; hashes take hash_mem_multiplier times as much), or create an index that gives "
            "the order."
        ),
        trial=_larger(case),
        acts_on="server CPU",
    )


def _counted(case: Case, names: tuple[str, ...]) -> float | None:
    """Those of the load's database, else of all."""
    known = (case.rate(name) for name in names)
    return next((value for value in known if value is not None), None)


def _parts(case: Case) -> Mapping[Place, float]:
    """By place, the part of the users' time there that the files take; empty without an account."""
    account, moved = case.step.account, _counted(case, _BYTES)
    if account is None or moved is None:
        return {}
    written = account.disks.users.written if account.disks else 0.0
    pages = (page_reads.reads(case) or 0.0) * page_reads.page_bytes(case)
    return {
        **parts_of_work(case, moved * CPU_S_A_BYTE),
        "disk write": min(moved / written, 1.0) if written else 0.0,
        "disk read": moved / (moved + pages) if moved else 0.0,
    }


def _said(case: Case, share: float) -> Iterator[Message]:
    files, moved = _counted(case, _FILES) or 0.0, _counted(case, _BYTES) or 0.0
    yield say(
        "Work that does not fit work_mem={size} goes through temporary files: {files} files and "
        "{bytes} per event.",
        size=case.variable("work_mem") or "-",
        files=Number(files / case.tps),
        bytes=Bytes(moved / case.tps),
    )
    yield say("Writing and reading them takes {share} of the users' time.", share=Percent(share))
    yield from counted.most_by(case, lambda one: one.temp_pages)


def _evidence(case: Case, share: float) -> Iterator[Evidence]:
    yield case.seen(say("time of temporary files"), share, say("of the users' time"), MATTERS)
    for names, unit in ((_FILES, say_in("unit", "/s")), (_BYTES, say_in("unit", "B/s"))):
        yield case.seen(plain(names[-1]), _counted(case, names) or 0.0, unit)


def _larger(case: Case) -> Trial | None:
    """Memory for what an event has in files, if there is enough for all users."""
    now, moved = size_of(case.variable("work_mem")), _counted(case, _BYTES)
    free = free_memory(case)
    if not now or not moved or free is None:
        return None
    wanted = -(-int(max(LARGER * moved / case.tps, LARGER * now)) // MIB)
    most = int(FREE_TAKEN * free / case.users) // MIB
    if wanted > most:
        return None
    return dynamic(case, {"work_mem": f"{wanted}MB"}, say("work in temporary files"))


def _holds(case: Case) -> Holds | None:
    parts = _parts(case)
    return priced(parts) if parts else None


RULE = Rule(
    "temporary-files",
    say("sorts and hashes in temporary files"),
    judge,
    holds=time_at(*CORES, "disk read", "disk write"),
    holds_in=_holds,
)
