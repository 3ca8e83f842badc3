"""Users that wait for syncs of the log most of the time, on a disk that syncs slowly."""

from __future__ import annotations

from diagnose.accounts import an_account
from diagnose.examples import Example
from diagnose.of_postgresql.figures import Figures, a_case, at
from loadstone.diagnosis.rules.postgresql import commit_flush

_WAITS = an_account(log_sync=0.1, commit=0.7, on_core=0.1)
_SLOW = at(_WAITS, rates={"pg_stat_wal.wal_sync": 150.0}, tps=300.0)

EXAMPLES = (
    Example(
        commit_flush.RULE,
        a_case(_SLOW),
        a_case(_SLOW, variables={"synchronous_commit": "off"}),
        a_case(at(rates={"transactions_writing": None}, server_figures={"commits_per_s": None})),
        needs="server counter commits",
    ),
    # Without an account, and on a server that does not count syncs.
    Example(
        commit_flush.RULE,
        a_case(
            Figures(
                rates={"pg_stat_wal.wal_sync": None},
                means={"state.LWLock:WALWrite": 12.0},
                host_rates={"disk.vda.flush_s": 6.0},
                step={"account": None},
            )
        ),
        a_case(Figures(step={"account": None})),
        a_case(
            Figures(
                step={"account": None},
                server_figures={"not_evaluated": {"connection_states": "the user lacks the right"}},
            )
        ),
        needs="states of the connections",
    ),
)
