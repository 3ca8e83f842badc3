"""How much of the users' time is planning and compiling, by what pg_stat_statements counted."""

from __future__ import annotations

import pytest

from diagnose.accounts import an_account
from diagnose.of_postgresql.figures import Figures, a_case, at
from diagnose.of_postgresql.tables import a_statement
from loadstone.diagnosis.rules.postgresql import jit, planning
from loadstone.model.account import Account
from loadstone.model.hot_spots import CountedStatement, HotSpots

FULL = {"cpu_user": 0.8, "cpu_sys": 0.18, "cpu_idle": 0.02}
TWO_CORES: dict[str, float | None] = {**FULL, "process_cpu_user": 1.8, "process_cpu_sys": 0.2}


def a_step(
    account: Account,
    *statements: CountedStatement,
    rest: CountedStatement | None = None,
    host: dict[str, float | None] | None = None,
) -> Figures:
    """A step of ten seconds with these statements."""
    spots = HotSpots(counted=statements, counted_rest=rest)
    return at(account, step={"hot_spots": spots}, host=host or {})


def planned(step: Figures, place: str = "on core") -> float:
    """The part of a place that planning holds."""
    assert planning.RULE.holds_in is not None
    holds = planning.RULE.holds_in(a_case(step))
    assert holds is not None
    return {str(name): part for name, part in holds.parts.items()}[place]


@pytest.mark.parametrize("place", ["admission", "log_sync", "commit", "commit_delay", "replica"])
def test_who_waits_before_or_after_a_statement_is_not_in_its_time(place: str) -> None:
    account = an_account("threads", None, on_core=0.035, **{place: 0.6})
    assert planned(a_step(account, a_statement(exec_s=12.8, plan_s=3.2))) == pytest.approx(0.2)


def test_who_waits_within_a_statement_is_not_at_work() -> None:
    account = an_account(on_core=0.1, row_lock=0.4, disk_read=0.2)
    # 9.6 of the 11.2 users in statements wait for rows and disks, and 0.4 are in the planner.
    found = planned(a_step(account, a_statement(exec_s=108.0, plan_s=4.0)))
    assert found == pytest.approx(0.25)


def test_where_no_threads_were_seen_users_in_the_planner_are_no_cores() -> None:
    account = an_account(view="sessions", in_the_server=1.0)
    statement = a_statement(exec_s=120.0, plan_s=40.0)
    found = planned(a_step(account, statement, host=TWO_CORES), "in the server")
    assert found == pytest.approx(0.25)
    compiled = a_statement(exec_s=160.0, plan_s=0.0, jit_s=40.0)
    finding = jit.RULE.judge(a_case(a_step(account, compiled, host=TWO_CORES)))
    assert finding is not None
    assert finding.share == pytest.approx(0.25)


def test_statements_that_are_not_shown_had_their_part_of_the_cores() -> None:
    account = an_account(on_core=0.1, waiting_for_a_core=0.9)
    rest = a_statement(statement="", exec_s=70.0, plan_s=10.0)
    found = planned(a_step(account, a_statement(exec_s=60.0, plan_s=20.0), rest=rest))
    assert found == pytest.approx(30.0 / 160.0)
