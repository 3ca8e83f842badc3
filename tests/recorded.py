"""Runs recorded from the scripted engine."""

from __future__ import annotations

from pathlib import Path

from pydantic import SecretStr

import scripted_engine
from loadstone import engine
from loadstone.model.engine_plan import step_document
from loadstone.model.message import plain
from loadstone.model.plan import Plan, Step, WarmupSeconds, WorkloadSpec
from loadstone.model.records import End
from loadstone.model.target import Credentials, Endpoint, Target
from loadstone.runs import run_folder
from loadstone.runs.recorder import Asked, Recorder

SECRET = "hunter2-and-more"


def a_plan(**changes: object) -> Plan:
    """A short plan against a made-up target."""
    fields: dict[str, object] = {
        "name": "test",
        "targets": (Target(host="db1", user="bench", database="sbtest"),),
        "workload": WorkloadSpec(name="oltp_read_write", tables=2, table_size=100),
        "ladder": (1, 4),
        "duration_s": 4.0,
        "warmup": WarmupSeconds(warmup_s=1.0),
    }
    return Plan.model_validate(fields | changes)


def steps_of(plan: Plan) -> tuple[Step, ...]:
    return tuple(
        Step(number=number, workload=plan.workload.name, concurrency=concurrency)
        for number, concurrency in enumerate(plan.ladder, start=1)
    )


def recorder_for(out: Path, plan: Plan, version: str = "10.11.0-scripted") -> Recorder:
    asked = Asked(
        loadstone="0.1.0",
        engine=engine.build_info(),
        command_line=("loadstone", "run"),
        plan=plan,
        steps=steps_of(plan),
    )
    path = run_folder.create(out, plan.name, 1_800_000_000.0)
    return Recorder(path, asked, [version])


def record_step(recorder: Recorder, plan: Plan, step: Step, *, ends: bool = True) -> None:
    """Record one step of the scripted engine, up to its end; or all but that."""
    endpoint = Endpoint(target=plan.targets[0], credentials=Credentials(password=SecretStr(SECRET)))
    job = engine.start(step_document(plan, step, [endpoint]))
    recorder.begin_step(step)
    while True:
        record = job.next(0.0)
        assert record is not None
        if isinstance(record, End):
            break
        recorder.record(step, record)
    if ends:
        recorder.record(step, record)
        recorder.end_step(step, record.reason)


def recorded_run(out: Path, plan: Plan | None = None) -> Path:
    """Record a whole run, up to its end."""
    plan = plan or a_plan()
    recorder = recorder_for(out, plan)
    recorder.note(plain("the first of all notes"))
    for step in steps_of(plan):
        record_step(recorder, plan, step)
    recorder.end_run("finished")
    return recorder.folder


__all__ = ["SECRET", "a_plan", "record_step", "recorded_run", "recorder_for", "scripted_engine"]
