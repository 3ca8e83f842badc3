"""The documents that go down to the engine."""

from __future__ import annotations

import json

import pytest
from pydantic import SecretStr, ValidationError

from loadstone import engine
from loadstone.lab.step.order import steps_of
from loadstone.model.engine_plan import Layout, LoadPlan, load_document, step_document
from loadstone.model.pgbench import PgbenchSpec
from loadstone.model.plan import Drive, Open, Plan, Rate, WarmupAuto, WorkloadSpec
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
        "max_tries",
        "tries_within_s",
        "drain_s",
        "per_user",
        "pauses_s",
        "figures_by_command",
        "event_log",
        "event_log_share",
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


@pytest.mark.parametrize(
    ("family", "cores", "shards"),
    [
        ("mysql", 1, 1), ("mysql", 2, 1), ("mysql", 8, 4),
        ("postgresql", 1, 1), ("postgresql", 2, 2), ("postgresql", 3, 2), ("postgresql", 8, 4),
    ],
)  # fmt: skip
def test_a_server_on_the_same_host_gets_half_of_the_cores(
    family: str, cores: int, shards: int
) -> None:
    assert Drive(shards=cores).beside_the_server(family).shards == shards
    asked = Drive(shards=cores, shards_asked=True)
    assert asked.beside_the_server(family) == asked


def test_a_limit_of_events_stands_beside_that_of_time() -> None:
    plan = a_plan(events=100, duration_s=60.0)
    document = json.loads(step_document(plan, steps_of(plan)[0], [ENDPOINT]))
    assert (document["stop"]["kind"], document["stop"]["events"]) == ("events", 100)
    assert document["stop"]["duration_s"] == 60.0


def test_a_plan_without_pgbenchs_parts_is_written_without_their_keys() -> None:
    written = a_plan().model_dump(mode="json")
    of_pgbench = {"max_tries", "tries_within_s", "figures_by_command", "event_log"}
    of_pgbench |= {"event_log_share", "events_of_each_user", "pgbench", "latest_start_s"}
    assert of_pgbench.isdisjoint({*written, *written["drive"], *written["workload"]})
    assert Plan.model_validate(written) == a_plan()


def test_a_script_of_pgbench_goes_down_with_all_that_its_step_asks_for() -> None:
    script = PgbenchSpec(script="SELECT :scale;", variables={"scale": "7"}, in_text=True)
    drive = Drive(
        arrival=Open(latest_start_s=0.05),
        on_error="end_user",
        max_tries=3,
        tries_within_s=0.2,
        figures_by_command=True,
        event_log=True,
        event_log_share=0.5,
    )
    plan = a_plan(
        workload=WorkloadSpec(name="mine", tables=1, table_size=1, pgbench=script),
        rates=(Rate(rate=50),),
        events=100,
        events_of_each_user=True,
        drive=drive,
    )
    assert Plan.model_validate_json(plan.model_dump_json()) == plan
    text = step_document(plan, steps_of(plan)[0], [ENDPOINT])
    engine.check_plan(text)
    document = json.loads(text)
    assert document["workload"]["pgbench"] == {
        "script": "SELECT :scale;",
        "variables": {"scale": "7"},
        "in_text": True,
        "repeats_draws": False,
        "number": 0,
        "shows_errors": False,
        "traces": False,
    }
    assert document["stop"] == {
        "kind": "events", "events": 100, "of_each_user": True, "warmup_s": 1.0, "duration_s": 4.0,
    }  # fmt: skip
    assert document["arrival"]["latest_start_s"] == 0.05
    asked = ("on_error", "max_tries", "tries_within_s", "event_log_share")
    assert [document[key] for key in asked] == ["end_user", 3, 0.2, 0.5]


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
