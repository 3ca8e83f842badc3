"""A full line: which direction it is about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from diagnose.accounts import an_account, named
from diagnose.examples import IDLE, SHARED
from diagnose.healthy import Made, a_case
from loadstone.analyse.ceilings import ceilings
from loadstone.diagnosis.diagnose import diagnosis_of
from loadstone.diagnosis.rules import line_full
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
