"""Experiments whose workloads are scripts written for sysbench."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from called import called
from loadstone import engine
from loadstone.config.problems import ExperimentRefused
from loadstone.experiments.checks import Machine
from loadstone.experiments.file import ExperimentFile, parse_experiment, read_experiment
from loadstone.experiments.host_limits import check_plans
from loadstone.experiments.scripts import ScriptChanged, check_unchanged, with_scripts
from loadstone.experiments.tables import made_on_targets, restoring, tables_of
from loadstone.experiments.variants import step_plan
from loadstone.experiments.workloads import with_templates
from loadstone.model.plan import Drive, Rate, ScriptSpec, Uniform
from loadstone.model.target import Target
from loadstone.workloads.scripts.general import with_general_options
from pooled import Pool

MACHINE = Machine(is_root=False, cores=2)
TARGET = '[target]\nurl = "mysql://a@db1:3307/shop"\n'
WORKLOAD = '[[workload]]\nname = "visits.lua"\n'
VISITS = """\
sysbench.cmdline.options = { rows = {"rows of the table", 100}, quiet = {"says less", false} }
local function server() return sysbench.sql.driver():connect() end
function prepare()
  local con = server()
  con:query("CREATE TABLE visits (id INT PRIMARY KEY, n INT NOT NULL)")
  for id = 1, sysbench.opt.rows do con:query("INSERT INTO visits VALUES (" .. id .. ", 0)") end
  print("rows in " .. sysbench.opt.mysql_db .. " for " .. sysbench.opt.threads)
end
function cleanup()
  server():query("DROP TABLE visits")
  print("dropped")
end
function thread_init() con = server() end
function event()
  local id = sysbench.rand.uniform(1, sysbench.opt.rows)
  con:query("UPDATE visits SET n = n + 1 WHERE id = " .. id)
end
"""


def parsed(text: str) -> ExperimentFile:
    return parse_experiment(text, "visits.toml", MACHINE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "visits.lua").write_text(VISITS)
    return tmp_path


def read(folder: Path, text: str) -> ExperimentFile:
    (folder / "visits.toml").write_text(text)
    return with_scripts(read_experiment(folder / "visits.toml", MACHINE))


def test_a_script_has_its_options_where_other_workloads_have_theirs() -> None:
    more = 'options = { rows = 50, quiet = true }\ndistribution = "uniform"\n'
    (workload,) = parsed(f"[sandbox]\n{WORKLOAD}{more}").experiment.workloads
    assert workload.name == "visits"
    assert workload.script == ScriptSpec(
        path="visits.lua", options={"rows": "50", "quiet": "on"}, distribution=Uniform()
    )


@pytest.mark.parametrize(
    ("top", "line", "key", "said"),
    [
        ('phases = "busy 10s 4"', 1, "phases", "cannot have phases"),
        ("idle = 3", 1, "idle", "opens its connections itself"),
        ("reconnect = 5", 1, "reconnect", "opens its connections itself"),
        ('on_error = "stop"', 1, "on_error", "decides itself what errors do"),
        ("timeline = true", 1, "timeline", "outages"),
        (f'restore = "prepare"\n{TARGET}', 1, "restore", "prepares only in a sandbox"),
    ],
)
def test_what_a_script_cannot_do_is_told_by_line(top: str, line: int, key: str, said: str) -> None:
    place = "" if "[target]" in top else "[sandbox]\n"
    with pytest.raises(ExperimentRefused) as refused:
        parsed(f"{top}\n{place}{WORKLOAD}")
    (fault,) = refused.value.faults
    assert (fault.line, fault.key) == (line, key)
    assert said in fault.what


def test_a_script_is_not_sent_at_once_and_other_workloads_are(folder: Path) -> None:
    pytest.importorskip("loadstone._engine", reason="the engine is not built")
    sent = '[factor.sent.at-once.client]\nprotocol = "pipelined"\n[factor.sent.alone]\n'
    place = '[sandbox]\nserver = "postgresql"\n'
    check_plans(read(folder, f'{place}[[workload]]\nname = "oltp_read_only"\n{sent}'))
    with pytest.raises(ExperimentRefused) as refused:
        check_plans(read(folder, f"{place}{WORKLOAD}{sent}"))
    (fault,) = refused.value.faults
    assert fault.key == "workload[1]" and "waits for each answer itself" in fault.what


@pytest.mark.parametrize(
    ("workload", "key", "said"),
    [
        (f"{WORKLOAD}tables = 4\n", "workload[1].tables", "no such key"),
        (f"{WORKLOAD}{WORKLOAD}", "workload[2].name", "there twice"),
        (
            '[[workload]]\n[[workload.mix]]\nname = "visits.lua"\n'
            '[[workload.mix]]\nname = "oltp_read_only"\n',
            "workload[1].mix[1].name",
            "cannot be one of several",
        ),
    ],
)
def test_a_script_brings_its_tables_and_is_a_workload_alone(
    workload: str, key: str, said: str
) -> None:
    with pytest.raises(ExperimentRefused) as refused:
        parsed(f"[sandbox]\n{workload}")
    (fault,) = refused.value.faults
    assert fault.key == key and said in fault.what


@pytest.mark.parametrize(
    ("name", "more", "key", "said"),
    [
        ("visits", "options = { lines = 5 }", "options.lines", "has no such option"),
        ("visits", 'options = { quiet = "maybe" }', "options.quiet", "invalid value"),
        ("broken", "", "name", "expected near"),
        ("module", "", "name", "cannot find the event() function"),
        ("gone", "", "name", "cannot be read"),
    ],
)
def test_a_script_that_cannot_be_driven_is_told_before_anything_starts(
    folder: Path, name: str, more: str, key: str, said: str
) -> None:
    (folder / "broken.lua").write_text("function event(")
    (folder / "module.lua").write_text("local x = 1")
    with pytest.raises(ExperimentRefused) as refused:
        read(folder, f'[sandbox]\n[[workload]]\nname = "{name}.lua"\n{more}\n')
    (fault,) = refused.value.faults
    assert fault.key == f"workload[1].{key}" and said in fault.what


def test_a_template_must_not_have_the_name_of_a_script(folder: Path) -> None:
    (folder / "other.toml").write_text(
        'name = "visits"\n[transaction.one]\nstatements = [{ sql = "SELECT 1", rows = 1 }]\n'
    )
    file = read(folder, f'[sandbox]\n{WORKLOAD}[[workload]]\nname = "other.toml"\n')
    with pytest.raises(ExperimentRefused, match="visits"):
        with_templates(file, engine.workloads(), ())


def test_a_step_tells_its_script_what_a_command_line_would(folder: Path) -> None:
    experiment = read(folder, f"seed = 7\n{TARGET}{WORKLOAD}").experiment
    (workload,) = experiment.workloads
    drive = Drive(seed=7, protocol="text")
    targets = [Target(host="db1", port=3307, user="a", database="shop")]
    plan = step_plan(experiment, workload, targets, drive)
    script = with_general_options(plan, 8, Rate(rate=100)).workload.script
    assert script is not None
    assert (script.command, script.path) == ("run", str(folder / "visits.lua"))
    expected = {
        "threads": 8,
        "time": 30,
        "rate": 100,
        "rand_seed": 7,
        "rand_type": "special",
        "rand_spec_res": 75,
        "db_driver": "mysql",
        "db_ps_mode": "disable",
        "mysql_host": ("db1",),
        "mysql_port": ("3307",),
        "mysql_user": "a",
        "mysql_db": "shop",
    }
    assert {key: script.general[key] for key in expected} == expected
    assert "mysql_password" not in script.general


def test_a_script_that_was_changed_is_not_gone_on_with(folder: Path) -> None:
    experiment = read(folder, f"[sandbox]\n{WORKLOAD}").experiment
    check_unchanged(experiment)
    (folder / "visits.lua").write_text(f"{VISITS}-- more\n")
    with pytest.raises(ScriptChanged, match="has been changed since the experiment started"):
        check_unchanged(experiment)
    (folder / "visits.lua").unlink()
    with pytest.raises(ScriptChanged, match="can no longer be read"):
        check_unchanged(experiment)


def test_tables_of_a_script_are_made_in_a_schema_of_its_own_and_on_no_target(
    folder: Path,
) -> None:
    built_in = '[[workload]]\nname = "oltp_read_only"\n'
    experiment = read(folder, f"{TARGET}{WORKLOAD}{built_in}").experiment
    tables = tables_of(experiment, engine.workloads())
    assert [tables.schema(name, "s") for name in ("oltp_read_only", "visits")] == ["s", "s_2"]
    assert (restoring(experiment, tables, "copy"), restoring(experiment, tables, "prepare")) == (
        "copy",
        "none",
    )
    assert made_on_targets(experiment, tables) == ()


def test_a_script_is_driven_on_somebodys_server_only_with_consent(folder: Path) -> None:
    (folder / "visits.toml").write_text(TARGET + WORKLOAD)
    said = called("experiment", "visits.toml", folder=folder, code=None)
    assert said.returncode == 7
    assert "visits is a script, which may write to anything on db1:3307" in said.stderr
    assert "--yes" in said.stderr


HEAD = """\
duration = "1s"
warmup = "200ms"
ladder = [2]
repeats = 2
"""
DYNAMIC = """\
[factor.durability.full]
[factor.durability.relaxed]
dynamic = { innodb_flush_log_at_trx_commit = 2 }
"""


def found(folder: Path) -> dict[str, Any]:
    (run,) = (folder / "runs").iterdir()
    result: dict[str, Any] = json.loads((run / "result.json").read_text())
    return result


@pytest.mark.server
@pytest.mark.slow
def test_a_script_makes_its_tables_in_a_sandbox_and_is_driven_on_each_variant(
    folder: Path,
) -> None:
    options = "options = { rows = 20 }\n"
    twice = HEAD.replace("repeats = 2", "repeats = 4")
    text = f'restore = "prepare"\n{twice}[sandbox]\n{WORKLOAD}{options}{DYNAMIC}'
    (folder / "visits.toml").write_text(text)
    said = called("experiment", "visits.toml", folder=folder).stderr
    # Once at first, and again for the second round.
    made, dropped = said.count("visits prepare: rows in sbtest for 2"), said.count(": dropped")
    assert made == dropped + 1 >= 2
    steps = found(folder)["steps"]
    assert {step["variant"] for step in steps} == {"durability=full", "durability=relaxed"}
    for step in steps:
        assert (step["state"], step["workload"]) == ("finished", "visits")
        assert step["tps"] > 0 and not step["errors"]
    called("report", "last", folder=folder)
    called("diagnose", "last", folder=folder)


@pytest.mark.server
@pytest.mark.slow
def test_on_a_target_a_script_finds_the_tables_that_were_prepared(
    folder: Path, pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pool.schema() as server:
        monkeypatch.setenv("LOADSTONE_PASSWORD", server.tcp.credentials.reveal())
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"USE {server.state.database}")
            cursor.execute("CREATE TABLE visits (id INT PRIMARY KEY, n INT NOT NULL)")
            cursor.execute("INSERT INTO visits VALUES (1, 0), (2, 0)")
        url = server.tcp.target.url
        target, options = f'[target]\nurl = "{url}"\n', "options = { rows = 2 }\n"
        (folder / "visits.toml").write_text(HEAD + target + WORKLOAD + options)
        said = called("experiment", "visits.toml", "--yes", folder=folder)
        with server.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT SUM(n) FROM {server.state.database}.visits")
            ((counted,),) = cursor.fetchall()
    assert "visits prepare" not in said.stderr
    assert "stays as they leave it" in " ".join((said.stdout + said.stderr).split())
    assert counted > 0
    assert [step["state"] for step in found(folder)["steps"]][:2] == ["finished"] * 2
