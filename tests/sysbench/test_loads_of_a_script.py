"""How often a script's file is loaded, by the statements at its top level."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sysbench.conftest import Program

pytestmark = [pytest.mark.server, pytest.mark.sysbench]

if not shutil.which("sysbench"):
    pytest.skip("Debian's sysbench is not installed", allow_module_level=True)

EACH_LOAD_IS_A_ROW = """
    con = sysbench.sql.driver():connect()
    con:query("INSERT INTO loads VALUES (1)")
    function prepare() end
    function cleanup() end
    function init() end
    function done() end
    function event() end
    sysbench.cmdline.commands = {
      wipe = {function() end}, all = {function() end, sysbench.cmdline.PARALLEL_COMMAND},
    }
"""
COUNT = """
    con = sysbench.sql.driver():connect()
    con:query("CREATE TABLE IF NOT EXISTS loads (load_ INT)")
    print(con:query_row("SELECT COUNT(*) FROM loads"))
    con:query("DELETE FROM loads")
"""


LOADS = {
    "": 1,
    "help": 1,
    "prepare": 1,
    "--threads=2 cleanup": 1,
    "wipe": 1,
    "all": 1,
    "--threads=2 all": 3,
    "--threads=2 --events=2 run": 3,
    "--events=2 --report-interval=1 --report-checkpoints=1 run": 4,
}


@pytest.mark.parametrize("line", LOADS)
def test_statements_at_the_top_are_executed_as_often(
    line: str, ours_here: Program, theirs: Program, tmp_path: Path, connection: tuple[str, ...]
) -> None:
    (tmp_path / "count.lua").write_text(COUNT)
    (tmp_path / "load.lua").write_text(EACH_LOAD_IS_A_ROW)
    for program in (theirs, ours_here):
        program(*connection, "count.lua")
        done = program(*connection, "load.lua", *line.split())
        counted = program(*connection, "count.lua")
        assert counted.stdout.splitlines()[-1] == str(LOADS[line]), (done, counted)
