"""The redo log is too small for the rate of changes."""

from __future__ import annotations

import re

from loadstone.diagnosis.context import Case, Series
from loadstone.diagnosis.cpu import parts_of_work
from loadstone.diagnosis.holds import PAGE_WAITS, Holds, part_of, priced
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.mysql import table_locks
from loadstone.diagnosis.trials import RESIZES_S, at_start, dynamic, mysql_release
from loadstone.model.figure import Bytes, Number, Percent
from loadstone.model.finding import Evidence, Finding, Trial
from loadstone.model.message import plain, say, say_in

NEAR = 0.8
"""[S] PMM: share of the age at which the server flushes synchronously."""

SYNC_SHARE = 0.83
"""[S] PMM: measured share of innodb_redo_log_capacity (MySQL 8.0.46) that is that age."""

SAMPLES = 2
"""[S] PMM: samples that must show it: more than one."""

SECONDS_OF_REDO = 600.0
"""[P] A log that takes longer to fill does not hold the load back, however old its checkpoint: that
may be left from before. ([S] MySQLTuner asks for an hour in a log, for recovery and peaks.)"""

FEW = 0.1
"""[P] Share of the time near the limit below which that is no reason by itself."""

PACED_S = 3.0
"""[P] A log that fills this fast makes the server flush as fast as pages change, even where that
keeps the checkpoint young: MySQL starts flushing well before the limit."""

PAGES = 0.5
"""[P] Pages flushed per commit, which then shows; a page that may stay gathers many changes."""

PACED = 0.3
"""[P] Share of the users' time where it is not known how long changes wait."""

TRIED_MOST = 2 * 1024**3
"""[P] Bytes of log that a trial asks for on a disk whose free space is not known."""

_MIB = 1024**2

WAITS = 0.01
"""[P] Waits for room in the log buffer, per commit."""

FLUSH_CPU_S = 60e-6
"""[P] CPU of a page that is flushed because the log is full: the page cleaner's, and that of users
who find it latched. Measured 43 to 90 µs with MariaDB 10.11 and MySQL 9.7, 24 to 31 of them the
page cleaner's (a log of 5 and 8 MiB, `oltp_write_only` without syncs)."""


def judge(case: Case) -> Finding | None:
    """The checkpoint age is near its limit: commits wait for pages to be flushed.

    Servers before 8.0.30 do not tell that age: whether pages are flushed as fast as they change
    shows there as well.
    """
    limit = case.needed(greatest_age(case))
    written = case.needed(case.rate("log_written_bytes"))
    age = case.mean("checkpoint_age_bytes")
    syncs = case.rate("flush_sync_waits") or 0.0
    near = _near(case, limit, age)
    if written * SECONDS_OF_REDO < limit:
        return None
    paced = age is None or (near < FEW and not syncs)
    if paced and not _is_paced(case, limit / written):
        return None
    name, proposed = _variable(case), 4 * max(limit, 60.0 * written)
    return Finding(
        cause="redo-log-small",
        group="wait",
        sentence=say(
            "The redo log is too small: {written}/s of redo fill its {limit} in {seconds} s, so "
            "pages must be flushed as fast as they change.",
            written=Bytes(written),
            limit=Bytes(limit),
            seconds=Number(limit / written),
        )
        if age is None or paced
        else say(
            "The redo log is too small: the checkpoint age is {age} of at most {limit}, and near "
            "that limit {near} of the time, so changes wait for pages to be flushed. {written}/s "
            "of redo fill the log in {seconds} s.",
            age=Bytes(age),
            limit=Bytes(limit),
            near=Percent(near),
            written=Bytes(written),
            seconds=Number(limit / written),
        ),
        evidence=(
            *_age_seen(case, age, limit),
            case.seen(
                say("seconds of redo"), limit / written, say_in("unit", "s"), SECONDS_OF_REDO
            ),
            case.seen(plain("flush_sync_waits"), syncs, say_in("unit", "/s")),
        ),
        share=_share(case, near, limit / written),
        confidence=0.7 if paced else 0.9,
        remedy=say("Raise {variable} to {size} or more.", variable=name, size=Bytes(proposed)),
        trial=_larger(case, name, proposed),
        acts_on="disk writes",
    )


def _age_seen(case: Case, age: float | None, limit: float) -> list[Evidence]:
    if age is None:
        return []
    return [case.seen(plain("checkpoint_age_bytes"), age, say_in("unit", "B"), NEAR * limit)]


def _share(case: Case, near: float, seconds: float) -> float:
    """The share of the time in which changes wait for pages to be flushed."""
    least = PACED if _keeps_up(case, seconds) else 0.0
    return max(near, least) * (1 - table_locks.wait_share(case))


def _keeps_up(case: Case, seconds: float) -> bool:
    """Whether pages are flushed as fast as they change, however old the checkpoint is.

    `seconds`: in which the log fills.
    """
    return bool(case.rate("flush_sync_waits")) or _is_paced(case, seconds)


def _holds(case: Case) -> Holds | None:
    """The waits for pages to be flushed, and the work of flushing them; `None`: by the share alone.

    Pages that a larger log would flush as well are few: it gathers more changes of each.
    """
    account, limit, age = case.step.account, greatest_age(case), case.mean("checkpoint_age_bytes")
    written, flushed = case.rate("log_written_bytes"), case.rate("pages_flushed")
    if account is None or account.view != "threads" or not written or flushed is None:
        return None
    if limit is None:
        return None
    near, seconds = _near(case, limit, age), limit / written
    part = 1.0 if _keeps_up(case, seconds) else near
    work = parts_of_work(case, flushed * FLUSH_CPU_S * part)
    return priced(work | dict.fromkeys(PAGE_WAITS, _share(case, near, seconds))) if work else None


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
        sentence=say(
            "Changes waited {waits} times a second for room in the log buffer of {size}.",
            waits=Number(waits),
            size=Bytes(buffer),
        )
        if buffer
        else say(
            "Changes waited {waits} times a second for room in the log buffer.",
            waits=Number(waits),
        ),
        evidence=(case.seen(plain("log_waits"), waits / commits, say("per commit"), WAITS),),
        share=min(waits / commits, 1.0) / 2,
        confidence=0.7,
        remedy=say("Raise innodb_log_buffer_size to 64M."),
        trial=_larger_buffer(case),
        acts_on="disk writes",
    )


def _larger_buffer(case: Case) -> Trial | None:
    """MySQL resizes it while it runs, from 8.0.11 on (its manual); MariaDB only at its start."""
    settings = {"innodb_log_buffer_size": "67108864"}
    subject = say("waiting for room in the log buffer")
    if mysql_release(case.variable("version") or "") >= (8, 0, 11):
        return dynamic(case, settings, subject)
    return at_start(case, settings, subject)


def greatest_age(case: Case) -> float | None:
    """The age of the checkpoint at which the server flushes synchronously, in bytes."""
    reported = case.mean("checkpoint_age_max_bytes")
    if reported:
        return reported
    # What it has, which is that of older variables where these alone are set.
    capacity = case.mean("redo_capacity_bytes") or case.number("innodb_redo_log_capacity")
    if capacity:
        return SYNC_SHARE * capacity
    one, files = case.number("innodb_log_file_size"), case.number("innodb_log_files_in_group")
    return SYNC_SHARE * one * (files or 1.0) if one else None


def _near(case: Case, limit: float, mean: float | None) -> float:
    """Share of the window's seconds in which the age was near its limit, or by its mean.

    Zero if it is not known.
    """
    if mean is None:
        return 0.0
    ages = case.series("server", "checkpoint_age_bytes.now")
    if ages is None:
        return 1.0 if mean >= NEAR * limit else 0.0
    near = sum(1 for _, age in ages if age >= NEAR * limit)
    return _by_the_load(case, ages) * near / len(ages) if near >= SAMPLES else 0.0


def _by_the_load(case: Case, ages: Series) -> float:
    """The part of the checkpoint's advance that the load's own redo makes necessary, 0 to 1.

    The rest brings an age down that is left from before, as by the loading of the tables.
    """
    (began_s, first), (ended_s, last) = ages[0], ages[-1]
    written = (case.rate("log_written_bytes") or 0.0) * (ended_s - began_s)
    return written / (written + max(first - last, 0.0)) if written > 0 else 0.0


def _variable(case: Case) -> str:
    has = case.variable("innodb_redo_log_capacity") is not None
    return "innodb_redo_log_capacity" if has else "innodb_log_file_size"


def _larger(case: Case, name: str, proposed: float) -> Trial | None:
    """A larger log: whole MiB, as servers need it, and just enough to show the effect."""
    now = case.number(name) or 0.0
    tried = _MIB * -(-int(min(proposed, max(TRIED_MOST, 2 * now))) // _MIB)
    subject, settings = say("the small redo log"), {name: str(tried)}
    if name == "innodb_redo_log_capacity" or _resizes(case.variable("version") or ""):
        return dynamic(case, settings, subject, settles_s=RESIZES_S)
    return at_start(case, settings, subject)


def _resizes(version: str) -> bool:
    """Whether it resizes innodb_log_file_size while it runs: MariaDB from 10.9 on (its manual)."""
    found = re.match(r"(\d+)\.(\d+)\.", version)
    if found is None or "mariadb" not in version.lower():
        return False
    return (int(found[1]), int(found[2])) >= (10, 9)


RULE = Rule(
    "redo-log-small",
    say("the redo log is too small"),
    judge,
    reads="files",
    holds=part_of(*PAGE_WAITS),
    holds_in=_holds,
)
BUFFER_RULE = Rule(
    "log-buffer-small",
    say("the log buffer is too small"),
    judge_log_buffer,
    reads="files",
    holds=part_of(*PAGE_WAITS, "log sync", "commit"),
)
