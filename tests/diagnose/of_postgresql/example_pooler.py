"""Users wait before a pooler."""

from __future__ import annotations

from typing import Any

from diagnose.accounts import an_account
from diagnose.examples import Example
from diagnose.of_postgresql.figures import Figures, a_case, at
from loadstone.diagnosis.rules.postgresql import pooler_small
from loadstone.model.account import Account

_QUEUE = an_account(admission=0.8, on_core=0.1)
_ON_THE_WAY = an_account(way=0.6, admission=0.2, on_core=0.1)
_FULL = {"cpu_user": 0.8, "cpu_sys": 0.18, "cpu_idle": 0.02}
_UNKNOWN = {"cpu_user": None, "cpu_sys": None, "cpu_idle": None}
_POOL = {
    "pgbouncer.cl_waiting": 13.0,
    "pgbouncer.sv_active": 2.0,
    "pgbouncer.sv_idle": 0.1,
    "pgbouncer.maxwait_s": 0.02,
}


def _thread(account: Account, run: float, delay: float, **more: Any) -> Figures:
    """A step through a pooler whose thread runs, and waits for a core, for so much of the time."""
    rates = {"between.thread_run_s": run, "between.thread_delay_s": delay}
    return at(account, host_rates=rates, **more)


EXAMPLES = (
    Example(
        pooler_small.RULE,
        a_case(at(_QUEUE, means=_POOL)),
        # Its sessions use all cores: more of them would wait there.
        a_case(at(_QUEUE, host=_FULL)),
        a_case(Figures(step={"account": None})),
        needs="the account of the users' time",
    ),
    # Next to it connections are idle, or the pooler's thread has no time to lend them.
    Example(
        pooler_small.RULE,
        a_case(_thread(_QUEUE, 0.3, 0.1, means=_POOL)),
        a_case(at(_QUEUE, means={**_POOL, "pgbouncer.sv_idle": 6.0})),
        a_case(Figures(step={"account": None})),
        needs="the account of the users' time",
    ),
    Example(
        pooler_small.RULE,
        a_case(_thread(_QUEUE, 0.3, 0.1)),
        a_case(_thread(_QUEUE, 0.95, 0.04)),
        a_case(Figures(step={"account": None})),
        needs="the account of the users' time",
    ),
    # Nobody sees the host: the pooler says what it makes wait all the same.
    Example(
        pooler_small.RULE,
        a_case(at(_QUEUE, host=_UNKNOWN, means=_POOL)),
        a_case(at(_QUEUE, host=_UNKNOWN, means={**_POOL, "pgbouncer.sv_idle": 6.0})),
        a_case(Figures(step={"account": None})),
        needs="the account of the users' time",
    ),
)
