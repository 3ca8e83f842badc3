"""Command lines of pgbench: what they mean, and how the wrong ones are refused."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from loadstone.pgbench import program
from loadstone.pgbench.cmdline import SEED_VARIABLE, Asked, parse
from loadstone.pgbench.settings import (
    Benchmark,
    Initialization,
    Logging,
    Place,
    Progress,
    Shown,
    Tries,
)


def asked(*words: str, **environment: str) -> Asked:
    return parse(words, environment)


def benchmark(*words: str) -> Benchmark:
    found = asked(*words)
    assert isinstance(found, Benchmark)
    return found


def initialization(*words: str) -> Initialization:
    found = asked("-i", *words)
    assert isinstance(found, Initialization)
    return found


def test_short_options_may_be_joined_and_long_ones_shortened() -> None:
    joined = benchmark("-nSc2", "-t1", "shop")
    assert joined == benchmark("--no-v", "shop", "--sel", "--cli=2", "--trans", "1")
    assert (joined.clients, joined.transactions, joined.vacuums) == (2, 1, False)
    assert joined.place == Place(database="shop")
    assert benchmark("--", "-S").place.database == "-S"
    assert benchmark("--dbname=shop", "-S").place == initialization("--db", "shop").place
    assert benchmark("--dbname=shop").place == Place(database="shop")


def test_what_is_not_given() -> None:
    usual = benchmark()
    (script,) = usual.scripts
    assert script.called == "<builtin: TPC-B (sort of)>"
    assert (usual.clients, usual.threads, usual.transactions, usual.duration_s) == (1, 1, 10, None)
    assert (usual.protocol, usual.tries, usual.logging) == ("simple", Tries(), None)
    assert usual.vacuums
    assert initialization() == Initialization(Place(), steps="dtgvp", scale=1, fillfactor=100)


def test_a_benchmark() -> None:
    words = "-c 8 -j 16 -T 60 -M prepared -R 100.5 -L 20 -P 5 --progress-timestamp -r -C -s 3 -v -d"
    more = (
        "-h db1 -p 6000 -U bench -D a=1 -D b=x=y --max-tries=0 --failures-detailed --random-seed=7"
    )
    assert benchmark(*words.split(), *more.split(), "shop") == Benchmark(
        place=Place("db1", "6000", "bench", "shop"),
        scripts=benchmark().scripts,
        clients=8,
        threads=8,
        transactions=None,
        duration_s=60,
        reconnects=True,
        protocol="prepared",
        rate=100.5,
        limit_ms=20.0,
        tries=Tries(most=0, detailed=True),
        progress=Progress(5, unix_times=True),
        by_command=True,
        defined={"a": "1", "b": "x=y"},
        scale=3,
        seed=7,
        vacuums_all=True,
        debug=True,
    )


def test_the_begin_of_a_number_is_enough() -> None:
    found = benchmark("-R", "100/s", "-L", " 1.5e1ms", "-l", "--sampling-rate=.5x")
    assert (found.rate, found.limit_ms, found.logging) == (100.0, 15.0, Logging(share=0.5))
    assert benchmark("-R", "1e9").rate == 1e9


def test_a_run_may_end_with_the_first_client_that_is_aborted() -> None:
    assert benchmark("--exit-on-abort").exits_on_abort
    assert not benchmark().exits_on_abort


def test_logs() -> None:
    assert benchmark("-l").logging == Logging("pgbench_log", 1.0, None)
    sampled = benchmark("-l", "--log-prefix=x", "--sampling-rate=0.01")
    assert sampled.logging == Logging("x", 0.01, None)
    assert benchmark("-l", "--aggregate-interval=5", "-T", "60").logging == Logging(aggregate_s=5)


def test_an_initialization() -> None:
    words = "-s 20 -F 90 -q --unlogged-tables --tablespace=a --index-tablespace=b --partitions=4"
    assert initialization(*words.split(), "--partition-method=HASH") == Initialization(
        Place(),
        scale=20,
        fillfactor=90,
        quiet=True,
        unlogged=True,
        tablespace="a",
        index_tablespace="b",
        method="hash",
        partitions=4,
    )


@pytest.mark.parametrize(
    ("words", "steps"),
    [
        (["-n"], "dtgp"),
        (["--foreign-keys"], "dtgvpf"),
        (["-I", "d t G"], "dtG"),
        (["-I", "fp", "--foreign-keys"], "fp"),
        (["-n", "-I", "gv"], "g"),
    ],
)
def test_the_steps_of_an_initialization(words: list[str], steps: str) -> None:
    assert initialization(*words).steps == steps


def test_scripts_with_weights_in_their_order(tmp_path: Path) -> None:
    file = tmp_path / "one@two.sql"
    file.write_text("SELECT 1;\n")
    found = benchmark("-b", "si@3", "-S", "-f", f"{file}@0", "-N", "-b", "tpcb").scripts
    assert [(script.called, script.weight) for script in found] == [
        ("<builtin: simple update>", 3),
        ("<builtin: select only>", 1),
        (str(file), 0),
        ("<builtin: simple update>", 1),
        ("<builtin: TPC-B (sort of)>", 1),
    ]
    assert found[2].text == "SELECT 1;\n"


def test_the_seed_may_come_from_the_environment() -> None:
    found = asked(**{SEED_VARIABLE: "7"})
    assert isinstance(found, Benchmark)
    assert found.seed == 7
    given = asked("--random-seed=8", **{SEED_VARIABLE: "7"})
    assert isinstance(given, Benchmark)
    assert given.seed == 8


@pytest.mark.parametrize(
    ("words", "begin"),
    [
        (["-c", "0", "--help"], "pgbench is a benchmarking tool for PostgreSQL.\n\nUsage:"),
        (["-?"], "pgbench is a benchmarking tool for PostgreSQL.\n\nUsage:"),
        (["-V"], "pgbench (PostgreSQL) 15.18 (served by Loadstone "),
        (["--help-loadstone"], "Loadstone serves pgbench's command lines."),
        (["--show-script=sel"], "-- select-only: <builtin: select only>\n\\set aid random("),
        (
            ["-b", "list"],
            "Available builtin scripts:\n      tpcb-like: <builtin: TPC-B (sort of)>\n",
        ),
    ],
)
def test_what_only_shows_a_text(words: list[str], begin: str) -> None:
    found = asked(*words)
    assert isinstance(found, Shown)
    assert found.text.startswith(begin)


ERRORS = {
    "-t 5 -T 5": "specify either a number of transactions (-t) or a duration (-T), not both",
    "-i -c 3": "some of the specified options cannot be used in initialization (-i) mode",
    "-i -S": "some of the specified options cannot be used in initialization (-i) mode",
    "-F 90": "some of the specified options cannot be used in benchmarking mode",
    "-c 0": "-c/--clients must be in range 1..2147483647",
    "-c 5x": 'invalid value "5x" for option -c/--clients',
    "-j 0": "-j/--jobs must be in range 1..2147483647",
    "-s 999999999999": "-s/--scale must be in range 1..2147483647",
    "-i -F 9": "-F/--fillfactor must be in range 10..100",
    "-T 31622401": "-T/--time is at most 31622400 here, which are 366 days",
    "-T 0": "-T/--time must be in range 1..2147483647",
    "-P 0": "-P/--progress must be in range 1..2147483647",
    "-R 0": 'invalid rate limit: "0"',
    "-R nan": 'invalid rate limit: "nan"',
    "-L x": 'invalid latency limit: "x"',
    "-M foo": 'invalid query mode (-M): "foo"',
    "-l --sampling-rate=2": 'invalid sampling rate: "2"',
    "--sampling-rate=0.5": (
        "log sampling (--sampling-rate) is allowed only when logging transactions (-l)"
    ),
    "-l --sampling-rate=0.5 --aggregate-interval=2": (
        "log sampling (--sampling-rate) and aggregation (--aggregate-interval) cannot be used at"
        " the same time"
    ),
    "--aggregate-interval=2": "log aggregation is allowed only when actually logging transactions",
    "-l --aggregate-interval=3 -T 2": (
        "number of seconds for aggregation (3) must not be higher than test duration (2)"
    ),
    "-l --aggregate-interval=2 -T 3": (
        "duration (3) must be a multiple of aggregation interval (2)"
    ),
    "--log-prefix=a": (
        "log file prefix (--log-prefix) is allowed only when logging transactions (-l)"
    ),
    "--max-tries=-1": 'invalid number of maximum tries: "-1"',
    "--max-tries=0": (
        "an unlimited number of transaction tries can only be used with --latency-limit or a"
        " duration (-T)"
    ),
    "--progress-timestamp": "--progress-timestamp is allowed only under --progress",
    "-b si@x": "invalid weight specification: @x",
    "-b si@": "invalid weight specification: @",
    "-b si@-1": "weight specification out of range (0 .. 2147483647): -1",
    "-b si@0": "total script weight must not be zero",
    "-f no/such/file": 'could not open file "no/such/file": No such file or directory',
    "-i -I ''": "no initialization steps specified",
    "-i --partitions=-1": "--partitions must be in range 0..2147483647",
    "-i --partition-method=x": ('invalid partition method, expecting "range" or "hash", got: "x"'),
    "-i --partition-method=hash": "--partition-method requires greater than zero --partitions",
    "-D a": 'invalid variable definition: "a"',
    "-D 1a=3": 'option: invalid variable name: "1a"',
    "-i 'host=a b'": (
        "the parameters of the connection are not written as name=value name='value'"
    ),
}
"""By the words of a command line, the error that pgbench 15 reports of it."""


def refused(words: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert program.main(shlex.split(words)) == 1
    said = capsys.readouterr()
    assert not said.out
    return said.err


@pytest.mark.parametrize("words", ERRORS)
def test_what_pgbench_refuses_is_refused_in_one_line(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(words, capsys) == f"pgbench: error: {ERRORS[words]}\n"


MORE = {
    "-Z": "pgbench: invalid option -- 'Z'\n",
    "-c": "pgbench: option requires an argument -- 'c'\n",
    "--foo": "pgbench: unrecognized option '--foo'\n",
    "--scale": "pgbench: option '--scale' requires an argument\n",
    "--log=3": "pgbench: option '--log' doesn't allow an argument\n",
    "--vac=1": "pgbench: option '--vacuum-all' doesn't allow an argument\n",
    "a b": 'pgbench: error: too many command-line arguments (first is "b")\n',
    "a --dbname=b": 'pgbench: error: too many command-line arguments (first is "a")\n',
}
HINT = 'pgbench: hint: Try "pgbench --help" for more information.\n'


@pytest.mark.parametrize("words", MORE)
def test_help_is_hinted_at_where_the_command_line_cannot_be_read(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(words, capsys) == MORE[words] + HINT


def test_an_option_that_could_be_several_names_them(capsys: pytest.CaptureFixture[str]) -> None:
    names = "'--partition-method' '--partitions'"
    wanted = f"pgbench: option '--part=2' is ambiguous; possibilities: {names}\n"
    assert refused("--part=2", capsys) == wanted + HINT


@pytest.mark.parametrize(
    ("words", "begin"),
    [
        ("-b nosuch", 'no builtin script found for name "nosuch"'),
        ("--show-script=s", 'ambiguous builtin name: 2 builtin scripts found for prefix "s"'),
    ],
)
def test_the_built_in_scripts_are_listed_where_none_is_meant(
    words: str, begin: str, capsys: pytest.CaptureFixture[str]
) -> None:
    first, *listed = refused(words, capsys).splitlines()
    assert first == f"pgbench: error: {begin}"
    assert [line.split(":")[0].strip() for line in listed if line] == [
        "Available builtin scripts", "tpcb-like", "simple-update", "select-only",
    ]  # fmt: skip


def test_errors_with_a_detail(capsys: pytest.CaptureFixture[str]) -> None:
    assert refused("-i -I dx", capsys) == (
        'pgbench: error: unrecognized initialization step "x"\n'
        'pgbench: detail: Allowed step characters are: "dtgGvpf".\n'
    )
    assert refused("--random-seed=abc", capsys) == (
        'pgbench: error: unrecognized random seed option "abc"\n'
        'pgbench: detail: Expecting an unsigned integer, "time" or "rand".\n'
        "pgbench: error: error while setting random seed from --random-seed option\n"
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["-t", "9" * 5_000], "-t/--transactions must be in range 1..2147483647"),
        (["--max-tries", "9" * 5_000], "invalid number of maximum tries: "),
        (["-b", f"select@{'9' * 5_000}"], "weight specification out of range (0 .. 2147483647): "),
        (["--random-seed", "9" * 5_000], "unrecognized random seed option "),
    ],
)
def test_a_number_of_any_length_is_out_of_range(
    words: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main(words) == 1
    assert capsys.readouterr().err.startswith(f"pgbench: error: {expected}")
    assert benchmark("-t", f"{'0' * 5_000}7").transactions == 7


@pytest.mark.parametrize(
    "words", [["\udcff"], ["-U", "\udcff"], ["-D", "a=\udcff"], ["-i", "--tablespace", "\udcff"]]
)
def test_what_is_sent_to_the_server_must_be_letters(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main(words) == 1
    shown = words[-1].replace("\udcff", "\\udcff")
    assert capsys.readouterr().err == f'pgbench: error: "{shown}" is not UTF-8\n'
