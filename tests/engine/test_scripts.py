"""Scripts written for sysbench, driven by the engine's event loop against real servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.conftest import on_mariadb
from engine.driving import Document, Outcome, a_load, a_plan, drive, events, load, local, seconds
from kept import Stopwatch
from loadstone.sandbox import Sandbox

INSTALLED = Path("/usr/share/sysbench")


def a_script(
    path: Path, target: Document, options: Document | None = None, **changes: Any
) -> Document:
    """A step of a script instead of a workload."""
    plan = a_plan(target, **changes)
    del plan["workload"]
    general = {"threads": plan["users"], "mysql_db": target["database"]}
    script = {"path": str(path), "options": options or {}, "general": general}
    return plan | {"script": script}


@pytest.fixture
def written(tmp_path: Path) -> Any:
    """Writes a script, and gives its path."""

    def write(source: str) -> Path:
        path = tmp_path / "script.lua"
        path.write_text(source)
        return path

    return write


def printed(outcome: Outcome) -> list[str]:
    return "".join(outcome.printed).splitlines()


@pytest.mark.parametrize(
    ("name", "reads", "others"),
    [
        ("oltp_point_select.lua", 1, 0),
        ("oltp_read_only.lua", 14, 2),
        ("oltp_read_write.lua", 14, 6),
        ("oltp_write_only.lua", 0, 6),
        ("oltp_update_index.lua", 0, 1),
        ("oltp_update_non_index.lua", 0, 1),
        ("oltp_delete.lua", 0, 1),
        ("oltp_insert.lua", 0, 1),
        ("select_random_points.lua", 1, 0),
        ("select_random_ranges.lua", 1, 0),
    ],
)
@on_mariadb
def test_an_installed_script_runs_as_it_is(
    shared: Sandbox, schema: str, name: str, reads: int, others: int
) -> None:
    if not (INSTALLED / name).exists():
        pytest.skip(f"{INSTALLED / name} is not there: install sysbench")
    target = local(shared, database=schema)
    load(a_load(target)).finished()
    tables = {} if name.startswith("select_random") else {"tables": "2"}
    plan = a_script(INSTALLED / name, target, tables | {"table_size": "1000"}, stop=events(25))
    counts = drive(plan).finished().total("window", "drain")
    assert counts.events == 25
    assert counts.reads == 25 * reads
    assert counts.writes + counts.other == 25 * others


@on_mariadb
def test_a_script_reads_rows_on_several_connections(shared: Sandbox, written: Any) -> None:
    path = written(
        """
        function thread_init()
          one, two = sysbench.sql.driver():connect(), sysbench.sql.driver():connect()
        end
        function event()
          local id = one:query_row("SELECT CONNECTION_ID()")
          print(id ~= two:query_row("SELECT CONNECTION_ID()"))
          local result = two:query("SELECT 1, NULL UNION ALL SELECT REPEAT('x', 300), ''")
          print(result.nrows, result.nfields, result:fetch_row()[1], #result:fetch_row()[1])
        end
        """
    )
    outcome = drive(a_script(path, local(shared))).finished()
    assert printed(outcome) == ["true", "2\t2\t1\t300"]


@on_mariadb
def test_many_scripted_users_share_one_thread(shared: Sandbox, written: Any) -> None:
    path = written(
        """
        function thread_init() con = sysbench.sql.driver():connect() mine = sysbench.tid end
        function event()
          con:query("SELECT SLEEP(0.2)")
          assert(mine == sysbench.tid)
        end
        """
    )
    watch = Stopwatch(shared.pid)
    outcome = drive(a_script(path, local(shared), users=50, stop=events(100))).finished()
    assert outcome.total("window", "drain").events == 100
    assert watch.judged_s < 10  # one after the other these would take 20 s


@on_mariadb
def test_an_ignorable_error_begins_the_event_anew(shared: Sandbox, written: Any) -> None:
    path = written(
        """
        function thread_init() con = sysbench.sql.driver():connect() end
        function event()
          con:query("DO 1")
          if not failed then
            failed = true
            con:query("SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213")
          end
        end
        """
    )
    counts = drive(a_script(path, local(shared))).finished().total("window", "drain")
    assert (counts.events, counts.restarts, counts.retried, counts.other) == (1, 1, 1, 2)


@on_mariadb
def test_a_lost_connection_is_there_again_where_the_script_ignores_that(
    shared: Sandbox, written: Any
) -> None:
    path = written(
        """
        function sysbench.hooks.before_restart_event(e) print(e.sql_errno) end
        function thread_init() con = sysbench.sql.driver():connect() end
        function event()
          if not killed then
            killed = true
            con:query("KILL CONNECTION_ID()")
          end
          con:query("DO 1")
        end
        """
    )
    plan = a_script(path, local(shared), stop=events(3))
    plan["script"]["ignore_errors"] = ["2013"]
    outcome = drive(plan).finished()
    assert printed(outcome) == ["2013"]
    counts = outcome.total("window", "drain")
    assert (counts.events, counts.reconnects) == (3, 1)
    other = drive(a_script(path, local(shared), stop=events(3)))
    assert other.failure == ("script", None)


@on_mariadb
def test_a_script_connects_after_the_last_event_has_begun(shared: Sandbox, written: Any) -> None:
    path = written(
        """
        function thread_init() con = sysbench.sql.driver():connect() end
        function event()
          con:query("SELECT SLEEP(0.3)")
          con:reconnect()
          con:query("DO 1")
        end
        function thread_done()
          con:reconnect()
          print(con:query_row("SELECT 'goodbye'"))
        end
        function done() print(sysbench.sql.driver():connect():query_row("SELECT 'last'")) end
        """
    )
    watch = Stopwatch(shared.pid)
    outcome = drive(a_script(path, local(shared), users=2, stop=events(2))).finished()
    assert printed(outcome) == ["goodbye", "goodbye", "last"]
    assert outcome.total("window", "drain").events == 2
    assert watch.judged_s < 10  # and does not wait until its timeout


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("x = = 1", "script.lua:1: unexpected symbol near '='"),
        ("function foo() end", "cannot find the event() function"),
        (
            "function thread_init() if sysbench.tid == 2 then error('no') end end\n"
            "function event() end",
            "`thread_init' of user 2 failed",
        ),
        ("function event()\n\nfoo.bar = 1 end", "script.lua:3: attempt to index global 'foo'"),
        ("function event() sysbench.sql.driver():connect():query('bad') end", "errno = 1064"),
    ],
)
@on_mariadb
def test_a_bad_script_is_told_of_with_its_line(
    shared: Sandbox, written: Any, source: str, said: str
) -> None:
    outcome = drive(a_script(written(source), local(shared), users=4, stop=seconds(10)))
    assert outcome.failure == ("script", None)
    assert outcome.last.error is not None
    assert said in outcome.last.error.message


@on_mariadb
def test_a_script_says_goodbye(shared: Sandbox, written: Any) -> None:
    path = written(
        """
        function init() print("init") end
        function thread_init() con = sysbench.sql.driver():connect() end
        function event() con:query("DO 1") end
        function thread_done() print("bye", con:query_row("SELECT 1")) con:disconnect() end
        function done() print("done") end
        """
    )
    outcome = drive(a_script(path, local(shared), stop=events(2))).finished()
    assert printed(outcome) == ["init", "bye\t1", "done"]


@on_mariadb
def test_what_follows_an_event_is_no_part_of_it(shared: Sandbox, written: Any) -> None:
    path = written(
        """
        local ffi = require("ffi")
        ffi.cdef("bool sb_more_events(int); void sb_event_start(int); void sb_event_stop(int);")
        function thread_run(id)
          while ffi.C.sb_more_events(id) do
            ffi.C.sb_event_start(id)
            ffi.C.sb_event_stop(id)
            os.execute("sleep 0.5")
          end
        end
        """
    )
    outcome = drive(a_script(path, local(shared), stop=events(3))).finished()
    assert outcome.total("window", "drain").events == 3
    assert outcome.last.seconds >= 1
    slowest = max(sample.latency_ns.response.max or 0 for sample in outcome.samples)
    assert slowest < 500_000_000
