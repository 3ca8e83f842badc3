"""Connections that a script loses, and the hosts that they go to."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from sysbench.comparing import both, masked
from sysbench.conftest import Program

pytestmark = [pytest.mark.server, pytest.mark.sysbench]

if not shutil.which("sysbench"):
    pytest.skip("Debian's sysbench is not installed", allow_module_level=True)

LOST = """
    function prepare()
      local driver = sysbench.sql.driver()
      local con, other = driver:connect(), driver:connect()
      local own = con:query_row("SELECT CONNECTION_ID()")
      other:query("KILL " .. own)
      print(pcall(con.query, con, "SELECT 1, 'after it was lost'"))
      print(other:query_row("SELECT 2"))
    end
"""


def test_a_connection_that_a_command_loses_is_told_with_its_statement(
    ours_here: Program, theirs: Program, tmp_path: Path, connection: tuple[str, ...]
) -> None:
    (tmp_path / "lost.lua").write_text(LOST)
    done = both(ours_here, theirs, (*connection, "lost.lua", "prepare"))
    # Why it was lost is each client library's own text.
    told = [re.sub(r"(error 2013 \(|'HY000': )[^)\n]*", r"\1...", one.stdout) for one in done]
    assert masked(told[0]) == masked(told[1])
    assert "for query 'SELECT 1, 'after it was lost''" in told[0]


LOST_WHILE_IDLE = """
    function thread_init()
      con, other = sysbench.sql.driver():connect(), sysbench.sql.driver():connect()
      own, n = con:query_row("SELECT CONNECTION_ID()"), 0
    end
    function event()
      n = n + 1
      if n == 2 then other:query("KILL " .. own) end
      print("event", n, con:query_row("SELECT 7"))
    end
"""


def test_a_connection_that_is_lost_between_two_statements_is_opened_again(
    ours_here: Program, tmp_path: Path, connection: tuple[str, ...]
) -> None:
    (tmp_path / "idle.lua").write_text(LOST_WHILE_IDLE)
    ignoring = ("--mysql-ignore-errors=2013", "--events=4", "--time=20")
    done = ours_here(*connection, "idle.lua", *ignoring, "run")
    told = [line for line in done.stdout.splitlines() if line.startswith("event")]
    assert told == ["event\t1\t7", "event\t3\t7", "event\t4\t7", "event\t5\t7"]
    assert re.search(r"reconnects: +1 ", done.stdout)
    assert done.returncode == 0


def test_a_connection_that_is_lost_between_two_statements_is_told(
    ours_here: Program, theirs: Program, tmp_path: Path, connection: tuple[str, ...]
) -> None:
    (tmp_path / "idle.lua").write_text(LOST_WHILE_IDLE)
    done = both(ours_here, theirs, (*connection, "idle.lua", "--events=4", "run"))
    told = [re.findall(r"^FATAL: .*error 2013 .*(for query .*)$", one.stdout, re.M) for one in done]
    assert told[0] == told[1] == ["for query 'SELECT 7'"]


IN_TURN = """
    function prepare()
      local driver = sysbench.sql.driver()
      local first = driver:connect()
      print(first:reconnect())
      for i = 1, 3 do print(i, (pcall(driver.connect, driver))) end
      print(first:query_row("SELECT 7"))
    end
"""


def test_a_command_s_connections_go_to_the_hosts_in_turn(
    ours_here: Program, tmp_path: Path, connection: tuple[str, ...]
) -> None:
    (tmp_path / "in_turn.lua").write_text(IN_TURN)
    done = ours_here(
        *connection, "--mysql-host=127.0.0.1,no-such-host.invalid", "in_turn.lua", "prepare"
    )
    said = [line for line in done.stdout.splitlines()[2:] if not line.startswith("FATAL")]
    # Debian's sysbench ends with a segmentation fault.
    assert said == ["true", "1\tfalse", "2\ttrue", "3\tfalse", "7"]
