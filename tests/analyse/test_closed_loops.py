"""The rate of a step under limits that are not in force."""

from __future__ import annotations

import pytest

from analyse.made import a_step
from loadstone.analyse.closed_loops import closed_loop, under_limits
from loadstone.model.account import Account, AccountEntry, Place
from loadstone.model.ceilings import Limits
from loadstone.model.observed import SHARED_HOST
from loadstone.model.predicted import Foretold
from loadstone.model.result import GeneratorCost, HostFigures, ServerFigures, StepResult

SHARES: dict[Place, float] = {"way": 0.4, "on core": 0.2, "log sync": 0.4}
HOST = HostFigures(
    seconds=10.0, cores=4, cpu_idle=0.5, process_cpu_user=1.0, process_cpu_sys=0.6,
    facts={SHARED_HOST: "yes"},
)  # fmt: skip


def an_entry(place: Place, share: float) -> AccountEntry:
    half = 0.04 if place == "way" else None
    return AccountEntry(
        place=place,
        users=8 * share,
        share=share,
        known="sampled" if half else "counted",
        low=None if half is None else share - half,
        high=None if half is None else share + half,
    )


def the_step(**changes: object) -> StepResult:
    """8 users, 100 events a second of 80 ms, 2 of 4 cores busy."""
    account = Account(
        users=8, seconds=10.0, view="threads", looks=200.0, unnamed=0.0, beyond=0.0,
        entries=tuple(an_entry(place, share) for place, share in SHARES.items()),
    )  # fmt: skip
    generator = GeneratorCost.model_validate(
        dict.fromkeys(GeneratorCost.model_fields) | {"cpu_share": 0.2, "shards": 2}
    )
    figures = {"account": account, "host": HOST, "generator": generator, "bytes_in": 1_000_000}
    return a_step(**(figures | changes))  # type: ignore[arg-type]


def predicted(given: Limits, **changes: object) -> Foretold | None:
    return under_limits([the_step(**changes)], Limits(), given)[0].foretold


def test_the_intervals_of_shares_and_the_rate_are_their_errors() -> None:
    loop = closed_loop(the_step(tps_half_width=1.96), None)
    assert loop is not None
    assert loop.shares["way"].error == pytest.approx(0.04 / 1.96)
    assert loop.shares["on core"].error == 0.0
    assert loop.tps_error == pytest.approx(1.0)
    assert loop.cores is not None and (loop.cores.capacity, loop.cores.used) == (4, 2)
    assert loop.generator_cores == pytest.approx(0.4)


def test_a_limit_below_what_is_used_is_the_rate() -> None:
    # The server uses 1.6 cores for 100 events: 0.8 allow 50.
    found = predicted(Limits(cores=0.8))
    assert found is not None and found.now == 100
    assert found.tps == pytest.approx(50)


def test_a_line_that_is_narrower_is_the_rate() -> None:
    # 1,000 bytes an event.
    found = predicted(Limits(line_bytes_per_s=40_000))
    assert found is not None and found.tps == pytest.approx(40)


def test_slower_answers_are_longer_events() -> None:
    # One statement an event: 80 + 80 ms.
    found = predicted(Limits(answer_s=0.08))
    assert found is not None and found.tps == pytest.approx(50, rel=0.02)


def test_a_device_that_syncs_more_often_shortens_the_syncs() -> None:
    # 3.2 users sync at any moment, at 320 syncs a second: 10 ms each.
    server = ServerFigures(seconds=10.0, log_syncs_per_s=320.0, means={"setting.log_bin": 0.0})
    twice = predicted(Limits(syncs_per_s=200), server=server)
    # Half of 32 of the 80 ms.
    assert twice is not None and twice.high >= 125 >= twice.low


def test_without_a_limit_or_an_account_there_is_no_prediction() -> None:
    assert predicted(Limits()) is None
    assert predicted(Limits(cores=1), account=None) is None


def test_a_fair_scheduler_gives_the_load_cores_that_others_use() -> None:
    """The figures of a real run: others use all that the load leaves, at a lower priority."""
    host = HOST.model_copy(
        update={
            "cores": 2, "cpu_idle": 0.0, "cpu_user": 0.82, "cpu_sys": 0.18,
            "process_cpu_user": 0.2, "process_cpu_sys": 0.06,
        }
    )  # fmt: skip
    crowded = the_step(host=host)
    assert crowded.account is not None
    shares: dict[Place, float] = {"on core": 0.025, "waiting for a core": 0.19, "commit": 0.785}
    entries = tuple(an_entry(place, share) for place, share in shares.items())
    account = crowded.account.model_copy(update={"entries": entries})
    loop = closed_loop(crowded.model_copy(update={"account": account}), None)
    assert loop is not None and loop.cores is not None
    # 1.7 threads of 8 users are ready to run, next to others on the rest of the two cores.
    assert 0.9 < loop.cores.capacity < 1.2
    assert loop.cores.most == 2
