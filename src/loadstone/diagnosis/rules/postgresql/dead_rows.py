"""Statements come past versions of rows that nobody can see, which VACUUM has not removed.

Sources: https://www.postgresql.org/docs/current/routine-vacuuming.html#VACUUM-FOR-SPACE-RECOVERY
and https://www.postgresql.org/docs/current/routine-vacuuming.html#AUTOVACUUM
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from loadstone.analyse.postgresql.durations import seconds_of
from loadstone.diagnosis.context import Case, Missing
from loadstone.diagnosis.cpu import parts_of_work
from loadstone.diagnosis.holds import CORES, Holds, part_of, priced
from loadstone.diagnosis.rule import Rule
from loadstone.diagnosis.rules.postgresql import long_transaction, versions
from loadstone.diagnosis.users_time import time_of
from loadstone.model.account import Place
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Evidence, Finding
from loadstone.model.hot_spots import TableVersions
from loadstone.model.message import Message, plain, say, say_in, sentences

MATTERS = 0.05
"""[P] Share of the users' time from which it is more than a note."""

_USUAL_NAPTIME_S = 60.0
"""[S] The default of autovacuum_naptime."""


def judge(case: Case) -> Finding | None:
    """Dead versions that statements come past, and whether autovacuum should have removed them."""
    found = case.needed(versions.tables(case))
    met = case.needed(versions.visits(case))
    share = case.needed(time_of(case, _parts(case, met)))
    worst = max(found, key=versions.visited, default=None)
    if worst is None or not worst.dead or not case.tps or _is_kept(case):
        return None
    behind = is_behind(case, worst)
    if share < MATTERS and not (behind and worst.dead > worst.live):
        return None
    return Finding(
        cause="autovacuum-behind" if behind else "dead-rows",
        group="setting" if share >= MATTERS else "note",
        sentence=sentences(*_said(case, worst, met, share, behind=behind)),
        evidence=tuple(_evidence(case, worst, met)),
        share=share,
        confidence=0.8,
        remedy=_remedy(case, worst, share, behind=behind),
        acts_on="server CPU",
    )


def _is_kept(case: Case) -> bool:
    """Whether an old transaction or a slot keeps them, so that no VACUUM removes any."""
    try:
        return long_transaction.keeps_most(case)
    except Missing:  # nobody may see sessions here: then it is not known of any
        return False


def is_behind(case: Case, one: TableVersions) -> bool:
    """Whether autovacuum should have cleaned a table up, and has not.

    It comes by once in autovacuum_naptime, so what came on top since then is not late.
    """
    if one.dead <= one.vacuum_due:
        return False
    if not is_on(case, one):
        return True
    naptime_s = seconds_of(case.variable("autovacuum_naptime")) or _USUAL_NAPTIME_S
    grows = max(versions.per_s(case, one.dead - one.dead_before) or 0.0, 0.0)
    return one.dead > one.vacuum_due + grows * naptime_s


def is_on(case: Case, one: TableVersions) -> bool:
    """Whether autovacuum may clean a table up."""
    return case.is_on("autovacuum") is not False and one.autovacuum


def _said(
    case: Case, worst: TableVersions, met: versions.Visits, share: float, *, behind: bool
) -> Iterator[Message]:
    yield say(
        "Table {table} has {dead} dead versions of rows and {live} live rows; each event "
        "passes {visits} dead ones, in scans and by entries of indexes.",
        table=worst.table,
        dead=Number(worst.dead),
        live=Number(worst.live),
        visits=Number(met.passed(are_kept=False) / case.tps),
    )
    if not is_on(case, worst):
        yield say("Autovacuum is off, so nothing removes them.")
    elif behind:
        yield say(
            "Autovacuum is due from {due} on and is behind: {more} more were added during the "
            "step.",
            due=Number(worst.vacuum_due),
            more=Number(max(worst.dead - worst.dead_before, 0)),
        )
    else:
        yield say("Autovacuum is due from {due} on.", due=Number(worst.vacuum_due))
    yield say("This takes {share} of the users' time.", share=Percent(share))


def _evidence(case: Case, worst: TableVersions, met: versions.Visits) -> Iterator[Evidence]:
    yield case.seen(
        plain("pg_stat_user_tables.n_dead_tup"),
        worst.dead,
        say_in("unit", "rows"),
        worst.vacuum_due,
    )
    yield case.seen(say("dead versions passed in scans"), met.in_scans, say_in("unit", "/s"))
    yield case.seen(say("pages of scans that hold them"), met.pages, say_in("unit", "pages/s"))
    yield case.seen(say("index entries without a row"), met.by_entries, say_in("unit", "/s"))


def _remedy(case: Case, worst: TableVersions, share: float, *, behind: bool) -> Message:
    if not is_on(case, worst):
        return say(
            "VACUUM {table}, and switch autovacuum on (autovacuum, and the table's own "
            "autovacuum_enabled).",
            table=worst.table,
        )
    if behind:
        return say(
            "VACUUM {table}. Let autovacuum work faster: autovacuum_vacuum_cost_delay=0 or a "
            "higher autovacuum_vacuum_cost_limit, a shorter autovacuum_naptime, and more "
            "autovacuum_max_workers where several tables wait.",
            table=worst.table,
        )
    fewer = max(round(worst.dead * MATTERS / share), 1)
    return say(
        "VACUUM {table}, and let autovacuum come earlier: ALTER TABLE {table} SET "
        "(autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = {fewer}).",
        table=worst.table,
        fewer=fewer,
    )


def _parts(case: Case, met: versions.Visits) -> Mapping[Place, float]:
    return parts_of_work(case, met.cores(are_kept=False))


def _holds(case: Case) -> Holds | None:
    """The work of coming past them, and as large a part of the wait for a core."""
    met = versions.visits(case)
    parts = _parts(case, met) if met else {}
    return priced(parts) if parts else None


RULE = Rule(
    "dead-rows",
    say("dead rows"),
    judge,
    also={"autovacuum-behind": say("autovacuum is behind")},
    holds=part_of(*CORES, is_priced=True),
    holds_in=_holds,
)
