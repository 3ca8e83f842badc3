"""Thousands of virtual users in one process, and what each of them costs."""

from __future__ import annotations

import json
import resource
import subprocess
import sys

import pytest

from engine.conftest import Start, on_mariadb
from engine.driving import a_load, a_plan, connecting, load, local, seconds
from engine.truth import null_target

MANY, FEW = 4000, 100
MOST_BYTES_A_CONNECTION = 32 * 1024
PASSING = 12 * 270_000 / (MANY - FEW)
"""Whether a second's histograms exist when memory is read is chance, for few users and for many."""

# A process of its own: the memory of the tests' process grows for other reasons.
CHILD = """
import json, sys
from loadstone import engine
records = []
def resident():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))
seen = {}
for plan in json.load(sys.stdin):
    job = engine.start(json.dumps(plan))
    rss, said = 0, []
    while True:
        record = job.next(1.0)
        if record is None:
            continue
        said.append(record)
        if record.kind == "sample" and record.phase == "window":
            rss = max(rss, resident())
        if record.kind == "end":
            break
    said = [json.loads(each.model_dump_json()) for each in said]
    seen[plan["users"]] = {"rss": rss, "said": said}
    del job
print(json.dumps(seen))
"""


@pytest.mark.server
@on_mariadb
def test_four_thousand_users_without_an_error_for_less_than_32_kib_each(start: Start) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < MANY + 100:
        pytest.skip(f"ulimit -Hn is {hard}: {MANY} connections need more open files than that")
    sandbox = start({"thread_stack": "196608"}, max_connections=MANY + 50)
    load(a_load(local(sandbox))).finished()
    plan = a_plan(local(sandbox), connect=connecting(timeout_s=30), stop=seconds(2))
    plans = [plan | {"users": users} for users in (FEW, MANY)]

    def room() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, MANY + 1000), hard))

    done = subprocess.run(
        [sys.executable, "-c", CHILD], input=json.dumps(plans), capture_output=True, text=True,
        timeout=100, check=False, preexec_fn=room,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    for users in (FEW, MANY):
        connected, *samples, end = seen[str(users)]["said"]
        assert connected["users"] == users
        assert connected["connect_failures"] == {}
        assert (end["reason"], end["error"]) == ("finished", None)
        assert end["tally"]["failed"] == 0
        assert all(sample["kind"] == "sample" and not sample["errors"] for sample in samples)
        assert all(sample["users"] == users for sample in samples)
    slope = (seen[str(MANY)]["rss"] - seen[str(FEW)]["rss"]) / (MANY - FEW)
    assert -PASSING < slope < MOST_BYTES_A_CONNECTION, f"{slope:.0f} bytes a connection"


def test_too_few_descriptors_are_told_as_such() -> None:
    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))

    with null_target() as (_, target):
        plan = a_plan(target, users=200, stop=seconds(5), connect=connecting(retries=9))
        done = subprocess.run(
            [sys.executable, "-c", CHILD], input=json.dumps([plan]), capture_output=True,
            text=True, timeout=60, check=False, preexec_fn=little_room,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    end = json.loads(done.stdout)["200"]["said"][-1]
    assert end["reason"] == "failed"
    assert end["error"]["kind"] == "descriptors"
