"""The redo log is too small for the rate of changes."""

from __future__ import annotations

import re

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.mysql import table_locks
from loadstone.diagnosis.trials import RESIZES_S, at_start, dynamic, mysql_release
from loadstone.model.finding import Finding, Trial
from loadstone.model.message import say
from loadstone.model.numbers import num, pct, size

NEAR = 0.8
"""[S] PMM: of the age at which the server flushes synchronously."""

SYNC_SHARE = 0.83
"""[S] PMM: measured part of innodb_redo_log_capacity (MySQL 8.0.46) that is that age."""

SAMPLES = 2
"""[S] PMM: in more than one sample."""

SECONDS_OF_REDO = 600.0
"""[P] a log that the load fills no faster does not hold it back, however old its checkpoint: that
may be left from before. ([S] MySQLTuner wants an hour in a log, for recovery and peaks.)"""

PACED_S = 3.0
"""[P] a log that is full so soon makes the server flush as fast as it changes, also where that
keeps the checkpoint young: MySQL begins to well before the limit."""

PAGES = 0.5
"""[P] pages flushed by commit, which then shows; a page that may stay gathers many changes."""

PACED = 0.3
"""[P] share of the users' time, where it is not told how long changes wait."""

TRIED_MOST = 2 * 1024**3
"""[P] bytes of log that a trial asks for on a disk whose room is not known."""

_MIB = 1024**2

WAITS = 0.01
"""[P] waits for room in the log buffer, by commit."""


def judge(case: Case) -> Finding | None:
    """The checkpoint's age stands near its greatest: commits wait for pages to be flushed."""
    limit = case.needed(greatest_age(case))
    age = case.needed(case.mean("checkpoint_age_bytes"))
    written = case.needed(case.rate("log_written_bytes"))
    syncs = case.rate("flush_sync_waits") or 0.0
    near = _near(case, limit)
    if near is None:
        near = 1.0 if age >= NEAR * limit else 0.0
    if written * SECONDS_OF_REDO < limit:
        return None
    paced = near < 0.1 and not syncs
    if paced and not _is_paced(case, limit / written):
        return None
    name, wanted = _variable(case), 4 * max(limit, 60.0 * written)
    return Finding(
        cause="redo-log-small",
        group="wait",
        sentence=(
            f"The redo log is too small: {size(written)}/s of redo fill its {size(limit)} in "
            f"{num(limit / written)} s, so that pages are flushed as fast as they are changed."
            if paced
            else f"The redo log is too small: the checkpoint's age is {size(age)} of at most "
            f"{size(limit)}, near its limit {pct(near)} of the time, so that changes wait for "
            f"pages to be flushed; {size(written)}/s of redo fill it in {num(limit / written)} s."
        ),
        evidence=(
            case.seen("checkpoint_age_bytes", age, "B", NEAR * limit),
            case.seen("seconds of redo", limit / written, "s", SECONDS_OF_REDO),
            case.seen("flush_sync_waits", syncs, "/s"),
        ),
        share=max(near, PACED if paced or syncs else 0.0) * (1 - table_locks.wait_share(case)),
        confidence=0.7 if paced else 0.9,
        remedy=f"Raise {name} to {size(wanted)} or more.",
        trial=_larger(case, name, wanted),
        acts_on="disk writes",
    )


def _is_paced(case: Case, seconds: float) -> bool:
    flushed, commits = case.rate("pages_flushed"), case.commits()
    if seconds > PACED_S or flushed is None or not commits:
        return False
    return flushed >= PAGES * commits


def judge_log_buffer(case: Case) -> Finding | None:
    """Changes wait for room in the log's buffer."""
    waits, commits = case.needed(case.rate("log_waits")), case.needed(case.commits())
    if not commits or waits < WAITS * commits:
        return None
    buffer = case.number("innodb_log_buffer_size")
    return Finding(
        cause="log-buffer-small",
        group="setting",
        sentence=(
            f"Changes waited {num(waits)} times a second for room in the log buffer"
            + (f" of {size(buffer)}." if buffer else ".")
        ),
        evidence=(case.seen("log_waits", waits / commits, "by commit", WAITS),),
        share=min(waits / commits, 1.0) / 2,
        confidence=0.7,
        remedy="Raise innodb_log_buffer_size to 64M.",
        trial=_larger_buffer(case),
        acts_on="disk writes",
    )


def _larger_buffer(case: Case) -> Trial | None:
    """Of MySQL while it runs, from 8.0.11 on (its manual); MariaDB takes it when it starts."""
    settings, subject = {"innodb_log_buffer_size": "67108864"}, "waiting for room in the log buffer"
    if mysql_release(case.variable("version") or "") >= (8, 0, 11):
        return dynamic(case, settings, subject)
    return at_start(case, settings, subject)


def greatest_age(case: Case) -> float | None:
    """The age of the checkpoint at which the server flushes synchronously, in bytes."""
    told = case.mean("checkpoint_age_max_bytes")
    if told:
        return told
    capacity = case.number("innodb_redo_log_capacity")
    if capacity:
        return SYNC_SHARE * capacity
    one, files = case.number("innodb_log_file_size"), case.number("innodb_log_files_in_group")
    return SYNC_SHARE * one * (files or 1.0) if one else None


def _near(case: Case, limit: float) -> float | None:
    """Part of the window's seconds in which the age was near its limit."""
    ages = case.series("server", "checkpoint_age_bytes.now")
    if ages is None:
        return None
    near = sum(1 for _, age in ages if age >= NEAR * limit)
    return near / len(ages) if near >= SAMPLES else 0.0


def _variable(case: Case) -> str:
    has = case.variable("innodb_redo_log_capacity") is not None
    return "innodb_redo_log_capacity" if has else "innodb_log_file_size"


def _larger(case: Case, name: str, wanted: float) -> Trial | None:
    """In whole MiB, as the servers want it, and no larger than it must be to show the effect."""
    now = case.number(name) or 0.0
    tried = _MIB * -(-int(min(wanted, max(TRIED_MOST, 2 * now))) // _MIB)
    subject, settings = "so small a redo log", {name: str(tried)}
    if name == "innodb_redo_log_capacity" or _resizes(case.variable("version") or ""):
        return dynamic(case, settings, subject, settles_s=RESIZES_S)
    return at_start(case, settings, subject)


def _resizes(version: str) -> bool:
    """MariaDB takes another innodb_log_file_size while it runs, from 10.9 on (its manual)."""
    found = re.match(r"(\d+)\.(\d+)\.", version)
    if found is None or "mariadb" not in version.lower():
        return False
    return (int(found[1]), int(found[2])) >= (10, 9)


RULE = Rule("redo-log-small", say("the redo log is too small"), judge)
BUFFER_RULE = Rule("log-buffer-small", say("the log buffer is too small"), judge_log_buffer)
