"""Users that wait for rows, for tables, and for deadlocks to be found."""

from __future__ import annotations

from diagnose.accounts import an_account
from diagnose.examples import Example
from diagnose.of_postgresql.figures import Figures, a_case, at
from loadstone.diagnosis.rules.postgresql import (
    deadlocks,
    row_locks,
    serialization_failures,
    table_locks,
)

_HOT = an_account(row_lock=0.5, on_core=0.1)
_TABLE = an_account(table_lock=0.4, on_core=0.1)
_BLIND = Figures(
    step={"account": None},
    means={"row_lock_current_waits": None},
    server_figures={"not_evaluated": {"connection_states": "the user lacks the right"}},
)
_LOCKED = at(_HOT, rates={"pg_stat_database.deadlocks": 2.0})

EXAMPLES = (
    Example(
        row_locks.RULE,
        a_case(at(_HOT)),
        a_case(at(an_account(row_lock=0.02))),
        a_case(_BLIND),
        needs="the account of the users' time",
    ),
    # Somebody else's transaction is far older than the load's own.
    Example(
        row_locks.RULE,
        a_case(at(_HOT, means={"oldest_transaction_s": 30.0})),
        a_case(at(an_account(row_lock=0.02), means={"oldest_transaction_s": 30.0})),
        a_case(_BLIND),
        needs="the account of the users' time",
    ),
    Example(
        table_locks.RULE,
        a_case(at(_TABLE, means={"state.Lock:relation": 6.0})),
        a_case(at(means={"state.Lock:relation": 0.5})),
        a_case(_BLIND),
        needs="states of the connections",
    ),
    Example(table_locks.RULE, a_case(at(_TABLE)), a_case(at(_HOT)), a_case()),
    Example(
        deadlocks.RULE,
        a_case(_LOCKED),
        a_case(_LOCKED, variables={"deadlock_timeout": "10ms"}),
        a_case(_LOCKED, variables={"deadlock_timeout": None}),
        needs="variable deadlock_timeout",
    ),
    Example(
        serialization_failures.RULE,
        a_case(
            at(step={"errors": {"40001": 5000}, "restarts": 5000}),
            variables={"default_transaction_isolation": "serializable"},
        ),
        a_case(at(step={"errors": {"40001": 50, "40P01": 5000}, "restarts": 5050})),
        a_case(),
    ),
    # A standby counts those that its recovery has cancelled.
    Example(
        serialization_failures.RULE,
        a_case(
            at(
                step={"errors": {"40001": 5000}, "restarts": 5000},
                rates={"pg_stat_database.target.conflicts": 500.0},
            )
        ),
        a_case(at(step={"errors": {"40001": 50}, "restarts": 50})),
        a_case(),
        named="recovery-conflicts",
    ),
)
