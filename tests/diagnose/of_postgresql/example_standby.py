"""Commits wait until a standby has answered."""

from __future__ import annotations

from diagnose.accounts import an_account
from diagnose.examples import Example
from diagnose.of_postgresql.figures import Figures, a_case, at
from loadstone.diagnosis.rules.postgresql import standby

_WAITS = at(
    an_account(replica=0.6, on_core=0.2),
    means={"pg_stat_replication.synchronous": 1.0, "pg_stat_replication.flush_lag_s": 0.004},
)
_NAMED = {"synchronous_standby_names": "*"}
_NONE = at(an_account(replica=0.98), tps=0.0, server_figures={"commits_per_s": 0.0})

EXAMPLES = (
    Example(
        standby.RULE,
        a_case(_WAITS, variables=_NAMED),
        a_case(at(), variables=_NAMED),
        a_case(
            Figures(
                step={"account": None},
                server_figures={"not_evaluated": {"connection_states": "the user lacks the right"}},
            ),
            variables=_NAMED,
        ),
        needs="states of the connections",
    ),
    Example(standby.RULE, a_case(_NONE, variables=_NAMED), a_case(_NONE), a_case()),
)
