"""Command lines of both dialects: what is accepted, what it means, and how others are refused."""

from __future__ import annotations

import errno
import mmap
import os
from pathlib import Path

import pytest

from loadstone.sysbench import program
from loadstone.sysbench.cmdline import parse
from loadstone.sysbench.dialect import as_asked, in_words_of_1_0
from loadstone.sysbench.errors import Fatal, Refused
from loadstone.sysbench.log import Log
from loadstone.sysbench.oltp import tests
from loadstone.sysbench.oltp.tests import find_bundled, find_script
from loadstone.sysbench.settings import Settings, settings_of, values_of
from loadstone.workloads.scripts import values
from loadstone.workloads.scripts.given import Values
from loadstone.workloads.scripts.options import for_all_tests

QUEUE_FULL = "Threads started!\n\nFATAL: The event queue is full. This means the worker threads"


def given(*words: str) -> Values:
    return values_of(parse(words), "1.0")


def settings(*words: str) -> Settings:
    return settings_of(given(*words), "1.0", Log(0))


def test_options_stand_before_and_behind_the_test_and_the_command() -> None:
    line = parse(["--threads=4", "oltp_read_write", "--tables=2", "run", "--time=3"])
    assert (line.test, line.command) == ("oltp_read_write", "run")
    assert (line.text("threads"), line.text("time")) == ("4", "3")
    assert [(one.key, one.text) for one in line.of_test] == [("tables", "2")]


@pytest.mark.parametrize(
    ("words", "test", "command"),
    [
        (["--test=a", "run"], "a", "run"),
        (["b", "--test=a", "run"], "a", "run"),
        (["b", "run", "--test=a"], "a", "run"),
        (["run", "--test=a"], "a", None),
        (["b", "--test=", "run"], "run", None),
        (["--test=", "b", "run"], "b", "run"),
    ],
)
def test_the_option_test_counts_where_it_stands(
    words: list[str], test: str, command: str | None
) -> None:
    line = parse(words)
    assert (line.test, line.command) == (test, command)


def test_dashes_and_underscores_are_the_same() -> None:
    line = parse(["--report_interval=2", "--mysql_host=db1", "--table_size=5", "--table-size=6"])
    assert (line.text("report_interval"), line.text("mysql_host")) == ("2", "db1")
    assert [one.key for one in line.of_test] == ["table_size", "table_size"]


def test_the_last_of_an_option_counts() -> None:
    assert settings("--threads=2", "--threads=5").threads == 5


DEFAULTS = {
    "threads": "1",
    "events": "0",
    "time": "10",
    "rate": "0",
    "report_interval": "0",
    "forced_shutdown": "off",
    "thread_stack_size": "64K",
    "percentile": "95",
    "verbosity": "3",
    "rand_type": "special",
    "rand_spec_iter": "12",
    "rand_spec_pct": "1",
    "rand_spec_res": "75",
    "rand_pareto_h": "0.2",
    "db_driver": "mysql",
    "db_ps_mode": "auto",
    "mysql_host": "localhost",
    "mysql_port": "3306",
    "mysql_user": "sbtest",
    "mysql_db": "sbtest",
    "mysql_ssl": "off",
    "mysql_ignore_errors": "1213,1020,1205",
    "warmup_time": "0",
    "thread_init_timeout": "30",
    "rand_zipfian_exp": "0.8",
}


@pytest.mark.parametrize(("key", "default"), DEFAULTS.items())
def test_defaults_are_those_of_1_0_20(key: str, default: str) -> None:
    assert given().text(key) == default


def test_1_1_draws_ids_uniformly_and_1_0_does_not() -> None:
    assert values_of(parse([]), "1.1").text("rand_type") == "uniform"
    assert given().text("rand_type") == "special"


@pytest.mark.parametrize("option", for_all_tests().values(), ids=lambda option: str(option.name))
def test_every_option_is_taken_with_its_own_default(option: object) -> None:
    name, default = getattr(option, "name"), getattr(option, "default")  # noqa: B009
    line = parse([f"--{name}={default or ''}"])
    assert not line.of_test or default is None


@pytest.mark.parametrize(
    ("text", "number"),
    [("12", 12), ("", 0), (" 4", 4), ("+4", 4), ("-1", -1), ("2147483647", 2**31 - 1)]
    + [(bad, None) for bad in ("abc", "4 ", "4k", "0x4", "4.0", "99999999999")]
    + [("9" * 5_000, None), ("0" * 5_000 + "7", 7)],
)
def test_numbers_of_all_tests_are_whole_and_of_32_bits(text: str, number: int | None) -> None:
    assert values.strict_int(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [("1K", 1), ("1.5", 1), ("abc", 0), ("", 0), ("10x", 10), ("-3", -3)]
    + [("0" * 5_000 + "7", 7)],
)
def test_numbers_of_a_test_are_what_they_begin_with(text: str, number: int) -> None:
    assert values.lenient_int(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [("64K", 65536), ("1M", 2**20), ("2G", 2**31), ("7", 7), ("64X", 0), ("1kB", 1024)],
)
def test_sizes_have_units(text: str, number: int) -> None:
    assert values.size(text) == number


@pytest.mark.parametrize(
    ("text", "is_on"),
    [(text, True) for text in ("on", "true", "1", None)]
    + [(text, False) for text in ("off", "false", "0")]
    + [(text, None) for text in ("yes", "no", "ON", "", "2")],
)
def test_switches(text: str | None, is_on: bool | None) -> None:
    assert values.switch(text) is is_on


def test_old_names_win_where_they_say_anything() -> None:
    asked = settings("--num-threads=2", "--threads=3", "--max-time=7", "--max-requests=0")
    assert (asked.threads, asked.time_s, asked.events) == (2, 7, 0)
    assert settings("--num-threads=1", "--threads=3").threads == 3


@pytest.mark.parametrize(
    ("word", "is_deprecated"),
    [
        ("--max-requests=-1", True),
        ("--max-requests=0", False),
        ("--tx-rate=-1", True),
        ("--num-threads=0", False),
        ("--max-time=-1", False),
    ],
)
def test_a_negative_old_name_counts_as_given_where_sysbench_has_no_sign(
    word: str, is_deprecated: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    settings_of(given(word), "1.0", Log())
    assert ("is deprecated" in capsys.readouterr().out) is is_deprecated


@pytest.mark.parametrize(
    ("rate", "is_out_of_reach"),
    [(0, False), (10_000_000, False), (2_000_000_000, True), (-1, True)],
)
def test_no_threads_keep_up_with_some_rates(rate: int, is_out_of_reach: bool) -> None:
    assert settings(f"--rate={rate}").is_rate_out_of_reach is is_out_of_reach


@pytest.mark.parametrize(
    ("word", "seconds"), [("", 10), ("=10%", 11), ("=5", 15), ("=off", None), ("=50%", 15)]
)
def test_forced_shutdown_is_counted_from_the_begin(word: str, seconds: int | None) -> None:
    assert settings(f"--forced-shutdown{word}").forced_shutdown_s == seconds


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--threads=0"], "Invalid value for --threads: 0.\n"),
        (["--threads"], "Invalid value for --threads: 0.\n"),
        (["--percentile=101"], "Invalid value for --percentile: 101"),
        (["--percentile=-1"], "Invalid value for --percentile: -1"),
        (["--report-checkpoints=a,b"], "Invalid value for --report-checkpoints: 'a'"),
        (["--forced-shutdown=abc"], "Invalid value for --forced-shutdown: 'abc'"),
        (["--rand-type=foo"], "Invalid random numbers distribution: foo."),
        (["--thread-stack-size=0"], "Invalid value for thread-stack-size: 0.\n"),
    ],
)
def test_values_out_of_range_are_fatal(words: list[str], message: str) -> None:
    with pytest.raises(Fatal) as caught:
        settings(*words)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--threads=abc"], "Invalid value for the 'threads' option: 'abc'"),
        (["--rand-seed=x"], "Invalid value for the 'rand_seed' option: 'x'"),
        (["oltp_read_write", "run", "extra"], "Unrecognized command line argument: extra"),
        (["x", "--threads=abc", "run", "extra"], "Unrecognized command line argument: extra"),
        (["--threads", "4", "oltp_read_write", "run"], "Unrecognized command line argument: run"),
        (["--compat"], "--compat needs a value"),
    ],
)
def test_what_cannot_be_read_is_refused(words: list[str], message: str) -> None:
    with pytest.raises(Refused) as caught:
        parse(words)
    assert caught.value.message == message


def test_checkpoints_are_sorted_and_told_once() -> None:
    assert settings("--report-checkpoints=3,1,2,1").checkpoints_s == (1, 2, 3)


def test_our_own_options_may_be_written_in_two_words() -> None:
    line = parse(["--compat", "1.1", "--loadstone-out", "runs", "oltp_read_only", "run"])
    assert (line.text("compat"), line.text("loadstone_out")) == ("1.1", "runs")
    assert (line.test, line.command) == ("oltp_read_only", "run")


def test_the_option_test_without_a_name_says_nothing() -> None:
    line = parse(["oltp_read_write", "--test", "run"])
    assert (line.test, line.command) == ("oltp_read_write", "run")


def test_a_config_file_counts_where_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text("# a remark\nthreads=3\nrand-seed = 7\ntable-size=9\nnonsense\nnosuch=1\n")
    line = parse(["--threads=9", f"--config-file={file}", "oltp_read_write", "run"])
    assert (line.text("threads"), line.text("rand_seed")) == ("3", "7")
    assert line.only_in_file == ["table_size", "nosuch"]
    assert parse([f"--config-file={file}", "--threads=9"]).text("threads") == "9"


def test_a_config_file_may_have_what_the_test_does_not_know(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "config"
    file.write_text("table-size=9\nskip_trx=maybe\nnosuch=1\n")
    words = [f"--config-file={file}", "--mysql-dry-run", "oltp_read_write", "prepare"]
    assert program.main(words) == 0
    said = capsys.readouterr()
    assert said.out.count("WARNING") == 1
    assert "Global option 'nosuch' will not be exported" in said.out
    assert "Inserting 10000 records" in said.out
    assert "the configuration file does not set --table-size, as in sysbench" in said.err


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("u", "u"),
        ("  u  ", "u"),
        ("u # who", "u"),
        ("u v", "u"),
        ("u#v", "u#v"),
        ("u=v", "u=v"),
        ('"u v" # who', "u v"),
        ("'u v'", "u v"),
        ('u"v"', 'u"v"'),
        ("# nobody", ""),
        ("", ""),
    ],
)
def test_a_value_in_a_config_file_is_a_word_or_in_quotes(
    text: str, value: str, tmp_path: Path
) -> None:
    file = tmp_path / "config"
    file.write_text(f"mysql-user={text}\n")
    assert parse([f"--config-file={file}"]).text("mysql_user") == value


def test_a_switch_in_a_config_file_that_is_neither_on_nor_off_is_on(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text("histogram=maybe\nvalidate=off\n")
    given = values_of(parse([f"--config-file={file}"]), "1.0")
    assert (given.switch("histogram"), given.switch("validate")) == (True, False)


def test_a_config_file_that_is_not_there_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parse([f"--config-file={tmp_path / 'none'}"])
    assert capsys.readouterr().err == f"{tmp_path / 'none'}: No such file or directory\n"


@pytest.mark.parametrize(
    ("word", "workload"),
    [
        ("oltp_read_write", "oltp_read_write"),
        ("/opt/none/oltp_read_write.lua", "oltp_read_write"),
        ("/opt/sysbench/share/sysbench/oltp.lua", "oltp_read_write"),
        ("/opt/sysbench/share/sysbench/select.lua", "oltp_point_select"),
        ("update_non_index.lua", "oltp_update_non_index"),
        ("update_index.lua", "oltp_update_index"),
        ("insert.lua", "oltp_insert"),
        ("delete.lua", "oltp_delete"),
        ("bulk_insert", "bulk_insert"),
        ("select_random_ranges", "select_random_ranges"),
    ],
)
def test_names_and_paths_of_bundled_tests_find_their_workload(word: str, workload: str) -> None:
    test = find_bundled(word)
    assert test is not None
    assert test.workload == workload


def test_nothing_else_finds_one() -> None:
    assert find_bundled("oltp-read-write") is None
    assert find_bundled("tpcc.lua") is None


def test_a_script_is_found_as_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "installed").mkdir()
    (tmp_path / "shop" / "sale.lua").write_text("")
    (tmp_path / "installed" / "visit.lua").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tests, "_INSTALLED", (str(tmp_path / "installed"),))
    assert find_script("shop.sale") == "./shop/sale.lua"
    assert find_script("visit") == str(tmp_path / "installed" / "visit.lua")
    assert find_script("oltp_read_write") is None


@pytest.mark.parametrize(
    ("options", "workload"),
    [
        ({}, "oltp_read_write"),
        ({"oltp_test_mode": "complex"}, "oltp_read_write"),
        ({"oltp_test_mode": "complex", "oltp_read_only": "on"}, "oltp_read_only"),
        ({"oltp_test_mode": "simple"}, "oltp_point_select"),
        ({"oltp_test_mode": "nontrx"}, "oltp_point_select"),
        ({"oltp_test_mode": "nontrx", "oltp_nontrx_mode": "insert"}, "oltp_insert"),
    ],
)
def test_modes_of_oltp_lua(options: dict[str, str], workload: str) -> None:
    test = find_bundled("oltp.lua")
    assert test is not None
    assert as_asked(test, options).workload == workload


def test_a_mode_changes_no_other_test_of_0_5() -> None:
    test = find_bundled("update_non_index.lua")
    assert test is not None
    assert as_asked(test, {"oltp_test_mode": "simple"}).workload == "oltp_update_non_index"


def test_options_of_0_5_become_those_of_1_0() -> None:
    old = {"oltp_tables_count": "9", "oltp_table_size": "5", "oltp_user_delay_min": "3"}
    assert in_words_of_1_0(old) == {"tables": "9", "table_size": "5"}


@pytest.mark.parametrize(
    ("words", "stream", "text"),
    [
        (["nosuch", "run"], "out", "FATAL: Cannot find benchmark 'nosuch': no such built-in"),
        (["oltp_read_write", "--foo=1", "run"], "err", "invalid option: --foo=1"),
        (["oltp_read_write", "--skip_trx=maybe", "run"], "err", "invalid option: --skip_trx=maybe"),
        (["oltp_read_write", "nosuch"], "err", "Unknown command: nosuch"),
        (["--mysql-dry-run", "--rate=2000000000", "oltp_read_only", "run"], "out", QUEUE_FULL),
        (["--rate=2000000000", "cpu", "run"], "out", QUEUE_FULL),
        (["--rand-spec-pct=0", "oltp_read_only", "run"], "out", "value for --rand-spec-pct: 0"),
        (["oltp_read_write", "--mysql-ssl=maybe", "run"], "err", "invalid option: --mysql-ssl"),
        (["bulk_insert", "help"], "err", "'bulk_insert' test does not implement the 'help'"),
        (["--verbosity=6", "oltp_read_write", "run"], "out", "Invalid value for verbosity: 6"),
        (["--compat=2", "oltp_read_write", "run"], "err", "Invalid value for --compat"),
        (["threads", "--thread-locks=0", "run"], "out", "FATAL: Invalid value for thread-locks: 0"),
        (["mutex", "--mutex-num=0", "run"], "out", "FATAL: Invalid value for mutex-num: 0"),
    ],
)
def test_what_is_refused_is_one_line_and_exit_code_1(
    words: list[str], stream: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main(words) == 1
    assert text in getattr(capsys.readouterr(), stream)


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("--tables=0", "tables: 0"),
        ("--tables=-1", "tables: -1"),
        ("--table-size=0", "table_size: 0"),
        ("--table-size=x", "table_size: 0"),
    ],
)
def test_without_rows_nothing_can_be_run(
    word: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main(["--mysql-dry-run", word, "oltp_read_write", "run"]) == 1
    assert f"FATAL: Invalid value for {name} (" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["prepare", "cleanup", "prewarm"])
def test_no_tables_are_made_if_none_are_asked_for(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main(["--mysql-dry-run", "--tables=0", "oltp_read_write", command]) == 0
    said = capsys.readouterr()
    assert said.out.count("\n") == 2
    assert not said.err


def test_a_negative_number_of_statements_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--mysql-dry-run", "--events=2", "--point-selects=-1", "--skip-trx"]
    words += ["--range-selects=off", "--delete-inserts=-3", "--non-index-updates=0"]
    assert program.main([*words, "oltp_read_write", "run"]) == 0
    assert "queries:                             2 " in capsys.readouterr().out


def test_what_is_not_done_for_a_test_of_the_host_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["fileio", "--file-num=1", "--file-total-size=1K"]
    assert program.main([*words, "--loadstone-out=runs", "prepare"]) == 0
    said = capsys.readouterr().err
    assert "loadstone: --loadstone-out keeps nothing of a test of the host" in said
    assert [path.name for path in tmp_path.iterdir()] == ["test_file.0"]


@pytest.mark.parametrize(("scope", "whose"), [("global", "!"), ("local", " for thread #0!")])
def test_huge_pages_that_are_not_there_are_missed_before_anything_begins(
    scope: str, whose: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))

    monkeypatch.setattr(mmap, "mmap", refuse)
    assert program.main(["memory", "--memory-hugetlb", f"--memory-scope={scope}", "run"]) == 1
    said = capsys.readouterr().out
    assert "FATAL: Failed to allocate 2097152 bytes from HugeTLB memory. errno = 12 (" in said
    assert f"FATAL: Failed to allocate buffer{whose}\n" in said
    assert "Running" not in said


def test_a_script_that_is_there_runs_whatever_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "oltp.lua"
    script.write_text('print("mine")')
    assert program.main([str(script)]) == 0
    said = capsys.readouterr()
    assert said.out.endswith("\nmine\n")
    assert not said.err


def test_a_path_that_is_not_there_is_served_and_said_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert program.main(["--test=/opt/none/select.lua", "--oltp-table-size=5", "help"]) == 0
    said = capsys.readouterr()
    assert said.err.count("the built-in oltp_point_select is used instead") == 1
    assert "--oltp-tables-count=N" in said.out


def test_versions_and_our_own_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["--version"]) == 0
    assert capsys.readouterr().out == "sysbench 1.0.20\n"
    assert program.main(["--help-loadstone"]) == 0
    assert "--compat=STRING" in capsys.readouterr().out
