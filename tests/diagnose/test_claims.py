"""Claims of a step's account: they do not overlap, and findings come by them."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from diagnose.accounts import an_account, an_entry, diagnosed, first
from diagnose.examples import FULL, FULL_OF_SERVER, IDLE, SHARED
from diagnose.healthy import Made, a_case
from loadstone.diagnosis.claims import claimed
from loadstone.diagnosis.diagnose import diagnosis_of
from loadstone.diagnosis.holds import (
    CLIENT,
    CORES,
    PAGE_WAITS,
    SYNC_WAITS,
    Holds,
    part_of,
    part_of_waits,
    rest_of,
    time_at,
)
from loadstone.model.account import Account, Place
from loadstone.model.finding import Finding, Group
from loadstone.model.message import plain
from loadstone.model.observed import SHARED_HOST


def a_finding(cause: str, share: float | None, group: Group = "wait") -> Finding:
    return Finding(
        cause=cause,
        group=group,
        sentence=plain(cause),
        evidence=(),
        share=share,
        confidence=0.9,
        remedy=plain("-"),
    )


def shares(
    found: Sequence[tuple[Finding, Holds]], account: Account, made: Made | None = None
) -> dict[str, dict[Place, float]]:
    return {
        one.finding.cause: {each.place: round(each.share, 6) for each in one.finding.claims}
        for one in claimed(found, a_case((made or Made()).but(step={"account": account})))
    }


def test_what_is_left_of_a_place_is_the_general_causes() -> None:
    account = an_account(on_core=0.2, waiting_for_a_core=0.6, row_lock=0.1)
    found = [
        (a_finding("cores", 0.95, "ceiling"), rest_of(*CORES)),
        (a_finding("encryption", 0.25, "setting"), part_of(*CORES)),
    ]
    assert shares(found, account) == {
        "encryption": {"on core": 0.05, "waiting for a core": 0.15},
        "cores": {"on core": 0.15, "waiting for a core": 0.45},
    }


def test_a_share_of_time_takes_no_more_than_was_seen_at_its_places() -> None:
    account = an_account(latch=0.05, disk_write=0.1, on_core=0.85)
    found = [(a_finding("log", 0.67), time_at(*PAGE_WAITS))]
    # All is named, so what the looks did not see there did not happen.
    assert shares(found, account) == {"log": {"disk write": 0.1, "latch": 0.05}}


def test_parts_that_come_to_more_than_a_place_are_scaled_to_it() -> None:
    account = an_account(on_core=0.6)
    found = [(a_finding(name, 0.8), part_of("on core")) for name in ("one", "other")]
    assert shares(found, account) == {"one": {"on core": 0.3}, "other": {"on core": 0.3}}


@pytest.mark.parametrize("seed", range(50))
def test_claims_of_a_place_never_come_to_more_than_its_entry(seed: int) -> None:
    draw = random.Random(seed)
    places: tuple[Place, ...] = (*CORES[:2], *SYNC_WAITS, "row lock", "latch")
    entries = {place: draw.random() / len(places) for place in places}
    account = an_account(unnamed=0.0).model_copy(
        update={"entries": tuple(map(an_entry, entries, entries.values()))}
    )
    makers = (part_of, time_at, rest_of)
    found = [
        (
            a_finding(str(number), draw.random()),
            draw.choice(makers)(*draw.sample(places, draw.randint(1, 4))),
        )
        for number in range(8)
    ]
    total: dict[str, float] = {}
    for claims in shares(found, account).values():
        for place, share in claims.items():
            total[place] = total.get(place, 0.0) + share
    for entry in account.entries:
        assert total.get(entry.place, 0.0) <= entry.share + 1e-5


def test_a_counted_wait_may_be_in_what_the_looks_could_not_name() -> None:
    locks = [(a_finding("row-locks", 0.7), rest_of("row lock", is_timed=True))]
    hidden = an_account(row_lock=0.3, on_core=0.1, unnamed=0.6)
    assert shares(locks, hidden) == {"row-locks": {"row lock": 0.7}}
    by_sql = an_account("sessions", in_the_server=0.9, way=0.1)
    assert shares(locks, by_sql) == {"row-locks": {"row lock": 0.7}}


def test_steal_stands_behind_what_holds_the_users_and_behind_the_cores_own_work() -> None:
    robbed = FULL_OF_SERVER | {"cpu_steal": 0.06}
    locked = Made(host=robbed, rates={"row_lock_time_s": 13.0})
    account = an_account(row_lock=0.85, on_core=0.05, waiting_for_a_core=0.1)
    assert first(diagnosed(locked, account), 3) == ["row-locks", "cpu-bound", "steal"]


def test_errors_stand_behind_what_holds_the_users() -> None:
    account = an_account(row_lock=0.9, way=0.1)
    failing = {"errors": {"1062": 120}, "events": 10_000, "account": account}
    locked = Made(rates={"row_lock_time_s": 14.0}, host=IDLE, step=failing)
    found = diagnosis_of(a_case(locked))
    assert first(found) == ["row-locks"]


def test_two_causes_are_two_numbers_in_one_unit() -> None:
    made = Made(host=FULL_OF_SERVER, rates={"row_lock_time_s": 0.55 * 16})
    account = an_account(row_lock=0.55, on_core=0.1, waiting_for_a_core=0.3)
    one, other = diagnosed(made, account).findings[:2]
    assert (one.cause, other.cause) == ("row-locks", "cpu-bound")
    assert one.share == pytest.approx(0.55)
    assert other.share == pytest.approx(0.4)


def test_what_nobody_explains_is_named_by_its_place() -> None:
    made = Made(host=IDLE, means={"state.commit": 0.0, "threads_running": 14.0})
    found = diagnosed(made, an_account(other=0.8, on_core=0.1, way=0.1))
    assert first(found) == ["unexplained"]
    assert "another wait" in found.answer
    assert found.findings[0].share == pytest.approx(0.8)


def test_a_wait_for_a_table_that_no_state_shows_is_known_by_the_looks() -> None:
    found = diagnosed(Made(host=IDLE), an_account(table_lock=0.6, on_core=0.4))
    assert first(found) == ["table-locks"]
    assert "9.6 of 16 users (60 %) wait for a table or a global lock" in found.answer


def test_a_generator_that_waits_for_the_server_s_cores_is_theirs() -> None:
    """The figures of a real point select over TLS on two cores."""
    account = an_account(answer_unread=0.667, on_core=0.031, waiting_for_a_core=0.277)
    starved = Made(
        host=FULL, facts=SHARED, generator={"cpu_share": 0.274, "run_delay_share": 0.722}
    )
    causes = [
        (a_finding("generator", 0.9, "validity"), rest_of(*CLIENT)),
        (a_finding("encryption", 0.155, "setting"), part_of(*CORES)),
        (a_finding("cores", 0.99, "ceiling"), rest_of(*CORES)),
    ]
    found = shares(causes, account, starved)
    assert found["generator"] == {"answer unread": pytest.approx(0.275 * 0.667, abs=1e-3)}
    assert found["encryption"]["answer unread"] == pytest.approx(0.155 * 0.725 * 0.667, abs=1e-3)
    apart = starved.but(facts={SHARED_HOST: "no"})
    assert shares(causes, account, apart)["generator"] == {"answer unread": 0.667}


def test_who_else_has_the_cores_holds_the_wait_for_them_and_not_the_server_s_own_work() -> None:
    """A scan on a server that gets 2 % of the cores is not why they are full."""
    account = an_account(idle=0.75, on_core=0.03, waiting_for_a_core=0.22)
    causes = [
        (a_finding("scan", 0.9, "setting"), part_of(*CORES)),
        (a_finding("others", 0.92, "validity"), part_of_waits()),
    ]
    found = shares(causes, account)
    assert found["others"] == {"waiting for a core": pytest.approx(0.92 * 0.22)}
    assert sum(found["scan"].values()) == pytest.approx(0.9 * (0.03 + 0.08 * 0.22))


def test_rows_are_waited_for_as_long_as_the_looks_allow() -> None:
    """Waits that began before the window are counted when they end."""
    made = Made(host=IDLE, rates={"row_lock_time_s": 0.9 * 16})
    named = diagnosed(made, an_account(row_lock=0.4, on_core=0.6))
    assert named.findings[0].share == pytest.approx(0.4)
    assert "40 % of their time" in named.answer
    hidden = diagnosed(made, an_account(row_lock=0.4, on_core=0.3))
    assert "70 % of their time" in hidden.answer


def test_the_account_tells_what_is_outside_the_server() -> None:
    """Running threads that were counted while the one that counts had no core say too much."""
    full = Made(
        host=FULL, facts=SHARED, means={"threads_running": 1.5},
        generator={"cpu_share": 0.2, "run_delay_share": 0.7},
    )  # fmt: skip
    account = an_account(answer_unread=0.31, on_core=0.06, waiting_for_a_core=0.5, commit=0.13)
    assert "client-bound" not in [one.cause for one in diagnosed(full, account).findings]


def test_what_lists_of_sessions_cannot_show_is_in_one_place_with_the_work() -> None:
    by_sql = an_account("sessions", in_the_server=0.8, row_lock=0.1, way=0.1)
    causes = [
        (a_finding("log", 0.3), part_of(*PAGE_WAITS)),
        (a_finding("row-locks", 0.4), rest_of("row lock", is_timed=True)),
        (a_finding("cores", 0.9, "ceiling"), rest_of(*CORES)),
    ]
    found = {cause: sum(claims.values()) for cause, claims in shares(causes, by_sql).items()}
    assert found == {
        "log": pytest.approx(0.3), "row-locks": pytest.approx(0.4), "cores": pytest.approx(0.2),
    }  # fmt: skip


def test_an_unknown_share_stays_unknown() -> None:
    (held,) = claimed([(a_finding("general-log", None, "setting"), part_of(*CORES))], a_case())
    assert held.finding.share is None
    assert held.weight == pytest.approx(0.1 * 0.9)


def test_a_generator_on_another_host_holds_the_way() -> None:
    account = an_account(generator=0.1, way=0.8, on_core=0.1)
    apart = Made(facts={SHARED_HOST: "no"})
    causes = [(a_finding("generator", 0.9, "validity"), rest_of(*CLIENT))]
    assert shares(causes, account, apart)["generator"] == {"generator": 0.1, "way": 0.8}
