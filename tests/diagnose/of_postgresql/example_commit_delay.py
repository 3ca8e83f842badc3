"""Who syncs sleeps before that, and the others wait for it."""

from __future__ import annotations

from diagnose.accounts import an_account
from diagnose.examples import Example
from diagnose.of_postgresql.figures import a_case, at
from loadstone.diagnosis.rules.postgresql import commit_delay

_DELAYED = an_account(commit_delay=0.05, log_sync=0.01, commit=0.85)
_SET = {"commit_delay": "10000"}

EXAMPLES = (
    Example(
        commit_delay.RULE,
        a_case(at(_DELAYED), variables=_SET),
        a_case(at(), variables={"commit_delay": "10"}),
        a_case(at(_DELAYED), variables={"commit_delay": None}),
        needs="variable commit_delay",
    ),
)
