"""The user's file of defaults: what it sets, what it may not, what comes before it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import click
import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from cli.test_help import commands
from cli.test_run_scripted import made_up
from loadstone import engine
from loadstone.cli.app import app
from loadstone.cli.defaults.giving_way import Typed, unfit
from loadstone.cli.defaults.settable import REFUSED, commands_of, key_of, options_of
from loadstone.cli.errors import exit_code_of
from loadstone.cli.help.command import Explained
from loadstone.engine import WorkloadInfo
from loadstone.model.distribution import not_drawn
from scripted_engine import Script

Config = Callable[[str], Path]


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """Writes the user's file."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    file = tmp_path / "config" / "loadstone" / "config.toml"

    def write(text: str) -> Path:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    return write


def loadstone(*words: str, folder: Path, code: int = 0) -> CompletedProcess[str]:
    return called(*words, folder=folder, code=code)


def settings(folder: Path) -> dict[tuple[str, str], object]:
    document = json.loads(loadstone("config", "--json", folder=folder).stdout)
    return {(each["command"], each["option"]): each["value"] for each in document["settings"]}


def test_a_key_above_all_tables_is_for_each_command_that_has_the_option(
    config: Config, tmp_path: Path
) -> None:
    config('out = "elsewhere"\n')
    having = {
        " ".join(path)
        for path, command in commands()
        if any("--out" in option.opts for option in command.params)
    }
    assert {command for command, _ in settings(tmp_path)} == having
    assert {"run", "serve", "runs list", "report", "workload replay"} <= having
    said = loadstone("runs", "list", folder=tmp_path).stderr
    assert said == "no runs in elsewhere\n"


def test_a_commands_table_comes_before_its_groups_and_that_before_the_top(
    config: Config, tmp_path: Path
) -> None:
    config('out = "top"\n[runs]\nout = "group"\n[runs.list]\nout = "own"\n')
    found = settings(tmp_path)
    assert found["run", "out"] == "top"
    assert found["runs show", "out"] == "group"
    assert found["runs list", "out"] == "own"


def test_the_command_line_comes_before_the_file(config: Config, tmp_path: Path) -> None:
    config('out = "elsewhere"\njson = true\n')
    assert loadstone("runs", "list", folder=tmp_path).stdout == "[]\n"
    done = loadstone("runs", "list", "--out", "here", "--no-json", folder=tmp_path)
    assert done.stderr == "no runs in here\n"


@pytest.mark.parametrize(
    ("words", "environment", "language"),
    [
        ((), {}, "zh"),
        ((), {"LANG": "en_US.UTF-8"}, "zh"),
        ((), {"LOADSTONE_LANG": "en"}, "en"),
        (("--lang", "en"), {}, "en"),
    ],
)
def test_the_environment_variable_comes_before_the_file_and_the_locale_after_it(
    words: tuple[str, ...],
    environment: dict[str, str],
    language: str,
    config: Config,
    tmp_path: Path,
) -> None:
    file = config('[runs.list]\nlang = "zh"\n')
    around = environment | {"LOADSTONE_CONFIG": str(file)}
    said = called("runs", "list", *words, folder=tmp_path, environment=around).stderr
    assert said == {"zh": "runs 中没有运行\n", "en": "no runs in runs\n"}[language]
    other = called("runs", "show", folder=tmp_path, environment=around, code=8).stderr
    assert other.startswith("error: ")


def test_loadstone_config_names_another_file_and_turns_it_off_if_empty(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config('out = "usual"\n')
    other = tmp_path / "other.toml"
    other.write_text('out = "other"\n')
    monkeypatch.setenv("LOADSTONE_CONFIG", str(other))
    assert loadstone("runs", "list", folder=tmp_path).stderr == "no runs in other\n"
    monkeypatch.setenv("LOADSTONE_CONFIG", "")
    assert loadstone("runs", "list", folder=tmp_path).stderr == "no runs in runs\n"
    assert loadstone("config", folder=tmp_path).stdout == "file  none: LOADSTONE_CONFIG is empty\n"
    monkeypatch.setenv("LOADSTONE_CONFIG", str(tmp_path / "nothing.toml"))
    said = loadstone("runs", "list", folder=tmp_path, code=2).stderr
    assert said.startswith(f"error: {tmp_path}/nothing.toml: cannot be read: No such file")


def test_without_a_file_nothing_is_set_and_config_names_its_place(
    config: Config, tmp_path: Path
) -> None:
    said = loadstone("config", folder=tmp_path).stdout
    assert said == f"file  {tmp_path}/config/loadstone/config.toml, which does not exist\n"
    document = json.loads(loadstone("config", "--json", folder=tmp_path).stdout)
    assert (document["exists"], document["settings"]) == (False, [])


@pytest.mark.parametrize("key", ["table-size", "table_size"])
def test_names_have_dashes_or_underscores(key: str, config: Config, tmp_path: Path) -> None:
    config(f'[prepare]\n{key} = "1k"\n["host_test".cpu]\nthreads = 2\n')
    assert settings(tmp_path) == {("prepare", "table_size"): "1k", ("host-test cpu", "threads"): 2}


def test_config_shows_each_setting_with_its_command_value_and_line(
    config: Config, tmp_path: Path
) -> None:
    file = config('tls = "required"\n\n[run]\nconcurrency = [1, 8]\n')
    lines = loadstone("config", folder=tmp_path).stdout.splitlines()
    assert lines[0] == f"file  {file}"
    assert [line.split() for line in lines[2:]] == [
        ["command", "option", "line", "value"],
        ["11", "commands", "tls", "1", "required"],
        ["run", "concurrency", "4", "1,8"],
    ]


def test_names_of_commands_are_the_same_in_each_language(config: Config, tmp_path: Path) -> None:
    config("[run]\nconcurrency = [1, 8]\n")
    lines = loadstone("config", "--lang", "zh", folder=tmp_path).stdout.splitlines()
    assert lines[-1].split() == ["run", "concurrency", "2", "1,8"]


def test_config_all_shows_each_option_with_the_default_in_effect(
    config: Config, tmp_path: Path
) -> None:
    config("[run]\nrepeats = 3\nlive = true\n")
    document = json.loads(loadstone("config", "--all", "--json", folder=tmp_path).stdout)
    found = {(each["command"], each["option"]): each for each in document["options"]}
    assert found["run", "repeats"] == {
        "command": "run", "option": "repeats", "default": "3", "line": 2
    }  # fmt: skip
    assert found["run", "live"]["default"] == "true"
    assert found["run", "observe"]["default"] == "true"
    assert found["run", "duration"]["default"] == "30s"
    assert found["serve", "out"]["default"] == "runs"
    assert found["run", "target"]["default"] is None
    known = {
        (" ".join(path), key)
        for path, command in commands_of(app).items()
        if not isinstance(command, click.Group)
        for key, option in options_of(command).items()
        if not option.is_opposite
    }
    assert found.keys() == known


def test_help_shows_the_default_in_effect(config: Config, tmp_path: Path) -> None:
    config('[run]\nduration = "2m"\nrepeats = 3\nprove_time = "9m"\ntls_ca = "ca.pem"\n')
    said = " ".join(loadstone("run", "--help", folder=tmp_path).stdout.split())
    assert "Measured time per step. [default: 2m, from config.toml]" in said
    assert "How often each step is repeated. [default: 3, from config.toml]" in said
    assert "Time limit for all trials together. [default: 9m, from config.toml]" in said
    assert "[default: ca.pem, from config.toml]" in said  # usually in --help-all only
    chinese = loadstone("run", "--help", "--lang", "zh", folder=tmp_path).stdout
    assert "每个步骤的测量时间。[默认：2m，取自config.toml]" in "".join(chinese.split())


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        ("[rum]\nout = 'x'", "1: rum: there is no such command", "did you mean run?"),
        (
            "[sandbox.strat]\n",
            "1: sandbox.strat: there is no such command",
            "did you mean start?",
        ),
        (
            "\n[run]\ntable_sise = 3",
            "3: run.table_sise: loadstone run has no such option",
            "did you mean table_size?",
        ),
        (
            "outt = 'x'",
            "1: outt: no command of loadstone has such an option",
            "did you mean out?",
        ),
        ("run = 3", "1: run: it is a command, not an option", "write [run]"),
        (
            "[sysbench]\nthreads = 3",
            "1: sysbench: loadstone sysbench takes no defaults",
            "leave the table out",
        ),
        (
            "[run]\npoint_selects = 3",
            "2: run.point_selects: it is an option of a workload",
            'write set_option = ["point_selects=..."]',
        ),
        (
            "script = 'x'",
            "1: script: it belongs in the table of its command",
            "write it in [null-server]",
        ),
        (
            "[run]\nduration = '5 parsecs'",
            "2: run.duration: '5 parsecs' is not a time: write 500ms, 30s, 2m or 1h",
            "loadstone run --help-all shows what it takes",
        ),
        (
            "[run]\nduration = true",
            "2: run.duration: true is neither a number nor a text",
            "write a number, or a text between quotes",
        ),
        ("[run]\nlive = 1", "2: run.live: 1 is neither true nor false", "write true or false"),
        (
            "[run]\ncharset = 8",
            "2: run.charset: 8 is not a text",
            'write a text between quotes: "name"',
        ),
        (
            "[run]\nrepeats = [1, 2]",
            "2: run.repeats: [1, 2] is a list, and the option takes one value",
            "write one value, without brackets",
        ),
        ("[run]\nset = { a = 1 }", "2: run.set: it is a table", "write a list of texts"),
        (
            "[run]\ntls = 'requierd'",
            "2: run.tls: 'requierd' is not one of 'disabled', 'preferred', 'required',"
            " 'verify-ca', 'verify-identity'",
            "did you mean required?",
        ),
        (
            "[run]\nport = 70000",
            "2: run.port: 70000 is not in the range 1<=x<=65535",
            "loadstone run --help-all shows what it takes",
        ),
        (
            "[run]\ntable_size = 1\ntable-size = 2",
            "3: run.table-size: it is set in line 2 already",
            "leave one out",
        ),
        (
            "[report]\njson = true\ncsv = true",
            "3: report.csv: json is set too, and they exclude each other",
            "leave one out",
        ),
        (
            "[run",
            "1: it is not TOML: expected ']' at the end of a table declaration",
            'write key = value, texts between quotes: duration = "30s"',
        ),
    ],
)
def test_what_is_wrong_has_one_line_with_its_place_in_each_command(
    text: str, said: str, hint: str, config: Config, tmp_path: Path
) -> None:
    file = config(text)
    expected = f"error: {file}:{said}\nhint:  {hint}\n"
    for words in (["config"], ["runs", "list"], ["run", "--help"], ["sandbox", "list"]):
        assert loadstone(*words, folder=tmp_path, code=2).stderr == expected


def test_several_mistakes_have_a_line_each(config: Config, tmp_path: Path) -> None:
    file = config("[run]\ntables = true\nrepeats = true")
    wrong, write = "true is neither a number nor a text", "write a number, or a text between quotes"
    assert loadstone("runs", "list", folder=tmp_path, code=2).stderr == (
        f"{file}:2: run.tables: {wrong}; {write}\n{file}:3: run.repeats: {wrong}; {write}\n"
        f"error: {file}: 2 problems\n"
    )


def test_a_file_that_cannot_be_read_ends_no_help_of_the_program(
    config: Config, tmp_path: Path
) -> None:
    config("[run")
    assert loadstone("--help", folder=tmp_path).stdout.startswith("Usage: loadstone")


def test_sysbench_does_not_read_the_file(config: Config, tmp_path: Path) -> None:
    config("[run")
    assert loadstone("sysbench", "--version", folder=tmp_path).stdout.startswith("sysbench 1.0")


def test_nothing_that_grants_consent_and_no_secret_can_be_set(
    config: Config, tmp_path: Path
) -> None:
    names = {
        key for _, command in commands() if isinstance(command, Explained)
        for key in options_of(command)
    }  # fmt: skip
    assert REFUSED.keys() <= names
    for key in REFUSED:
        for text in (f"{key} = true", f'[run]\n{key.replace("_", "-")} = "geheim"'):
            file = config(text)
            said = loadstone("runs", "list", folder=tmp_path, code=2).stderr
            assert said.startswith(f"error: {file}:")
            assert ": it cannot be set here: " in said
            assert "geheim" not in said


@pytest.mark.parametrize("key", ["target", "replica", "node_exporter"])
def test_a_url_has_no_password_there(key: str, config: Config, tmp_path: Path) -> None:
    config(f'[run]\n{key} = "mysql://bench:geheim@db1/shop"')
    said = loadstone("runs", "list", folder=tmp_path, code=2).stderr
    assert f"2: run.{key}: the URL has a password, and files are copied and shown\n" in said
    assert "geheim" not in said


def test_an_option_with_another_meaning_is_set_in_its_commands_table_only(
    config: Config, tmp_path: Path
) -> None:
    config('host = "db1"\ntls = "required"\n[null-server]\ntls = true\n')
    found = settings(tmp_path)
    assert found["null-server", "tls"] is True
    assert ("null-server", "host") not in found
    assert found["run", "tls"] == "required"


@pytest.mark.parametrize(
    ("words", "defaults", "gone"),
    [
        (
            ("--phases", "x"),
            {"duration", "warmup", "rate", "tables"},
            {"duration", "warmup", "rate"},
        ),
        (("--duration", "1s"), {"phases"}, {"phases"}),
        (("--slo", "p99<1s"), {"repeats", "rate", "max_load"}, {"repeats", "rate"}),
        (("--rate", "1"), {"think_time", "arrivals"}, {"think_time"}),
        ((), {"arrivals", "max_backlog"}, {"arrivals", "max_backlog"}),
        ((), {"arrivals", "rate"}, set()),
        ((), {"prove_time", "prove_only"}, {"prove_time", "prove_only"}),
        (("--prove",), {"prove_time"}, set()),
        ((), {"generators"}, {"generators"}),
        ((), {"junit"}, {"junit"}),
        (("--threshold", "tps>1"), {"junit"}, set()),
        ((), {"tls_ca"}, {"tls_ca"}),
        ((), {"tls_ca", "target"}, set()),
        (("--no-observe",), {"host_ssh", "prove"}, {"host_ssh", "prove"}),
        (("--host", "db2"), {"target", "socket", "user"}, {"target", "socket"}),
        (("--port", "1"), {"target", "socket"}, {"socket"}),
        (("--server", "mysql"), {"target", "user"}, {"target", "user"}),
        (("--target", "mysql://db2"), {"server", "host", "user"}, {"server", "host"}),
        (
            ("--target", "mysql://me@db2/shop?tls=required"),
            {"user", "database", "tls", "compression"},
            {"user", "database", "tls"},
        ),
        (
            ("--target", "postgresql://db2"),
            {"storage_engine", "mysqld_exporter", "duration"},
            {"storage_engine", "mysqld_exporter"},
        ),
        (("--protocol", "extended"), {"prepared", "text", "tables"}, {"prepared", "text"}),
        (("--text",), {"protocol", "tables"}, {"protocol"}),
        (("--tables", "3"), {"tables"}, set()),
        (("--target", "http://["), {"user"}, set()),
    ],
)
def test_defaults_that_do_not_fit_the_command_line_give_way(
    words: tuple[str, ...], defaults: set[str], gone: set[str]
) -> None:
    assert unfit(typed("run", "oltp_read_only", *words), defaults) == gone


@pytest.mark.parametrize(
    ("workload", "gone"),
    [
        ("oltp_read_only", {"warehouses", "partition"}),
        ("hot_row", {"warehouses", "partition", "distribution"}),
        ("tpcc", {"tables", "table_size", "distribution"}),
        ("tpcc:users=2", {"tables", "table_size", "distribution"}),
        ("oltp_shop.toml", {"tables", "table_size", "warehouses", "partition", "distribution"}),
    ],
)
@pytest.mark.parametrize("command", ["run", "prepare"])
def test_what_a_workload_does_not_have_or_draw_by_gives_way(
    command: str, workload: str, gone: set[str]
) -> None:
    defaults = {"tables", "table_size", "warehouses", "partition", "distribution"}
    assert unfit(typed(command, workload), defaults) == gone


@pytest.mark.parametrize("workload", engine.workloads().values(), ids=lambda each: each.name)
def test_a_default_distribution_gives_way_where_the_engine_does_not_draw_by_it(
    workload: WorkloadInfo,
) -> None:
    gives_way = bool(unfit(typed("run", workload.name), {"distribution"}))
    assert gives_way == (not_drawn(workload.layout) is not None)


def typed(name: str, *words: str) -> Typed:
    """The command line as the program sees it."""
    command = app.get_command(click.Context(app), name)
    assert command is not None
    context = click.Context(command)
    parsed, _, _ = command.make_parser(context).parse_args(list(words))
    options: dict[str, Any] = {}
    for param in command.params:
        if isinstance(param, click.Option) and param.name in parsed:
            options |= {key_of(each): parsed[param.name] for each in param.opts}
    names = [each for each in words[:1] if not each.startswith("-")]
    return Typed((name,), options_of(command), options, names)


def test_a_conflict_within_the_file_names_its_line(config: Config, tmp_path: Path) -> None:
    file = config('[run]\nslo = "p99<1s"\nrepeats = 3\nmax_load = "threads_running>9"\n')
    said = loadstone("run", "oltp_read_only", folder=tmp_path, code=2).stderr
    assert "a search chooses levels and repeats steps itself: leave --repeats out" in said
    hint = f"hint:  --repeats is set in {file}:3; LOADSTONE_CONFIG= before the command leaves the"
    assert hint in said


def test_limits_that_protect_a_server_never_give_way(config: Config, tmp_path: Path) -> None:
    file = config('[run]\nmax_load = "threads_running>9"\n')
    done = loadstone("run", "oltp_read_only", "--slo", "p99<1s", folder=tmp_path, code=2)
    assert "error: --max-load: a search needs the server's full throughput" in done.stderr
    assert f"hint:  --max-load is set in {file}:2" in done.stderr


@pytest.fixture
def made_up_server(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: Script
) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("loadstone.runner.run.inspect_target", made_up)
    yield


def test_a_run_is_recorded_so_that_it_can_be_repeated_without_the_file(
    config: Config, tmp_path: Path, made_up_server: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    config(
        'target = "mysql://bench@127.0.0.1/sbtest"\nno_observe = true\n'
        '[run]\nduration = "2s"\nwarmup = 0\nconcurrency = [1, 4]\ntables = 2\nprepared = false\n'
        'abort_if = ["errors>50%"]\nprove_time = "1m"\ninit_sql = ["set @a = 1", "set @b = 2"]\n'
    )
    typed_words = ["run", "oltp_read_write", "--tables", "3", "--shards", "1"]
    monkeypatch.setattr("sys.argv", ["loadstone", *typed_words])
    assert exit_code_of(typed_words) == 0
    first = of_run(tmp_path / "runs")
    words = first["command_line"]
    assert words[: len(typed_words) + 1] == ["loadstone", *typed_words]
    assert words.count("--tables") == 1
    assert "--prove-time" not in words
    monkeypatch.setenv("LOADSTONE_CONFIG", "")
    assert exit_code_of([*words[1:], "--out", "again"]) == 0
    second = of_run(tmp_path / "again")
    assert second["plan"] == first["plan"]
    assert second["steps"] == first["steps"]


def of_run(folder: Path) -> dict[str, Any]:
    (run,) = folder.iterdir()
    return dict(json.loads((run / "run.json").read_text()))


def test_an_option_has_one_type_in_all_commands_or_belongs_to_its_own() -> None:
    """A key above all tables has one meaning."""
    types: dict[str, set[tuple[object, ...]]] = {}
    for command in commands_of(app).values():
        for key, option in options_of(command).items():
            if not option.option.is_own and not option.is_switch:
                kind = option.option.type
                types.setdefault(key, set()).add((type(kind), option.option.multiple))
    assert {key: kinds for key, kinds in types.items() if len(kinds) > 1} == {}


def test_the_folder_of_runs_is_out_in_all_commands() -> None:
    having = [
        option
        for command in commands_of(app).values()
        for option in command.params
        if isinstance(option, click.Option) and "run folders" in (option.help or "")
    ]
    assert len(having) > 10
    assert {(*option.opts, option.help) for option in having} == {
        ("--out", "Folder that holds the run folders.")
    }


@pytest.mark.parametrize(
    ("command", "before", "now"),
    [
        ("serve", "--runs", "--out"),
        ("runs export", "--to", "--output"),
        ("calibrate", "--users", "--concurrency"),
    ],
)
def test_former_names_still_work_and_are_not_shown(
    command: str, before: str, now: str, config: Config, tmp_path: Path
) -> None:
    said = loadstone(*command.split(), "--help-all", folder=tmp_path).stdout
    assert f"{now} " in said
    assert f"{before} " not in said
    found = commands_of(app)[tuple(command.split())]
    value = "7"
    context = found.make_context(command, [before, value])
    (name,) = {each.name for each in found.params if now in each.opts}
    assert str(context.params[name]) == value
    assert str(found.make_context(command, []).params[name]) in ("runs", "None", "64")


def test_each_switch_can_be_turned_off_again() -> None:
    for path, command in commands_of(app).items():
        for option in command.params:
            if isinstance(option, click.Option) and option.is_flag and not option.is_eager:
                is_choice = isinstance(option.flag_value, str)
                assert option.secondary_opts or is_choice, (path, option.opts)
