"""A full line: which direction it is about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diagnose.accounts import an_account, named
from diagnose.examples import IDLE, SHARED
from diagnose.healthy import Made, a_case
from loadstone.analyse.ceilings import ceilings
from loadstone.diagnosis.diagnose import diagnosis_of
from loadstone.diagnosis.rules import latency_bound, line_full
from loadstone.model.account import Trips
from loadstone.model.ceilings import Limits
from loadstone.model.records import LatencyNs
from loadstone.model.result import LatencyMs, TargetShare


@pytest.mark.parametrize(
    ("into", "out", "direction"),
    [(1e6, 118e6, "network from the server"), (118e6, 1e6, "network to the server")],
)
@pytest.mark.parametrize("speed", ["1000", None])
def test_the_direction_that_is_full_is_the_one_that_a_remedy_is_about(
    into: float, out: float, direction: str, speed: str | None
) -> None:
    """By the line's known speed, and by bytes that stay level where it is not known."""
    figures = {"net_bytes_in_per_s": into, "net_bytes_out_per_s": out}
    facts = {"nic.eth0.speed_mbit": speed} if speed else {"nic.eth0.virtual": "yes"}
    made = Made(host=IDLE | figures, facts=facts, means={"threads_running": 2.0})
    case = a_case(made.but(users=4), made)
    found = {one.step: one for one in ceilings(case.ladder, Limits())}
    finding = line_full.RULE.judge(replace(case, ceilings=found))
    assert finding is not None and finding.acts_on == direction
    known = f"The line {direction.removeprefix('network ')} is full"
    assert (known in finding.sentence) == (speed is not None)


def test_a_full_line_to_the_server_does_not_bound_what_its_remedy_brings() -> None:
    """The unix socket passes by the line: 118 of 125 MB/s would allow 6 % more."""
    figures = {"net_bytes_in_per_s": 118e6, "net_bytes_out_per_s": 1e6}
    target = TargetShare(
        target="mysql://u@127.0.0.1:3306/db", server_version=None, events=1, queries=1, errors=0,
        connect_failures=0, users=16,
    )  # fmt: skip
    made = Made(
        host=IDLE | figures,
        facts={"nic.eth0.speed_mbit": "1000", **SHARED},
        step={"account": an_account(way=0.9, on_core=0.1), "targets": (target,)},
    )
    case = a_case(made, variables={"socket": "/run/mysqld/mysqld.sock"})
    found = {one.step: one for one in ceilings(case.ladder, Limits())}
    full = named(diagnosis_of(replace(case, ceilings=found)), "line-full")
    assert full.trial is not None and full.trial.settings[0].name == "connect"
    assert full.foretold is not None and full.foretold.tps > 1100


@pytest.mark.parametrize("kind", ["read", "write"])
def test_a_queue_on_the_line_is_seen_by_whatever_statements_there_are(kind: str) -> None:
    """A line that nobody knows the speed of, and a load that only writes."""
    spread = LatencyMs.from_ns(LatencyNs(count=2672, min=140_000, p50=3_400_000, p99=6_900_000))
    figures = {"net_bytes_in_per_s": 375e3, "net_bytes_out_per_s": 252e3}
    made = Made(
        host=IDLE | figures,
        facts={"nic.eth0.virtual": "yes"},
        means={"threads_running": 1.0},
        step={"statements": {kind: spread}, "account": an_account(way=0.94, on_core=0.03)},
    )
    finding = line_full.RULE.judge(a_case(made))
    assert finding is not None and finding.cause == "line-full"
    unhurried = LatencyMs.from_ns(LatencyNs(count=9, min=3_000_000, p50=3_400_000, p99=6_900_000))
    both = made.but(step={**made.step, "statements": {kind: spread, "other": unhurried}})
    assert line_full.RULE.judge(a_case(both)) is None


def test_a_line_that_is_full_some_of_the_time_shows_in_what_was_seen_on_the_way() -> None:
    """The figures of a line of 214 Mbit/s for six users of oltp_read_write (MySQL 5.7)."""
    reads = LatencyMs.from_ns(LatencyNs(count=43560, min=26_000, p50=242_000, p99=1_500_000))
    figures = {"net_bytes_in_per_s": 1.4e6, "net_bytes_out_per_s": 25.7e6}
    account = an_account(way=0.35, answer_unread=0.2, on_core=0.16, waiting_for_a_core=0.25)
    made = Made(
        tps=622.0,
        host=IDLE | figures,
        facts={"nic.eth0.virtual": "yes"},
        means={"threads_running": 6.0},
        step={"statements": {"read": reads}, "account": account, "seconds": 5.0},
    )
    finding = line_full.RULE.judge(a_case(made))
    assert finding is not None and finding.cause == "line-full"
    inside = account.model_copy(update={"view": "sessions"})
    assert line_full.RULE.judge(a_case(made.but(step={**made.step, "account": inside}))) is None


def behind(ms: float, usual: float, least: float, host: str = "10.0.0.2") -> Made:
    """Eleven users whose statements are on the way for so long, all of them alike."""
    spread = LatencyMs.from_ns(LatencyNs(count=804, min=int(0.8e6 * ms), p50=int(1e6 * ms)))
    trips = Trips(usual=usual, least=least)
    account = an_account(way=0.995, on_core=0.004).model_copy(update={"users": 11, "trips": trips})
    rate = 11_000 / ms
    target = TargetShare(
        target=f"mysql://u@{host}:3306/db", server_version=None, events=1, queries=1, errors=0,
        connect_failures=0, users=11,
    )  # fmt: skip
    return Made(
        users=11,
        tps=rate,
        host=IDLE | {"net_bytes_in_per_s": 30e3, "net_bytes_out_per_s": 375e3},
        facts={"nic.eth0.virtual": "yes"},
        means={"threads_running": 1.0},
        step={
            "statements": {"read": spread},
            "account": account,
            "qps": rate,
            "targets": (target,),
        },
    )


def test_a_queue_that_is_never_empty_is_told_from_a_server_that_is_far_away() -> None:
    """No statement is quick in either, but the first packets of a connection are."""
    for full in (behind(68, 0.067, 0.0001), behind(12, 0.011, 0.00005)):
        finding = line_full.RULE.judge(a_case(full))
        assert finding is not None and finding.share == pytest.approx(0.995, abs=0.01)
        found = latency_bound.RULE.judge(a_case(full))
        assert found is None or found.cause == "few-users"


@pytest.mark.parametrize(
    "far",
    [
        behind(68, 0.067, 0.066),
        behind(68, 0.0002, 0.0001),  # a relay that acknowledges at once
        behind(68, 0.01, 0.0001),
        behind(12, 0.012, 0.00005, host="127.0.0.1"),  # a relay whose answers acknowledge
    ],
)
def test_a_server_that_is_far_away_is_no_full_line(far: Made) -> None:
    assert line_full.RULE.judge(a_case(far)) is None
    found = latency_bound.RULE.judge(a_case(far))
    assert found is not None and found.cause == "far-away"


def test_a_protocol_without_compression_is_told_nothing_of_it() -> None:
    figures = {"net_bytes_in_per_s": 1e6, "net_bytes_out_per_s": 118e6}
    target = TargetShare(
        target="postgresql://u@db1/db", server_version=None, events=1, queries=1, errors=0,
        connect_failures=0, users=16,
    )  # fmt: skip
    made = Made(
        host=IDLE | figures,
        facts={"nic.eth0.virtual": "yes"},
        means={"threads_running": 2.0, "state.Client:ClientWrite": 12.0},
        step={"targets": (target,)},
    )
    finding = line_full.RULE.judge(a_case(made.but(users=4), made))
    assert finding is not None and finding.trial is None
    assert "compression" not in finding.remedy
    assert "state.Client:ClientWrite" in {one.counter for one in finding.evidence}
