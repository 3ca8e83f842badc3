"""Debian's sysbench and ours with `--db-driver=pgsql`, by the same command lines."""

from __future__ import annotations

import re
import shutil
import sys
from collections import Counter
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from postgres.server import PASSWORD, Server
from postgres.test_pgbench import logged
from sysbench.comparing import masked
from sysbench.conftest import Done, carried_out

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.sysbench]

DEBIANS = ["sysbench"]
OURS = [sys.executable, "-m", "loadstone.cli", "sysbench"]
BOTH = (DEBIANS, OURS)
PREPARED = ("--tables=2", "--table-size=100")
WORKLOADS = (
    "oltp_read_write", "oltp_read_only", "oltp_write_only", "oltp_point_select", "oltp_insert",
    "oltp_delete", "oltp_update_index", "oltp_update_non_index", "select_random_points",
    "select_random_ranges",
)  # fmt: skip
LINES = ((), ("--db-ps-mode=disable",), ("--skip-trx=on",), ("--auto-inc=off",))
"""Options that decide what an event sends."""


@dataclass(frozen=True)
class Beside:
    """Both programs on a server, with a database of their own."""

    server: Server
    database: str
    folder: Path

    def tried(self, program: list[str], *words: str, **given: str) -> Done:
        """What comes of a command line."""
        place = {
            "host": "127.0.0.1", "port": str(self.server.port), "user": "by_scram",
            "password": PASSWORD, "db": self.database,
        }  # fmt: skip
        options = (f"--pgsql-{name}={value}" for name, value in (place | given).items())
        return carried_out(program, ("--db-driver=pgsql", *options, *words), self.folder)

    def says(self, program: list[str], *words: str, **given: str) -> Done:
        """What a program says of a command line that must succeed."""
        done = self.tried(program, *words, **given)
        assert done.returncode == 0, (program, words, done.stdout, done.stderr)
        return done

    def sent(self, program: list[str], *words: str) -> Counter[str]:
        """The statements of the load by the server's log, without their values."""
        begun = len(self.server.log)
        with logged(self.server, self.database):
            self.says(program, *words)
        said = self.server.log[begun:].replace("\n\t", " ")
        verbs = "BEGIN|COMMIT|(?:SELECT|UPDATE|INSERT|DELETE) .*"
        texts = re.findall(rf"(?:statement|execute [^:]*): +({verbs})", said)
        load = [text for text in texts if "sbtest" in text or text in ("BEGIN", "COMMIT")]
        return Counter(without_values(text) for text in load if "pg_" not in text)


@pytest.fixture
def beside(server: Server, database: str, tmp_path: Path) -> Beside:
    """Both programs, and an empty database."""
    if not shutil.which("sysbench"):
        pytest.skip("Debian's sysbench is not installed")
    return Beside(server, database, tmp_path)


def without_values(text: str) -> str:
    text = re.sub(r"'[\d-]*'", "'#'", text)
    return re.sub(r"\s+", " ", re.sub(r"\$?-?\d+", "#", text)).strip()


def test_output_and_tables_are_the_same(beside: Beside) -> None:
    said, made = [], []
    shape = (
        "SELECT column_name, data_type, character_maximum_length, is_nullable, column_default"
        " FROM information_schema.columns WHERE table_name = 'sbtest1' ORDER BY 1",
        "SELECT indexdef FROM pg_indexes WHERE tablename = 'sbtest1' ORDER BY 1",
        "SELECT count(*), min(id), max(id), min(length(c)), max(length(pad)) FROM sbtest1",
        "SELECT nextval('sbtest1_id_seq')",
    )
    for program in BOTH:
        prepared = beside.says(program, *PREPARED, "oltp_read_write", "prepare")
        run = beside.says(program, *PREPARED, "--events=20", "oltp_read_write", "run")
        made.append([beside.server.asked(sql, beside.database) for sql in shape])
        cleaned = beside.says(program, *PREPARED, "oltp_read_write", "cleanup")
        said.append([masked(each.stdout) for each in (prepared, run, cleaned)])
    assert said[0] == said[1]
    assert made[0] == made[1]


@pytest.mark.parametrize(
    "workloads", [WORKLOADS[:1], pytest.param(WORKLOADS, marks=pytest.mark.nightly)]
)
def test_the_server_is_sent_the_same(beside: Beside, workloads: tuple[str, ...]) -> None:
    beside.says(OURS, *PREPARED, "oltp_read_write", "prepare")
    for workload, options in product(workloads, LINES):
        words = (*PREPARED, "--threads=1", "--events=3", *options, workload, "run")
        theirs, ours = (beside.sent(program, *words) for program in BOTH)
        assert ours == theirs, (workload, options)


@pytest.mark.parametrize(
    ("words", "given"),
    [
        (("oltp_read_write", "prepare"), {"password": "wrong"}),
        (("oltp_read_write", "run"), {"port": "1"}),
        (("oltp_read_write", "run"), {"port": "0"}),
        (("oltp_read_write", "prepare"), {"host": "localhost", "port": "1"}),
        (("oltp_read_write", "prewarm"), {}),
        (("oltp_read_write", "prepare"), {"user": "by_trust", "password": "", "db": "nosuch"}),
        (("oltp_read_write", "run"), {"user": "by_trust", "password": "", "db": "nosuch"}),
    ],
)
def test_what_fails_is_said_in_the_same_words(
    beside: Beside, words: tuple[str, ...], given: dict[str, str]
) -> None:
    theirs, ours = (beside.tried(program, *words, **given) for program in BOTH)
    assert ours.returncode == theirs.returncode != 0
    assert masked(ours.stdout) == masked(theirs.stdout)


def test_a_script_meets_the_driver_that_was_asked_for(beside: Beside) -> None:
    script = beside.folder / "s.lua"
    script.write_text(
        "function thread_init() drv = sysbench.sql.driver() con = drv:connect() end\n"
        "function event() print(drv:name(), con:query_row('SELECT 41 + 1')) end\n"
    )
    theirs, ours = (beside.says(each, "--events=2", str(script), "run") for each in BOTH)
    assert "pgsql\t42" in ours.stdout
    assert masked(ours.stdout) == masked(theirs.stdout)


def test_a_script_s_conflict_restarts_its_event_and_another_error_ends_it(beside: Beside) -> None:
    table = "CREATE TABLE t (a INT PRIMARY KEY); GRANT ALL ON t TO PUBLIC"
    beside.server.asked(table, beside.database)
    script = beside.folder / "s.lua"
    head = "function thread_init() con = sysbench.sql.driver():connect() end\nfunction event() "
    insert = "n = (n or 0) + 1 con:query('INSERT INTO t VALUES (' .. n .. ')')"
    script.write_text(f"{head}{insert} end\n")
    for program in BOTH:
        beside.server.asked("TRUNCATE t; INSERT INTO t VALUES (1)", beside.database)
        done = beside.says(program, "--events=3", str(script), "run")
        assert re.search(r"ignored errors: +1 ", done.stdout), (program, done.stdout)
    script.write_text(head + "con:query('SELECT * FROM nothing') end\n")
    theirs, ours = (beside.tried(each, "--events=2", str(script), "run") for each in BOTH)
    assert ours.returncode == theirs.returncode == 1
    wanted = [line for line in masked(theirs.stdout) if line.startswith("FATAL")]
    assert [line for line in masked(ours.stdout) if line.startswith("FATAL")] == wanted


@pytest.mark.parametrize("prepared", [False, True])
def test_after_a_conflict_the_driver_rolls_back_and_counts_nothing(
    beside: Beside, prepared: bool
) -> None:
    table = "CREATE TABLE t (a INT PRIMARY KEY); GRANT ALL ON t TO PUBLIC"
    beside.server.asked(table, beside.database)
    script = beside.folder / "s.lua"
    insert = "con:query('INSERT INTO t VALUES (' .. n .. ')')"
    if prepared:
        insert = "p:set(n) s:execute()"
    script.write_text(
        "function thread_init() con = sysbench.sql.driver():connect()\n"
        " s = con:prepare('INSERT INTO t VALUES (?)')\n"
        " p = s:bind_create(sysbench.sql.type.INT) s:bind_param(p) end\n"
        f"function event() n = (n or 0) + 1 con:query('BEGIN') {insert} con:query('COMMIT') end\n"
    )
    sent, said = [], []
    for program in BOTH:
        beside.server.asked("TRUNCATE t; INSERT INTO t VALUES (2)", beside.database)
        begun = len(beside.server.log)
        with logged(beside.server, beside.database):
            done = beside.says(program, "--events=3", str(script), "run")
        texts = re.findall(r"(?:statement|execute [^:]*): +(\w+)", beside.server.log[begun:])
        verbs = ("BEGIN", "INSERT", "COMMIT", "ROLLBACK")
        sent.append([text for text in texts if text in verbs])
        said.append(re.findall(r"(?:read|write|other|total|ignored errors): +(\d+)", done.stdout))
    assert sent[1] == sent[0]
    assert "ROLLBACK" in sent[0]
    assert said[1] == said[0]


def test_what_is_left_open_comes_from_libpq(beside: Beside) -> None:
    script = beside.folder / "s.lua"
    script.write_text(
        "function thread_init() con = sysbench.sql.driver():connect() end\n"
        "function event()\n"
        "  print(con:query_row(\"SELECT current_user, current_setting('work_mem')\"))\n"
        "  con:reconnect()\n"
        "end\n"
    )
    variables = (
        "PGHOST=127.0.0.1", "PGUSER=by_scram", f"PGPASSWORD={PASSWORD}",
        f"PGDATABASE={beside.database}", "PGOPTIONS=-c work_mem=7MB",
    )  # fmt: skip
    nothing = {"host": "", "user": "", "password": "", "db": ""}
    words = ("--events=1", "--verbosity=1", str(script), "run")
    theirs, ours = (
        beside.tried(["env", *variables, *program], *words, **nothing) for program in BOTH
    )
    assert (theirs.returncode, ours.returncode) == (0, 0), ours
    assert ours.stdout == theirs.stdout
    assert ours.stdout.startswith("by_scram\t7MB\n")
    assert "reconnect is not supported" in ours.stdout
    own = beside.database
    whole = f"host=127.0.0.1 user=by_scram dbname={own} options='-c work_mem=7MB'"
    named = beside.tried(OURS, *words, **nothing | {"db": whole, "password": PASSWORD})
    assert named.stdout == ours.stdout


OF_ERRORS = """
    function event()
      local con = sysbench.sql.driver():connect()
      local function try(f, ...) local ok, why = pcall(f, ...) print(ok, why) end
      for _ = 1, 2 do try(con.prepare, con, "SELECT * FROM nowhere") end
      try(con.prepare, con, "SELECT 1,\\n\\tnobody,\\n 2")
      local ones, twos = string.rep("1, ", 30), string.rep(", 2", 30)
      try(con.prepare, con, "SELECT " .. ones .. "nobody")
      try(con.prepare, con, "SELECT " .. ones .. "nobody" .. twos)
      try(con.prepare, con, "SELECT nobody" .. twos)
      local result = con:query("SET work_mem = '4MB'")
      print(result == nil)
      result = con:query("SELECT 1")
      print(result:free(), pcall(result.free, result))
      print(con:reconnect())
      for _ = 1, 2 do try(con.query, con, "SELECT * FROM nowhere") end
    end
"""
AT_THE_TOP = """
    con = sysbench.sql.driver():connect()
    con:query("SET application_name = 'kept'")
    print("top", con:query_row("SHOW application_name"))
    function prepare() print("prepare", con:query_row("SHOW application_name")) end
    function event() print("event", con:query_row("SHOW application_name")) end
"""
OF_TYPES = """
    local T = sysbench.sql.type
    function event()
      local con = sysbench.sql.driver():connect()
      local function show()
        local known = con:query("SELECT statement, parameter_types FROM pg_prepared_statements"
          .. " ORDER BY prepare_time")
        for _ = 1, known.nrows do print(unpack(known:fetch_row(), 1, 2)) end
      end
      local all = con:prepare("SELECT pg_typeof(?), abs(?), ? || 'x'")
      show()
      local number, real = all:bind_create(T.TINYINT), all:bind_create(T.FLOAT)
      local text = all:bind_create(T.CHAR, 10)
      print(all:bind_param(number, real, text))
      number:set(1) text:set("three")
      local answer = all:execute()
      print(answer.nrows, answer.nfields)
      con:prepare("SELECT 1")
      show()
      con:query("CREATE TEMPORARY TABLE kept (a SMALLINT, b CHAR(5))")
      local kept = con:prepare("INSERT INTO kept VALUES (?, ?)")
      print(kept:bind_param(number, text))
      kept:execute()
      print(con:query_row("SELECT a, b FROM kept"))
    end
"""


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (OF_TYPES, ("--events=1", "run")),
        (OF_ERRORS, ("--events=1", "run")),
        (AT_THE_TOP, ()),
        (AT_THE_TOP, ("prepare",)),
        (AT_THE_TOP, ("--events=2", "run")),
    ],
)
def test_a_script_is_told_the_same(beside: Beside, script: str, words: tuple[str, ...]) -> None:
    (beside.folder / "telling.lua").write_text(script)
    theirs, ours = (beside.tried(program, "telling.lua", *words) for program in BOTH)
    assert masked(ours.stdout) == masked(theirs.stdout)
    assert (ours.returncode, ours.stderr) == (theirs.returncode, theirs.stderr)


def test_a_statement_that_is_refused_when_it_is_bound(beside: Beside) -> None:
    (beside.folder / "wrong.lua").write_text(
        "function prepare()\n"
        "  local con = sysbench.sql.driver():connect()\n"
        "  local wrong = con:prepare('SELECT ?, nobody')\n"
        "  print(wrong:bind_param(wrong:bind_create(sysbench.sql.type.INT)))\n"
        "  print(pcall(wrong.execute, wrong))\n"
        "end\n"
    )
    done = beside.says(OURS, "wrong.lua", "prepare")
    # Debian's sysbench says the same, and ends with a segmentation fault.
    told = 'FATAL: PQprepare() failed: ERROR:  column "nobody" does not exist\nLINE 1: '
    assert f"{told}SELECT $1, nobody\n" in done.stdout
    assert done.stdout.endswith("false\tSQL API error\n")
    assert "\n1\n" in done.stdout


@pytest.mark.parametrize("as_parameters", [False, True])
def test_a_kept_run_of_a_script_has_no_password(beside: Beside, as_parameters: bool) -> None:
    (beside.folder / "s.lua").write_text(
        "function thread_init() con = sysbench.sql.driver():connect() end\n"
        "function event() con:query('SELECT 1') end\n"
    )
    quoted = PASSWORD.replace("'", r"\'")
    given = {"db": f"dbname={beside.database} password='{quoted}'"} if as_parameters else {}
    out = beside.folder / "runs"
    beside.says(OURS, f"--loadstone-out={out}", "--events=2", "s.lua", "run", **given)
    kept = [path for path in out.rglob("*") if path.is_file()]
    assert any(path.name == "run.json" for path in kept)
    # As it stands in each file, whatever that escapes.
    secret = PASSWORD.split("it")[1].split("ä")[0].encode()
    assert [path.name for path in kept if secret in path.read_bytes()] == []


ERRORS = """
local ffi = require("ffi")
function event()
  local con = sysbench.sql.driver():connect()
  local function show()
    print(con.sql_errno, con.error == sysbench.sql.error.NONE,
      con.sql_state ~= nil and ffi.string(con.sql_state))
  end
  pcall(con.query, con, "SELECT no_column")
  show()
  con:query("SELECT 1")
  show()
end
"""


def test_a_connection_has_the_state_of_its_last_statement_s_error(beside: Beside) -> None:
    """Errors have no numbers here."""
    (beside.folder / "errors.lua").write_text(ERRORS)
    told = [
        [line for line in beside.says(program, "errors.lua", "--events=1", "run").stdout.split("\n")
         if "\t" in line]
        for program in BOTH
    ]  # fmt: skip
    assert told[0] == told[1]
    assert told[1][0].endswith("42703")
