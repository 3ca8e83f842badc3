"""Ceilings: arithmetic with known answers."""

from __future__ import annotations

import pytest

from analyse.made import a_step
from loadstone.analyse.ceilings import ceilings
from loadstone.model.account import Account, AccountEntry
from loadstone.model.ceilings import Ceiling, Limits, Resource
from loadstone.model.limits import stated
from loadstone.model.observed import SHARED_HOST
from loadstone.model.result import GeneratorCost, HostFigures, ObservedTarget, ServerFigures


def of(resource: Resource, limits: Limits | None = None, **step: object) -> Ceiling:
    found = ceilings([a_step(**step)], limits or Limits())[0]  # type: ignore[arg-type]
    return next(one for one in found.ceilings if one.resource == resource)


def a_host(**figures: object) -> HostFigures:
    return HostFigures.model_validate({"seconds": 10.0} | figures)


def a_server(**figures: object) -> ServerFigures:
    return ServerFigures.model_validate({"seconds": 10.0} | figures)


def test_cpu_is_cores_by_cpu_an_event() -> None:
    # 2 of 4 cores busy at 100 events/s: 20 ms an event, so 4 cores let 200 through.
    host = a_host(cores=4, cpu_user=0.4, cpu_sys=0.1, cpu_idle=0.5, cpu_iowait=0.0)
    found = of("server CPU", tps=100.0, host=host)
    assert found.events_per_s == pytest.approx(200)
    assert found.used == pytest.approx(0.5)


def test_cores_that_the_hypervisor_takes_are_no_capacity() -> None:
    host = a_host(cores=4, cpu_idle=0.25, cpu_steal=0.25)
    assert of("server CPU", tps=100.0, host=host).events_per_s == pytest.approx(150)


def test_a_limit_on_cores_holds_for_the_server_process_alone() -> None:
    host = a_host(cores=4, cpu_idle=0.25, process_cpu_user=0.5, process_cpu_sys=0.3)
    found = of("server CPU", Limits(cores=1.6), tps=100.0, host=host)
    assert found.events_per_s == pytest.approx(200)
    limited = host.model_copy(update={"means": {"cgroup.cpu_cores": 0.8}})
    assert of("server CPU", tps=100.0, host=limited).events_per_s == pytest.approx(100)


def test_what_others_use_is_neither_capacity_nor_cost() -> None:
    # 3 of 4 cores busy, 1 of them for the server: 2 cores are left for 10 ms an event.
    host = a_host(cores=4, cpu_idle=0.25, process_cpu_user=0.6, process_cpu_sys=0.4)
    found = of("server CPU", tps=100.0, host=host)
    assert found.events_per_s == pytest.approx(200)
    assert "others use 2" in (found.how or "")
    assert found.others == pytest.approx(2)


def test_cpu_of_both_is_said_where_they_share_the_host() -> None:
    host = a_host(cores=2, cpu_idle=0.5)
    shared = host.model_copy(update={"facts": {SHARED_HOST: "yes"}})
    assert "server's and generator's" in (of("server CPU", host=shared).how or "")
    assert "server host's" in (of("server CPU", host=host).how or "")


def test_the_hottest_core_counts_only_when_it_stands_out() -> None:
    even = a_host(cores=4, cpu_idle=0.5, busiest_core=0.55)
    assert of("hottest core", tps=100.0, host=even).events_per_s is None
    hot = even.model_copy(update={"busiest_core": 0.8})
    assert of("hottest core", tps=100.0, host=hot).events_per_s == pytest.approx(125)


def test_flushes_are_what_the_device_counts_else_what_the_server_counts() -> None:
    limits = Limits(syncs_per_s=1000)
    server = a_server(log_syncs_per_s=100.0, binlog_syncs_per_s=100.0)
    assert of("flushes", limits, tps=400.0, server=server).events_per_s == pytest.approx(2000)
    # A device with a safe cache needs no flushes and counts none: the limit still comes from syncs.
    host = a_host(disk_flushes_per_s=0.0)
    both = of("flushes", limits, tps=400.0, server=server, host=host)
    assert both.events_per_s == pytest.approx(2000)
    uncounted = a_server(log_syncs_per_s=None)
    device = Limits(syncs_per_s=1000, flushes_per_s=1200)
    host = a_host(disk_flushes_per_s=400.0)
    found = of("flushes", device, tps=400.0, server=uncounted, host=host)
    assert found.events_per_s == pytest.approx(1200)
    assert of("flushes", limits, tps=400.0, server=uncounted, host=host).events_per_s is None
    assert "probe" in (of("flushes").why_not or "")


def test_a_binary_log_that_is_not_counted_is_not_nought() -> None:
    server = a_server(log_syncs_per_s=100.0, means={"setting.log_bin": 1.0})
    assert of("flushes", Limits(syncs_per_s=1000), tps=400.0, server=server).events_per_s is None
    without = a_server(log_syncs_per_s=100.0, means={"setting.log_bin": 0.0})
    found = of("flushes", Limits(syncs_per_s=1000), tps=400.0, server=without)
    assert found.events_per_s == pytest.approx(4000)


def test_a_disk_that_nothing_was_asked_of_is_no_ceiling() -> None:
    limits = Limits(disk_read_iops=1000, disk_write_iops=500)
    host = a_host(disk_read_iops=0.0, disk_write_iops=200.0)
    assert of("disk reads", limits, tps=100.0, host=host).why_not == "none was needed"
    assert of("disk writes", limits, tps=100.0, host=host).events_per_s == pytest.approx(250)


def test_the_network_goes_each_way_and_a_virtual_speed_is_no_limit() -> None:
    figures = {"nic": "eth0", "net_bytes_in_per_s": 1e6, "net_bytes_out_per_s": 4e6}
    facts = {"nic.eth0.speed_mbit": "1000"}
    host = a_host(**figures, facts=facts)
    out = of("network from the server", tps=100.0, host=host)
    assert out.events_per_s == pytest.approx(125e6 / 40_000)
    into = of("network to the server", tps=100.0, host=host)
    assert into.events_per_s == pytest.approx(125e6 / 10_000)
    virtual = a_host(**figures, facts=facts | {"nic.eth0.virtual": "yes"})
    assert of("network from the server", host=virtual).events_per_s is None
    asked = of("network from the server", Limits(line_bytes_per_s=8e6), tps=100.0, host=virtual)
    assert asked.events_per_s == pytest.approx(200)


def test_a_row_that_is_found_locked_by_half_of_the_events_is_half_used() -> None:
    server = a_server(row_lock_waits_per_s=50.0)
    found = of("row locks", tps=100.0, writes=1000, server=server)
    assert found.events_per_s == pytest.approx(200)
    assert found.used == pytest.approx(0.5)
    seldom = a_server(row_lock_waits_per_s=0.5)
    assert of("row locks", tps=100.0, writes=1000, server=seldom).events_per_s is None


def test_ten_locks_that_are_seldom_held_are_not_one_that_always_is() -> None:
    # 150 waits a second by 1,000 writes: each finds its lock held in 15 % of the cases.
    server = a_server(row_lock_waits_per_s=150.0)
    found = of("row locks", tps=100.0, writes=10_000, server=server)
    assert found.used == pytest.approx(0.15)


def test_next_to_the_writes_that_met_a_lock_stands_the_users_time_that_it_took() -> None:
    server = a_server(row_lock_waits_per_s=50.0)
    waiting = AccountEntry(
        place="row lock", users=2.4, share=0.6, known="sampled", low=None, high=None
    )
    account = Account(
        users=4,
        seconds=10.0,
        view="threads",
        looks=1000.0,
        entries=(waiting,),
        unnamed=0.4,
        beyond=0.0,
    )
    found = of("row locks", tps=100.0, writes=1000, server=server, account=account)
    assert found.used == pytest.approx(0.5)
    assert found.how == (
        "50 % of the writes found their row locked; waiting for it took 60 % of the users' time"
    )
    alone = of("row locks", tps=100.0, writes=1000, server=server)
    assert alone.how == "50 % of the writes found their row locked"


def test_an_affinity_and_a_quota_are_limits_only_below_the_hosts_cores() -> None:
    figures = {"cores": 4, "cpu_idle": 0.25, "process_cpu_user": 0.5, "process_cpu_sys": 0.0}
    pinned = a_host(**figures, means={"cgroup.cpu_cores": 16.0, "process.cpus_allowed": 2.0})
    assert of("server CPU", tps=100.0, host=pinned).events_per_s == pytest.approx(400)
    free = a_host(**figures, means={"cgroup.cpu_cores": 16.0, "process.cpus_allowed": 4.0})
    assert "of which others" in (of("server CPU", tps=100.0, host=free).how or "")


def test_of_several_targets_only_what_is_ours_is_said() -> None:
    other = ObservedTarget(target="mysql://b/", server=None, host=None)
    host = a_host(cores=4, cpu_idle=0.25)
    assert of("server CPU", host=host, other_targets=(other,)).events_per_s is None


def test_the_generator_has_the_ceiling_that_was_calibrated() -> None:
    cost = GeneratorCost.model_validate(
        dict.fromkeys(GeneratorCost.model_fields) | {"ceiling_qps": 50_000.0, "cpu_share": 0.5}
    )
    found = of("generator", tps=100.0, generator=cost)
    assert found.events_per_s == pytest.approx(50_000)
    uncalibrated = cost.model_copy(update={"ceiling_qps": None})
    assert of("generator", tps=100.0, generator=uncalibrated).events_per_s == pytest.approx(200)


def test_users_can_do_no_more_than_the_shortest_response_time_lets_them() -> None:
    few, many = a_step(users=1, tps=100.0), a_step(users=8, tps=400.0)
    latency = few.latency.model_copy(
        update={"service": few.latency.service.model_copy(update={"mean": 10.0})}
    )
    few = few.model_copy(update={"latency": latency})
    slow = many.latency.service.model_copy(update={"mean": 20.0})
    many = many.model_copy(update={"latency": many.latency.model_copy(update={"service": slow})})
    found = ceilings([few, many], Limits())
    by_users = {step.concurrency: step for step in found}
    lowest = [one for one in by_users[8].ceilings if one.resource == "concurrency"][0]
    assert lowest.events_per_s == pytest.approx(800)
    later = ceilings([few, many], Limits(answer_s=0.01))[1]
    assert [one for one in later.ceilings if one.resource == "concurrency"][
        0
    ].events_per_s == pytest.approx(400)


def test_users_never_complete_more_than_their_number_allows() -> None:
    # Their mean of a short window has time that lies before it: by Little's law it is 10 ms.
    few, many = a_step(users=1, tps=20.0), a_step(users=4, tps=400.0)
    steps = [
        step.model_copy(
            update={
                "latency": step.latency.model_copy(
                    update={"service": step.latency.service.model_copy(update={"mean": mean})}
                )
            }
        )
        for step, mean in ((few, 50.0), (many, 10.2))
    ]
    found = ceilings(steps, Limits())[1].ceilings
    assert next(one for one in found if one.resource == "concurrency").used == pytest.approx(1.0)


def test_the_lowest_comes_first_and_those_not_evaluated_last() -> None:
    host = a_host(cores=4, cpu_idle=0.5, disk_write_iops=200.0)
    found = ceilings([a_step(tps=100.0, host=host)], Limits(disk_write_iops=300))[0]
    rates = [one.events_per_s for one in found.ceilings]
    known = [rate for rate in rates if rate is not None]
    assert known == sorted(known)
    assert rates[len(known) :] == [None] * (len(rates) - len(known))
    assert found.lowest is not None
    assert found.lowest.resource == "disk writes"


def test_a_step_without_a_rate_has_no_ceilings() -> None:
    assert ceilings([a_step(tps=0.0)], Limits()) == []


def test_a_step_alone_does_not_explain_itself_by_its_users() -> None:
    # The rate of 64 users computed from their own response time is the measured rate: no new fact.
    assert of("concurrency", users=64).events_per_s is None
    assert of("concurrency", users=1).used == pytest.approx(1, rel=1.0)
    assert of("concurrency", Limits(answer_s=0.01), users=64).events_per_s is not None


def test_what_the_disk_hardly_did_is_no_ceiling() -> None:
    host = a_host(disk_write_iops=0.001)
    found = of("disk writes", Limits(disk_write_iops=1000), tps=100.0, host=host)
    assert found.why_not == "next to none was needed"


def test_a_limit_that_the_user_stated_is_called_so() -> None:
    host = a_host(disk_write_iops=200.0, disk_read_iops=100.0)
    limits = Limits(disk_write_iops=5000).but(stated([("disk_iops", 600.0)]))
    both = of("disk operations", limits, tps=100.0, host=host)
    assert both.events_per_s == pytest.approx(200)
    assert both.by_hand
    assert str(both.how) == "600 operations/s ÷ 3 operations per event (limit stated by hand)"
    measured = of("disk writes", limits, tps=100.0, host=host)
    assert not measured.by_hand
    assert "by hand" not in str(measured.how)


def test_a_stated_limit_that_was_exceeded_is_not_in_force() -> None:
    host = a_host(disk_write_iops=200.0)
    at_it = of("disk writes", stated([("disk_write_iops", 190.0)]), tps=100.0, host=host)
    assert at_it.used == pytest.approx(200 / 190)
    beyond = of("disk writes", stated([("disk_write_iops", 40.0)]), tps=100.0, host=host)
    assert beyond.events_per_s is None
    assert beyond.why_not == "500 % of the limit stated by hand: it is not in force"
    # What was measured may be exceeded, too: then the measurement is what readers doubt.
    measured = of("disk writes", Limits(disk_write_iops=40), tps=100.0, host=host)
    assert measured.used == pytest.approx(5)


def test_a_limit_of_reads_and_writes_together_is_no_ceiling_of_other_disks() -> None:
    found = ceilings([a_step(tps=100.0)], Limits())[0]
    assert "disk operations" not in {one.resource for one in found.ceilings}
