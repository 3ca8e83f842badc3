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
_LENT = "pgbouncer.sv_active"

ROOM = 2.0
"""[P] Times the connections that would use up the cores, as far as each uses what it does now."""


def through_pooler(case: Case, peak: Case) -> Trial | None:
    """A trial with a pooler that lends as many connections as the peak has users.

    Each is lent for a transaction. The pooler takes cores itself: without an effect the sessions
    may be too many all the same. `None` if the run came through one.
    """
    if _is_pooled(case) or peak.users >= case.users:
        return None
    settings = (
        Setting(name=POOLER, before=None, value="pgbouncer"),
        Setting(name=_SIZE, before=None, value=str(peak.users)),
    )
    return Trial(
        kind="pooler",
        settings=settings,
        subject=say("a session for each user"),
        family=POSTGRESQL,
        refutes=False,
    )


def _is_pooled(case: Case) -> bool:
    """Whether the load came through a pooler, as that says, or as the sandbox was started."""
    sandbox = case.environment.get("sandbox") or {}
    return case.mean(_LENT) is not None or bool(sandbox.get("pooler"))


def larger_pool(case: Case, busy: float | None) -> Trial | None:
    """A trial with more connections from the run's own pooler.

    Args:
        case: of a run through a pooler.
        busy: part of the server's cores that is used; `None`: not observed.

    `None` if PgBouncer does not tell this user how many there are.
    """
    lent = case.mean(_LENT)
    if lent is None:
        return None
    now = max(round(lent + (case.mean("pgbouncer.sv_idle") or 0.0)), 1)
    enough = math.ceil(ROOM * now / busy) if busy else case.users
    allowed = int(case.number("max_connections") or case.users) // 2
    setting = Setting(name=_SIZE, before=str(now), value=str(min(enough, case.users, allowed)))
    if int(setting.value) <= now:
        return None
    return Trial(
        kind="pooler", settings=(setting,), subject=say("so small a pool"), family=POSTGRESQL
    )
