"""Workers of statements that are over sooner than a process starts."""

from __future__ import annotations

from diagnose.accounts import an_account
from diagnose.examples import Example
from diagnose.of_postgresql.figures import Figures, a_case, at
from loadstone.diagnosis.rules.postgresql import parallel_workers

_WAITING = an_account(other=0.5, on_core=0.1, waiting_for_a_core=0.2)
_STATES = {"state.IPC:ExecuteGather": 5.0, "state.IPC:BgWorkerShutdown": 3.0}
_USEFUL = {"state.IPC:ExecuteGather": 7.9, "state.IPC:BgWorkerShutdown": 0.1}
_BLIND = Figures(
    server_figures={"not_evaluated": {"connection_states": "the user lacks the right"}}
)
_CHEAP = {"parallel_setup_cost": "0", "min_parallel_table_scan_size": "0"}

EXAMPLES = (
    Example(
        parallel_workers.RULE,
        a_case(at(_WAITING, means=_STATES), variables=_CHEAP),
        # Long statements, which workers make shorter.
        a_case(at(_WAITING, means=_USEFUL), variables=_CHEAP),
        a_case(_BLIND),
        needs="states of the connections",
    ),
    Example(
        parallel_workers.RULE,
        a_case(at(_WAITING, means=_STATES)),
        a_case(at(_WAITING, means={"state.IPC:HashBatchLoad": 5.0})),
        a_case(_BLIND),
        needs="states of the connections",
    ),
)
