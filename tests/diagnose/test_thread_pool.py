"""A pool that holds statements back, and what its threads do meanwhile."""

from __future__ import annotations

import pytest

from diagnose.accounts import an_account, diagnosed, first, named
from diagnose.examples import FULL, FULL_OF_SERVER, IDLE
from diagnose.healthy import Made, a_case, causes
from loadstone.diagnosis.context import Case, Missing
from loadstone.diagnosis.rules.mysql import thread_pool
from loadstone.model.account import Account
from loadstone.model.finding import Diagnosis

ONE_GROUP: dict[str, str | None] = {
    "thread_handling": "pool-of-threads",
    "thread_pool_size": "1",
    "thread_pool_max_threads": "65536",
}
QUEUE = Made(means={"pool_queued": 14.4, "pool_threads": 5.0})
SMALL = "thread-pool-small"
PROCESS = {"process_cpu_user": None, "process_cpu_sys": None}


def queued(**inside: float) -> Account:
    """All other users are in the pool's queue."""
    return an_account("sessions", admission=1 - sum(inside.values()), **inside)


def of_one_group(made: Made, account: Account, **variables: str | None) -> Diagnosis:
    return diagnosed(made, account, variables={**ONE_GROUP, **variables})


def lacks(found: Diagnosis, cause: str) -> list[str]:
    return [str(one.needs) for one in found.not_evaluated if one.cause == cause]


@pytest.mark.parametrize("host", [IDLE, FULL, PROCESS])
def test_whose_statements_share_the_wait_for_a_commit_is_too_small(
    host: dict[str, float | None],
) -> None:
    """Measured on two cores with 256 users, durable updates and 1, 2 and 16 groups: 2,700, 7,400
    and 10,200 a second on full cores, as 1.6, 2.7 and 10.8 transactions shared a sync."""
    found = of_one_group(QUEUE.but(host=host), queued(commit=0.25, in_the_server=0.05))
    assert first(found) == [SMALL]
    pool = named(found, SMALL)
    assert pool.sentence == (
        "11.2 of 16 users wait in the queue of the thread pool, which has 1 group: the statements "
        "that it runs spend 69 % of their time at waits that more of them would share, as a "
        "commit's, and need no core there."
    )
    assert pool.share == pytest.approx(0.7)


@pytest.mark.parametrize("host", [FULL, None])
def test_the_work_that_a_look_displaces_counts(host: dict[str, float | None] | None) -> None:
    """With one group a look has its only place, so that it sees what waits, and none at work."""
    made = QUEUE.but(step={"host": None}) if host is None else QUEUE.but(host=host)
    assert SMALL not in causes_of(of_one_group(made, queued(commit=0.05)))


def test_whose_statements_have_all_cores_is_as_it_should_be() -> None:
    """Case B's pool: most of 4,000 users are in its queue at the best rate that there is."""
    working = queued(commit=0.02, in_the_server=0.08)
    full = QUEUE.but(host=FULL_OF_SERVER)
    assert SMALL not in causes_of(of_one_group(full, working))
    free = QUEUE.but(host={**IDLE, "process_cpu_user": 0.5, "process_cpu_sys": 0.1})
    found = of_one_group(free, working)
    assert first(found) == [SMALL]
    assert (
        "the server uses 0.6 cores while 82 % of all cores are idle" in found.findings[0].sentence
    )


def test_does_not_let_more_wait_for_the_same_row() -> None:
    found = of_one_group(QUEUE.but(host=IDLE), queued(row_lock=0.25, in_the_server=0.05))
    assert SMALL not in causes_of(found)


def test_an_exporter_knows_the_cores_but_not_the_server_s_process() -> None:
    found = of_one_group(
        QUEUE.but(host={**IDLE, **PROCESS}), queued(commit=0.02, in_the_server=0.08)
    )
    assert first(found) == [SMALL]
    assert found.findings[0].sentence.endswith("which has 1 group: 82 % of all cores are idle.")


def test_without_its_host_only_what_its_statements_wait_for_tells() -> None:
    elsewhere = QUEUE.but(step={"host": None})
    named_so = of_one_group(elsewhere, queued(commit=0.25, in_the_server=0.05))
    assert first(named_so) == [SMALL]
    at_work = of_one_group(elsewhere, queued(commit=0.02, in_the_server=0.08))
    assert first(at_work) == ["not-observed"]
    assert lacks(at_work, SMALL) == ["host's cpu_idle"]


def test_a_group_for_each_core_may_be_too_few_where_they_wait() -> None:
    """The groups that would fill the cores: 4 of them use 0.4 of 4 cores."""
    made = QUEUE.but(users=64, host={**IDLE, "process_cpu_user": 0.3, "process_cpu_sys": 0.1})
    account = queued(commit=0.25, in_the_server=0.05)
    pool = named(of_one_group(made, account, thread_pool_size="4"), SMALL)
    assert pool.trial is not None
    ((size,),) = (pool.trial.settings,)
    assert (size.name, size.before, size.value) == ("thread_pool_size", "4", "40")


def test_there_are_no_more_groups_than_users_who_could_fill_them() -> None:
    made = QUEUE.but(host={**IDLE, "process_cpu_user": 0.1, "process_cpu_sys": 0.0})
    trial = named(of_one_group(made, queued(commit=0.25, in_the_server=0.05)), SMALL).trial
    assert trial and trial.settings[0].value == "16"


MARIADB, PERCONA = "10.11.19-MariaDB", "8.0.46-37"


@pytest.mark.parametrize(
    ("version", "handling", "used", "cores", "expected"),
    [
        # By size: a group for each core.
        (MARIADB, "pool-of-threads", 80.0, 112, ("dynamic", "112")),
        (MARIADB, "pool-of-threads", 80.0, 192, ("start", "192")),
        # As many as would fill the cores.
        (MARIADB, "pool-of-threads", 76.8, 96, ("dynamic", "120")),
        (MARIADB, "pool-of-threads", 19.2, 96, ("start", "480")),
        (PERCONA, "pool-of-threads", 19.2, 96, ("dynamic", "480")),
        (PERCONA, "pool-of-threads", 1.92, 96, ("dynamic", "1024")),
        ("9.7.0", "loaded-dynamically", 19.2, 96, ("start", "480")),
        ("9.7.0", "loaded-dynamically", 1.92, 96, ("start", "512")),
        ("8.0.18", "loaded-dynamically", 19.2, 96, None),
    ],
)
def test_a_larger_pool_has_so_many_groups_as_its_server_takes(
    version: str, handling: str, used: float, cores: int, expected: tuple[str, str] | None
) -> None:
    made = QUEUE.but(
        users=2000, host={**IDLE, "cores": cores, "process_cpu_user": used, "process_cpu_sys": 0.0}
    )
    account = queued(commit=0.25, in_the_server=0.05) if cores == 96 else queued(in_the_server=0.2)
    variables = {"version": version, "thread_handling": handling, "thread_pool_size": "96"}
    trial = named(of_one_group(made, account, **variables), SMALL).trial
    assert (trial and (trial.kind, trial.settings[0].value)) == expected


def test_twice_as_many_are_tried_where_nobody_knows_the_cores() -> None:
    account = queued(commit=0.5, in_the_server=0.05)
    found = of_one_group(QUEUE.but(step={"host": None}), account, thread_pool_size="4")
    trial = named(found, SMALL).trial
    assert trial and trial.settings[0].value == "8"


def test_who_waits_in_a_queue_does_not_wait_for_the_generator() -> None:
    """Its loops hardly have a core, as on the real run that this is of; nor would they need one."""
    starved = Made(step={"host": None}, generator={"cpu_share": 0.3, "run_delay_share": 0.6})
    assert first(of_one_group(starved, queued(commit=0.01, in_the_server=0.08))) == ["not-observed"]
    away = an_account("sessions", answer_unread=0.7, admission=0.2, in_the_server=0.1)
    assert first(of_one_group(starved, away)) == ["client-bound"]


def a_crowd(users: int) -> Case:
    """An exporter's view: the host's cores, and nothing of the server's process."""
    host = {**FULL, **PROCESS}
    crowd = Made(users=users, tps=700.0, means={"threads_running": 200.0}, host=host)
    return a_case(Made(users=16, host=host), crowd)


def test_a_crowd_without_a_pool_is_seen_without_the_server_s_process() -> None:
    assert "no-thread-pool" in causes(a_crowd(1024))


def test_why_fewer_are_slower_takes_the_server_s_process() -> None:
    with pytest.raises(Missing, match="process_cpu_sys"):
        thread_pool.judge(a_crowd(256))


def causes_of(found: Diagnosis) -> list[str]:
    return [one.cause for one in found.findings]
