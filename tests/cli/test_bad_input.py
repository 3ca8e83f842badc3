"""What a user may get wrong: one line, what to do, the right exit code, and no traceback."""

from __future__ import annotations

import re
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadstone.cli.errors import exit_code_of
from loadstone.model.records import LatencyNs
from scripted_engine import Script

RUN = "run oltp_read_write"


@pytest.fixture(autouse=True)
def undisturbed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Script) -> Iterator[None]:
    """The option files, password and state of the user who runs the tests are out of reach."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("LOADSTONE_PASSWORD", raising=False)
    monkeypatch.setitem(sys.modules, "ray", None)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


# PyMySQL leaves the socket of a refused connection to the collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

NOT_EMPTY = (
    "--target",
    "--host",
    "--user",
    "--database",
    "--socket",
    "--defaults-file",
    "--tls-ca",
    "--compression",
    "--init-sql",
    "--charset",
    "--cluster",
)

RAY = "pip install 'loadstone[cluster]', here and on each node"
CLUSTER = f"{RUN} --target mysql://u@127.0.0.1:1/x --cluster 127.0.0.1:1"
PREPARE = "prepare --target mysql://u@127.0.0.1:1/x"

BAD = [
    ("--nonsense", 2, "no such option", None),
    ("rnu oltp_read_write", 2, "no such command 'rnu'", "did you mean run?"),
    (
        "run",
        2,
        "missing argument 'WORKLOAD...'",
        "loadstone workload list lists them; for example loadstone run oltp_read_write",
    ),
    ("run oltp_read_wriet", 2, "there is no workload 'oltp_read_wriet': did you mean", None),
    ("run tpcc", 2, "there is no workload 'tpcc' (oltp_read_write, ", None),
    (f"{RUN} --concurency 8", 2, "no such option '--concurency'\n", "did you mean --concurrency?"),
    (f"{RUN} --point-selcts 8", 2, "no such option", "did you mean --point-selects?"),
    (f"{RUN} --threads 4", 2, "no such option '--threads'", "did you mean --concurrency?"),
    (f"{RUN} --time 4", 2, "no such option", "did you mean --duration?"),
    (f"{RUN} --max_time=4", 2, "no such option", "did you mean --duration?"),
    (f"{RUN} --users 4", 2, "no such option", "did you mean --concurrency?"),
    (f"{RUN} -c 4", 2, "no such option", "did you mean --concurrency?"),
    (f"{RUN} -t 4", 2, "no such option", "did you mean --concurrency?"),
    (f"{RUN} -T 4", 2, "no such option", "did you mean --duration?"),
    (f"{RUN} --vus 4", 2, "no such option", "did you mean --concurrency?"),
    (f"{RUN} --mysql-host=db1", 2, "no such option", "did you mean --host?"),
    (
        f"{RUN} --mysql-db=db1",
        2,
        "no such option",
        "did you mean --database? The URL of --target may end with it: /SCHEMA",
    ),
    (f"{RUN} --rand-type=zipfian", 2, "no such option", "did you mean --distribution?"),
    (
        f"{RUN} --report-interval=1",
        2,
        "no such option",
        "each second has a line; no option is needed",
    ),
    (
        f"{RUN} --events=100",
        2,
        "no such option",
        "a step ends after a time, not after a number of events: --duration",
    ),
    ("prepare --threads 4", 2, "no such option", "did you mean --parallel?"),
    (
        "tpcc check --target --conditions all",
        2,
        "option '--target' requires an argument",
        "loadstone tpcc check --help shows how it is used",
    ),
    (f"{RUN} -P --tables 4", 2, "option '-P' requires an argument", None),
    (
        "cleanup oltp_read_write --target mysql://u@127.0.0.1:1/x --tables 2",
        2,
        "no such option '--tables'",
        "cleanup drops what prepare made, however many and large: leave --tables out",
    ),
    ("cleanup tpc --target mysql://u@127.0.0.1:1/x", 2, "there is no workload 'tpc'", None),
    ("help nonsense", 2, "no such command 'nonsense'", "loadstone --help shows the commands"),
    ("workload from-slowlog nosuch.log", 4, "nosuch.log: cannot be read: no such file", None),
    ("prepare --time 4", 2, "no such option", "loadstone prepare --help-all shows all options"),
    (
        "experiment plan.toml --set x=1",
        2,
        "no such option",
        "the experiment's file has it as a key: docs/experiments.md",
    ),
    (
        "experiment plan.toml --threads 4",
        2,
        "no such option",
        "the experiment's file has it as a key: docs/experiments.md",
    ),
    (
        "--concurrency 3",
        2,
        "no such option",
        "an option follows its command: loadstone run WORKLOAD --concurrency",
    ),
    ("--nonsense 3", 2, "no such option", "loadstone --help shows all options"),
    (f"{RUN} --concurrency 0", 2, "invalid value for '--concurrency': '0' is not a number", None),
    (f"{RUN} --concurrency 1,x", 2, "invalid value for '--concurrency': 'x' is not", None),
    (f"{RUN} --concurrency 8,1,8", 2, "invalid value for '--concurrency': 8 is there twice", None),
    (
        f"{RUN} --concurrency 1,1,2",
        2,
        "invalid value for '--concurrency': 1 is there twice: leave one out; how often each is"
        " measured is said by --repeats (in a file, repeats)",
        None,
    ),
    (
        f"{RUN} --warehouses 0",
        2,
        "invalid value for '--warehouses': 0 is not in the range 1 to 1,",
        None,
    ),
    ("experiment nosuch.toml", 4, "nosuch.toml: cannot be read: No such file", None),
    (f"{RUN} --concurrency ,", 2, "invalid value for '--concurrency'", None),
    (f"{RUN} --duration 0", 2, "invalid value for '--duration': the time must be", None),
    (f"{RUN} --duration 5q", 2, "invalid value for '--duration': '5q' is not a time", None),
    (f"{RUN} --duration=-5", 2, "invalid value for '--duration': '-5' is not a time", None),
    (f"{RUN} --duration 367000h", 2, "invalid value for '--duration': '367000h' is too", None),
    (f"{RUN} --warmup 8785h", 2, "invalid value for '--warmup': \"8785h\" is too long: at", None),
    (f"{RUN} --charset utf-8", 2, "invalid value for '--charset': 'utf-8' is not the", None),
    (f"{RUN} -h 127.0.0.1 --server-public-key x", 3, "cannot read the --server-public-key x", None),
    ("runs show ''", 8, "the name of the run is empty", "loadstone runs list shows the names"),
    (f"{RUN} --think-time 25h", 2, "invalid value for '--think-time': '25h' is too long", None),
    (f"{RUN} --connect-timeout 2h", 2, "invalid value for '--connect-timeout': '2h' is", None),
    (f"{RUN} --connect-at-once 5000000000", 2, "invalid value for '--connect-at-once'", None),
    *((f'{RUN} {option} ""', 2, f"invalid value for '{option}'", None) for option in NOT_EMPTY),
    *(
        (f"{RUN} {option} x.pem", 2, f"{option} needs --target", None)
        for option in ("--tls-ca", "--tls-cert", "--tls-key", "--server-public-key")
    ),
    (f"{RUN} --warmup soon", 2, "invalid value for '--warmup': \"soon\" is not a time", None),
    (f"{RUN} --repeats 0", 2, "invalid value for '--repeats'", None),
    (f"{RUN} --tables 0", 2, "invalid value for '--tables'", None),
    (f"{RUN} --table-size 1.5", 2, "invalid value for '--table-size'", None),
    (f"{RUN} --tls off", 2, "invalid value for '--tls': 'off' is not one of", None),
    (f"{RUN} --compression lz4", 2, "invalid value for '--compression': 'lz4' is not a k", None),
    (f"{RUN} --compression off,zlib", 2, "invalid value for '--compression': 'off,zlib'", None),
    (f"{RUN} --on-error ignore", 2, "invalid value for '--on-error'", None),
    (f"{RUN} --port 70000", 2, "invalid value for '--port'", None),
    (
        f"{RUN} --distribution zipf",
        2,
        "invalid value for '--distribution': \"zipf\" is not a distribution: there are uniform",
        None,
    ),
    (f"{RUN} --distribution zipfian:exponent=-1", 2, "invalid value for '--distribution'", None),
    (f"{RUN} --distribution pareto:x=1", 2, "invalid value for '--distribution': pareto: x", None),
    (f"{RUN} --set-option point_selects", 2, "--set-option point_selects: write name=value", None),
    (f"{RUN} --set-option hot_rows=2", 2, "oltp_read_write has no option hot_rows", None),
    (
        f"{RUN} --set-option point_selects=many",
        2,
        "invalid value for '--point-selects': 'many' is not a whole number",
        None,
    ),
    (f"{RUN} --set-option skip_trx=maybe", 2, "skip_trx is on or off, not 'maybe'", None),
    (f"{RUN} --point-selects", 2, "--point-selects needs a value", None),
    *(
        (f"{RUN} --target mysql://u@h/x {more}", 2, "--target has host and port: leave --", None)
        for more in ("--host x", "--port 3307", "--socket my.sock")
    ),
    (f"{RUN} --target db1", 2, "not a target's URL: it does not start with mysql://", None),
    (f"{RUN} --target mysql://u:geheim@db1:port/x", 2, "not a target's URL: the port", None),
    (f"{RUN} --target mysql://u:geheim@db1/x?tsl=on", 2, "not a target's URL: it has no", None),
    (f"{RUN} --target mysql://u:geheim@127.0.0.1:1/x", 3, "nothing listens on 127.0.0.1:1", None),
    (
        f"{RUN} --target mysql://u@127.0.0.1:1/x --protocol extended",
        15,
        "127.0.0.1:1 is a MySQL server: `--protocol extended` is not supported there",
        "leave it out",
    ),
    (
        f"{RUN} --target mysql://u@127.0.0.1:1/x --protocol pipelined",
        15,
        "127.0.0.1:1 is a MySQL server: `--protocol pipelined` is not supported there",
        "leave it out",
    ),
    (f"{RUN} --text --protocol prepared", 2, "--protocol: --prepared or --text already", None),
    (
        f"{RUN} mysql://u:geheim@h/db",
        2,
        "got unexpected extra argument (mysql://u:***@h/db)",
        "--target mysql://u:***@h/db names a server",
    ),
    (
        "sandbox start mysql-8.0",
        2,
        "got unexpected extra argument (mysql-8.0)",
        "--server mysql-8.0 chooses the server that is started",
    ),
    (
        "report last --html page.html",
        2,
        "got unexpected extra argument (page.html)",
        "-o page.html writes to that file",
    ),
    ("run mysql://u:geheim@h/db", 2, "there is no workload 'mysql://u:***@h/db'", None),
    (f"{RUN} --target mysql://u@nobody.invalid/x", 3, "unknown host 'nobody.invalid'", None),
    (f"{RUN} --socket /nowhere/my.sock", 3, "there is no socket /nowhere/my.sock", None),
    (f"{RUN} --defaults-file /nowhere/my.cnf", 3, "", None),
    (f"{RUN} --host 127.0.0.1 --port 1 --password", 2, "--password prompts for it", None),
    (f"{RUN} --out /proc/nowhere", 8, "cannot ", None),
    ("prepare", 2, "name the server with --target mysql://", None),
    ("prepare oltp", 2, "there is no workload 'oltp'", None),
    ("prepare --target mysql://u@127.0.0.1:1/x", 3, "nothing listens on 127.0.0.1:1", None),
    ("cleanup", 2, "name the server with --target mysql://", None),
    ("cleanup --target mysql://u@127.0.0.1:1/x", 3, "nothing listens on 127.0.0.1:1", None),
    ("runs show", 8, "there are no runs in runs", "say where they are with --out"),
    ("runs show last", 8, "there are no runs in runs", "say where they are with --out"),
    ("runs export last --format xlsx", 2, "invalid value for '--format'", None),
    ("prepare --tabel 3", 2, "no such option '--tabel'\n", "did you mean --tables?"),
    ("demo --fast", 2, "no such option '--fast'", None),
    (CLUSTER, 11, "Ray is not installed here, and --cluster needs it", RAY),
    ("cluster check 127.0.0.1:1", 11, "Ray is not installed here", RAY),
    (f"{PREPARE} --cluster 127.0.0.1:1", 11, "Ray is not installed here, and --cluster", RAY),
    (f"{PREPARE} --generators 2", 2, "--generators needs --cluster", None),
    (f"{PREPARE} --cluster a:1 --on-node-loss stop", 2, "no such option", None),
    (f"{CLUSTER} --prove", 2, "--prove drives from this machine: leave --cluster out", None),
    (f"{CLUSTER} --generators 0", 2, "invalid value for '--generators'", None),
    (f"{CLUSTER} --on-node-loss wait", 2, "invalid value for '--on-node-loss'", None),
    ("experiment two.toml --generators 2", 2, "--generators needs --cluster", None),
    ("resume last --on-node-loss stop", 2, "--on-node-loss needs --cluster", None),
    ("cluster check 127.0.0.1:1 --generators 0", 2, "invalid value for '--generators'", None),
    (f"{RUN} --cluster a:1", 2, "--cluster needs --target: other machines cannot reach", None),
    (f"{RUN} --generators 2", 2, "--generators needs --cluster", None),
    (f"{RUN} --on-node-loss stop", 2, "--on-node-loss needs --cluster", None),
]


@pytest.fixture(autouse=True)
def no_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide Ray, which other tests may need to have installed."""
    monkeypatch.setitem(sys.modules, "ray", None)


@pytest.mark.parametrize(("line", "code", "begins", "hint"), BAD, ids=[case[0] for case in BAD])
def test_bad_input_is_one_line_with_its_own_number(
    line: str, code: int, begins: str, hint: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    # tests/lanes.py fails the test if anything waits.
    assert exit_code_of(shlex.split(line)) == code
    out, err = capsys.readouterr()
    said = err.splitlines()
    assert out == ""
    assert [each for each in said if each.startswith("error: ")] == said[:1]
    assert f"{said[0]}\n".startswith(f"error: {begins}")
    assert len(said) <= 2
    assert "geheim" not in err
    if hint:
        assert said[1] == f"hint:  {hint}"


def test_a_bug_is_one_line_and_a_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*arguments: object) -> None:
        raise RuntimeError("two and two are five")

    monkeypatch.setattr("loadstone.runs.run_folder.list_runs", broken)
    assert exit_code_of(["runs", "list"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("error: a bug in Loadstone: RuntimeError: two and two are five\n")
    where = re.search(r"please report it with (\S+)", err)
    assert where is not None
    assert "in broken" in Path(where[1]).read_text()
    assert "Traceback" not in err


def test_a_value_that_nobody_gave_is_a_bug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*arguments: object) -> None:
        LatencyNs.model_validate({"count": "many"})

    monkeypatch.setattr("loadstone.runs.run_folder.list_runs", broken)
    assert exit_code_of(["runs", "list"]) == 1
    assert "error: a bug in Loadstone: ValidationError: " in capsys.readouterr().err


def test_ctrl_c_before_the_load_is_no_bug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("loadstone.runs.run_folder.list_runs", interrupted)
    assert exit_code_of(["runs", "list"]) == 130
    assert capsys.readouterr().err.strip() == "error: interrupted"


def test_memory_that_is_not_there_is_no_bug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def greedy(*arguments: object) -> None:
        raise MemoryError

    monkeypatch.setattr("loadstone.runs.run_folder.list_runs", greedy)
    assert exit_code_of(["runs", "list"]) == 1
    err = capsys.readouterr().err.splitlines()
    assert err[0] == "error: out of memory"
    assert err[1].startswith("hint:  lower --concurrency")
