"""What a script runs once for all its threads: `init()`, `done()`, its reports."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from loadstone.runs import run_folder
from sysbench.comparing import both, compare, masked
from sysbench.conftest import Program

pytestmark = [pytest.mark.server, pytest.mark.sysbench]

if not shutil.which("sysbench"):
    pytest.skip("Debian's sysbench is not installed", allow_module_level=True)

SHARING = """
    x = 1
    function show(part)
      print(("%s|%s|%s|%s;"):format(part, x, tostring(n), sysbench.tid))
    end
    function init() x = 5 show("init") end
    function thread_init() show("thread_init") end
    function event() n = (n or 0) + 1 end
    function done() show("done") end
    function sysbench.hooks.report_cumulative() show("at the end") x = 7 end
"""
AT_INTERVALS = f"{SHARING}  function sysbench.hooks.report_intermediate() show('then') x = 6 end"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        pytest.param(SHARING, "--events=10", id="at the end"),
        pytest.param(AT_INTERVALS, "--time=3 --report-interval=1", id="at intervals"),
        pytest.param(SHARING, "--time=3 --report-checkpoints=1,2", id="at checkpoints"),
    ],
)
def test_globals_are_shared_with_what_also_runs_once(
    script: str, words: str, ours_here: Program, theirs: Program, tmp_path: Path
) -> None:
    """Reports during the run come from copies of their own."""
    (tmp_path / "sharing.lua").write_text(script)
    # Lines of two threads may run together.
    told = [
        re.findall(r"[a-z_ ]+\|[^;\n]*;", done.stdout)
        for done in both(ours_here, theirs, ("sharing.lua", *words.split(), "run"))
    ]
    # Whether the last interval still gets a report is a matter of chance.
    ours, theirs_ = ([one for one in found if "then|6" not in one] for found in told)
    assert ours == theirs_
    assert ours[-1] == "done|7|nil|0;"


COUNTING = """
    local con = sysbench.sql.driver():connect()
    con:query("SELECT 1")
    function init()
      for i = 1, 20 do con:query("SELECT 2") end
      pcall(con.query, con, "SELECT no_column")
    end
    function thread_init() con:query("SELECT 3") end
    function event() con:query("DO 0") end
    function done() for i = 1, 7 do con:query("SELECT 4") end end
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_statements_before_the_threads_count_and_those_after_them_do_not(
    threads: int,
    ours_here: Program,
    theirs: Program,
    tmp_path: Path,
    connection: tuple[str, ...],
) -> None:
    (tmp_path / "counting.lua").write_text(COUNTING)
    limits = (f"--threads={threads}", "--events=10", "--mysql-ignore-errors=1054")
    for program in (theirs, ours_here):
        report = program(*connection, "counting.lua", *limits, "run").stdout
        assert re.search(rf"read: +{1 + 20 + 2 * threads}$", report, re.M), report
        assert re.search(r"other: +10$", report, re.M), report
        assert re.search(r"ignored errors: +1 ", report), report


FAILING = """
    local ffi = require("ffi")
    ffi.cdef("int usleep(int)")
    function init() print("init") INIT end
    function event(thread) if thread == 0 then EVENT end ffi.C.usleep(1000) end
    function done() print("done") DONE end
    function sysbench.hooks.report_cumulative() print("report") end
"""


@pytest.mark.parametrize("failing", ["INIT", "EVENT", "DONE", "EVENT and DONE"])
@pytest.mark.parametrize("how", ["error('no')", "os.exit(5)", "local a = nil + 1"])
def test_what_fails_does_not_keep_the_rest_from_running(
    failing: str, how: str, ours_here: Program, theirs: Program, tmp_path: Path
) -> None:
    text = FAILING
    for part in ("INIT", "EVENT", "DONE"):
        text = text.replace(part, how if part in failing.split() else "")
    (tmp_path / "failing.lua").write_text(text)
    compare(ours_here, theirs, ("failing.lua", "--events=10", "run"))


ERRORS = """
    function event()
      local con = sysbench.sql.driver():connect()
      local function show()
        print(con.sql_errno, con.error == sysbench.sql.error.NONE,
          con.sql_state ~= nil and ffi.string(con.sql_state),
          con.sql_errmsg ~= nil and ffi.string(con.sql_errmsg))
      end
      show()
      pcall(con.query, con, "SELECT no_column")
      show()
      con:query("SELECT 1")
      show()
      pcall(con.query_row, con, "SELECT FROM")
      show()
    end
    ffi = require("ffi")
"""


def test_a_connection_has_the_error_of_its_last_statement(
    ours_here: Program, theirs: Program, tmp_path: Path, connection: tuple[str, ...]
) -> None:
    (tmp_path / "errors.lua").write_text(ERRORS)
    words = (*connection, "errors.lua", "--events=1", "--mysql-ignore-errors=1054,1064", "run")
    got, wanted = both(ours_here, theirs, words)
    told = [line for line in got.stdout.splitlines() if "\t" in line]
    assert told == [line for line in wanted.stdout.splitlines() if "\t" in line]
    assert [line.split("\t")[0] for line in told] == ["0", "1054", "0", "1064"]
    assert masked(got.stdout) == masked(wanted.stdout)


WAITING = """
    local con = sysbench.sql.driver():connect()
    function wait() print("waits") io.stdout:flush() con:query("SELECT SLEEP(100)") end
    function init() INIT end
    function event() end
    function done() DONE end
"""


@pytest.mark.parametrize(("part", "state"), [("INIT", "stopped"), ("DONE", "finished")])
def test_a_signal_ends_what_runs_once(
    part: str, state: str, tmp_path: Path, connection: tuple[str, ...]
) -> None:
    text = WAITING.replace(part, "wait()").replace("INIT", "").replace("DONE", "")
    (tmp_path / "waiting.lua").write_text(text)
    program = [sys.executable, "-m", "loadstone.cli", "sysbench", *connection]
    process = subprocess.Popen(
        [*program, "waiting.lua", "--events=1", "--loadstone-out=kept", "run"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    with process:
        while "waits" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=20)
    assert process.returncode == 130
    assert re.fullmatch(r"loadstone: the run is in .*\nloadstone: interrupted\n", told)
    (run,) = (tmp_path / "kept").iterdir()
    assert run_folder.load(run).steps[0].state == state


def test_a_kept_run_says_that_init_failed(
    ours_here: Program, tmp_path: Path, connection: tuple[str, ...]
) -> None:
    (tmp_path / "failing.lua").write_text("function init() error('no') end function event() end")
    kept = tmp_path / "kept"
    done = ours_here(*connection, "failing.lua", f"--loadstone-out={kept}", "run")
    assert done.returncode == 1
    (run,) = kept.iterdir()
    (step,) = run_folder.load(run).steps
    assert step.state == "failed"
    assert step.error is not None
    assert "no" in step.error.message
