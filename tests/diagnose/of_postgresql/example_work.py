"""Work on the cores besides the load's own: logging, planning, compiling, needless reading."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from diagnose.accounts import an_account
from diagnose.examples import Example
from diagnose.healthy import per_second
from diagnose.of_postgresql.figures import HEALTHY, a_case, at
from diagnose.of_postgresql.tables import a_statement, a_table, counted
from loadstone.diagnosis.context import Series, Source
from loadstone.diagnosis.rules.postgresql import (
    jit,
    logging,
    long_transaction,
    missing_index,
    plan_cache,
    planning,
    stored_programs,
    timing,
)
from loadstone.model.account import Account, Cores, Memory, MemoryOf
from loadstone.model.hot_spots import HotSpots

_ROWS = "pg_stat_database.target.tup_returned"
_FETCHED = "pg_stat_database.target.tup_fetched"
READ_WHOLE: dict[str, Any] = {
    "bytes_in": 4_000_000,
    "hot_spots": HotSpots(versions=(a_table(scanned=90_000_000),)),
}
"""What a step has that scans tables for few rows."""

_FEW: dict[str, Any] = {"step": READ_WHOLE}
SCANNED = {_ROWS: 9e6, _FETCHED: 40_000.0}
_SCANNED = {"rates": SCANNED} | _FEW
_LOOKED_UP = {"rates": {_ROWS: 5e6, _FETCHED: 4.6e6}} | _FEW
_LED = {**READ_WHOLE, "hot_spots": HotSpots(versions=(a_table(fetched=89_000_000),))}
_LED_ASTRAY: dict[str, Any] = {"rates": {_ROWS: 9e6, _FETCHED: 8.9e6}, "step": _LED}
_SLOW: dict[str, Any] = {"rates": {_ROWS: 300.0}, "step": {"qps": 300.0}}
_LOGGED = {"log_statement": "all"}
_USUAL = {"log_statement": "none", "log_duration": "off", "log_min_duration_statement": "-1"}
_COMPILED = {"jit": "on", "jit_above_cost": "0"}

_ON_CORE = an_account(on_core=0.1, waiting_for_a_core=0.2)
_INSIDE = an_account("sessions", in_the_server=0.3)
_KEPT_PLANS = a_statement()
_MANY_PARTITIONS = a_statement(
    statement="SELECT sum(n) FROM part WHERE n=?", calls=1000, plans=1000, plan_s=32.0, exec_s=9.0
)
"""3.2 of 16 users are always in the planner."""

_PLANNED: dict[str, Any] = {"hot_spots": counted(_KEPT_PLANS, _MANY_PARTITIONS)}
_LITTLE_PLANNED: dict[str, Any] = {"hot_spots": counted(_KEPT_PLANS)}
_NOT_JITTED: dict[str, Any] = {"hot_spots": counted(a_statement(jit_s=0.001))}
_UNTIMED: dict[str, Any] = {"hot_spots": counted(a_statement(plans=None, plan_s=None))}
_JITTED: dict[str, Any] = {"hot_spots": counted(_KEPT_PLANS, a_statement(jit_s=4.0))}
_FIRED = {"triggers": ("audit", "stamp"), "fired": 3_000_000, "checked": 100}
_TRIGGERS: dict[str, Any] = {"hot_spots": HotSpots(versions=(a_table(**_FIRED),))}
_MANY_CHANGED = {"pg_stat_database.target.tup_updated": 30_000.0}
_FEW_FIRED: dict[str, Any] = {
    "hot_spots": HotSpots(
        versions=(a_table(triggers=("stamp",), fired=300_000, updated=300_000, checked=0),)
    )
}
_NO_TRIGGERS: dict[str, Any] = {"hot_spots": HotSpots(versions=(a_table(fired=0, checked=100),))}
_AT_WORK = {"pg_stat_activity.active": 7.0, "pg_stat_activity.idle_in_transaction": 1.0}
_MANY_LOCKS = {**_AT_WORK, "pg_locks.held.relation": 3000.0, "pg_locks.most_of_a_session": 400.0}
_FEW_LOCKS = {**_AT_WORK, "pg_locks.held.relation": 100.0, "pg_locks.most_of_a_session": 14.0}
_NO_PLAN_TIME = "plan time of pg_stat_statements (pg_stat_statements.track_planning)"

_XMIN = "pg_stat_activity.oldest_xmin_age"
_KEPT = at(highest={_XMIN: 50_000.0, "pg_stat_activity.oldest_xmin_s": 60.0})
_SLOWER: dict[tuple[Source, str], Series] = {
    ("host", "process.cpu_user_s"): per_second(*[1.0] * 4, *[1.5] * 2, *[2.0] * 4),
    ("host", "process.cpu_sys_s"): per_second(*[0.2] * 10),
    ("load", "tps"): per_second(*[1000.0] * 10),
}


def _with_memory(each_mib: float) -> Account:
    own = MemoryOf(sessions=16.0, each=each_mib * 2**20, page_tables=3e5)
    return HEALTHY.model_copy(update={"memory": Memory(users=own, others=None)})


_TIMED_PAGES = {"track_io_timing": "on"}
_TIMED_STATEMENTS = {"pg_stat_statements.track": "top"}
_MANY: dict[str, Any] = {"rates": {"pg_stat_database.blks_read": 300_000.0}, "step": {"qps": 2e5}}
_HPET = {"targets": [{"host": {"known": {"clocksource": "hpet"}}}]}


def _beside(others: float) -> Account:
    """An account with other clients that use so many cores."""
    cores = Cores(users=1.5, others=others, own=0.1)
    return an_account(on_core=0.4).model_copy(update={"cores": cores})


EXAMPLES = (
    # A slow clock, of which pages and statements make as many readings as with a quick one.
    Example(
        timing.RULE,
        replace(a_case(at(_ON_CORE, **_MANY), variables=_TIMED_PAGES), environment=_HPET),
        a_case(at(_ON_CORE, **_MANY), variables=_TIMED_PAGES),
        a_case(variables={"track_io_timing": None}),
        needs="variable track_io_timing",
    ),
    Example(
        timing.RULE,
        replace(a_case(at(_ON_CORE, **_MANY), variables=_TIMED_STATEMENTS), environment=_HPET),
        a_case(at(_ON_CORE, **_MANY), variables=_TIMED_STATEMENTS),
        a_case(variables={"track_io_timing": None}),
        needs="variable track_io_timing",
    ),
    Example(
        logging.RULE,
        a_case(at(), variables=_LOGGED),
        a_case(at(), variables=_USUAL),
        a_case(at(), variables={"log_statement": None}),
        needs="variable log_statement",
    ),
    # Changes alone are logged: none where there are none.
    Example(
        logging.RULE,
        a_case(at(step={"writes": 20_000}), variables={"log_statement": "mod"}),
        a_case(at(step={"writes": 0}), variables={"log_statement": "mod"}),
        a_case(at(), variables={"log_statement": None}),
        needs="variable log_statement",
    ),
    Example(
        logging.RULE,
        a_case(at(), variables=_USUAL | {"log_min_duration_statement": "0"}),
        a_case(at(), variables=_USUAL | {"log_min_duration_statement": "1s"}),
        a_case(at(), variables={"log_statement": None}),
        needs="variable log_statement",
    ),
    Example(
        logging.RULE,
        a_case(at(), variables=_USUAL | {"log_min_messages": "debug2"}),
        a_case(at(), variables=_USUAL | {"log_min_messages": "debug1"}),
        a_case(at(), variables={"log_statement": None}),
        needs="variable log_statement",
    ),
    # What is prepared is parsed once.
    Example(
        logging.RULE,
        a_case(at(), variables=_USUAL | {"log_executor_stats": "on"}),
        a_case(at(), variables=_USUAL | {"log_parser_stats": "on"}),
        a_case(at(), variables={"log_statement": None}),
        needs="variable log_statement",
    ),
    # All statements, and changes alone where there are none.
    Example(
        logging.RULE,
        a_case(at(step={"reads": 90_000}), variables=_USUAL | {"pgaudit.log": "all, -misc"}),
        a_case(at(step={"writes": 0}), variables=_USUAL | {"pgaudit.log": "write, ddl"}),
        a_case(at(), variables={"log_statement": None}),
        needs="variable log_statement",
    ),
    Example(
        jit.RULE,
        a_case(at(**_SLOW), variables=_COMPILED),
        a_case(at(**_SLOW), variables=_COMPILED | {"jit": "off"}),
        a_case(at(**_SLOW), variables={"jit_above_cost": None}),
        needs="variable jit_above_cost",
    ),
    # A compiler would take memory.
    Example(
        jit.RULE,
        a_case(at(_with_memory(12.0), **_SLOW), variables=_COMPILED),
        a_case(at(_with_memory(1.3), **_SLOW), variables=_COMPILED),
        a_case(at(**_SLOW), variables={"jit_above_cost": None}),
        needs="variable jit_above_cost",
    ),
    # The rows that are read explain the CPU.
    Example(
        jit.RULE,
        a_case(at(**_SLOW), variables=_COMPILED),
        a_case(at(rates={_ROWS: 9e6}, step={"qps": 300.0}), variables=_COMPILED),
        a_case(at(**_SLOW), variables={"jit_above_cost": None}),
        needs="variable jit_above_cost",
    ),
    Example(
        plan_cache.RULE,
        a_case(at(step=_UNTIMED), variables={"plan_cache_mode": "force_custom_plan"}),
        a_case(at(step=_UNTIMED), variables={"plan_cache_mode": "auto"}),
        a_case(at(), variables={"plan_cache_mode": None}),
        needs="variable plan_cache_mode",
    ),
    # Where planning is timed, that time counts: a plan of a second table takes longer.
    Example(
        plan_cache.RULE,
        a_case(at(step=_PLANNED), variables={"plan_cache_mode": "force_custom_plan"}),
        a_case(at(step=_LITTLE_PLANNED), variables={"plan_cache_mode": "force_custom_plan"}),
        a_case(at(), variables={"plan_cache_mode": None}),
        needs="variable plan_cache_mode",
    ),
    Example(
        planning.RULE,
        a_case(at(step=_PLANNED)),
        a_case(at(step=_LITTLE_PLANNED)),
        a_case(at(step=_UNTIMED)),
        needs=_NO_PLAN_TIME,
    ),
    # Statements change many rows each, whose triggers write none: they are fired, and no more.
    Example(
        stored_programs.RULE,
        a_case(at(step=_TRIGGERS, rates=_MANY_CHANGED)),
        a_case(at(step=_FEW_FIRED, rates=_MANY_CHANGED)),
        a_case(at(step={"hot_spots": HotSpots(versions=(a_table(fired=None),))})),
    ),
    # Each changed row fires two triggers, or none.
    Example(
        stored_programs.RULE,
        a_case(at(step=_TRIGGERS)),
        a_case(at(step=_NO_TRIGGERS)),
        a_case(at(step={"hot_spots": HotSpots(versions=(a_table(fired=None),))})),
    ),
    # Nobody times planning, and a transaction has hundreds of partitions and indexes locked.
    Example(
        planning.RULE,
        replace(a_case(at(means=_MANY_LOCKS, step=_UNTIMED)), drive={"protocol": "text"}),
        replace(a_case(at(means=_FEW_LOCKS, step=_UNTIMED)), drive={"protocol": "text"}),
        # The load has its statements prepared: they are locked as well, and may keep their plan.
        a_case(at(means=_MANY_LOCKS, step=_UNTIMED)),
        needs=_NO_PLAN_TIME,
    ),
    # A setting has them planned: that is the cause.
    Example(
        planning.RULE,
        replace(a_case(at(step=_PLANNED)), drive={"protocol": "text"}),
        a_case(at(step=_PLANNED), variables={"plan_cache_mode": "force_custom_plan"}),
        a_case(at(step=_UNTIMED)),
        needs=_NO_PLAN_TIME,
    ),
    # The server times compiling: it needs no guess by what rows do not explain.
    Example(
        jit.RULE,
        a_case(at(step=_JITTED)),
        a_case(at(**{**_SLOW, "step": {**_SLOW["step"], **_NOT_JITTED}}), variables=_COMPILED),
        a_case(at(**_SLOW), variables={"jit_above_cost": None}),
        needs="variable jit_above_cost",
    ),
    Example(
        long_transaction.RULE,
        a_case(_KEPT, seconds=_SLOWER),
        # Somebody is idle in a transaction that keeps nothing, and others' snapshots are young.
        a_case(at(highest={_XMIN: 50_000.0, "oldest_transaction_s": 60.0}), seconds=_SLOWER),
        a_case(at(means={_XMIN: None})),
        needs=f"server value {_XMIN}",
    ),
    Example(
        long_transaction.RULE,
        a_case(at(highest={"pg_replication_slots.xmin_age": 1e6}), seconds=_SLOWER),
        # At a thousand a second that is what a standby leaves between two of its messages.
        a_case(at(highest={"pg_replication_slots.xmin_age": 1.2e4}), seconds=_SLOWER),
        a_case(at(means={_XMIN: None})),
        needs=f"server value {_XMIN}",
    ),
    Example(
        long_transaction.RULE,
        a_case(at(highest={"pg_stat_activity.standby_xmin_age": 1e6}), seconds=_SLOWER),
        a_case(at(highest={"pg_stat_activity.standby_xmin_age": 1.2e4}), seconds=_SLOWER),
        a_case(at(means={_XMIN: None})),
        needs=f"server value {_XMIN}",
    ),
    # Nine million rows a second are 0.9 cores' work: other clients may have read them.
    Example(
        missing_index.RULE,
        a_case(at(_beside(0.1), **_SCANNED)),
        a_case(at(_beside(1.0), **_SCANNED)),
        a_case(at(rates={_ROWS: None})),
        needs=f"server counter {_ROWS}",
    ),
    Example(
        missing_index.RULE,
        a_case(at(**_SCANNED), variables={"random_page_cost": "256", "enable_bitmapscan": "off"}),
        a_case(at(**_LOOKED_UP), variables={"random_page_cost": "256"}),
        a_case(at(rates={_ROWS: None})),
        needs=f"server counter {_ROWS}",
    ),
    Example(
        missing_index.RULE,
        replace(
            a_case(at(**_SCANNED), variables={"plan_cache_mode": "force_generic_plan"}),
            drive={"protocol": "prepared"},
        ),
        a_case(at(**_LOOKED_UP), variables={"plan_cache_mode": "force_generic_plan"}),
        a_case(at(rates={_ROWS: None})),
        needs=f"server counter {_ROWS}",
        named="generic-plans",
    ),
    Example(
        missing_index.RULE,
        a_case(at(**_SCANNED)),
        a_case(at(**_LOOKED_UP)),
        a_case(at(rates={_ROWS: None})),
        needs=f"server counter {_ROWS}",
    ),
    # An index leads to thousands of rows for each one that is of use.
    Example(
        missing_index.RULE,
        a_case(at(**_LED_ASTRAY)),
        a_case(at(**_LOOKED_UP)),
        a_case(at(rates={_FETCHED: None})),
        needs=f"server counter {_FETCHED}",
    ),
    # On a host that is not observed the server's own clock says it.
    Example(
        jit.RULE,
        a_case(at(_INSIDE, step={**_JITTED, "host": None})),
        a_case(at(_INSIDE, step={**_NOT_JITTED, "host": None})),
        a_case(at(**_SLOW), variables={"jit_above_cost": None}),
        needs="variable jit_above_cost",
    ),
    Example(
        plan_cache.RULE,
        a_case(
            at(_INSIDE, step={**_PLANNED, "host": None}),
            variables={"plan_cache_mode": "force_custom_plan"},
        ),
        a_case(
            at(_INSIDE, step={**_LITTLE_PLANNED, "host": None}),
            variables={"plan_cache_mode": "force_custom_plan"},
        ),
        a_case(at(), variables={"plan_cache_mode": None}),
        needs="variable plan_cache_mode",
    ),
)
