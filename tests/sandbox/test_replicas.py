import time
from pathlib import Path

import pytest

from loadstone.sandbox import Sandbox, SandboxSpec, list_sandboxes, start_sandbox

pytestmark = pytest.mark.server


def rows_of(sandbox: Sandbox, statement: str) -> list[tuple[object, ...]]:
    with sandbox.connect() as connection, connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def arrives(replica: Sandbox, within_s: float = 10) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if rows_of(replica, "SHOW TABLES LIKE 't'") and rows_of(replica, "SELECT a FROM t"):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("semi_sync", [False, True])
def test_a_replica_follows_and_goes_with_its_primary(
    server: str, state: Path, semi_sync: bool
) -> None:
    spec = SandboxSpec(server=server, replica=True, semi_sync=semi_sync)
    with start_sandbox(spec) as primary:
        replica = primary.replica
        assert replica is not None
        with primary.connect() as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE t (a INT PRIMARY KEY)")
            cursor.execute("INSERT INTO t VALUES (1)")
        assert arrives(replica)
        status = rows_of(primary, "SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_%_yes_tx'")
        acknowledged = sum(int(str(value)) for _, value in status)
        assert acknowledged == (2 if semi_sync else 0)
        listed = {each.name: each for each in list_sandboxes()}
        assert listed[primary.name].replica is listed[replica.name]
    assert list_sandboxes() == []


def test_a_replica_follows_again_after_a_crash(server: str, state: Path) -> None:
    with start_sandbox(SandboxSpec(server=server, replica=True)) as primary:
        replica = primary.replica
        assert replica is not None
        replica.kill()
        with primary.connect() as connection, connection.cursor() as cursor:
            cursor.execute("CREATE TABLE t (a INT PRIMARY KEY)")
            cursor.execute("INSERT INTO t VALUES (1)")
        replica.start_again()
        assert arrives(replica)
