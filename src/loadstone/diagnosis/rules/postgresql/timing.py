"""The server times its own work: it reads a clock before and after, and sums up by statement.

A clock that the processor counts costs some tens of nanoseconds a reading, another source of the
kernel's clock a system call and the time of a device.

Sources: https://www.postgresql.org/docs/current/pgtesttiming.html,
https://www.postgresql.org/docs/current/pgstatstatements.html
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from loadstone.analyse.environment_diff import target_of
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.priced_work import rule_of, share_of
from loadstone.diagnosis.rules.postgresql import wal
from loadstone.diagnosis.trials import dynamic
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.message import Joined, plain, say, say_in

QUICK_CLOCKS = ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter")
"""Clock sources that are read without a system call."""

QUICK_S = 36e-9
SLOW_S = 723e-9
"""[S] A reading of a clock that the processor counts, and of a device's, by the manual of
pg_test_timing."""

ROW_S = 28e-9
"""[P] CPU of adding a row to the sums of a plan's node, next to both readings: measured 100 ns with
these where a reading takes 37 (PostgreSQL 15 and 18)."""

MATTERS = 0.05
"""[P] Share of the users' time from which it counts."""

NAMED = 0.1
"""Part of all that a setting must cause to be named."""

_OFF: Mapping[str, str] = {
    "track_io_timing": "off",
    "track_wal_io_timing": "off",
    "pg_stat_statements.track": "none",
    "auto_explain.log_analyze": "off",
}
"""Settings by which the server times its work, and their values with which it does not."""

_ROWS = "pg_stat_database.target.tup_returned"


class Timed(NamedTuple):
    """What one setting causes, a second."""

    name: str
    readings: float
    """Of the clock."""
    cores: float = 0.0
    """What goes with them."""


def judge(case: Case) -> Finding | None:
    """Readings of the clock times what one costs."""
    case.needed(case.variable("track_io_timing"))
    costs = _costs(case)
    share = case.needed(share_of(case, sum(costs.values())))
    if share < MATTERS:
        return None
    total = sum(costs.values())
    names = [one.name for one, cores in costs.items() if cores >= NAMED * total]
    return Finding(
        cause="timing",
        group="setting",
        sentence=say(
            "The server times its own work ({settings}): {readings} readings of the clock a "
            "second of {each} ns each ({clock}). This takes {share} of the users' time.",
            settings=Joined([f"{name}={case.variable(name)}" for name in names]),
            readings=Number(sum(one.readings for one in costs)),
            each=Number(1e9 * clock_s(case)),
            clock=_clock(case) or _UNKNOWN,
            share=Percent(share),
        ),
        evidence=(
            *(
                case.seen(plain(one.name), one.readings, say("readings of the clock a second"))
                for one in costs
            ),
            case.seen(say("time of a reading"), 1e9 * clock_s(case), say_in("unit", "ns")),
        ),
        share=share,
        confidence=0.5,
        remedy=say(
            "Switch off what nobody reads; where the host has tsc as a clock source, it makes "
            "readings cheap (pg_test_timing measures them)."
        ),
        trial=dynamic(case, {name: _OFF[name] for name in names}, say("timing its own work")),
        acts_on="server CPU",
    )


_UNKNOWN = say("clock source not known")


def clock_s(case: Case) -> float:
    """Seconds of a reading; of an unknown clock source those of a quick one."""
    clock = _clock(case)
    return QUICK_S if clock is None or clock in QUICK_CLOCKS else SLOW_S


def _clock(case: Case) -> str | None:
    """The clock source of the server's host; `None`: not known."""
    host = target_of(case.environment, case.step.variant, [case.step]).get("host") or {}
    found = host.get("known", {}).get("clocksource")
    return None if found is None else str(found)


def _costs(case: Case) -> dict[Timed, float]:
    """By setting that is on, the cores that it takes."""
    found = (_pages(case), _log(case), _statements(case), _plans(case))
    each_s = clock_s(case)
    return {one: one.readings * each_s + one.cores for one in found if one is not None}


def _pages(case: Case) -> Timed | None:
    """Each read and each write of a page by a session: before and after."""
    if not case.is_on("track_io_timing"):
        return None
    names = ("pg_stat_database.blks_read", "pg_stat_io.client.relation.writes")
    return Timed("track_io_timing", 2 * sum(case.rate(name) or 0.0 for name in names))


def _log(case: Case) -> Timed | None:
    """Each write and each sync of the WAL."""
    if not case.is_on("track_wal_io_timing"):
        return None
    counted = (wal.writes(case), wal.syncs(case))
    return Timed("track_wal_io_timing", 2 * sum(one.per_s for one in counted if one))


def _statements(case: Case) -> Timed | None:
    """Each statement, before and after; without the extension there is no such setting.

    What keeping the sums costs is not counted: next to the noise of these runs no pair
    of runs with and without them showed it.
    """
    if case.variable("pg_stat_statements.track") in (None, "none"):
        return None
    return Timed("pg_stat_statements.track", 2 * (case.step.qps or 0.0))


def _plans(case: Case) -> Timed | None:
    """Each row that a plan's lowest nodes give; those above come on top."""
    if not case.is_on("auto_explain.log_analyze") or not case.is_on("auto_explain.log_timing"):
        return None
    if case.variable("auto_explain.log_min_duration") in (None, "-1"):
        return None
    sampled = case.number("auto_explain.sample_rate")
    rows = (1.0 if sampled is None else sampled) * (case.rate(_ROWS) or 0.0)
    return Timed("auto_explain.log_analyze", 2 * rows, rows * ROW_S)


def _cores(case: Case) -> float:
    return sum(_costs(case).values())


RULE = rule_of("timing", say("the server times its own work"), judge, _cores)
