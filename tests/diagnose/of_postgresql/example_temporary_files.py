"""Sorts that do not fit work_mem."""

from __future__ import annotations

from diagnose.accounts import an_account
from diagnose.examples import FULL_OF_SERVER, Example
from diagnose.of_postgresql.figures import Figures, a_case, at
from loadstone.diagnosis.rules.postgresql import temporary_files

_FILES: dict[str, float | None] = {
    "pg_stat_database.target.temp_files": 1600.0,
    "pg_stat_database.temp_files": 1600.0,
    "pg_stat_database.target.temp_bytes": 290e6,
    "pg_stat_database.temp_bytes": 290e6,
}
_SPILLS = at(
    an_account(on_core=0.2, waiting_for_a_core=0.7),
    tps=1600.0,
    rates=_FILES,
    host={**FULL_OF_SERVER, "memory_available_bytes": 4e9},
)
_NO_FIGURE = dict.fromkeys(name for name in _FILES if name.endswith("temp_bytes"))

EXAMPLES = (
    Example(
        temporary_files.RULE,
        a_case(_SPILLS, variables={"work_mem": "64kB"}),
        a_case(_SPILLS.but(rates={"pg_stat_database.target.temp_bytes": 1e6})),
        a_case(Figures(rates=_NO_FIGURE)),
        needs="server counter pg_stat_database.temp_bytes",
    ),
    # Of memory for a trial there is too little.
    Example(
        temporary_files.RULE,
        a_case(_SPILLS.but(host={"memory_available_bytes": 1e6})),
        a_case(),
        a_case(Figures(rates=_FILES, step={"account": None})),
        needs="the account of the users' time",
    ),
)
