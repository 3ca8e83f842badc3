"""More sessions at work than the cores can serve."""

from __future__ import annotations

from diagnose.examples import FULL_OF_SERVER, Example
from diagnose.of_postgresql.figures import Figures, a_case
from loadstone.diagnosis.rules.postgresql import too_many_sessions

_PEAK = Figures(users=16, tps=1000.0, host=FULL_OF_SERVER)
_CROWD = Figures(users=1024, tps=700.0, means={"threads_running": 600.0}, host=FULL_OF_SERVER)
_IDLE_CROWD = _CROWD.but(means={"threads_running": 12.0, "threads_connected": 14.0})
_IN_TURN = _CROWD.but(means={"threads_running": 3.0, "threads_connected": 1030.0})
_UNSEEN = _CROWD.but(means={"threads_running": None}, step={"account": None})

EXAMPLES = (
    Example(
        too_many_sessions.RULE,
        a_case(_PEAK, _CROWD),
        a_case(_PEAK, _IDLE_CROWD),
        a_case(_PEAK, _UNSEEN),
        needs="server value threads_running",
    ),
    # The generator waits for the same cores, and sessions for it: each comes to a core in turn.
    Example(
        too_many_sessions.RULE,
        a_case(_PEAK, _IN_TURN),
        # Others keep connections open, and do nothing with them.
        a_case(_PEAK, _IN_TURN.but(users=32)),
        a_case(_PEAK, _UNSEEN),
        needs="server value threads_running",
    ),
    # The rate falls no further than from one run to the next.
    Example(
        too_many_sessions.RULE,
        a_case(_PEAK, _CROWD),
        a_case(_PEAK, _CROWD.but(tps=950.0)),
        a_case(_PEAK, _CROWD.but(host={"cores": None})),
        needs="host's cores",
    ),
)
