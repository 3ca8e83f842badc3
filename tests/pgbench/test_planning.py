"""The engine's plan of a command line."""

from __future__ import annotations

import pytest

from loadstone.lab.step.shards import cores
from loadstone.model.error_codes import POSTGRESQL
from loadstone.model.plan import Closed, Open
from loadstone.model.quantity import LONGEST_S
from loadstone.model.target import Endpoint, Target
from loadstone.pgbench.planning import Planned, plan_of
from pgbench.made import benchmark

ELSEWHERE = Target(host="db1", user="u", database="d", family=POSTGRESQL)


def planned(words: str = "") -> Planned:
    return plan_of(benchmark(words), Endpoint(target=ELSEWHERE), 3, 42)


def test_transactions_of_each_client() -> None:
    plan = planned("-c 4 -t 20").plan
    assert (plan.ladder, plan.events, plan.events_of_each_user) == ((4,), 20, True)
    assert (plan.duration_s, plan.warmup_s, plan.drive.drain_s) == (LONGEST_S, 0, LONGEST_S)
    assert plan.drive.arrival == Closed()
    assert plan.drive.on_error == "end_user"
    assert plan.drive.restart_on == ("40001", "40P01")
    assert plan.drive.max_tries == 1


def test_a_duration_with_a_rate_and_a_limit() -> None:
    made = planned("-T 60 -R 100 -L 20 --max-tries=0")
    assert (made.plan.duration_s, made.plan.events) == (60, None)
    assert isinstance(made.plan.drive.arrival, Open)
    assert made.plan.drive.arrival.latest_start_s == 0.02
    assert (made.plan.drive.max_tries, made.plan.drive.tries_within_s) == (None, 0.02)
    assert (made.kinds.latency, made.kinds.limit_ns, made.kinds.retries) == ("response", 2e7, True)


def test_tries_are_limited_by_the_end_of_the_run_at_least() -> None:
    def limits(words: str) -> tuple[int | None, float | None]:
        drive = planned(words).plan.drive
        return drive.max_tries, drive.tries_within_s

    assert limits("-T 60 --max-tries=0") == (2**32 - 1, None)
    assert limits("-L 20") == (1, None)
    # Messages say how much of the limit is used.
    assert limits("-L 20 --verbose-errors") == (1, 0.02)


def test_a_rate_that_no_loop_has_is_the_highest() -> None:
    (rate,) = planned("-R 1e9").plan.rates
    assert rate.rate == 1e7


@pytest.mark.parametrize(
    ("mode", "protocol", "in_text"),
    [("simple", "text", True), ("extended", "extended", False), ("prepared", "prepared", False)],
)
def test_how_statements_are_sent(mode: str, protocol: str, in_text: bool) -> None:
    plan = planned(f"-M {mode}").plan
    assert plan.workload.pgbench is not None
    assert (plan.drive.protocol, plan.workload.pgbench.in_text) == (protocol, in_text)


def test_a_script_alone_has_its_variables() -> None:
    made = planned("-D a=x -D random_seed=9 -S")
    spec = made.plan.workload.pgbench
    assert spec is not None
    assert spec.variables["scale"] == "3"
    assert spec.variables["a"] == "x"
    assert spec.variables["random_seed"] == "9"
    assert spec.variables["default_seed"].isdecimal()
    assert planned("-S").plan.workload.pgbench != spec
    assert planned("-S").plan == planned("-S").plan
    assert (made.plan.mix, made.scripts, made.kinds.members) == ((), (0,), ())


def test_scripts_are_drawn_by_their_weights_and_those_of_weight_0_never() -> None:
    made = planned("-S -b tpcb@0 -b si@3")
    assert made.scripts == (0, 2)
    assert [(one.name, one.weight) for one in made.plan.mix] == [("script-1", 1), ("script-3", 3)]
    assert made.kinds.members == ("script-1", "script-3")


def test_figures_that_cost_something_are_asked_for_only_where_they_are_needed() -> None:
    def costs(words: str) -> tuple[bool, bool, float, bool]:
        made = planned(words)
        drive = made.plan.drive
        by_command, draws = drive.figures_by_command, made.draws is not None
        return by_command, drive.event_log, drive.event_log_share, draws

    assert costs("") == (False, False, 1, False)
    assert costs("-r --failures-detailed") == (True, False, 1, False)
    assert costs("-l --sampling-rate=0.1") == (False, True, 0.1, False)
    assert costs("--failures-detailed --max-tries=2") == (False, True, 1, False)
    detailed = "-l --sampling-rate=0.1 --failures-detailed --max-tries=2"
    assert costs(detailed) == (False, True, 1, True)


def test_threads_are_the_most_event_loops() -> None:
    assert planned("-c 64").plan.drive.shards == 1
    assert planned("-c 64 -j 64").plan.drive.shards == cores()


def test_a_new_connection_for_each_transaction() -> None:
    assert planned("-C").plan.drive.reconnect_after == 1
    assert planned().plan.drive.reconnect_after is None
