"""Whole runs driven by several generators in this process, against the null server."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lab.watched import lab_for
from loadstone import engine
from loadstone.cluster.cluster import Cluster
from loadstone.cluster.messages import HostUse, NumberedRecord
from loadstone.cluster.transport import InThisProcess
from loadstone.lab.step.loop import Outcome, drive_steps
from loadstone.lab.step.order import OfPlan
from loadstone.model.cluster import ClusterAsked
from loadstone.model.control import AnyWish, SetRate, SetUsers, StopRun
from loadstone.model.language import ENGLISH, translating
from loadstone.model.message import say
from loadstone.model.null_server import NullServerSettings
from loadstone.model.plan import Closed, Drive, Open, Plan, Rate, WarmupSeconds, WorkloadSpec
from loadstone.model.search import Objective, SearchPlan
from loadstone.model.target import Target, Tls
from loadstone.report.html import as_html
from loadstone.report.names import GENERATORS_HEADS
from loadstone.report.opened import Run
from loadstone.report.text import as_text
from loadstone.runner.request import steps_for
from loadstone.runs import control_requests

SERVICE_US = 2000
"""Microseconds a statement: so few users are not limited by this machine."""


@pytest.fixture
def server() -> Iterator[engine.NullServer]:
    running = engine.null_server(NullServerSettings())
    running.set_script(json.dumps({"service": {"kind": "constant", "us": SERVICE_US}}))
    yield running
    with contextlib.suppress(engine.NullServerError):
        running.stop()


@pytest.fixture
def links() -> Iterator[list[InThisProcess]]:
    both = [InThisProcess(f"127.0.0.{number}", "127.0.0.1") for number in (2, 3)]
    yield both
    for link in both:
        link.close()


@pytest.fixture
def cluster(links: list[InThisProcess]) -> Cluster:
    return Cluster(links, "continue", print)


def a_plan(server: engine.NullServer, **changes: object) -> Plan:
    target = Target(
        host="127.0.0.1", port=server.port, user="u", database="sbtest", tls=Tls(mode="disabled")
    )
    fields: dict[str, object] = {
        "name": "cluster",
        "targets": (target,),
        "workload": WorkloadSpec(name="oltp_point_select", tables=10, table_size=10_000),
        "ladder": (4,),
        "duration_s": 0.5,
        "warmup": WarmupSeconds(warmup_s=0.0),
        "drive": Drive(protocol="text"),
        "cluster": ClusterAsked(address="10.0.0.1:6379"),
    }
    return Plan.model_validate(fields | changes)


def carried_out(plan: Plan, cluster: Cluster, out: Path, *wanted: AnyWish) -> Outcome:
    """Execute a plan; `wanted` is sent once the step's load has started."""
    lab, observer = lab_for(out, plan)
    lab.recorder.environment({"version": 1})
    lab.recorder.generators(cluster.facts)
    asked = list(wanted)

    def begins(document: str) -> engine.Steerable:
        job = cluster.start(document)
        # A wish that exists before the step starts is found in its first second.
        for wish in asked:
            control_requests.ask(lab.recorder.folder, wish)
        asked.clear()
        return job

    lab = replace(lab, start=begins, may_change=plan.search is None)
    outcome = drive_steps(OfPlan(plan, steps_for(plan), lab), lab)
    assert observer.results == list(outcome.result.steps)
    return outcome


@pytest.mark.slow
def test_a_search_finds_its_levels_as_with_one_generator(
    server: engine.NullServer, cluster: Cluster, tmp_path: Path
) -> None:
    objective = Objective(figure="p50", relation="<", limit_ms=500.0)
    search = SearchPlan(objective=objective, peak=True, most_users=2)
    plan = a_plan(
        server,
        search=search,
        ladder=(1,),
        duration_s=0.2,
        drive=Drive(protocol="text", arrival=Open()),
    )
    result = carried_out(plan, cluster, tmp_path).result
    found = result.run.search
    assert found is not None and found.complete
    # Two users do twice as much as one, where the machine lets both of them in these short steps.
    assert found.concurrency and found.concurrency.value in (1, 2)
    assert found.rate and 0 < found.rate.value <= 1.1 * 2e6 / SERVICE_US
    assert {(step.concurrency, len(step.generators)) for step in result.steps} == {(1, 1), (2, 2)}


@pytest.mark.slow
def test_what_the_live_page_asks_for_is_done_by_all_generators(
    server: engine.NullServer, cluster: Cluster, tmp_path: Path
) -> None:
    plan = a_plan(
        server,
        rates=(Rate(rate=200.0),),
        duration_s=3.0,
        drive=Drive(protocol="text", arrival=Open(gaps="uniform")),
    )
    asked = (SetRate(step=1, rate=400.0), SetUsers(step=1, users=3), SetUsers(step=1, users=1))
    outcome = carried_out(plan, cluster, tmp_path, *asked)
    (step,) = outcome.result.steps
    assert [(change.what, change.value) for change in step.changes] == [("rate", 400), ("users", 3)]
    assert any("users: 2 to 4 in this step" in note for note in step.notes)
    # At the old rate 600 would have been due; how soon the change applies depends on this machine.
    assert step.tally and step.tally.due > 600


class Narrow:
    """A generator whose network interface reports that it is nearly full."""

    def __init__(self, link: InThisProcess) -> None:
        self.node, self._link = link.node, link

    def call(self, method: str, *arguments: Any) -> Future[Any]:
        answer = self._link.call(method, *arguments)
        if method != "take":
            return answer
        narrow: Future[Any] = Future()
        answer.add_done_callback(lambda done: narrow.set_result(self._of(done.result())))
        return narrow

    def _of(self, told: list[NumberedRecord]) -> list[NumberedRecord]:
        full = HostUse(0.1, 1_000_000, 900_000, 1_100_000.0)
        return [each._replace(host=full) if each.host else each for each in told]


@pytest.mark.slow
def test_one_generator_whose_line_is_full_marks_the_step(
    server: engine.NullServer, links: list[InThisProcess], tmp_path: Path
) -> None:
    narrow = Cluster([Narrow(links[0]), links[1]], "continue", print)
    plan = a_plan(server, duration_s=1.1, drive=Drive(protocol="text", arrival=Closed(think_s=0.1)))
    result = carried_out(plan, narrow, tmp_path).result
    (step,) = result.steps
    full, other = step.generators
    assert full.saturated and full.net_line_share and full.net_line_share > 0.8
    assert other.net_line_share is None
    assert step.generator.client_bound
    assert "generator 0 on 127.0.0.2 was saturated" in as_text(result)


def test_a_run_that_is_stopped_from_the_live_page_stops_all_generators(
    server: engine.NullServer, cluster: Cluster, tmp_path: Path
) -> None:
    plan = a_plan(server, duration_s=60.0)
    outcome = carried_out(plan, cluster, tmp_path, StopRun())
    assert outcome.result.run.state == "stopped"
    (step,) = outcome.result.steps
    assert step.tally and step.tally.succeeded == server.stats().queries
    assert server.stats().open == 0


@pytest.mark.slow
def test_the_machines_are_kept_and_shown_with_the_run(
    server: engine.NullServer, cluster: Cluster, tmp_path: Path
) -> None:
    result = carried_out(a_plan(server), cluster, tmp_path).result
    (path,) = tmp_path.iterdir()
    assert "0 127.0.0.2" in as_text(result) and "1 127.0.0.3" in as_text(result)
    for words in (ENGLISH, *translating()):
        page = as_html(Run(path), words.code)
        assert all(words(head) in page for head in GENERATORS_HEADS.values())
        assert words(say("The machines that drove it (! saturated)")) in page
        assert "1 127.0.0.3" in page
    found = json.loads((path / "environment.json").read_text())["generators"]
    assert [one["node"] for one in found] == ["127.0.0.2", "127.0.0.3"]
    for one in found:
        assert {"host", "kernel", "python", "cpu", "network"} <= one["machine"].keys()
        assert one["versions"].keys() == {"loadstone", "engine"}
        assert one["cores"] and one["line"]["interface"] == "lo"
