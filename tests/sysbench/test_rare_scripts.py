"""Scripts that use rare features, compared with Debian's sysbench."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kept import Stopwatch
from sysbench.comparing import both, compare, masked
from sysbench.conftest import Done, Program

pytestmark = [pytest.mark.server, pytest.mark.sysbench]

if not shutil.which("sysbench"):
    pytest.skip("Debian's sysbench is not installed", allow_module_level=True)

SCRIPTS = {
    "asking_hooks.lua": """
        local watcher
        function thread_init() con = sysbench.sql.driver():connect() end
        function event() con:query("SELECT 1") end
        function sysbench.hooks.report_intermediate(stat)
          watcher = watcher or sysbench.sql.driver():connect()
          local name, value = watcher:query_row("SHOW GLOBAL STATUS LIKE 'Questions'")
          print("[ 1s ]", name, tonumber(value) > 0)
        end
        function sysbench.hooks.report_cumulative(stat)
          local own = sysbench.sql.driver():connect()
          local rows = own:query("SHOW GLOBAL STATUS LIKE 'Com_s%'")
          print(rows.nrows > 3, rows.nfields)
          local statement = own:prepare("SELECT ?")
          local number = statement:bind_create(sysbench.sql.type.INT)
          statement:bind_param(number)
          number:set(1)
          statement:execute()
          statement:close()
          own:disconnect()
        end
    """,
    "failing_hooks.lua": """
        function thread_init() con = sysbench.sql.driver():connect() end
        function event() con:query("SELECT 1") end
        local function ask()
          print("about to ask")
          sysbench.sql.driver():connect():query("SELECT 1 FROM nowhere")
        end
        sysbench.hooks.report_intermediate, sysbench.hooks.report_cumulative = ask, ask
    """,
    "unreachable.lua": """
        function event() end
        function sysbench.hooks.report_cumulative() sysbench.sql.driver():connect() end
    """,
    "before.lua": """
        function init() sysbench.sql.driver():connect():query("SELECT 1") end
        function thread_init()
          con = sysbench.sql.driver():connect()
          con:query("SET @a = 1")
          con:query("SELECT @a")
        end
        function event() con:query("SELECT 1") end
    """,
    "old_calls.lua": """
        local function show(name, ...) print(name, select('#', ...), (...)) end
        function thread_init() show("connect", db_connect()) end
        function event()
          show("query", db_query("SELECT 1"))
          show("bulk", db_bulk_insert_init("INSERT INTO nowhere VALUES"))
          show("row", db_bulk_insert_next("(1)"))
          show("done", db_bulk_insert_done())
          show("wrong", pcall(db_prepare, "SELEC"))
          print(type(select(2, pcall(db_query, "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO=1213"))))
          db_query("SELECT nobody")
        end
    """,
    "each_error.lua": """
        function event()
          local con = sysbench.sql.driver():connect()
          local function try(f, ...)
            local ok, why = pcall(f, ...)
            print(ok, type(why) == "table" and why.errcode or why)
          end
          for _ = 1, 2 do try(con.prepare, con, "SELECT * FROM nowhere") end
          con:query("CREATE TEMPORARY TABLE kept (a INT PRIMARY KEY)")
          con:query("INSERT INTO kept VALUES (1)")
          for _ = 1, 3 do try(con.query, con, "INSERT INTO kept VALUES (1)") end
          for i = 1, 3 do try(con.query, con, "INSERT INTO kept VALUES (1) -- " .. i) end
          for i = 1, 2 do try(con.query, con, "SELECT * FROM nowhere" .. i) end
          local again = con:prepare("INSERT INTO kept VALUES (1)")
          for _ = 1, 3 do try(again.execute, again) end
          con:bulk_insert_init("INSERT INTO kept VALUES")
          con:bulk_insert_next("(1)")
          for _ = 1, 2 do try(con.bulk_insert_done, con) end
          con:query("SELECT * FROM nowhere")
        end
    """,
    "each_hook.lua": """
        local called = 0
        function sysbench.hooks.sql_error_ignorable(failed)
          called = called + 1
          print(called, failed.sql_errno, failed.sql_state, failed.query)
          return called < 3
        end
        function sysbench.hooks.before_restart_event() print("again") end
        function thread_init() con = sysbench.sql.driver():connect() end
        function event() con:query("SELECT * FROM nowhere") end
    """,
    "at_the_top.lua": """
        con = sysbench.sql.driver():connect()
        print("top", sysbench.tid, con:query_row("SELECT 7"))
        con:query("SET @kept = 8")
        gone = sysbench.sql.driver():connect()
        gone:disconnect()
        statement = con:prepare("SELECT @kept + 1")
        function prepare() print("prepare", con:query_row("SELECT @kept")) end
        function thread_init() print("thread_init") end
        function event()
          print("event", con:query_row("SELECT @kept"), statement:execute() == nil)
        end
    """,
    "wrong_at_the_top.lua": """
        print("before")
        sysbench.sql.driver():connect():query("SELECT * FROM nowhere")
        function event() end
    """,
    "freed.lua": """
        function prepare()
          local con = sysbench.sql.driver():connect()
          local result = con:query("DO 1")
          print(type(result), result == nil, result ~= nil, tostring(result))
          result = con:query("SELECT 1")
          print(result == nil, result:free())
          for _ = 1, 2 do print(pcall(result.free, result)) end
          result = con:query("SELECT 1")
          con:query("SELECT 2")
          print(result:free())
          local statement = con:prepare("SELECT 1")
          for kind = -1, 14 do print(kind, (pcall(statement.bind_create, statement, kind, 10))) end
          for _ = 1, 2 do print(pcall(sysbench.sql.driver, "nosuch")) end
          print(pcall(sysbench.sql.driver, "another"))
        end
    """,
    "no_host.lua": """
        function event()
          local driver = sysbench.sql.driver()
          for _ = 1, 2 do print(pcall(driver.connect, driver)) end
        end
    """,
    "loaded_in_part.lua": """
        print("loaded")
        error("no further")
    """,
    "goodbye.lua": """
        function event() end
        function thread_done() error("no goodbye") end
        function done() print("done") error("no end") end
    """,
    "order.lua": """
        local ffi = require("ffi")
        ffi.cdef("int usleep(unsigned int);")
        function event() end
        function thread_done()
          -- Apart, as Lua's print is three writes that run together.
          ffi.C.usleep(200000 * sysbench.tid)
          print("thread_done")
        end
        function done() print("done") end
    """,
    "hosts.lua": """
        function thread_init()
          one, two = sysbench.sql.driver():connect(), sysbench.sql.driver():connect()
        end
        function event() end
    """,
    "leaving.lua": """
        function help() print("usage") os.exit(5) end
        function prepare() print("usage") os.exit(2) end
        function cleanup() os.exit() end
        function event() os.exit(4) end
    """,
    "declared.lua": """
        print("loaded")
        sysbench.cmdline.options = {
          size = {"A size", 10, sysbench.cmdline.ARG_SIZE}, ["with-dash"] = {"A dash", "d"},
        }
        sysbench.cmdline.commands = {
          prepare = {function() error("not prepared") end},
          table = {function() error({a = 1}) end},
          show = {function()
            print(sysbench.opt.size, sysbench.opt.with_dash, #sysbench.cmdline.argv)
            print(sysbench.cmdline.argv[#sysbench.cmdline.argv])
          end},
        }
        function event() return true end
    """,
    "closed.lua": """
        function prepare()
          local con = sysbench.sql.driver():connect()
          con:disconnect()
          print(pcall(function() con:query("SELECT 1") end))
          sysbench.histogram.new(10, 1, 100):print()
        end
    """,
    "bulk.lua": """
        function prepare()
          local cons = {}
          for i = 1, 3 do
            cons[i] = sysbench.sql.driver():connect()
            cons[i]:query("DROP TABLE IF EXISTS rare" .. i)
            cons[i]:query("CREATE TABLE rare" .. i .. " (id INT PRIMARY KEY, k VARCHAR(20))")
            cons[i]:bulk_insert_init("INSERT INTO rare" .. i .. " VALUES")
          end
          for row = 1, 2500 do
            for i, con in ipairs(cons) do
              con:bulk_insert_next("(" .. row .. ", 'v" .. row * i .. "')")
            end
          end
          for i, con in ipairs(cons) do
            con:bulk_insert_done()
            print(con:query_row("SELECT COUNT(*), SUM(id), MAX(k) FROM rare" .. i))
            con:query("DROP TABLE rare" .. i)
          end
        end
    """,
    "coroutines.lua": """
        local Counter = setmetatable({}, { __call = function(self)
          self.n = (self.n or 0) + 1
          return self.n
        end })
        function thread_init()
          con = sysbench.sql.driver():connect()
          ask = coroutine.wrap(function()
            for i = 1, 9 do coroutine.yield(tonumber(con:query_row("SELECT " .. i))) end
          end)
        end
        function event()
          if ask() ~= Counter() then error("out of step") end
          return Counter.n == 5
        end
        function thread_done() print("after", Counter.n) end
    """,
    "given.lua": """
        local function show(name, ...) print(name, select("#", ...), sysbench.tid) end
        function init(...) show("init", ...) end
        function event() end
        function thread_done(...) show("thread_done", ...) end
        function done(...) show("done", ...) end
    """,
    "outcomes.lua": """
        local function no() print("no") return false end
        sysbench.cmdline.commands = {
          no = {no}, yes = {function() return true end}, nothing = {function() end},
          all = {no, sysbench.cmdline.PARALLEL_COMMAND}, number = {5},
        }
        function prepare() return false end
    """,
    "db.lua": """
        function prepare()
          local db = sysbench.db
          print(db.DB_ERROR_NONE, db.DB_ERROR_RESTART_TRANSACTION, db.DB_ERROR_FAILED)
        end
    """,
    "old_unreachable.lua": """
        function prepare() db_connect() end
        function cleanup() db_query("SELECT 1") end
    """,
    "results.lua": """
        function prepare()
          local con = sysbench.sql.driver():connect()
          local none = con:query("SELECT 1 FROM DUAL WHERE 1 = 0")
          print(none.nrows, none.nfields, none:fetch_row())
          print(con:query_row("SELECT 1 FROM DUAL WHERE 1 = 0"))
          local one = con:query("SELECT 1")
          one:free()
          print(one.nrows, one.nfields, one:fetch_row())
          con:disconnect()
          con:disconnect()
        end
    """,
    "kept_from_loading.lua": """
        con = sysbench.sql.driver():connect()
        con:query("SET @kept = 8")
        loads = (loads or 0) + 1
        print("loaded", loads)
        function prepare()
          print("prepare", loads, con:query_row("SELECT @kept"))
          local ok, why = pcall(con.query, con, "SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213")
          print(ok, why.errcode, con:query_row("SELECT @kept"))
          local statement = con:prepare("SELECT 1 FROM nowhere WHERE 1 = ?")
        end
        function cleanup()
          print("before")
          pcall(con.query, con, "SELECT 1 FROM nowhere")
          print("between")
          con:query("SELECT 2 FROM nowhere")
        end
        local commands = {show = {function() print(con:query_row("SELECT @kept")) end}}
        commands.all = {commands.show[1], sysbench.cmdline.PARALLEL_COMMAND}
        commands.leave = {function() print("leaving") os.exit(3) end}
        commands.fail = {function() error("no further") end}
        sysbench.cmdline.commands = commands
    """,
    "exit_in_done.lua": "function event() end function done() print('over') os.exit(6) end",
    "passwords.lua": """
        function prepare()
          local opt = sysbench.opt
          print(opt.mysql_password, mysql_password, opt.pgsql_password, pgsql_password)
        end
    """,
    "plain.lua": "function event() end",
    "talking.lua": "print('loaded')\nfunction event() end\nfunction done() end",
    "caught.lua": """
        function prepare()
          local con = sysbench.sql.driver():connect()
          local ok, problem = pcall(con.query, con, "SELECT 1 FROM nowhere")
          print(ok, type(problem))
        end
    """,
}

WITHOUT_SERVER = [
    "goodbye.lua --events=3 run",
    "order.lua --events=3 --threads=3 run",
    "talking.lua --events=3 run",
    "leaving.lua help",
    "leaving.lua prepare",
    "leaving.lua cleanup",
    "leaving.lua run",
    "declared.lua prepare",
    "declared.lua table",
    "declared.lua show --size=2k",
    "declared.lua show --size=1.5K",
    "declared.lua show --size=none --with-dash=x",
    "declared.lua --events=3 run",
    "unreachable.lua --mysql-socket=/nonexistent.sock --events=3 run",
    "given.lua --events=3 run",
    "outcomes.lua no",
    "outcomes.lua yes",
    "outcomes.lua nothing",
    "outcomes.lua all",
    "outcomes.lua --threads=2 all",
    "outcomes.lua number",
    "outcomes.lua prepare",
    "plain.lua --threads=abc run extra",
    "plain.lua --threads=abc --nosuch=1 run",
    "db.lua prepare",
    "old_unreachable.lua --mysql-socket=/nonexistent.sock prepare",
    "old_unreachable.lua --mysql-socket=/nonexistent.sock cleanup",
    "plain.lua --test=talking.lua --events=3 run",
    "talking.lua run --test=plain.lua --events=3",
    "run --test=plain.lua --events=3",
    "plain.lua --test= --events=3 run",
    "--test= plain.lua --events=3 run",
    "plain.lua --verbosity=259 --events=3 run",
    "plain.lua --verbosity=-1 --events=3 run",
    "plain.lua --events=3 --verbosity=4 --threads=1 run",
    "plain.lua --events=3 --verbosity=5 run",
    "no_host.lua --mysql-host=no-such-host.invalid --events=1 run",
    "no_host.lua --mysql-socket=/nonexistent.sock --events=2 run",
    "loaded_in_part.lua",
    "loaded_in_part.lua --events=1 run",
    "exit_in_done.lua --events=3 run",
    "exit_in_done.lua --events=3 --threads=2 run",
    "passwords.lua --mysql-password=abc prepare",
    "passwords.lua --db-driver=pgsql --pgsql-password=abc prepare",
]

AGAINST_A_SERVER = [
    "asking_hooks.lua --time=3 --report-interval=2 run",
    "old_calls.lua --events=1 run",
    "asking_hooks.lua --time=2 --report-checkpoints=1 run",
    "failing_hooks.lua --time=3 --report-interval=2 run",
    "hosts.lua --mysql-host=127.0.0.1,::1 run",
    "closed.lua prepare",
    "bulk.lua prepare",
    "coroutines.lua --events=20 run",
    "results.lua prepare",
    "results.lua --verbosity=0 prepare",
    "caught.lua prepare",
    "caught.lua --mysql-ignore-errors=1146 prepare",
    "each_error.lua --events=1 run",
    "each_error.lua --events=1 --mysql-ignore-errors=1062 run",
    "each_hook.lua --events=1 run",
    "at_the_top.lua",
    "at_the_top.lua prepare",
    "at_the_top.lua --events=2 --threads=1 run",
    "wrong_at_the_top.lua",
    "wrong_at_the_top.lua --events=1 run",
    "freed.lua prepare",
    "kept_from_loading.lua",
    "kept_from_loading.lua prepare",
    "kept_from_loading.lua cleanup",
    "kept_from_loading.lua show",
    "kept_from_loading.lua all",
    "kept_from_loading.lua leave",
    "kept_from_loading.lua fail",
]


@pytest.fixture
def written(tmp_path: Path) -> Path:
    for name, source in SCRIPTS.items():
        (tmp_path / name).write_text(source)
    return tmp_path


@pytest.mark.parametrize("line", WITHOUT_SERVER)
def test_a_line_that_needs_no_server(
    line: str, ours_here: Program, theirs: Program, written: Path
) -> None:
    compare(ours_here, theirs, tuple(line.split(" ")))


@pytest.mark.parametrize("line", AGAINST_A_SERVER)
def test_a_line_against_a_server(
    line: str, ours_here: Program, theirs: Program, written: Path, connection: tuple[str, ...]
) -> None:
    compare(ours_here, theirs, (*connection, *line.split(" ")))


def test_what_is_sent_before_the_first_event_is_counted(
    ours_here: Program, theirs: Program, written: Path, connection: tuple[str, ...]
) -> None:
    words = (*connection, "before.lua", "--threads=2", "--events=5", "run")
    counted = [
        re.findall(r"(?:read|write|other|total): +(\d+)", done.stdout)
        for done in both(ours_here, theirs, words)
    ]
    assert counted[0] == counted[1]
    assert int(counted[0][0]) > 5


@pytest.mark.parametrize("line", ["at_the_top.lua prepare", "kept_from_loading.lua show"])
def test_statements_at_the_top_of_a_dry_run(
    line: str, ours_here: Program, written: Path, connection: tuple[str, ...]
) -> None:
    done = ours_here(*connection, "--mysql-dry-run", *line.split())
    assert (done.returncode, done.stderr) == (0, "")
    assert "FATAL" not in done.stdout


FROM_STDIN = """
    print("loaded", sysbench.cmdline.command)
    function prepare() print("prepared") end
    function event() print("event") end
"""


@pytest.mark.parametrize(
    "line",
    [
        "/dev/stdin --events=2 run",
        "/dev/stdin prepare",
        "/dev/stdin help",
        "- run",
        "- prepare",
        "--events=2",
        "--test=- run",
    ],
)
def test_a_script_from_the_standard_input(line: str, tmp_path: Path) -> None:
    script = tmp_path / "script.lua"
    script.write_text(FROM_STDIN)

    def run(*program: str) -> Done:
        with script.open() as source:
            return subprocess.run(
                [*program, *line.split(" ")],
                stdin=source,
                capture_output=True,
                text=True,
                timeout=60,
                cwd=tmp_path,
            )

    mine, other = run(sys.executable, "-m", "loadstone.cli", "sysbench"), run("sysbench")
    assert masked(mine.stdout) == masked(other.stdout)
    assert (masked(mine.stderr), mine.returncode) == (masked(other.stderr), other.returncode)


def test_a_pipe_gives_its_script_to_all_threads(tmp_path: Path) -> None:
    """sysbench calls it once, and its threads have nothing to run."""
    done = subprocess.run(
        [sys.executable, "-m", "loadstone.cli", "sysbench"]
        + ["/dev/stdin", "--threads=3", "--events=5", "run"],
        input=FROM_STDIN,
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("event\n") == 5


def test_a_thread_that_fails_is_not_waited_for(
    tmp_path: Path, ours_here: Program, connection: tuple[str, ...]
) -> None:
    (tmp_path / "failing.lua").write_text(
        "function thread_init() con = sysbench.sql.driver():connect() end\n"
        "function event()\n"
        "  con:query('SELECT SLEEP(0.01)')\n"
        "  if sysbench.tid == 2 then error('no luck') end\n"
        "end\n"
        "function done() print('done') end\n"
    )
    watch = Stopwatch()
    done = ours_here(*connection, "failing.lua", "--threads=4", "--time=100", "run")
    took_s = watch.judged_s
    assert done.returncode == 1
    assert "failing.lua:4: no luck" in done.stdout
    # The others quit within a moment; a drain would take five seconds.
    assert took_s < 4.5
