"""`experiment` and `resume` from the command line to the folder, with the scripted engine."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import scripted_engine
from loadstone import engine
from loadstone.cli.errors import exit_code_of
from loadstone.lab.tables.discover import Data, Wanted
from loadstone.lab.tables.inspect import InspectedTarget
from loadstone.model.cluster import GENERATOR_LOST, ClusterAsked
from loadstone.model.exit_codes import ExitCode
from loadstone.model.result import StepResult
from loadstone.model.target import Endpoint
from loadstone.runner.backend import StepBackend
from loadstone.servers.facts import ServerFacts
from scripted_engine import Script

FILE = """\
name = "two"
duration = "4s"
warmup = "0s"
ladder = [4]
repeats = 4

[[workload]]
name = "oltp_point_select"
tables = 2
table_size = 100

[factor.server.a]
target = { url = "mysql://bench@127.0.0.1:3301/sbtest" }
[factor.server.b]
target = { url = "mysql://bench@127.0.0.1:3302/sbtest" }
"""
ABBA = ["server=a", "server=b", "server=b", "server=a"]


def made_up(endpoint: Endpoint) -> InspectedTarget:
    facts = ServerFacts(
        version=f"10.11.0-{endpoint.target.port}",
        flavour="mariadb",
        comment="",
        variables={"max_connections": "100000"},
        connected=1,
        cipher="",
        max_connections=100_000,
    )
    return InspectedTarget(endpoint=endpoint, facts=facts, data=Data(tables=2, table_size=100))


def with_tables(endpoint: Endpoint, wanted: Wanted, timeout_s: float) -> InspectedTarget:
    return made_up(endpoint)


@pytest.fixture(autouse=True)
def undisturbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Script) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("loadstone.experiments.servers.described", made_up)
    monkeypatch.setattr("loadstone.experiments.servers.inspect_target", with_tables)
    monkeypatch.setattr("loadstone.experiments.servers.confirm_tables", lambda *_: None)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def by_server(script: Script, rate: Callable[[int, int, int], int]) -> None:
    """Events a second by the server's port, the step's number and the second."""
    now: dict[str, int] = {}

    def about_to(plan: dict[str, Any]) -> None:
        now["port"] = plan["targets"][0]["port"]
        now["step"] = int(plan["tag"].removeprefix("step-"))

    script.before_connect = about_to
    script.tps = lambda users, second: rate(now["port"], now["step"], second)


def carried_out(text: str = FILE, *words: str) -> int:
    Path("two.toml").write_text(text)
    return exit_code_of(["experiment", "two.toml", "--no-observe", *words])


def result() -> dict[str, Any]:
    (run,) = Path("runs").iterdir()
    found: dict[str, Any] = json.loads((run / "result.json").read_text())
    return found


def variants_of(found: dict[str, Any]) -> list[str]:
    return [step["variant"] for step in found["steps"]]


def test_variants_take_turns_each_on_its_own_server() -> None:
    assert carried_out() == 0
    found = result()
    assert variants_of(found) == ABBA * 2
    assert [step["step"] for step in found["steps"]] == list(range(1, 9))
    ports = [sent["targets"][0]["port"] for sent in scripted_engine.PLANS]
    assert ports == [3301, 3302, 3302, 3301] * 2
    for step in found["steps"]:
        port = "3301" if step["variant"] == "server=a" else "3302"
        (share,) = step["targets"]
        assert share["target"] == f"mysql://bench@127.0.0.1:{port}/sbtest"
        assert share["server_version"] == f"10.11.0-{port}"


def test_the_machines_of_a_cluster_drive_with_what_was_set_aside_there(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[ClusterAsked | None] = []

    @contextmanager
    def starting(asked: ClusterAsked | None, *_: object) -> Iterator[StepBackend]:
        given.append(asked)
        yield StepBackend(engine.start, lambda step: False)

    monkeypatch.setattr("loadstone.runner.experiment.step_backend", starting)
    file = f'{FILE}[cluster]\naddress = "10.0.0.1:6379"\ncpus_per_generator = 2\n'
    assert carried_out(file) == 0
    assert {sent["shards"] for sent in scripted_engine.PLANS} == {2}
    assert given == [ClusterAsked(address="10.0.0.1:6379", cpus_per_generator=2)]
    assert carried_out(file, "--out", "others", "--cluster", "10.9.9.9:1") == 0
    assert given[1] == ClusterAsked(address="10.9.9.9:1")


def test_a_step_in_which_a_machine_was_lost_is_measured_anew_under_its_number(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    script.fail_at_s = 2
    script.end_error = {"kind": GENERATOR_LOST, "message": "generator 1 on b was lost"}

    def once(step: StepResult) -> bool:
        lost, script.fail_at_s = script.fail_at_s is not None, None
        return lost

    @contextmanager
    def starting(*_: object) -> Iterator[StepBackend]:
        yield StepBackend(engine.start, once)

    monkeypatch.setattr("loadstone.runner.experiment.step_backend", starting)
    assert carried_out() == 0
    found = result()
    assert [(step["step"], step["state"]) for step in found["steps"]] == [
        (number, "finished") for number in range(1, 9)
    ]
    assert variants_of(found) == ABBA * 2
    assert "step 1 is measured again: generator 1 on b was lost" in found["run"]["notes"]


def test_a_faster_server_is_told(script: Script, capsys: pytest.CaptureFixture[str]) -> None:
    by_server(script, lambda port, step, second: (1000 if port == 3301 else 1200) + step % 3)
    assert carried_out(FILE.replace("repeats = 4", "repeats = 8")) == 0
    out = capsys.readouterr().out
    assert "server=b against server=a: faster" in out
    assert "+20.0 %" in out or "+19.9 %" in out
    assert "paired t on logarithms, 4 units" in out


def test_the_same_server_is_told_to_be_the_same(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    by_server(script, lambda port, step, second: 1000 + 7 * step % 5)
    assert carried_out(FILE.replace("repeats = 4", "repeats = 8")) == 0
    assert "server=b against server=a: no difference within 3 %" in capsys.readouterr().out


def test_noise_is_not_enough_evidence_and_more_repeats_are_asked_for(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    by_server(script, lambda port, step, second: 1000 + (400 * step) % 700)
    assert carried_out() == 0
    out = capsys.readouterr().out
    assert "cannot be decided on this machine in reasonable time: its noise is ± " in out
    assert "faster" not in out


def test_a_run_shown_again_reads_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert carried_out() == 0
    at_once = capsys.readouterr().out
    assert exit_code_of(["runs", "show", "last"]) == 0
    assert capsys.readouterr().out == at_once


@pytest.mark.parametrize(
    ("variable", "words", "said", "hint"),
    [
        ("general_log", (), "it would set general_log for all on 127.0.0.1:3301, which", "--yes"),
        ("sync_binlog", ("--yes",), "commits made meanwhile might be lost", "[sandbox]"),
    ],
)
def test_variables_of_what_is_no_sandbox_are_set_as_for_a_proof(
    variable: str, words: tuple[str, ...], said: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = FILE.partition("[factor")[0] + (
        '[target]\nurl = "mysql://bench@127.0.0.1:3301/sbtest"\n'
        f"[factor.x.a]\n[factor.x.b]\ndynamic = {{ {variable} = 0 }}\n"
    )
    assert carried_out(text, *words) == ExitCode.GUARD
    error, told = capsys.readouterr().err.splitlines()
    assert f"x=b is not measured: {said}" in error
    assert hint in told
    assert not Path("runs").exists()


def test_client_options_are_those_of_the_variant() -> None:
    text = FILE.partition("[factor")[0] + (
        '[target]\nurl = "mysql://bench@127.0.0.1:3301/sbtest"\n'
        "[factor.client.plain]\n"
        '[factor.client.other]\nclient = { prepared = false, tls = "disabled", '
        'compression = "zstd,zlib", hosts = ["db1:3303", "db2"] }\n'
    )
    assert carried_out(text) == 0
    plain, other = scripted_engine.PLANS[0], scripted_engine.PLANS[1]
    assert (plain["protocol"], other["protocol"]) == ("prepared", "text")
    assert plain["targets"][0]["tls"]["mode"] == "preferred"
    assert [(each["host"], each["port"]) for each in other["targets"]] == [
        ("db1", 3303),
        ("db2", 3306),
    ]
    assert {each["tls"]["mode"] for each in other["targets"]} == {"disabled"}
    assert other["targets"][1]["compression"] == ["zstd", "zlib"]


def test_ctrl_c_ends_it_and_resume_does_the_rest_once(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    assert carried_out() == 0
    whole = list(scripted_engine.PLANS)
    scripted_engine.PLANS.clear()

    def at_step_three(port: int, step: int, second: int) -> int:
        if (step, second, len(scripted_engine.PLANS)) == (3, 1, 3):
            os.kill(os.getpid(), signal.SIGINT)
        return 1000

    by_server(script, at_step_three)
    words = ("--out", "again")
    assert carried_out(FILE, *words) == 130
    (run,) = Path("again").iterdir()
    assert json.loads((run / "result.json").read_text())["run"]["state"] == "stopped"
    assert exit_code_of(["resume", "last", "--no-observe", *words]) == 0
    found = json.loads((run / "result.json").read_text())
    assert found["run"]["state"] == "finished"
    assert [(step["step"], step["state"]) for step in found["steps"]] == [
        (number, "finished") for number in range(1, 9)
    ]
    assert found["run"]["notes"] == [
        "resumed after 2 steps; step 3, which was not finished, is measured again"
    ]
    # The third step was started twice; all else is as in an uninterrupted run.
    del scripted_engine.PLANS[2]
    assert scripted_engine.PLANS == whole
    capsys.readouterr()
    assert exit_code_of(["resume", "last", *words]) == 8
    assert "there is nothing left to do" in capsys.readouterr().err


def test_a_run_that_was_killed_in_a_step_is_taken_up(script: Script) -> None:
    class Killed(BaseException):
        """As sudden as a power failure: nothing more is written."""

    def at_step_two(port: int, step: int, second: int) -> int:
        if (step, second, len(scripted_engine.PLANS)) == (2, 2, 2):
            raise Killed
        return 1000

    by_server(script, at_step_two)
    assert carried_out() == 1
    (run,) = Path("runs").iterdir()
    journal = run / "journal.jsonl"
    journal.write_bytes(journal.read_bytes() + b'{"kind":"engine","at_s":9.1,"st')
    with (run / "latency.hlog").open("ab") as latencies:
        latencies.write(b"Tag=step-2/response,9.0,1.0")
    assert exit_code_of(["resume", "last", "--no-observe"]) == 0
    found = result()
    assert variants_of(found) == ABBA * 2
    assert [step["events"] for step in found["steps"]] == [4000] * 8
    assert [step["latency"]["response"]["count"] for step in found["steps"]] == [4000] * 8


def test_only_experiments_are_taken_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(["resume", "last"]) == 8
    assert "there are no runs" in capsys.readouterr().err


def test_units_that_noise_spoiled_are_measured_again(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    # The scripted engine's generator takes 100 us of its core for an event.
    by_server(script, lambda port, step, second: 9000 if step == 2 else 1000 + step % 2)
    assert carried_out() == 0
    out = capsys.readouterr().out
    assert variants_of(result()) == ABBA * 3
    assert "1 of 1 cells measured once more, as units were left out: client-bound" in out
    assert "1 of 3 units left out: client-bound 1" in out


@pytest.mark.slow
def test_what_is_always_spoiled_is_measured_again_only_so_often(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    by_server(script, lambda port, step, second: 9000)
    assert carried_out() == 0
    assert variants_of(result()) == ABBA * 3
    out = capsys.readouterr().out
    assert "not enough evidence: every unit was disturbed; provisionally +0.00 %" in out
    assert "3 of 3 units left out: client-bound 3" in out
    assert carried_out(FILE, "--strict", "--out", "strict") == 5


def test_until_goes_on_until_the_effect_is_known(
    script: Script, capsys: pytest.CaptureFixture[str]
) -> None:
    by_server(script, lambda port, step, second: 1000 + 13 * step % 41)
    assert carried_out(f'until = "2%"\n{FILE}') == 0
    found = result()
    assert len(found["steps"]) > 8
    assert variants_of(found) == ABBA * (len(found["steps"]) // 4)
    assert found["run"]["steps_planned"] is None
    assert "confidence sequence" in capsys.readouterr().out


def test_until_ends_when_the_time_is_up(script: Script) -> None:
    by_server(script, lambda port, step, second: 1000 + (400 * step) % 700)
    assert carried_out(f'until = "0.1%"\ntime_limit = "1ms"\n{FILE}') == 0
    assert len(result()["steps"]) == 8


def test_a_step_that_fails_ends_it(script: Script, capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(plan: dict[str, Any]) -> dict[str, Any] | None:
        if plan["tag"] != "step-2":
            return None
        said = {
            "kind": "too_many_connections",
            "family": "mysql",
            "code": "1040",
            "sql_state": "08004",
        }
        return said | {"message": "too many connections", "target": 0, "statement": None}

    script.before_connect = refuse
    assert carried_out() == 3
    assert [step["state"] for step in result()["steps"]] == ["finished", "failed"]
    assert "127.0.0.1:3302: too many connections" in capsys.readouterr().err


def test_a_dry_run_starts_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert carried_out(FILE, "--dry-run") == 0
    out = capsys.readouterr().out
    assert scripted_engine.PLANS == []
    assert not Path("runs").exists()
    rows = [line.split() for line in out.splitlines() if line.lstrip()[:1].isdigit()]
    assert [row[3] for row in rows if row[0].isdigit() and row[1].isdigit()] == ABBA * 2
    assert "8 steps: 32 s, and what loading the tables and restarting for fresh data takes" in out


CGROUP = """\
[sandbox]
[factor.size.all]
[factor.size.small]
cgroup = { cores = 0.5 }
"""
NETWORK = CGROUP.replace("cgroup = { cores = 0.5 }", 'network = { delay = "1ms" }')
HEAD = FILE.partition("[factor")[0]
MEMBER = 'mix = [{ name = "oltp_insert", users = 2, weight = 3 }]'
OWN = 'mix = [{ name = "oltp_insert", users = 2 }]'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (FILE.replace("ladder", "laddder"), "4: laddder: there is no such key|mean ladder?"),
        (FILE.replace('"4s"', '"0s"'), "2: duration: |write"),
        (FILE.replace("point_select", "point_selekt"), "8: workload[1].name: there|oltp_point_s"),
        ('phases = "a 5s 4"\n' + FILE, "3: duration: the phases say that|leave it out"),
        ('phases = "a 5x 4"\n' + FILE, "1: phases: phase 1, 'a 5x 4'|warm 60s"),
        (FILE.replace("tables = 2", "users = 2"), "9: workload[1].users: there is no|there are"),
        (
            FILE.replace("tables = 2", "mix = [{}]"),
            "9: workload[1].mix[1]: a workload without|name",
        ),
        (FILE.replace("tables = 2", MEMBER), "9: workload[1].mix[1].weight: it has either|leave"),
        (FILE.replace("tables = 2", OWN), "9: workload[1].mix: all of them have users|without"),
        (HEAD + CGROUP, "15: factor.size.small.cgroup: only root|run it as root"),
        (HEAD + NETWORK, "15: factor.size.small.network: only root|run it as root"),
    ],
)
def test_a_wrong_file_starts_nothing_and_is_told_by_line(
    text: str, told: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert carried_out(text) == 4
    # Of several problems each is a line with its hint, and the last line counts them.
    first, second, *_ = capsys.readouterr().err.splitlines()
    said, _, write = told.partition("|")
    assert first.removeprefix("error: ").startswith(f"two.toml:{said}")
    assert write in (second if second.startswith("hint: ") else first)
    assert scripted_engine.PLANS == []
    assert not Path("runs").exists()


def test_what_this_machine_cannot_do_is_refused_before_anything_starts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(
        "loadstone.sandbox.network.why_not", lambda limit: ("delay_s", "this kernel has no queue")
    )
    assert carried_out(HEAD + NETWORK) == 4
    said = capsys.readouterr().err
    assert "two.toml:15: factor.size.small.network.delay: this kernel has no queue" in said
    assert carried_out(HEAD + '[sandbox]\nroot = "/no/such/system"\n') == 4
    said = capsys.readouterr().err
    assert "two.toml:13: sandbox.root: there is no folder /no/such/system" in said
    assert not Path("runs").exists()
