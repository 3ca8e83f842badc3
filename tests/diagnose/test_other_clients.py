"""How much of the cores other clients of the server have, as the kernel counts their threads."""

from __future__ import annotations

import pytest

from diagnose.accounts import an_account, by_place, named
from diagnose.examples import FULL, FULL_OF_SERVER
from diagnose.healthy import Made, a_case
from loadstone.analyse.closed_loops import usable_cores
from loadstone.analyse.cores import LoadCores, load_cores
from loadstone.diagnosis.diagnose import diagnosis_of
from loadstone.diagnosis.holds import SYNC_WAITS
from loadstone.diagnosis.others_work import held
from loadstone.diagnosis.rules.mysql import other_clients
from loadstone.model.account import Account, Cores, DiskBytes, Disks

LONG: dict[str, float] = {"longest_statement_s": 9.0}


def made(others: float) -> Made:
    """A server that uses 3.6 of 4 cores, so many of them for other clients."""
    account = an_account(on_core=0.2, waiting_for_a_core=0.7)
    cores = Cores(users=3.4 - others, others=others, own=0.2)
    step = {"account": account.model_copy(update={"cores": cores})}
    return Made(host=FULL_OF_SERVER, step=step)


def test_sessions_that_take_the_cores_are_found_by_them_alone() -> None:
    found = other_clients.judge(a_case(made(1.0)))
    assert found
    assert found.sentence == (
        "Others use the server: other clients' sessions take 1 of its host's 4 cores. Do not "
        "compare these figures."
    )
    assert found.share == pytest.approx(1.0 / 3.88)
    assert other_clients.judge(a_case(made(0.3))) is None, "a fourteenth of the cores"


def test_a_long_statement_holds_what_it_was_counted_to_use() -> None:
    found = other_clients.judge(a_case(made(0.3).but(highest=LONG)))
    assert found
    assert found.share == pytest.approx(0.3 / 3.88)
    assert other_clients.judge(a_case(made(0.0).but(highest=LONG))) is None, "it sleeps"


def test_sessions_that_come_and_go_are_judged_by_their_statements() -> None:
    rates: dict[str, float | None] = {"questions": 40_000.0, "connections": 100.0}
    found = other_clients.judge(a_case(made(0.0).but(rates=rates)))
    assert found
    assert found.share is not None
    assert found.share > 0.4


def test_what_other_clients_use_is_neither_the_loads_capacity_nor_its_cost() -> None:
    alone, beside = load_cores(made(0.0).as_step()), load_cores(made(1.0).as_step())
    assert alone and beside
    assert beside.used == pytest.approx(alone.used - 1.0)
    assert beside.allowed == pytest.approx(alone.allowed - 1.0)
    assert beside.total == alone.total


def writing(users: float, others: float, own: float = 0.0) -> Account:
    """An account with the bytes a second that sessions, and the server's own threads, write."""
    disks = Disks(
        users=DiskBytes(read=0.0, written=users),
        others=DiskBytes(read=0.0, written=others),
        own=DiskBytes(read=0.0, written=own),
    )
    return an_account(commit=0.6, on_core=0.4).model_copy(update={"disks": disks})


def test_commits_wait_for_what_others_write_as_well() -> None:
    holds = held(a_case(Made(step={"account": writing(1e6, 3e6)})))
    assert holds
    assert [holds.part_of(place, 0.2) for place in SYNC_WAITS] == [0.75] * 3
    assert holds.part_of("waiting for a core", 0.2) == 0.2
    assert holds.part_of("generator, without a core", 0.2) == 0.2
    little = held(a_case(Made(step={"account": writing(0.0, 3e6, own=30e6)})))
    assert little and little.part_of("commit", 0.2) == pytest.approx(0.1)
    unobserved = writing(1e6, 3e6)
    disks = unobserved.disks and unobserved.disks.model_copy(update={"own": None})
    known = held(a_case(Made(step={"account": unobserved.model_copy(update={"disks": disks})})))
    assert known and known.part_of("commit", 0.2) == 0.75
    for account in (writing(0.0, 0.0), an_account(commit=0.6)):
        nothing = held(a_case(Made(step={"account": account})))
        assert nothing and nothing.part_of("commit", 0.2) == 0.0


@pytest.mark.parametrize("cause", ["other-clients", "noisy-neighbour"])
def test_users_wait_for_threads_that_wait_for_a_core_of_others(cause: str) -> None:
    """The leader of a commit group is one of those that wait for no other thread: of these three
    quarters wait for a core."""
    is_client = cause == "other-clients"
    cores = Cores(users=0.4, others=1.2 if is_client else 0.0, own=0.0)
    server = {"process_cpu_user": 1.5 if is_client else 0.4, "process_cpu_sys": 0.1}
    account = an_account(commit=0.5, waiting_for_a_core=0.3, on_core=0.1)
    made = Made(host=FULL | server, step={"account": account.model_copy(update={"cores": cores})})
    claims = by_place(named(diagnosis_of(a_case(made)), cause))
    assert claims["commit"] / 0.5 == pytest.approx(0.75 * claims["waiting for a core"] / 0.3)


def test_without_other_clients_the_load_has_no_fewer_cores_beside_a_neighbour() -> None:
    account = an_account(waiting_for_a_core=0.9, on_core=0.1)
    beside = LoadCores(0.4, 0.4, 3.6, 4.0, is_limited=False, is_shared=True)
    with_both = usable_cores(beside, account)
    assert with_both == pytest.approx(4 * account.users / (account.users + 3.6))
    assert usable_cores(beside, account, gone=1.0) > with_both
