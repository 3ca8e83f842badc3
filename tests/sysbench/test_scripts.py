"""Lua scripts compared with Debian's sysbench: the same files, command lines and output."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from loadstone.sandbox import Sandbox
from sysbench.comparing import both, compare, masked
from sysbench.conftest import Program

pytestmark = [pytest.mark.server, pytest.mark.sysbench]

if not shutil.which("sysbench"):
    pytest.skip("Debian's sysbench is not installed", allow_module_level=True)

INSTALLED = Path("/usr/share/sysbench")
ROWS = ("--tables=2", "--table-size=200")

SCRIPTS = {
    "bare.lua": "function event() end",
    "syntax.lua": "function event(",
    "top.lua": "\nlocal x = nil\nx.y = 1",
    "eventless.lua": "function thread_init() end",
    "unready.lua": "function thread_init()\n error('no luck')\nend\nfunction event() end",
    "failing.lua": "function event()\n local a = nil; a.b = 1 end",
    "options.lua": """
        sysbench.cmdline.options = {
          number = {"a number", 5}, word = {"a word", "x"}, flag = {"a flag", false},
          list = {"a list", {"a", "b"}}, fraction = {"a fraction", 1.5}, bare = {"no default"},
        }
        local function show(...) print(...) end
        function prepare()
          local opt = sysbench.opt
          show(opt.number, opt.word, opt.flag, #opt.list, opt.fraction, opt.bare, opt.threads)
          show(opt.mysql_db, opt.percentile, opt.rand_type, type(opt.mysql_host), opt.time)
        end
        function init() show("init") end
        function thread_init() show("thread_init", sysbench.tid) end
        function event() end
        function thread_done() show("thread_done", sysbench.tid) end
        function done() show("done") end
    """,
    "commands.lua": """
        sysbench.cmdline.commands = {
          hello = {function() print("hello", sysbench.tid) end},
          all = {function() sysbench.rand.uniform(1, 2) end, sysbench.cmdline.PARALLEL_COMMAND},
        }
        function help() print("no help") end
        function event() return true end
    """,
    "json.lua": "function event() end\nsysbench.hooks.report_intermediate = sysbench.report_json",
    "csv.lua": "function event() end\nsysbench.hooks.report_intermediate = sysbench.report_csv",
    "plain.lua": """
        function event() end
        sysbench.hooks.report_intermediate = sysbench.report_default
        function sysbench.hooks.report_cumulative(stat)
          local names = {}
          for name, value in pairs(stat) do names[#names + 1] = name .. "=" .. type(value) end
          table.sort(names)
          print(table.concat(names, " "))
        end
    """,
    "several.lua": """
        local function ask()
          local one = con:query("SELECT 1; SET @a = 2; SELECT @a")
          print(one:fetch_row()[1], con:more_results())
          print(con:next_result():fetch_row()[1], con:more_results())
          con:query("SELECT 3; SELECT 4")
          print(con:query_row("SELECT 5"))
        end
        function thread_init() con = sysbench.sql.driver():connect() end
        function event() ask() end
        function prepare() thread_init() ask() end
    """,
    "old.lua": """
        function thread_init(id) db_connect() end
        function event(id) db_query("SELECT " .. sb_rand(1, 9)) end
    """,
    "asking.lua": """
        function thread_init() con = sysbench.sql.driver():connect() end
        function event() con:query("SELECT 1") end
        function prepare()
          con = sysbench.sql.driver():connect()
          con:query("CREATE TABLE made (a INT)")
          con:bulk_insert_init("INSERT INTO made VALUES")
          for i = 1, 100 do con:bulk_insert_next("(" .. i .. ")") end
          con:bulk_insert_done()
          print(con:query_row("SELECT COUNT(*), SUM(a) FROM made"))
        end
        function cleanup()
          con = sysbench.sql.driver():connect()
          con:query("DROP TABLE IF EXISTS made")
        end
    """,
    "wrong.lua": """
        function thread_init() con = sysbench.sql.driver():connect() end
        function event() con:query("SELECT 1 FROM nowhere") end
        function prepare() sysbench.sql.driver():connect():query("SELECT 1 FROM nowhere") end
    """,
    "counting.lua": """
        ffi = require("ffi")
        ffi.cdef("void sb_counter_inc(int, int);")
        function thread_init() con = sysbench.sql.driver():connect() end
        function event()
          con:query("DO 1")
          ffi.C.sb_counter_inc(sysbench.tid, 1)
        end
    """,
}


@pytest.fixture
def written(tmp_path: Path) -> Path:
    for name, source in SCRIPTS.items():
        (tmp_path / name).write_text(source)
    return tmp_path


WITHOUT_SERVER = [
    "bare.lua",
    "bare.lua nosuch",
    "bare.lua prepare",
    "bare.lua help",
    "bare.lua --any=1 --events=3 run",
    "bare --events=3 run",
    "bare.lua --events=3 --threads=2 --percentile=0 run",
    "bare.lua --rate=5 --time=2 --report-interval=1 run",
    "bare.lua --rate=20 --time=2 --report-checkpoints=1 --histogram run",
    "bare.lua --verbosity=4 --events=2 run",
    "syntax.lua run",
    "top.lua run",
    "top.lua",
    "eventless.lua run",
    "unready.lua --events=2 run",
    "failing.lua --events=2 run",
    "nosuch.lua run",
    "options.lua",
    "options.lua help",
    "options.lua prepare",
    "options.lua prepare --number=7 --flag --list=x,y,z --word= --fraction=2 --threads=3",
    "options.lua prepare --nosuch=1",
    "options.lua prepare --flag=maybe",
    "options.lua cleanup",
    "options.lua nosuch",
    "options.lua run --events=1",
    "commands.lua hello",
    "commands.lua all --threads=3",
    "commands.lua help",
    "commands.lua prepare",
    "commands.lua run --events=5",
    "csv.lua --rate=9 --time=2 --report-interval=1 run",
    "plain.lua --rate=9 --time=2 --report-interval=1 --report-checkpoints=1 run",
    "asking.lua --mysql-host=127.0.0.1 --mysql-port=1 prepare",
    "asking.lua --mysql-socket=/nonexistent.sock run",
    "asking.lua --mysql-dry-run --events=5 run",
    "asking.lua --db-driver=nosuch run",
]


@pytest.mark.parametrize("line", WITHOUT_SERVER)
def test_a_line_that_needs_no_server(
    line: str, ours_here: Program, theirs: Program, written: Path
) -> None:
    compare(ours_here, theirs, tuple(line.split(" ")))


def test_the_report_as_json(ours_here: Program, theirs: Program, written: Path) -> None:
    """Whether the last second still gets its object is a matter of chance in sysbench."""
    words = ("json.lua", "--rate=9", "--time=3", "--report-interval=1", "run")
    done, wanted = both(ours_here, theirs, words)
    mine, other, text = masked(done.stdout), masked(wanted.stdout), done.stdout
    last = {" }"}  # ends an object that no other follows: absent if theirs lacks the last one
    assert set(mine) - last == set(other) - last
    assert mine[-1] == other[-1]
    objects = json.loads(text[text.index("[\n") : text.index("\n]\n") + 2])
    assert [one["threads"] for one in objects] == [1] * len(objects)
    assert len(objects) >= 2


AGAINST_A_SERVER = [
    "old.lua --events=9 run",
    "asking.lua --events=20 --threads=2 run",
    "asking.lua --time=2 --report-interval=1 run",
    "asking.lua --mysql-password=wrong run",
    "asking.lua --mysql-password=wrong prepare",
    "wrong.lua run",
    "wrong.lua prepare",
    "counting.lua --events=10 run",
]


@pytest.mark.parametrize("line", AGAINST_A_SERVER)
def test_a_line_against_a_server(
    line: str,
    ours_here: Program,
    theirs: Program,
    written: Path,
    connection: tuple[str, ...],
) -> None:
    compare(ours_here, theirs, (*connection, *line.split(" ")))


@pytest.mark.parametrize("command", ["run", "prepare"])
def test_several_statements_in_one_text_are_all_executed(
    command: str, ours_here: Program, written: Path, connection: tuple[str, ...]
) -> None:
    """Debian's sends them as well, but then fails at the connection's next statement (2014)."""
    done = ours_here(*connection, "several.lua", "--events=1", command)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1\ttrue\n2\tfalse\n5\n" in done.stdout


def test_what_one_prepares_the_other_cleans_up(
    ours_here: Program, theirs: Program, written: Path, connection: tuple[str, ...]
) -> None:
    for one, other in ((ours_here, theirs), (theirs, ours_here)):
        made = one(*connection, "asking.lua", "prepare")
        assert (made.returncode, made.stdout.splitlines()[-1]) == (0, "100\t5050")
        assert other(*connection, "asking.lua", "prepare").returncode == 1
        assert other(*connection, "asking.lua", "cleanup").returncode == 0


@pytest.mark.parametrize("name", sorted(path.name for path in INSTALLED.glob("oltp_*.lua")))
def test_an_installed_script_runs_unmodified(
    name: str, ours_here: Program, theirs: Program, connection: tuple[str, ...]
) -> None:
    path = str(INSTALLED / name)
    if name == "oltp_common.lua":
        compare(ours_here, theirs, (path,))
        return
    words = (*connection, *ROWS, path)
    for command in ("cleanup", "prepare"):
        done = ours_here(*words, command)
        assert done.returncode == 0, done.stdout + done.stderr
    compare(ours_here, theirs, (*words, "--events=20", "--threads=2", "run"))
    compare(ours_here, theirs, (*words, "help"))
    compare(ours_here, theirs, (*words, "prewarm"))
    mine = ours_here(*words, "cleanup")
    assert mine.returncode == 0
    assert masked(mine.stdout) == masked(theirs(*words, "cleanup").stdout)


@pytest.mark.parametrize("name", ["select_random_points.lua", "select_random_ranges.lua"])
def test_the_selects_do_too(
    name: str, ours_here: Program, theirs: Program, connection: tuple[str, ...]
) -> None:
    words = (*connection, str(INSTALLED / name), "--table-size=200", "--threads=2")
    ours_here(*words, "cleanup")
    done = ours_here(*words, "prepare")
    assert done.returncode == 0, done.stdout + done.stderr
    compare(ours_here, theirs, (*words, "--events=20", "run"))
    assert ours_here(*words, "cleanup").returncode == 0


def test_bulk_insert_does_too(
    ours_here: Program, theirs: Program, connection: tuple[str, ...]
) -> None:
    words = (*connection, str(INSTALLED / "bulk_insert.lua"), "--threads=2")
    said = []
    for each in (ours_here, theirs):
        ours_here(*words, "cleanup")
        made = each(*words, "prepare")
        done = each(*words, "--events=20", "--threads=1", "run")
        assert (made.returncode, done.returncode) == (0, 0), made.stdout + done.stdout
        said.append(masked(made.stdout) + masked(done.stdout))
    assert said[0] == said[1]
    assert ours_here(*words, "cleanup").returncode == 0


def test_a_prepare_by_all_threads_makes_all_tables(
    ours_here: Program, connection: tuple[str, ...], server: Sandbox
) -> None:
    path = str(INSTALLED / "oltp_read_write.lua")
    words = (*connection, "--tables=5", "--table-size=50", "--threads=3", path)
    assert ours_here(*words, "prepare").returncode == 0
    with server.connect() as session, session.cursor() as cursor:
        for number in range(1, 6):
            cursor.execute(f"SELECT COUNT(*) FROM sbtest{number}")
            assert cursor.fetchone() == (50,)
    assert ours_here(*words, "cleanup").returncode == 0


def test_the_cipher_that_is_asked_for_is_used(
    tmp_path: Path, ours_here: Program, connection: tuple[str, ...]
) -> None:
    (tmp_path / "cipher.lua").write_text(
        "function prepare()\n"
        "  local con = sysbench.sql.driver():connect()\n"
        "  print(con:query_row(\"SHOW STATUS LIKE 'Ssl_cipher'\"))\n"
        "end\n"
    )
    words = (*connection, "--mysql-ssl=on", "cipher.lua", "prepare")
    name = "TLS_AES_128_GCM_SHA256"
    assert f"Ssl_cipher\t{name}\n" in ours_here(*words, f"--mysql-ssl-cipher={name}").stdout
    refused = ours_here(*words, "--mysql-ssl-cipher=NULL-MD5")
    assert refused.returncode == 1
    assert "tls.ciphers: none of NULL-MD5 is known" in refused.stdout


ENDLESS = """
function event()
  local n = 0
  while true do n = n + 1 end
end
prepare = event
"""


@pytest.mark.slow
def test_an_endless_loop_is_named_and_ended(tmp_path: Path, ours: Program) -> None:
    (tmp_path / "endless.lua").write_text(ENDLESS)
    done = ours("endless.lua", "--time=1", "run")
    assert done.returncode == 1
    assert "endless.lua:4 has run for" in done.stderr
    assert "did not come back: it was in endless.lua:4" in done.stdout


@pytest.mark.slow
def test_an_endless_command_is_named_and_stopped(tmp_path: Path) -> None:
    (tmp_path / "endless.lua").write_text(ENDLESS)
    words = [sys.executable, "-m", "loadstone.cli", "sysbench", "endless.lua", "prepare"]
    process = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    with process:
        assert "endless.lua:4 has run for" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130


QUICK = """
local con = sysbench.sql.driver():connect()
print("loaded")
io.stdout:flush()
function prepare()
  for i = 1, 1e9 do pcall(con.query, con, "SELECT " .. i) end
end
function cleanup()
  while true do pcall(con.query, con, "SELECT SLEEP(100)") end
end
"""


@pytest.mark.parametrize("command", ["prepare", "cleanup"])
def test_a_command_that_waits_for_its_server_ends_when_it_is_asked_to(
    command: str, tmp_path: Path, connection: tuple[str, ...]
) -> None:
    (tmp_path / "quick.lua").write_text(QUICK)
    program = [sys.executable, "-m", "loadstone.cli", "sysbench"]
    process = subprocess.Popen(
        [*program, *connection, "quick.lua", command],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    with process:
        while "loaded" not in process.stdout.readline():
            assert process.poll() is None
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        out, told = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "FATAL" not in out + told
    assert "interrupted" in told


@pytest.mark.slow
def test_a_loop_that_catches_all_errors_is_ended_too(tmp_path: Path, ours: Program) -> None:
    (tmp_path / "greedy.lua").write_text(
        "function event()\n"
        "  while true do pcall(function() for i = 1, 1e6 do local x = i end end) end\n"
        "end\n"
    )
    done = ours("greedy.lua", "--time=1", "run")
    assert done.returncode == 1
    assert "greedy.lua:2" in done.stdout


MEETING = """
local ffi = require("ffi")
ffi.cdef("int usleep(unsigned int);")

local function is_here(tid)
  local file = io.open("here-" .. tid)
  if file then file:close() end
  return file ~= nil
end

function event()
  io.open("here-" .. sysbench.tid, "w"):close()
  local met, asked = 0, 0
  while met < 10 do
    if asked == {patience} then error("nobody came") end
    asked = asked + 1
    {sleep}
    if is_here(met) then met = met + 1 end
  end
end
"""
"""Each user waits for all others: users that ran one after the other would never meet."""

MEET = ("meeting.lua", "--threads=10", "--events=10", "--time=100", "run")


def test_users_sleep_side_by_side(tmp_path: Path, ours_here: Program) -> None:
    script = MEETING.replace("{sleep}", "ffi.C.usleep(10000)").replace("{patience}", "3000")
    (tmp_path / "meeting.lua").write_text(script)
    done = ours_here(*MEET)
    assert done.returncode == 0, done.stdout


def test_users_with_threads_of_their_own_wait_side_by_side(
    tmp_path: Path, ours_here: Program
) -> None:
    script = MEETING.replace("{sleep}", "os.execute('sleep 0.01; true')")
    (tmp_path / "meeting.lua").write_text(script.replace("{patience}", "20"))
    done = ours_here(*MEET)  # so few users share a thread and wait in turn
    assert done.returncode == 1
    assert "nobody came" in done.stdout
    for left in tmp_path.glob("here-*"):
        left.unlink()
    (tmp_path / "meeting.lua").write_text(script.replace("{patience}", "3000"))
    done = ours_here("--lua-threads", *MEET)
    assert done.returncode == 0, done.stdout
