import time
from pathlib import Path

import pytest

from loadstone.sandbox import Sandbox, SandboxSpec, list_sandboxes, start_sandbox

pytestmark = [pytest.mark.server, pytest.mark.slow]


def rows_of(sandbox: Sandbox, statement: str) -> list[tuple[object, ...]]:
    with sandbox.connect() as connection, connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def arrives(replica: Sandbox, row: int, within_s: float = 60) -> bool:
    asked = f"SELECT a FROM t WHERE a = {row}"
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if rows_of(replica, "SHOW TABLES LIKE 't'") and rows_of(replica, asked):
            return True
        time.sleep(0.02)
    return False


def write(primary: Sandbox, row: int) -> None:
    with primary.connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE IF NOT EXISTS t (a INT PRIMARY KEY)")
        cursor.execute(f"INSERT INTO t VALUES ({row})")


def acknowledged(primary: Sandbox) -> int:
    """Transactions that the primary acknowledged only after the replica had received them."""
    status = rows_of(primary, "SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_%_yes_tx'")
    return sum(int(str(value)) for _, value in status)


def test_a_replica_follows_and_goes_with_its_primary(server: str, state: Path) -> None:
    spec = SandboxSpec(server=server, replica=True, semi_sync=True)
    with start_sandbox(spec) as primary:
        replica = primary.replica
        assert replica is not None
        write(primary, 1)
        assert arrives(replica, 1)
        assert acknowledged(primary) == 2
        listed = {each.name: each for each in list_sandboxes()}
        assert listed[primary.name].replica is listed[replica.name]
    assert list_sandboxes() == []


def test_a_replica_follows_again_after_a_crash(server: str, state: Path) -> None:
    with start_sandbox(SandboxSpec(server=server, replica=True)) as primary:
        replica = primary.replica
        assert replica is not None
        write(primary, 1)
        assert arrives(replica, 1)
        assert acknowledged(primary) == 0
        replica.kill()
        write(primary, 2)
        replica.start_again()
        assert arrives(replica, 2)
