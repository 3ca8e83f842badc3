"""Users wait before a pooler."""

from __future__ import annotations

from diagnose.accounts import an_account
from diagnose.examples import Example
from diagnose.of_postgresql.figures import a_case, at
from loadstone.diagnosis.rules.postgresql import pooler_small

_QUEUE = an_account(admission=0.8, on_core=0.1)

EXAMPLES = (
    Example(
        pooler_small.RULE,
        a_case(at(_QUEUE)),
        # Its sessions use all cores: more of them would wait there.
        a_case(at(_QUEUE, host={"cpu_user": 0.8, "cpu_sys": 0.18, "cpu_idle": 0.02})),
        a_case(at(_QUEUE, host={"cpu_user": None, "cpu_sys": None, "cpu_idle": None})),
        needs="host's cpu_idle",
    ),
)
