"""Why clients were aborted, in pgbench's words."""

from __future__ import annotations

import pytest

from loadstone.model.records import UserEnded
from loadstone.pgbench.aborted import lines

COMMANDS = (
    "\\set a 1 / 0",
    "SELECT 1;",
    "SELECT 1 WHERE false \\gset",
    "\\shell false",
    "\\endpipeline",
)
META = "client 3 aborted in command 0 (set) of script 2; evaluation of meta-command failed"


@pytest.mark.parametrize(
    ("command", "code", "message", "expected"),
    [
        (0, "02000", "line 1: division by zero", ["division by zero", META]),
        (
            1, "22012", "division by zero",
            ["client 3 script 2 aborted in command 1 query 0: ERROR:  division by zero"],
        ),
        (
            1, "57P01", "terminating connection due to administrator command",
            ["client 3 script 2 aborted in command 1 query 0: FATAL:  terminating connection due to"
             " administrator command"],
        ),
        (
            1, "08006", "lost connection to the server during a query",
            ["client 3 aborted in command 1 (SQL) of script 2; perhaps the backend died while"
             " processing"],
        ),
        (
            1, "08P01", "query_wait_timeout",
            ["client 3 script 2 aborted in command 1 query 0: FATAL:  query_wait_timeout"],
        ),
        (
            1, "08P01", "protocol: the server asked for rows to copy although none were offered",
            ["COPY is not supported in pgbench, aborting"],
        ),
        (
            1, "08001", "cannot connect",
            ["cannot connect", "client 3 aborted while establishing connection"],
        ),
        (
            2, "02000", "line 3: query 1: expected one row, got 0",
            ["client 3 script 2 command 2 query 1: expected one row, got 0"],
        ),
        (None, "08001", "cannot connect", ["client 3 aborted: cannot connect"]),
        (
            3, "02000", "line 4: the program has failed: exit status: 1",
            ["false: could not launch shell command",
             "client 3 aborted in command 3 (shell) of script 2; execution of meta-command failed"],
        ),
        (
            4, "02000", "line 5: no pipeline has started",
            ["client 3 aborted in command 4 (endpipeline) of script 2; not in pipeline mode"],
        ),
    ],
)  # fmt: skip
def test_why_a_client_was_aborted(
    command: int | None, code: str, message: str, expected: list[str]
) -> None:
    ended = UserEnded(user=3, command=command, family="postgresql", code=code, message=message)
    assert list(lines(ended, 2, COMMANDS)) == expected
