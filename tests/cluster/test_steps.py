"""Steps that several generators drive together, in this process, against the null server."""

from __future__ import annotations

import contextlib
import json
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from kept import Stopwatch
from loadstone import engine
from loadstone.cluster import cluster
from loadstone.cluster.cluster import Cluster
from loadstone.cluster.errors import ClusterError
from loadstone.cluster.polling import SILENCE_S, WAIT_S
from loadstone.cluster.transport import InThisProcess
from loadstone.engine import Sending
from loadstone.lab.step.follow import follow
from loadstone.lab.step.interrupts import Interrupts
from loadstone.model.cluster import OnNodeLoss
from loadstone.model.cluster_nodes import ClusterCheck
from loadstone.model.null_server import NullServerSettings
from loadstone.model.records import (
    AnyStepRecord,
    Connected,
    End,
    GeneratorState,
    Printed,
    Sample,
)
from loadstone.model.target import Endpoint, Target, Tls

USERS = 64
A_MINUTE = {"kind": "time", "warmup_s": 0.0, "duration_s": 60.0}
"""A step that ends sooner was ended, by its lease or by a wish."""


def a_plan(port: int, **changes: Any) -> str:
    target = Target.model_validate(
        {"host": "127.0.0.1", "port": port, "user": "u", "database": "sbtest"}
        | {"tls": Tls(mode="disabled")}
    )
    plan: dict[str, Any] = {
        "targets": [Endpoint(target=target).for_engine()],
        "workload": {"name": "oltp_point_select", "tables": 10, "table_size": 10_000},
        "protocol": "text",
        "users": USERS,
        "arrival": {"kind": "closed", "think_s": 0.02},
        "stop": {"kind": "time", "warmup_s": 0.0, "duration_s": 1.0},
        "connect": {"at_once": 64, "timeout_s": 5.0, "retries": 3, "backoff_s": 0.05},
        "session": {"init_sql": [], "isolation": None, "charset": "utf8mb4"},
        "on_error": "restart",
        "shards": 1,
        "seed": 42,
        "tag": "step-1",
    }
    return json.dumps(plan | changes)


@pytest.fixture
def server() -> Iterator[engine.NullServer]:
    running = engine.null_server(NullServerSettings())
    yield running
    with contextlib.suppress(engine.NullServerError):
        running.stop()


@pytest.fixture
def links() -> Iterator[list[InThisProcess]]:
    both = [InThisProcess(f"127.0.0.{number}", "127.0.0.1") for number in (1, 2)]
    yield both
    for link in both:
        link.close()


def a_cluster(links: Sequence[Any], on_node_loss: OnNodeLoss = "continue") -> Cluster:
    return Cluster(links, on_node_loss, print)


def is_end(record: AnyStepRecord) -> bool:
    return isinstance(record, End)


class Followed:
    """All records of a step, or those up to one that matches."""

    def __init__(
        self, job: Sending[AnyStepRecord], until: Callable[[AnyStepRecord], bool] = is_end
    ) -> None:
        self.records: list[AnyStepRecord] = []
        self._until = until
        follow(job, self._take, Interrupts())

    def _take(self, record: AnyStepRecord) -> bool:
        self.records.append(record)
        return self._until(record)

    @property
    def samples(self) -> list[Sample]:
        return [record for record in self.records if isinstance(record, Sample)]

    @property
    def end(self) -> End:
        last = self.records[-1]
        assert isinstance(last, End)
        return last

    @property
    def lost(self) -> list[GeneratorState]:
        states = (record for record in self.records if isinstance(record, GeneratorState))
        return [state for state in states if state.state == "lost"]

    @property
    def events(self) -> int:
        return sum(sample.counts.events for sample in self.samples)


def test_two_generators_count_what_the_server_counted(
    server: engine.NullServer, links: list[InThisProcess]
) -> None:
    step = Followed(a_cluster(links).start(a_plan(server.port)))
    assert (step.end.reason, step.end.error) == ("finished", None)
    assert step.events == step.end.tally.succeeded == server.stats().queries
    (said,) = (record for record in step.records if isinstance(record, Connected))
    assert (said.users, server.stats().logins) == (USERS, USERS)
    joined = [record for record in step.records if isinstance(record, GeneratorState)]
    assert [(state.state, state.users) for state in joined] == [("joined", USERS // 2)] * 2
    # Both use this machine's clock: the true offset is zero, and within the bound.
    for state in joined:
        assert abs(state.clock_offset_ns or 0) <= (state.clock_bound_ns or 0)
    for sample in step.samples:
        assert sample.tally.balances()
        assert sum(part.events for part in sample.generators) == sample.counts.events
    last = [sample for sample in step.samples if sample.phase == "window"][-1]
    assert [part.users for part in last.generators] == [USERS // 2] * 2


def test_quantiles_are_those_of_all_histograms_together(
    server: engine.NullServer, links: list[InThisProcess]
) -> None:
    """Compared with the generators' own records, which are passed on unchanged."""
    heard: defaultdict[tuple[str, str], list[str]] = defaultdict(list)

    class Listening:
        def __init__(self, link: InThisProcess) -> None:
            self.node, self._link = link.node, link

        def call(self, method: str, *arguments: Any) -> Future[Any]:
            future = self._link.call(method, *arguments)
            if method == "take":
                future.add_done_callback(self._listen)
            return future

        def _listen(self, answer: Future[Any]) -> None:
            for told in answer.result():
                record = json.loads(told.record)
                for line in record.get("hlog", ()):
                    heard[self.node, f"{told.number} {line[:60]}"] = [line]

    stop = {"kind": "time", "warmup_s": 0.0, "duration_s": 1.2}
    listening = [Listening(link) for link in links]
    step = Followed(a_cluster(listening).start(a_plan(server.port, stop=stop)))
    merged = engine.merge_hlog(line for sample in step.samples for line in sample.hlog)
    together = engine.merge_hlog(line for lines in heard.values() for line in lines)
    assert merged.keys() == together.keys()
    for tag, latency in merged.items():
        assert latency == together[tag], tag
    response = merged["step-1/response"]
    assert response.count == step.end.tally.succeeded
    for sample in step.samples:
        (line,) = (line for line in sample.hlog if "/response," in line) if sample.hlog else ("",)
        if line:
            (alone,) = engine.merge_hlog([line]).values()
            whole = sample.latency_ns.response
            assert alone.p99 is not None and whole.max is not None
            # Counts of a log say in which bucket the largest is; the record knows it exactly.
            assert whole.p99 == min(alone.p99, whole.max)
            assert whole.count == alone.count


def test_an_open_loops_rate_is_exact_over_all_generators(
    server: engine.NullServer, links: list[InThisProcess]
) -> None:
    arrival = {"kind": "open", "rate": 1001.0, "gaps": "uniform", "max_backlog": 100_000}
    step = Followed(a_cluster(links).start(a_plan(server.port, arrival=arrival)))
    assert step.end.tally.due == 1001
    done: Counter[int] = Counter()
    for sample in step.samples:
        done.update({part.number: part.events for part in sample.generators})
    # Events due in the last moment may be answered after the window, where they count in no figure,
    # or may not start because no user was free.
    tally = step.end.tally
    assert tally.succeeded + tally.skipped == 1001
    missing = 1001 - sum(done.values())
    first, second = sorted(done.values())
    assert tally.skipped <= missing
    assert 500 - missing <= first <= 500 and 501 - missing <= second <= 501


def a_mix() -> list[dict[str, Any]]:
    tables = {"tables": 10, "table_size": 10_000}
    members: dict[str, dict[str, Any]] = {
        "report": {"users": 3, "workload": {"name": "oltp_read_only"}},
        "often": {"weight": 3.0, "workload": {"name": "oltp_point_select"}},
        "rare": {"weight": 1.0, "workload": {"name": "oltp_update_index"}},
    }
    return [
        {"name": name, **member, "workload": member["workload"] | tables}
        for name, member in members.items()
    ]


OPEN_LOOP = {"kind": "open", "rate": 1001.0, "gaps": "uniform", "max_backlog": 100_000}


@pytest.mark.parametrize("arrival", [{"kind": "closed", "think_s": 0.02}, OPEN_LOOP])
def test_a_mix_is_the_same_over_all_generators(
    server: engine.NullServer, links: list[InThisProcess], arrival: dict[str, Any]
) -> None:
    plan = json.loads(a_plan(server.port, members=a_mix(), arrival=arrival, users=9))
    del plan["workload"]
    step = Followed(a_cluster(links).start(json.dumps(plan)))
    assert (step.end.reason, step.end.error) == ("finished", None)
    assert server.stats().logins == 9
    for sample in step.samples:
        assert [one.name for one in sample.members] == ["report", "often", "rare"]
        assert sum(one.counts.events for one in sample.members) == sample.counts.events
        assert all(one.tally.balances() for one in sample.members)
        counted = [one.latency_ns.response.count for one in sample.members]
        assert sum(counted) == sample.latency_ns.response.count
    last = step.samples[-1]
    assert sum(one.tally.succeeded for one in last.members) == last.tally.succeeded
    report, often, rare = (one.tally.due for one in last.members)
    assert report > 0 and often > rare > 0
    if arrival["kind"] == "open":
        assert often + rare == 1001


def test_a_script_is_sent_to_all_generators_with_what_is_in_its_folder(
    server: engine.NullServer,
    links: list[InThisProcess],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(kept))
    (tmp_path / "words.lua").write_text("return { ask = 'SELECT 1 -- \xe4' }", "latin-1")
    (tmp_path / "ask.lua").write_text(
        """
        local words = require("words")
        function init() print("init") end
        function thread_init()
          print(("user %d of %d"):format(sysbench.tid, sysbench.opt.threads))
          con = sysbench.sql.driver():connect()
        end
        function event() con:query(words.ask) end
        function done() print("done") end
        """
    )
    script = {
        "path": str(tmp_path / "ask.lua"),
        "general": {"threads": 5, "mysql_db": "sbtest", "mysql_password": ""},
    }
    plan = json.loads(a_plan(server.port, script=script, users=5))
    del plan["workload"]
    job = a_cluster(links).start(json.dumps(plan))
    for file in tmp_path.glob("*.lua"):
        file.unlink()
    step = Followed(job)
    assert (step.end.reason, step.end.error) == ("finished", None)
    printed = "".join(record.text for record in step.records if isinstance(record, Printed))
    users = [f"user {number} of 5" for number in range(5)]
    assert sorted(printed.split("\n")[:-1]) == sorted(["init", "done"] * 2 + users)
    assert 0 < step.events <= step.end.tally.succeeded <= server.stats().others
    assert server.stats().logins == 5
    assert not list(kept.iterdir())


@pytest.mark.slow
def test_users_go_by_the_phases_on_all_generators_together(
    server: engine.NullServer, links: list[InThisProcess]
) -> None:
    phases = [{"seconds": 1.0, "from": 5, "to": 5}, {"seconds": 1.0, "from": 40, "to": 40}]
    stop = {"kind": "time", "warmup_s": 0.0, "duration_s": 2.0}
    arrival = {"kind": "closed", "think_s": 0.05}
    plan = a_plan(server.port, phases=phases, stop=stop, arrival=arrival, per_user=True)
    step = Followed(a_cluster(links).start(plan))
    first, second = (
        {share.number for share in sample.per_user if share.events}
        for sample in step.samples
        if sample.phase == "window"
    )
    assert first == set(range(5))
    assert second == set(range(40))


def test_a_rate_goes_by_the_phases_and_is_exact_over_all_generators(
    server: engine.NullServer, links: list[InThisProcess]
) -> None:
    phases = [{"seconds": 0.5, "from": 200, "to": 200}, {"seconds": 0.5, "from": 602, "to": 602}]
    step = Followed(a_cluster(links).start(a_plan(server.port, phases=phases, arrival=OPEN_LOOP)))
    assert step.end.tally.due == 401


def test_a_number_of_events_is_split_exactly(
    server: engine.NullServer, links: list[InThisProcess]
) -> None:
    stop = {"kind": "events", "events": 101, "warmup_s": 0.0, "duration_s": 20.0}
    step = Followed(a_cluster(links).start(a_plan(server.port, stop=stop)))
    assert (step.events, server.stats().queries) == (101, 101)


def test_fewer_users_than_generators_need_fewer_of_them(
    server: engine.NullServer, links: list[InThisProcess]
) -> None:
    step = Followed(a_cluster(links).start(a_plan(server.port, users=1)))
    assert step.end.reason == "finished"
    assert server.stats().logins == 1


def test_a_part_that_cannot_connect_ends_the_step_for_all(
    server: engine.NullServer, links: list[InThisProcess]
) -> None:
    port = server.port
    server.stop()
    step = Followed(a_cluster(links).start(a_plan(port)))
    assert step.end.reason == "failed"
    assert step.end.error and step.end.error.kind == "unreachable"


def test_a_plan_that_the_engine_refuses_is_told(
    server: engine.NullServer, links: list[InThisProcess]
) -> None:
    job = a_cluster(links).start(a_plan(server.port, tag="a b"))
    with pytest.raises(engine.PlanRefused, match="generator on 127.0.0.1: tag"):
        Followed(job)


def test_a_stop_ends_all_generators_cleanly(
    server: engine.NullServer, links: list[InThisProcess]
) -> None:
    stop = {"kind": "time", "warmup_s": 0.0, "duration_s": 60.0}
    job = a_cluster(links).start(a_plan(server.port, stop=stop))
    after_its_first_second(job)
    job.stop()
    step = Followed(job)
    assert (step.end.reason, step.end.error) == ("stopped", None)
    assert step.end.tally.succeeded == server.stats().queries


def last_whole_second(step: Followed) -> Sample:
    windows = [sample for sample in step.samples if sample.phase == "window"]
    return [sample for sample in windows if sample.seconds > 0.9][-1]


def after_its_first_second(job: engine.Steerable) -> None:
    while not isinstance(job.next(10.0), Sample):
        pass


@pytest.mark.slow
def test_a_rate_that_is_changed_is_that_of_all_generators_together(
    server: engine.NullServer, links: list[InThisProcess]
) -> None:
    arrival = {"kind": "open", "rate": 200.0, "gaps": "uniform", "max_backlog": 100_000}
    stop = {"kind": "time", "warmup_s": 0.0, "duration_s": 4.0}
    job = a_cluster(links).start(a_plan(server.port, arrival=arrival, stop=stop))
    after_its_first_second(job)
    job.set_rate(777.0)
    with pytest.raises(engine.PlanRefused, match="rate"):
        job.set_rate(-1.0)
    step = Followed(job)
    # Each generator's even sequence of events is whole or cut at either end of the second.
    assert abs(last_whole_second(step).counts.due - 777) <= 2
    assert step.end.tally.balances()
    with pytest.raises(engine.PlanRefused, match="the step is over"):
        job.set_rate(10.0)


@pytest.mark.slow
def test_users_that_are_changed_rest_on_each_generator(
    server: engine.NullServer, links: list[InThisProcess]
) -> None:
    stop = {"kind": "time", "warmup_s": 0.0, "duration_s": 6.0}
    job = a_cluster(links).start(a_plan(server.port, stop=stop))
    after_its_first_second(job)
    for users in (1, USERS + 1):
        with pytest.raises(engine.PlanRefused, match=f"users: 2 to {USERS} in this step"):
            job.set_users(users)
    with pytest.raises(engine.PlanRefused, match="a closed loop has none"):
        job.set_rate(100.0)
    job.set_users(8)
    last = last_whole_second(Followed(job))
    # Each of the four users of a generator thinks for 20 ms between two events.
    assert all(0 < part.events <= 4 * 51 for part in last.generators)
    assert last.users == USERS


def test_a_node_with_another_version_is_asked_for_nothing_else(
    links: list[InThisProcess],
) -> None:
    class Older:
        node = "10.0.0.9"

        def call(self, method: str, *arguments: Any) -> Future[Any]:
            assert method == "versions"
            answer: Future[Any] = Future()
            answer.set_result({"loadstone": "0.0.9"})
            return answer

    with pytest.raises(ClusterError, match=r"10\.0\.0\.9 has 0\.0\.9 \(engine \?\)"):
        a_cluster([links[0], Older()])


@pytest.mark.slow
def test_the_ceiling_of_each_node_is_measured_on_the_spot(
    links: list[InThisProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "CALIBRATION_S", 0.5)
    facts = cluster.facts_of(links)
    said: list[str] = []
    found = ClusterCheck(
        cpus_per_generator=1, nodes=tuple(cluster.calibrated(links, facts, said.append))
    )
    ceilings = [node.queries_per_core for node in found.nodes]
    assert said == [] and all(ceiling and ceiling > 1000 for ceiling in ceilings)
    assert found.queries_per_s == pytest.approx(0.8 * 2 * min(filter(None, ceilings)))
    assert [node.line and node.line.source for node in found.nodes] == ["127.0.0.1"] * 2


class Cut:
    """A generator that can be disconnected from the head: later calls get no answer."""

    def __init__(self, link: InThisProcess) -> None:
        self.node, self._link = link.node, link
        self.is_cut = False

    def call(self, method: str, *arguments: Any) -> Future[Any]:
        return Future() if self.is_cut else self._link.call(method, *arguments)


@pytest.mark.slow
def test_a_generator_that_is_silent_is_lost_soon_and_ends_its_load_by_itself(
    server: engine.NullServer, links: list[InThisProcess]
) -> None:
    cut = Cut(links[1])
    job = a_cluster([links[0], cut]).start(a_plan(server.port, stop=A_MINUTE))
    after_its_first_second(job)
    cut.is_cut, since = True, Stopwatch()
    (lost,) = Followed(job, is_lost).lost
    # A call made just before may still be answered; after that it is silent.
    assert 2.0 < since.passed_s
    assert since.judged_s < WAIT_S + SILENCE_S + 1.0
    assert (lost.number, lost.users) == (1, USERS // 2)
    # The step goes on with those that are left, and only theirs are there when the lease is over.
    assert wait_until_open(server, USERS // 2) == USERS // 2
    Followed(job, lambda record: isinstance(record, Sample) and len(record.generators) == 1)
    job.stop()
    step = Followed(job)
    assert (step.end.reason, step.end.error) == ("stopped", None)
    # More than what was merged: its last seconds are missing, and are not estimated.
    assert step.end.tally.succeeded < server.stats().queries
    wait_until_open(server, 0)


def is_lost(record: AnyStepRecord) -> bool:
    return isinstance(record, GeneratorState) and record.state == "lost"


def wait_until_open(server: engine.NullServer, most: int) -> int:
    """Wait until at most that many connections are open; returns how many.

    Leases run out after four seconds; steps last for a minute.
    """
    deadline = time.monotonic() + 30.0
    while (still := server.stats().open) > most:
        assert time.monotonic() < deadline, f"{still} connections are still driven"
        time.sleep(0.1)
    return still


def a_cluster_that_lost_one(
    server: engine.NullServer, links: Sequence[InThisProcess], on_node_loss: OnNodeLoss
) -> Cluster:
    """A cluster that has driven a step with all generators, and then lost one."""
    cut = Cut(links[1])
    cluster = a_cluster([links[0], cut], on_node_loss)
    stop = {"kind": "time", "warmup_s": 0.0, "duration_s": 0.5}
    assert not Followed(cluster.start(a_plan(server.port, stop=stop))).lost
    cut.is_cut = True
    return cluster


@pytest.mark.slow
def test_a_generator_that_is_gone_between_two_steps_is_told_and_missed(
    server: engine.NullServer, links: list[InThisProcess]
) -> None:
    cluster = a_cluster_that_lost_one(server, links, "continue")
    step = Followed(cluster.start(a_plan(server.port)))
    states = [record for record in step.records if isinstance(record, GeneratorState)]
    told = [(state.state, state.node, state.users) for state in states]
    assert told == [("joined", "127.0.0.1", USERS), ("absent", "127.0.0.2", 0)]
    assert (step.end.reason, step.end.error) == ("finished", None)


@pytest.mark.slow
def test_a_generator_that_is_gone_between_two_steps_ends_the_run_where_that_was_asked(
    server: engine.NullServer, links: list[InThisProcess]
) -> None:
    cluster = a_cluster_that_lost_one(server, links, "stop")
    wait_until_open(server, 0)
    before = server.stats()
    with pytest.raises(ClusterError, match=r"generators on 127\.0\.0\.2 do not answer any more"):
        cluster.start(a_plan(server.port, stop=A_MINUTE))
    time.sleep(1.0)
    after = server.stats()
    assert (after.logins, after.queries, after.open) == (before.logins, before.queries, 0)


@pytest.mark.slow
def test_those_that_are_left_are_not_given_more_users_than_they_can_have(
    server: engine.NullServer, links: list[InThisProcess]
) -> None:
    cluster = a_cluster_that_lost_one(server, links, "continue")
    few = cluster.facts[0].model_copy(update={"descriptors": USERS - 1})
    cluster.facts[0] = few
    with pytest.raises(ClusterError, match=f"^127.* would get {USERS} of {USERS} users"):
        cluster.start(a_plan(server.port))


@pytest.mark.slow
def test_a_head_that_is_gone_leaves_no_load_behind(
    server: engine.NullServer, links: list[InThisProcess]
) -> None:
    cuts = [Cut(link) for link in links]
    job = a_cluster(cuts).start(a_plan(server.port, stop=A_MINUTE))
    after_its_first_second(job)
    for cut in cuts:
        cut.is_cut = True
    wait_until_open(server, 0)
    queries = server.stats().queries
    time.sleep(0.5)
    assert server.stats().queries == queries
