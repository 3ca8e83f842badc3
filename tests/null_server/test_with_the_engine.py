"""What the engine reports compared with what the server did; the server's stamps are the truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from null_server.conftest import Starter
from null_server.driven import Driven, drive
from null_server.judging import QUANTILES, Try, judge, seen_once, settled, verdict
from null_server.running import Stamp, quantile

pytestmark = pytest.mark.timeout(600)  # the program may have to be built first


SERVICES: list[dict[str, Any]] = [
    {"kind": "lognormal", "median_us": 16_000, "sigma": 0.5},
    {"kind": "constant", "us": 20_000},
    {"kind": "uniform", "from_us": 10_000, "to_us": 30_000},
    {"kind": "quantiles", "points": [[0, 10_000], [0.9, 20_000], [1, 100_000]]},
]


@pytest.mark.timing
@pytest.mark.parametrize(
    "service",
    [
        pytest.param(each, id=str(each["kind"]), marks=[pytest.mark.nightly] if later else [])
        for later, each in enumerate(SERVICES)
    ],
)
def test_quantiles_are_those_of_the_stamps(start: Starter, service: dict[str, Any]) -> None:
    def step(seed: int) -> tuple[Driven, Sequence[Stamp]]:
        server = start({"seed": seed, "service": service})
        # With a constant service time all answers come at once: few users, so that none waits for
        # others.
        driven = drive(server, users=6, seconds=1.5, judged=True)
        assert driven.end.reason == "finished"
        assert driven.end.tally.succeeded == server.status()["answered"]
        return driven, server.stamps("execute")

    judge(step, *QUANTILES)


def test_an_engine_that_is_off_is_told_from_a_machine_that_is_busy() -> None:
    def steps(
        *off_us: int,
        late_us: int = 0,
        held_us: int = 0,
        waited: float = 0.0,
        owed: float = 0.0,
        held_up_us: int = 0,
    ) -> list[Try]:
        truth = 10_000_000
        rest = (late_us * 1000, held_us * 1000, waited, owed, held_up_us * 1000)
        return [Try(0.9, truth, truth + each * 1000, *rest) for each in off_us]

    assert verdict(steps(10, 20, 190, 9000, 9000)) is True
    assert verdict(steps(0, 0, 0, late_us=9000, waited=1.0)) is True, "right is right"
    assert verdict(steps(10, 20, 210, 220, 230)) is False
    assert verdict(steps(-210, -210, -210)) is False, "too early is as wrong"
    assert verdict(steps(300, 300)) is None
    assert verdict(steps(300, 300, 300, late_us=201)) is None
    assert verdict(steps(300, 300, 300, held_us=201)) is None
    assert verdict(steps(300, 300, 300, waited=0.06)) is None
    assert verdict(steps(300, 300, 300, owed=0.06)) is None
    assert verdict(steps(300, 300, 300, held_up_us=201)) is None
    assert verdict(steps(300, 300, 300, waited=0.04, owed=0.04)) is False
    assert settled(steps(200, 9000, -200, 0)) and not settled(steps(200, 9000, -201, 0))


@pytest.mark.parametrize("users", [1, 64, 1000])
def test_counts_are_exact(start: Starter, users: int) -> None:
    server = start()
    driven = drive(server, users=users, seconds=0.5)
    status = server.status()
    assert driven.end.tally.succeeded == status["executes"] == status["answered"]
    assert status["prepares"] == users
    assert (status["errors"], status["garbled"], status["owed"]) == (0, 0, 0)
    assert len(server.stamps("execute")) == status["executes"]


def test_errors_are_counted_one_by_one(start: Starter) -> None:
    deadlock = {"errno": 1213, "sql_state": "40001", "message": "Deadlock", "every": 100}
    wait = {"errno": 1205, "message": "Lock wait", "probability": 0.01}
    server = start({"seed": 5, "errors": [deadlock, wait]})
    driven = drive(server, users=8, seconds=0.5)
    status, errors = server.status(), driven.errors()
    assert errors["1213"] == status["executes"] // 100 > 0
    assert errors.total() == status["errors"]
    # Drawn for each answer that is no deadlock: six standard deviations.
    wanted = status["executes"] * 0.99 * 0.01
    assert errors["1205"] == pytest.approx(wanted, abs=6 * wanted**0.5)
    assert driven.end.tally.succeeded == status["answered"]


def test_dropped_connections_are_opened_again(start: Starter) -> None:
    server = start(
        {"service": {"kind": "constant", "us": 500}, "drops": [{"kind": "after", "answers": 20}]}
    )
    driven = drive(server, users=8, seconds=1)
    status = server.status()
    assert driven.end.reason == "finished"
    assert status["dropped"] > 8
    # The status takes one more connection; each user may have reconnected as the step ended.
    assert 0 <= status["connections"] - (8 + driven.total("reconnects") + 1) <= 8
    assert driven.end.tally.succeeded == status["answered"]


@pytest.mark.parametrize("pieces", [1, 7])
def test_answers_in_pieces_are_put_together(start: Starter, pieces: int) -> None:
    server = start({"pieces": {"bytes": pieces, "login": True}})
    driven = drive(server, users=8, seconds=0.5)
    assert driven.end.reason == "finished"
    assert driven.end.tally.succeeded == server.status()["answered"] > 0


@pytest.mark.timing
def test_a_slow_line_shows_in_the_latency(start: Starter) -> None:
    def step(_: int) -> tuple[Driven, Sequence[Stamp]]:
        server = start({"pieces": {"bytes": 50, "every_us": 8000}})
        driven = drive(server, users=4, seconds=1, judged=True)
        stamps = server.stamps("execute")
        assert quantile([stamp.took_ns for stamp in stamps], 0.5) >= 23_900_000
        return driven, stamps

    judge(step, "p50", "p90")


def test_a_stall_is_seen_once_by_each_connection(start: Starter) -> None:
    server = start(
        {"service": {"kind": "constant", "us": 1000}, "stalls": [{"at_s": 0.3, "for_s": 0.8}]}
    )
    driven = drive(server, users=8, seconds=1.5)
    seen_once(driven, server.stamps("execute"))


def test_refused_connects_are_tried_again(start: Starter) -> None:
    server = start({"refuse": [{"kind": "first", "connects": 5}]})
    driven = drive(server, users=8, seconds=0.5)
    assert driven.end.reason == "finished"
    assert server.status()["refused"] == 5
