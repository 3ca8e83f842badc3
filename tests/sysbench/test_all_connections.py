"""A command line that takes all connections of a server works, with none left to announce it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from engine.servers import execute
from pooled import KINDS, QUICK, Pool

pytestmark = [pytest.mark.server, pytest.mark.slow]

LEFT = "has no connection left to announce this test to others"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("of_user", [False, True], ids=["of the server", "of the user"])
def test_threads_get_the_connection_by_which_others_are_told(
    kind: str, of_user: bool, pool: Pool, tmp_path: Path
) -> None:
    with pool.schema(kind, {**QUICK, "max_connections": "10"}) as server:
        limit = "WITH MAX_USER_CONNECTIONS 6" if of_user else ""
        execute(
            server,
            "DROP USER IF EXISTS plain@'%'",
            f"CREATE USER plain@'%' IDENTIFIED BY 'plain' {limit}",
            f"GRANT ALL ON `{server.state.database}`.* TO plain@'%'",
        )
        place = ("--mysql-host=127.0.0.1", f"--mysql-port={server.port}", "--mysql-user=plain")
        login = (*place, "--mysql-password=plain", f"--mysql-db={server.state.database}")
        sizes = ("--tables=1", "--table-size=10", "--time=1")
        words = ("sysbench", "oltp_point_select", *login, *sizes)

        def sysbench(threads: int, command: str) -> str:
            return called(*words, f"--threads={threads}", command, folder=tmp_path).stderr

        sysbench(1, "prepare")
        all_of_them = 6 if of_user else 10
        assert LEFT in sysbench(all_of_them, "run")
        assert LEFT not in sysbench(all_of_them - 1, "run")
