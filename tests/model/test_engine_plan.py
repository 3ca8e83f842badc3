"""The documents that go down to the engine."""

from __future__ import annotations

import json

import pytest
from pydantic import SecretStr, ValidationError

from loadstone.lab.step.order import steps_of
from loadstone.model.engine_plan import Layout, LoadPlan, load_document, step_document
from loadstone.model.plan import Drive, Plan, WarmupAuto, WorkloadSpec
from loadstone.model.target import Credentials, Endpoint, Target
from recorded import SECRET, a_plan

ENDPOINT = Endpoint(
    target=Target(host="db1", user="bench", database="sbtest"),
    credentials=Credentials(password=SecretStr(SECRET)),
)


def test_a_step_has_every_key_of_the_contract() -> None:
    plan = a_plan()
    document = json.loads(step_document(plan, steps_of(plan)[1], [ENDPOINT]))
    assert set(document) == {
        "targets",
        "workload",
        "protocol",
        "users",
        "arrival",
        "stop",
        "connect",
        "session",
        "on_error",
        "restart_on",
        "drain_s",
        "per_user",
        "pauses_s",
        "reconnect_after",
        "idle",
        "phases",
        "shards",
        "seed",
        "tag",
    }
    assert (document["users"], document["tag"]) == (4, "step-2")
    assert document["targets"][0]["password"] == SECRET
    assert (document["targets"][0]["family"], document["restart_on"]) == (
        "mysql",
        ["1213", "1205", "1020", "1412", "1615"],
    )


@pytest.mark.parametrize(("users", "shards"), [(1, 1), (16, 1), (17, 2), (64, 4), (4000, 4)])
def test_few_users_share_one_event_loop(users: int, shards: int) -> None:
    assert Drive(shards=4, users_a_shard=16).shards_for(users) == shards


def test_a_limit_of_events_stands_beside_that_of_time() -> None:
    plan = a_plan(events=100, duration_s=60.0)
    document = json.loads(step_document(plan, steps_of(plan)[0], [ENDPOINT]))
    assert (document["stop"]["kind"], document["stop"]["events"]) == ("events", 100)
    assert document["stop"]["duration_s"] == 60.0


def test_each_step_of_a_ledger_has_a_book_of_its_own_and_other_workloads_have_none() -> None:
    spec = WorkloadSpec(name="ledger", tables=1, table_size=1, book=1 << 20)
    plan = a_plan(workload=spec)
    sent = [json.loads(step_document(plan, step, [ENDPOINT])) for step in steps_of(plan)]
    assert [each["workload"]["book"] for each in sent] == [(1 << 20) + 1, (1 << 20) + 2]
    other = json.loads(step_document(a_plan(), steps_of(a_plan())[1], [ENDPOINT]))
    assert other["workload"]["book"] == 0


def test_an_automatic_warm_up_drives_the_whole_duration_as_window() -> None:
    plan = a_plan(warmup=WarmupAuto(), duration_s=60.0)
    document = json.loads(step_document(plan, steps_of(plan)[0], [ENDPOINT]))
    assert document["stop"] == {"kind": "time", "warmup_s": 0.0, "duration_s": 60.0}


def test_a_load_has_every_key_of_the_contract() -> None:
    document = json.loads(load_document(LoadPlan(layout=Layout(kind="hot", tables=1)), ENDPOINT))
    assert set(document) == {
        "target",
        "layout",
        "parallel",
        "method",
        "seed",
        "connect",
        "session",
        "continues",
        "marks",
    }
    assert document["layout"]["kind"] == "hot"


def test_a_plan_has_no_place_for_a_password() -> None:
    plan = a_plan()
    assert SECRET not in plan.model_dump_json()
    assert SECRET not in repr(ENDPOINT)
    assert SECRET not in ENDPOINT.model_dump_json()


@pytest.mark.parametrize(
    "wrong",
    [
        {"ladder": ()},
        {"ladder": (0,)},
        {"duration_s": 0},
        {"repeats": 0},
        {"targets": ()},
        {"warmup": {"kind": "seconds", "warmup_s": -1}},
        {"warmup": {"kind": "later"}},
        {"think": 1},
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        a_plan(**wrong)


def test_a_plan_is_the_same_after_it_was_written_and_read() -> None:
    plan = a_plan()
    assert Plan.model_validate_json(plan.model_dump_json()) == plan
