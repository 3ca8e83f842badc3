"""Trials with PgBouncer between the load and the server.

Source: https://www.pgbouncer.org/config.html
"""

from __future__ import annotations

import math

from loadstone.diagnosis.context import Case
from loadstone.model.error_codes import POSTGRESQL
from loadstone.model.finding import POOLER, Setting, Trial
from loadstone.model.message import say

_SIZE = "default_pool_size"

ROOM = 2.0
"""[P] Times the connections that would use up the cores, as far as each uses what it does now."""


def through_pooler(connections: int) -> Trial:
    """A trial with a pooler that lends so many connections, each for a transaction."""
    settings = (
        Setting(name=POOLER, before=None, value="pgbouncer"),
        Setting(name=_SIZE, before=None, value=str(connections)),
    )
    subject = say("a session for each user")
    return Trial(kind="pooler", settings=settings, subject=subject, family=POSTGRESQL)


def larger_pool(case: Case, busy: float | None) -> Trial | None:
    """A trial with more connections from the run's own pooler.

    Args:
        case: of a run through a pooler.
        busy: part of the server's cores that is used; `None`: not observed.

    `None` if PgBouncer does not tell this user how many there are.
    """
    lent = case.mean("pgbouncer.sv_active")
    if lent is None:
        return None
    now = max(round(lent + (case.mean("pgbouncer.sv_idle") or 0.0)), 1)
    enough = math.ceil(ROOM * now / busy) if busy else case.users
    setting = Setting(name=_SIZE, before=str(now), value=str(min(enough, case.users)))
    if int(setting.value) <= now:
        return None
    return Trial(
        kind="pooler", settings=(setting,), subject=say("so small a pool"), family=POSTGRESQL
    )
