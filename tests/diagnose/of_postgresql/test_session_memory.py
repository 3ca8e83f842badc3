"""Where memory or connections are short, a finding states how much memory sessions have."""

from __future__ import annotations

from dataclasses import replace

from diagnose.accounts import an_account
from diagnose.of_postgresql.figures import a_case, at
from loadstone.diagnosis.context import Case
from loadstone.diagnosis.rules import swapping
from loadstone.diagnosis.rules.postgresql import connections
from loadstone.model.account import Account, Memory, MemoryOf

HAVE = Memory(users=MemoryOf(sessions=12.0, each=3 * 2**20, page_tables=2**20), others=None)
SWAPS: dict[str, float | None] = {
    "memory.swap_in_pages": 900.0,
    "memory.swap_out_pages": 900.0,
}


def seen(memory: Memory | None) -> Account:
    return an_account(on_core=0.1).model_copy(update={"memory": memory})


def refused(memory: Memory | None, *, connected: int = 12) -> Case:
    made = at(seen(memory), step={"connect_failures": {"53300": 9}})
    case = a_case(made, variables={"max_connections": "12"})
    return replace(case, step=case.step.model_copy(update={"users": connected}))


def test_connections_that_are_refused_are_told_what_more_of_them_need() -> None:
    found = connections.RULE.judge(refused(HAVE))
    assert found is not None
    assert found.sentence.endswith(
        "Each session's process has 3 MiB of memory for itself: 4 more need 12 MiB."
    )
    assert [one.value for one in found.evidence] == [9, 3 * 2**20]
    # Nobody is left out, or nothing is known of sessions.
    for case in (refused(HAVE, connected=16), refused(None)):
        other = connections.RULE.judge(case)
        assert other is not None and "memory" not in other.sentence


def test_a_host_that_swaps_is_told_what_its_sessions_have() -> None:
    found = swapping.RULE.judge(a_case(at(seen(HAVE), host_rates=SWAPS)))
    assert found is not None
    assert found.sentence.endswith(
        "The processes of 12 sessions have 36 MiB of memory for themselves, 3 MiB each."
    )
    assert found.evidence[-1].value == 3 * 2**20
    threads = swapping.RULE.judge(a_case(at(seen(None), host_rates=SWAPS)))
    assert threads is not None and "session" not in threads.sentence
