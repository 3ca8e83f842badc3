"""A step divided into parts, and nodes that do not fit together."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.made import a_sample
from loadstone.cluster.errors import ClusterError
from loadstone.cluster.generator import host_use
from loadstone.cluster.on_ray import Node, choose
from loadstone.cluster.partition import (
    LEASE_S,
    fewest_users,
    parts_of,
    refuse_other_versions,
    refuse_too_many,
    refuse_unreachable,
    users_of,
)
from loadstone.model.cluster_nodes import ClusterCheck, Line, NodeFacts, Versions
from loadstone.model.exit_codes import ExitCode
from loadstone.model.observed import Reading
from loadstone.model.records import GeneratorPart, GeneratorState, GeneratorUse
from loadstone.model.target import Target
from loadstone.runs.generators import GeneratorSums, generator_shares

OWN = Versions(loadstone="1.0", engine="1.0")


@given(users=st.integers(1, 5000), generators=st.integers(1, 1000))
def test_users_are_split_evenly_and_none_is_left(users: int, generators: int) -> None:
    of = min(users, generators)
    shares = [users_of(number, of, users) for number in range(of)]
    assert sum(shares) == users
    assert max(shares) - min(shares) <= 1


def test_each_part_is_the_whole_step_but_for_its_number() -> None:
    whole = {"users": 5, "seed": 7, "arrival": {"kind": "open", "rate": 1000.1}}
    parts = [json.loads(part) for part in parts_of(json.dumps(whole), 3)]
    assert [part.pop("part") for part in parts] == [
        {"number": 0, "of": 3},
        {"number": 1, "of": 3},
        {"number": 2, "of": 3},
    ]
    assert parts == [whole | {"waits_for_start": True, "lease_s": LEASE_S}] * 3


def test_a_generator_without_a_user_gets_no_part() -> None:
    closed, opened = ({"kind": kind} for kind in ("closed", "open"))
    assert len(parts_of(json.dumps({"users": 2, "arrival": closed}), 8)) == 2
    mix = {"users": 5, "members": [{"users": 3}, {"users": None}]}
    assert len(parts_of(json.dumps(mix | {"arrival": closed}), 8)) == 5
    # Users dedicated to one workload take none of the events of an open loop.
    assert len(parts_of(json.dumps(mix | {"arrival": opened}), 8)) == 2


@given(
    drawn=st.integers(1, 300),
    dedicated=st.integers(0, 50),
    generators=st.integers(1, 40),
    shards=st.integers(1, 16),
    kind=st.sampled_from(["open", "closed"]),
)
def test_with_the_fewest_users_each_part_has_what_the_engine_wants_of_it(
    drawn: int, dedicated: int, generators: int, shards: int, kind: str
) -> None:
    users = drawn + dedicated
    whole = {"users": users, "shards": shards, "arrival": {"kind": kind}}
    if dedicated:
        whole["members"] = [{"users": dedicated}, {"users": None}]
    of = len(parts_of(json.dumps(whole), generators))
    fewest = fewest_users(json.dumps(whole), of)

    def part_suffices(part: int, wanted: int) -> bool:
        at_work, never_rest = users_of(part, of, wanted), users_of(part, of, dedicated)
        takes_events = users_of(part, of, users) - never_rest
        more = min(shards, takes_events) if kind == "open" else 0
        return at_work >= max(1, never_rest + more)

    def suffices(wanted: int) -> bool:
        return wanted >= dedicated and all(part_suffices(part, wanted) for part in range(of))

    assert suffices(fewest) and not suffices(fewest - 1)
    assert fewest <= users


HERE = {"10.0.0.1": "head"}
TWO = HERE | {"10.0.0.2": "other"}


def test_a_server_that_only_this_machine_reaches_is_refused() -> None:
    by_socket, loopback = Target(socket=Path("/tmp/s")), Target(host="127.0.0.1", port=3306)
    for target in (by_socket, loopback):
        refuse_unreachable([target], HERE, "head")
        with pytest.raises(ClusterError, match=r"10\.0\.0\.2 would look") as refused:
            refuse_unreachable([Target(host="db1"), target], TWO, "head")
        assert target.place in refused.value.message
    refuse_unreachable([Target(host="db1")], TWO, "head")


def test_nodes_with_another_version_are_named() -> None:
    refuse_other_versions(OWN, [("10.0.0.1", OWN)])
    other = Versions(loadstone="0.9", engine="1.0")
    with pytest.raises(ClusterError, match=r"1\.0 .*10\.0\.0\.2 has 0\.9") as refused:
        refuse_other_versions(OWN, [("10.0.0.1", OWN), ("10.0.0.2", other)])
    assert refused.value.exit_code == ExitCode.CLUSTER


def test_fewer_nodes_than_generators_is_an_error_that_names_them() -> None:
    nodes = [Node("10.0.0.1", 8.0), Node("10.0.0.2", 0.5)]
    assert choose(nodes, None, 1, "head:6379") == nodes[:1]
    with pytest.raises(ClusterError, match=r"2 nodes .*has 1: 10\.0\.0\.1 .*10\.0\.0\.2"):
        choose(nodes, 2, 1, "head:6379")
    with pytest.raises(ClusterError, match=r"10\.0\.0\.1:6379 has 0: none"):
        choose([], None, 1, "10.0.0.1:6379")


def test_a_hosts_use_is_what_grew_between_two_readings() -> None:
    before = {"cpu.user_s": 10.0, "cpu.idle_s": 90.0, "cpu.0.user_s": 5.0, "nic.eth0.bytes_in": 7.0}
    after = {"cpu.user_s": 11.0, "cpu.idle_s": 93.0, "cpu.0.user_s": 6.0, "nic.eth0.bytes_in": 9.0}
    facts = {"traffic_nic": "eth0", "nic.eth0.virtual": "no", "nic.eth0.speed_mbit": "1000"}
    found = host_use(Reading(0.0, before), Reading(1.0, after, facts=facts))
    assert found == (0.25, 2, None, 125e6)
    for unknown in ({"nic.eth0.virtual": "yes"}, {"nic.eth0.speed_mbit": "-1"}):
        found = host_use(Reading(0.0, before), Reading(1.0, after, facts=facts | unknown))
        assert found.line_bytes_per_s is None


def node(users: int, ceiling: float | None = None) -> NodeFacts:
    return NodeFacts(
        node="n",
        versions=OWN,
        machine={"host": "n", "kernel": {"release": "6.1"}},
        line=Line(interface="eth0", speed_bits_per_s=users * 1_000_000),
        cores=4,
        descriptors=users,
        ephemeral_ports=28_232,
        queries_per_core=ceiling,
    )


def test_more_users_than_a_node_has_descriptors_for_are_refused() -> None:
    nodes = [node(1000), node(400)]
    refuse_too_many(801, 1, nodes)  # 401 and 400
    refuse_too_many(1, 1, nodes)
    with pytest.raises(ClusterError, match=r"n would get 401 of 802 users, .* for 400") as refused:
        refuse_too_many(802, 1, nodes)
    assert refused.value.exit_code == ExitCode.CLUSTER


def test_ports_are_those_to_each_target() -> None:
    many = [node(100_000)]
    refuse_too_many(2 * 28_232, 2, many)
    with pytest.raises(ClusterError, match="ports for 28,232"):
        refuse_too_many(28_233, 1, many)


def test_what_a_cluster_can_do_follows_from_its_least_node() -> None:
    both = ClusterCheck(cpus_per_generator=2, nodes=(node(1000, 50_000.0), node(400, 40_000.0)))
    assert (both.users, both.queries_per_s) == (800, 0.8 * 40_000 * 2 * 2)
    assert both.bits_per_s == 800_000_000
    unknown = ClusterCheck(cpus_per_generator=2, nodes=(node(1000, 50_000.0), node(400, None)))
    assert unknown.queries_per_s is None


def a_part(number: int, cpu_us: int, dispatch_ns: int | None = None) -> GeneratorPart:
    use = GeneratorUse(
        cpu_us=cpu_us, wall_us=1_000_000, late_ns_p99=None, dispatch_ns_p99=dispatch_ns, shards=1
    )
    return GeneratorPart(number=number, users=2, events=10, response_ns_p99=1_000_000, use=use)


def a_state(number: int, state: str = "joined") -> GeneratorState:
    return GeneratorState.model_validate(
        {"number": number, "node": f"node-{number}", "state": state, "users": 2, "reason": None}
        | ({"reason": "gone"} if state == "lost" else {})
    )


def test_lost_seconds_and_a_saturated_generator_are_shown() -> None:
    sums = {0: GeneratorSums(), 1: GeneratorSums(), 2: GeneratorSums()}
    for second in range(4):
        sums[0].add(a_part(0, 100_000), a_sample(second, 10).seconds)
        sums[1].add(a_part(1, 900_000), 1.0)
    sums[2].add(a_part(2, 100_000, dispatch_ns=200_000), 1.0)
    states = [a_state(0), a_state(1), a_state(2), a_state(2, "lost")]
    easy, busy, late = generator_shares(states, sums, 4.0)
    assert (easy.saturated, busy.saturated, late.saturated) == (False, True, True)
    assert (easy.seconds_lost, late.seconds_lost, late.lost) == (0.0, 3.0, "gone")
    assert (busy.cpu_share, busy.events) == (0.9, 40)


def test_a_generator_whose_line_is_nearly_full_is_saturated() -> None:
    def with_line(number: int, bytes_out: int, line: float | None) -> GeneratorPart:
        return a_part(number, 100_000).model_copy(
            update={
                "net_bytes_in": 1000,
                "net_bytes_out": bytes_out,
                "line_bytes_per_s": line,
            }
        )

    sums = {number: GeneratorSums() for number in range(3)}
    for _ in range(4):
        sums[0].add(with_line(0, 100_000_000, 125e6), 1.0)
        sums[1].add(with_line(1, 110_000_000, 125e6), 1.0)
        sums[2].add(with_line(2, 110_000_000, None), 1.0)
    easy, full, unknown = generator_shares([a_state(0), a_state(1), a_state(2)], sums, 4.0)
    assert (easy.saturated, full.saturated, unknown.saturated) == (False, True, False)
    assert (easy.net_line_share, full.net_line_share) == (0.8, 0.88)
    assert unknown.net_line_share is None
