"""Which plans the engine accepts, how a step ends, and several targets in one step."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from called import called
from engine.conftest import Farm, on_mariadb, on_mysql
from engine.driving import (
    Document,
    Driving,
    a_layout,
    a_load,
    a_plan,
    connecting,
    drive,
    events,
    seconds,
    tcp,
    workload,
)
from engine.truth import null_target
from loadstone import engine
from loadstone.engine import PlanRefused
from loadstone.model.target import Tls
from loadstone.sandbox import Sandbox

NOBODY: Document = {
    "host": "127.0.0.1", "port": 1, "socket": None, "user": "u", "password": "secret",
    "database": "d", "server_public_key": None,
    "tls": {"mode": "preferred", "ca": None, "cert": None, "key": None},
}  # fmt: skip

BAD: list[tuple[Document, str]] = [
    ({"tagg": "x"}, "tagg"),
    ({"tag": "two words"}, "tag"),
    ({"tag": ""}, "tag"),
    ({"targets": []}, "targets"),
    ({"targets": [NOBODY | {"pasword": "x"}]}, "pasword"),
    ({"targets": [NOBODY | {"port": 65536}]}, "65536"),
    ({"targets": [NOBODY | {"tls": {"mode": "always"}}]}, "always"),
    ({"targets": [NOBODY | {"compression": ["lz4"]}]}, "lz4"),
    ({"users": 0}, "users"),
    ({"users": -1}, "-1"),
    ({"users": 1.5}, "1.5"),
    ({"shards": 0}, "shards"),
    ({"shards": 2000}, "shards"),
    ({"protocol": "binary"}, "binary"),
    ({"protocol": "extended"}, "mysql has no extended query"),
    ({"protocol": "pipelined"}, "mysql has no pipelines"),
    ({"on_error": "ignore"}, "ignore"),
    ({"workload": workload("oltp_nothing")}, "oltp_nothing"),
    ({"workload": workload("oltp_read_only", colour="red")}, "colour"),
    ({"workload": workload("oltp_read_only", point_selects="ten")}, "point_selects"),
    ({"workload": workload("oltp_read_only", range_size=0)}, "range_size"),
    ({"workload": workload("oltp_point_select", point_selects=0)}, "point_selects"),
    ({"workload": workload("oltp_read_only", point_selects=0, range_selects=False)}, "statement"),
    ({"workload": workload("oltp_read_only", tables=0)}, "tables"),
    ({"workload": workload("oltp_read_only", table_size=2**31)}, "table_size"),
    ({"workload": workload("oltp_read_only") | {"distribution": {"kind": "normal"}}}, "normal"),
    ({"workload": workload("hot_row", 1, 5, hot_rows=6)}, "hot_rows"),
    ({"arrival": {"kind": "open"}}, "rate"),
    ({"arrival": {"kind": "open", "rate": 0}}, "arrival.rate"),
    ({"arrival": {"kind": "open", "rate": 5, "gaps": "even"}}, "even"),
    ({"arrival": {"kind": "open", "rate": 5, "max_backlog": 0}}, "max_backlog"),
    ({"arrival": {"kind": "open", "rate": 5, "latest_start_s": 0}}, "latest_start_s"),
    ({"arrival": {"kind": "open", "rate": 5, "ramp": {"to": 9, "over_s": 0}}}, "over_s"),
    ({"arrival": {"kind": "closed", "think_s": -1}}, "think_s"),
    ({"stop": seconds(0)}, "duration_s"),
    ({"stop": seconds(1, -1)}, "warmup_s"),
    ({"stop": events(0)}, "events"),
    ({"stop": seconds(1) | {"of_each_user": True}}, "of_each_user"),
    ({"max_tries": 0}, "nonzero"),
    ({"tries_within_s": 0}, "tries_within_s"),
    ({"stop": {"kind": "never"}}, "never"),
    ({"connect": connecting(at_once=0)}, "at_once"),
    ({"connect": connecting(timeout_s=0)}, "timeout_s"),
    ({"connect": connecting(backoff_s=-1)}, "backoff_s"),
    ({"connect": connecting(longest_backoff_s=-1)}, "longest_backoff_s"),
    ({"pauses_s": 0}, "pauses_s"),
    ({"workload": workload("ledger") | {"book": 2**63}}, "book"),
    ({"session": {"isolation": "CHAOS"}}, "init_sql"),
    ({"session": {"init_sql": [], "isolation": "CHAOS"}}, "CHAOS"),
    ({"session": {"init_sql": [], "charset": "utf8'; DROP TABLE t"}}, "charset"),
    ({"seed": -1}, "seed"),
    ({"reconnect_after": 0}, "nonzero"),
    ({"idle": -1}, "-1"),
    ({"idle": 2_000_000}, "idle"),
    ({"phases": [{"seconds": 20, "from": 1, "to": 1}]}, "all of the step's time"),
    ({"phases": [{"seconds": 1, "from": 1, "to": 1}], "stop": seconds(2.0)}, "time"),
    ({"phases": [{"seconds": 2, "from": 1, "to": 2}], "stop": seconds(2.0)}, "no more than"),
    ({"phases": [{"seconds": 2, "from": 0.5, "to": 1}], "stop": seconds(2.0)}, "whole number"),
    ({"phases": [{"seconds": 2, "from": 0, "to": 0}], "stop": seconds(2.0)}, "ever at work"),
    ({"members": [{"name": "a", "weight": 1, "workload": workload("hot_row")}]}, "members"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "named"), BAD, ids=[named for _, named in BAD])
def test_a_plan_that_cannot_be_is_refused_in_one_line_that_names_it(
    changes: Document, named: str
) -> None:
    plan = json.dumps(a_plan(NOBODY) | changes)
    for refuse in (engine.check_plan, engine.start):
        with pytest.raises(PlanRefused) as caught:
            refuse(plan)
        assert named in caught.value.message or named == "seed"
        assert "\n" not in caught.value.message
        assert "secret" not in caught.value.message


def of_members(*members: Document, users: int = 4, **changes: Any) -> Document:
    plan = a_plan(NOBODY, users=users, **changes) | {"members": list(members)}
    del plan["workload"]
    return plan


def member(name: str = "a", **changes: Any) -> Document:
    return {"name": name, "workload": workload("oltp_read_only")} | changes


OPEN: Document = {"kind": "open", "rate": 5}


@pytest.mark.parametrize(
    ("plan", "named"),
    [
        (of_members(member(weight=1), member(weight=2)), "a is there twice"),
        (of_members(member("two words", weight=1)), "two words"),
        (of_members(member()), "users of its own or a weight"),
        (of_members(member(users=1, weight=1)), "users of its own or a weight"),
        (of_members(member(weight=0)), "weight"),
        (of_members(member(weight=1, think_s=1)), "think_s"),
        (of_members(member(users=5)), "more users than the step"),
        (of_members(member(users=3)), "belong to none"),
        (of_members(member(users=4), member("b", weight=1)), "no user left"),
        (of_members(member(users=4), arrival=OPEN), "open loop"),
        (of_members(member(weight=1, workload=workload("oltp_nothing"))), "oltp_nothing"),
        (
            of_members(member(users=3), member("b", weight=1), arrival=OPEN)
            | {"part": {"number": 0, "of": 2}},
            "part.of: no user of this part",
        ),
        (of_members(*(member(f"m{n}", weight=1) for n in range(129))), "at most 128"),
    ],
)
def test_a_mix_that_cannot_be_is_refused_in_one_line(plan: Document, named: str) -> None:
    with pytest.raises(PlanRefused) as caught:
        engine.check_plan(json.dumps(plan))
    assert named in caught.value.message
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("asked", [{"idle": 1}, {"reconnect_after": 1}])
def test_a_script_opens_its_connections_itself(asked: Document) -> None:
    script = {"path": "a.lua", "options": {}, "general": {}}
    plan = a_plan(NOBODY) | {"script": script} | asked
    del plan["workload"]
    with pytest.raises(PlanRefused, match="opens its connections itself"):
        engine.check_plan(json.dumps(plan))


@pytest.mark.parametrize(
    "asked",
    [
        {"on_error": "end_user"},
        {"max_tries": 1},
        {"tries_within_s": 1},
        {"stop": events(1) | {"of_each_user": True}},
        {"arrival": {"kind": "open", "rate": 5, "latest_start_s": 1}},
    ],
)
def test_a_script_handles_its_errors_itself(asked: Document) -> None:
    plan = a_plan(NOBODY) | {"script": {"path": "a.lua", "options": {}, "general": {}}} | asked
    del plan["workload"]
    with pytest.raises(PlanRefused, match="not in a step with a script"):
        engine.check_plan(json.dumps(plan))


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"targets": 1}'])
def test_what_is_no_plan_at_all_is_refused_too(text: str) -> None:
    with pytest.raises(PlanRefused):
        engine.check_plan(text)
    with pytest.raises(PlanRefused):
        engine.load(text)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"parallel": 0}, "parallel"),
        ({"method": "copy"}, "copy"),
        ({"layout": a_layout(0)}, "tables"),
        ({"layout": a_layout(1, 10, storage_engine="innodb; DROP")}, "storage_engine"),
        ({"layout": a_layout(1, 10, colour="red")}, "colour"),
        ({"layout": a_layout(1, 10, kind="tpcc")}, "tpcc"),
        ({"part": {"number": 0, "of": 2}}, "part: of the stages fill and look alone"),
        ({"stage": "look", "part": {"number": 2, "of": 2}}, "part: number"),
        ({"stage": "look", "part": {"number": 0, "of": 10_001}}, "part.of: at most 10000"),
        ({"stage": "fill"}, "known: what the stage make said, of all tables"),
        ({"stage": "finish"}, "known"),
        ({"stage": "burn"}, "burn"),
        ({"lease_s": 0}, "lease_s"),
    ],
)
def test_a_load_that_cannot_be_is_refused(changes: Document, named: str) -> None:
    with pytest.raises(PlanRefused) as caught:
        engine.load(json.dumps(a_load(NOBODY) | changes))
    assert named in caught.value.message


@pytest.mark.server
class TestEnds:
    @on_mariadb
    @pytest.mark.parametrize(("users", "shards"), [(1, 1), (7, 1), (7, 3), (50, 2)])
    @pytest.mark.parametrize("number", [1, 100, 333])
    def test_exactly_so_many_events(
        self, shared: Sandbox, users: int, shards: int, number: int
    ) -> None:
        plan = a_plan(tcp(shared), users=users, shards=shards, stop=events(number))
        outcome = drive(plan).finished()
        counts, tally = outcome.total("window"), outcome.last.tally
        assert counts.events + counts.failed == number == tally.succeeded
        assert tally.due == tally.started == number

    @on_mariadb
    def test_events_that_fail_are_of_the_number(self, shared: Sandbox) -> None:
        plan = a_plan(
            tcp(shared), users=5, shards=2, stop=events(60), on_error="continue",
            workload=workload("oltp_point_select", 4),
        )  # fmt: skip
        tally = drive(plan).finished().last.tally
        assert tally.succeeded + tally.failed == tally.due == 60
        assert 10 < tally.failed < 50  # two of four tables are missing

    @on_mariadb
    def test_the_window_is_as_long_as_asked_and_in_whole_seconds(self, shared: Sandbox) -> None:
        outcome = drive(a_plan(tcp(shared), users=2, shards=2, stop=seconds(2.5, 0.5)))
        spans = [(each.phase, each.from_s, each.to_s) for each in outcome.finished().samples]
        assert spans[:4] == [
            ("warmup", 0.0, 0.5), ("window", 0.5, 1.5), ("window", 1.5, 2.5), ("window", 2.5, 3.0),
        ]  # fmt: skip
        assert {phase for phase, _, _ in spans[4:]} <= {"drain"}

    @on_mariadb
    def test_thinking_users_are_slower(self, shared: Sandbox) -> None:
        arrival = {"kind": "closed", "think_s": 0.1}
        outcome = drive(a_plan(tcp(shared), users=5, stop=seconds(1.05), arrival=arrival))
        # Eleven each at most, and the second only after its think time.
        assert 10 <= outcome.finished().last.tally.succeeded <= 55

    def test_a_server_of_nobody_ends_it_before_it_began(self) -> None:
        outcome = drive(a_plan(NOBODY, users=3, connect=connecting(retries=1)))
        assert outcome.failure == ("unreachable", 2003)
        assert outcome.connect_failures()["2003"] >= 2
        assert outcome.last.tally.due == 0
        assert "secret" not in outcome.last.model_dump_json()


@pytest.mark.server
class TestSeveralTargets:
    @on_mysql
    def test_users_are_spread_and_each_target_is_counted(self, shared: Sandbox, farm: Farm) -> None:
        other = farm("mariadb")
        plan = a_plan(
            tcp(shared), tcp(other, "required"), users=9, shards=2, stop=seconds(1),
            workload=workload("oltp_read_only"),
        )  # fmt: skip
        outcome = drive(plan).finished()
        assert outcome.connected is not None
        assert outcome.connected.encrypted_users == 4
        for sample in outcome.samples:
            assert [target.users for target in sample.targets] == [5, 4]
            counts = sample.counts
            assert sum(target.events for target in sample.targets) == counts.events
            assert sum(target.queries for target in sample.targets) == counts.queries
        assert all(outcome.of_target(index, "events") > 10 for index in (0, 1))

    def test_one_that_dies_takes_only_its_own_users_with_it(self) -> None:
        with null_target() as (_, stays), null_target() as (dies, other):
            plan = a_plan(stays, other, users=6, shards=2, stop=seconds(60))
            with Driving(plan) as step:
                step.until_samples(1)
                dies.stop()
                step.until(lambda outcome: outcome.errors()["2013"] == 3)
                step.until_samples(len(step.outcome.samples) + 2)
                step.stop()
        outcome = step.outcome
        (outage,) = outcome.outages
        assert outage.users == 3
        last = outcome.samples[-1]
        assert [target.users for target in last.targets] == [3, 0]
        assert last.users == 3
        assert outcome.of_target(1, "errors") == outcome.errors()["2013"] == 3
        assert outcome.of_target(1, "connect_failures") == sum(outcome.connect_failures().values())
        assert outcome.of_target(0, "errors") == outcome.of_target(0, "connect_failures") == 0
        assert sum(sample.targets[0].events for sample in outcome.samples[-2:]) > 0

    def test_one_that_refuses_is_named_by_its_place(self, shared: Sandbox) -> None:
        wrong = tcp(shared) | {"password": "wrong"}
        outcome = drive(a_plan(tcp(shared), wrong, users=4))
        assert outcome.failure == ("login_refused", 1045)
        assert outcome.last.error is not None
        assert outcome.last.error.target == 1


@pytest.mark.server
class TestCommandLine:
    """The same from the command line: a few cases that need the whole chain."""

    def run(
        self, sandbox: Sandbox, tmp_path: Path, *words: str, code: int = 0
    ) -> CompletedProcess[str]:
        secret = {"LOADSTONE_PASSWORD": sandbox.tcp.credentials.reveal(), "HOME": str(tmp_path)}
        return called(*words, folder=tmp_path, environment=secret, code=code)

    def test_two_targets_and_a_session_in_one_run(self, shared: Sandbox, tmp_path: Path) -> None:
        tcp_url = shared.endpoint(tls=Tls(mode="required")).target.url
        socket_url = shared.local.target.url
        done = self.run(
            shared, tmp_path, "run", "oltp_read_only", "--target", tcp_url, "--target", socket_url,
            "--concurrency", "4", "--duration", "1s", "--warmup", "0s", "--json",
            "--isolation", "read-committed", "--init-sql", "SET @a = 1",
        )  # fmt: skip
        step: dict[str, Any] = json.loads(done.stdout)["steps"][0]
        assert [target["users"] for target in step["targets"]] == [2, 2]
        assert sum(target["events"] for target in step["targets"]) == step["events"] > 0
        assert step["encrypted_users"] == 2

    @on_mariadb
    def test_a_failed_attempt_is_shown_where_the_step_failed_for_it(
        self, shared: Sandbox, tmp_path: Path
    ) -> None:
        url = shared.tcp.target.model_copy(update={"port": 1}).url
        done = self.run(
            shared, tmp_path, "run", "oltp_read_only", "--target", url, "--duration", "1s", code=3
        )
        assert done.stderr.startswith("error: ")
