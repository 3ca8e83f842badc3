"""Row triggers and checks of foreign keys: work that each changed row brings with it.

Source: https://www.postgresql.org/docs/current/trigger-definition.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from loadstone.diagnosis.context import Case
from loadstone.diagnosis.priced_work import rule_of, share_of
from loadstone.diagnosis.rules.postgresql import versions
from loadstone.model.figure import Number, Percent
from loadstone.model.finding import Finding
from loadstone.model.hot_spots import TableVersions
from loadstone.model.message import Joined, Message, plain, say, say_in, sentences

FIRING_S = 4e-6
"""[P] CPU of a trigger's function in PL/pgSQL that does nothing: measured 3.8 µs."""

WRITTEN_S = 6e-6
"""[P] CPU of a row that a trigger's function writes to a table without an index: measured 5.8 µs in
transactions of one row, 2.1 in one of 20,000."""

CHECK_S = 6e-6
"""[P] CPU of looking for the row that a foreign key refers to, and locking it: measured 3.9 µs with
PostgreSQL 15 and 7.5 with 18."""

SHARE = 0.1
"""[P] Share of the users' time."""

_NAMED = 6
"""[P] Triggers that a sentence may name."""

_CHANGES = tuple(
    f"pg_stat_database.target.tup_{what}" for what in ("inserted", "updated", "deleted")
)


class _Fired(NamedTuple):
    """A second, of all tables."""

    triggers: float
    checks: float
    written: float
    """Rows that triggers write: those that no statement of a client changes."""

    @property
    def cores(self) -> float:
        return FIRING_S * self.triggers + WRITTEN_S * self.written + CHECK_S * self.checks


def judge(case: Case) -> Finding | None:
    """Changed rows, times the triggers and foreign keys of their tables."""
    fired = case.needed(_fired(case))
    if not fired.triggers and not fired.checks:
        return None
    share = case.needed(share_of(case, fired.cores))
    if share < SHARE:
        return None
    return Finding(
        cause="stored-programs",
        group="setting",
        sentence=sentences(*_said(case, fired, share)),
        evidence=(
            case.seen(say("row triggers that fire"), fired.triggers, say_in("unit", "/s")),
            case.seen(say("rows that they write"), fired.written, say_in("unit", "/s")),
            case.seen(say("foreign keys that are checked"), fired.checks, say_in("unit", "/s")),
        ),
        share=share,
        confidence=0.6,
        remedy=say(
            "Remove triggers that nobody needs, or make their functions cheaper; have the rows of "
            "a statement handled at once (FOR EACH STATEMENT with a transition table)."
        )
        if fired.triggers
        else say(
            "Remove foreign keys that nobody needs, or make them DEFERRABLE INITIALLY DEFERRED "
            "where rows change several times in a transaction."
        ),
        acts_on="server CPU",
    )


def _said(case: Case, fired: _Fired, share: float) -> Iterator[Message]:
    if fired.triggers:
        yield say(
            "Changed rows fire {triggers} triggers a second, which write {written} rows: {names}.",
            triggers=Number(fired.triggers),
            written=Number(fired.written),
            names=Joined(_names(case)),
        )
    if fired.checks:
        yield say("{checks} foreign keys are checked a second.", checks=Number(fired.checks))
    yield say("This takes {share} of the users' time.", share=Percent(share))


def _names(case: Case) -> list[Message]:
    """The triggers of the tables whose rows fire most."""
    tables = sorted(versions.tables(case) or (), key=_firings, reverse=True)
    names = [f"{one.table}.{name}" for one in tables if _firings(one) for name in one.triggers]
    return [plain(name) for name in names[:_NAMED]]


def _firings(one: TableVersions) -> int:
    return one.fired or 0


def _fired(case: Case) -> _Fired | None:
    """`None`: the tables' triggers were not read."""
    found = versions.tables(case)
    if found is None or not any(one.fired is not None for one in found):
        return None
    triggers = versions.per_s(case, sum(map(_firings, found))) or 0.0
    checks = versions.per_s(case, sum(one.checked or 0 for one in found)) or 0.0
    changed = sum(case.rate(name) or 0.0 for name in _CHANGES)
    # Of the tables with triggers; what others' rows are beyond the load's statements, these write.
    own = versions.per_s(case, sum(_changed(one) for one in found if one.triggers)) or 0.0
    step = case.step
    sent = step.writes / step.seconds if step.seconds else 0.0
    written = max(changed - max(own, sent), 0.0) if triggers else 0.0
    return _Fired(triggers, checks, written)


def _changed(one: TableVersions) -> int:
    return one.inserted + one.updated + one.deleted


def _cores(case: Case) -> float:
    fired = _fired(case)
    return fired.cores if fired else 0.0


RULE = rule_of("stored-programs", say("triggers, routines or events"), judge, _cores)
