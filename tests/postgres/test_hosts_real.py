"""Which of several real servers is chosen, judged by psql; and the commands on it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from loadstone.model.target import Endpoint, Target
from loadstone.postgresql.choosing import chosen
from loadstone.postgresql.hosts import Wish
from loadstone.runner.endpoints import at_url
from loadstone.servers.errors import TargetError
from ports import free_port
from postgres.server import Server, standby_of

pytestmark = [pytest.mark.server, pytest.mark.slow]

ATTRIBUTES = ("any", "read-write", "read-only", "primary", "standby", "prefer-standby")


@pytest.fixture(scope="module")
def standby(server: Server) -> Iterator[Server]:
    with standby_of(server, "127.0.0.2") as standby:
        yield standby


def url(servers: Sequence[Server], database: str = "postgres", more: str = "") -> str:
    folders = ",".join(str(one.folder) for one in servers)
    ports = ",".join(str(one.port) for one in servers)
    return f"postgresql://postgres@/{database}?host={folders}&port={ports}{more}"


def by_psql(programs: Path, url: str) -> str | None:
    """The address of the server that psql chooses; `None` if it takes none of them."""
    words = [str(programs / "psql"), "-XqAtw", "-c", "SHOW listen_addresses", url]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    done = subprocess.run(words, text=True, capture_output=True, env=clean)
    return done.stdout.strip() if done.returncode == 0 else None


def by_us(servers: Sequence[Server], url: str) -> str | None:
    try:
        socket = at_url(url).target.socket
        return next(one.address for one in servers if socket and socket.parent == one.folder)
    except TargetError as error:
        assert error.kind == "unreachable"
        return None


def test_the_server_is_the_one_that_psql_takes(server: Server, standby: Server) -> None:
    dead = Server(server.folder, free_port(), server.programs)
    lists = [(server, standby), (standby, server), (dead, standby, server), (server,), (standby,)]
    for servers in lists:
        for wanted in ATTRIBUTES:
            asked = url(servers, more=f"&target_session_attrs={wanted}")
            assert by_us(servers, asked) == by_psql(server.programs, asked), asked


def test_the_state_that_a_setting_makes_counts(server: Server) -> None:
    server.asked("CREATE DATABASE frozen")
    try:
        server.asked("ALTER DATABASE frozen SET default_transaction_read_only = on")
        for wanted in ("read-write", "read-only", "primary"):
            asked = url([server], "frozen", f"&target_session_attrs={wanted}")
            assert by_us([server], asked) == by_psql(server.programs, asked), asked
    finally:
        server.asked("DROP DATABASE frozen")


def test_in_random_order_each_is_chosen_sometimes(server: Server, standby: Server) -> None:
    both = (server, standby)
    asked = url(both, more="&load_balance_hosts=random")
    seen: set[str | None] = set()
    for _ in range(60):  # all the same once in 10^18
        seen.add(by_us(both, asked))
        if len(seen) > 1:
            break
    assert seen == {server.address, standby.address}


def test_each_address_of_a_name_is_a_host(server: Server, standby: Server) -> None:
    target = Target(family="postgresql", host="db", port=server.port, user="by_trust")
    named = [Endpoint(target=target.model_copy(update={"database": "postgres"}))]

    def addresses_of(host: str) -> tuple[str, ...]:
        assert host == "db"
        return server.address, standby.address

    wish = Wish(attributes="standby")
    assert chosen(named, wish, addresses_of).target.host == standby.address
    wish = Wish(attributes="primary")
    assert chosen(named, wish, addresses_of).target.host == server.address


def test_a_refused_login_ends_the_choice(server: Server, standby: Server) -> None:
    ports = f"{server.address}:{server.port},{standby.address}:{standby.port}"
    with pytest.raises(TargetError, match="refused user 'by_scram'") as caught:
        at_url(f"postgresql://by_scram:wrong@{ports}/postgres")
    assert caught.value.kind == "login_refused"


def test_commands_use_the_chosen_server_and_say_why(
    server: Server, standby: Server, database: str, tmp_path: Path
) -> None:
    target = url([standby, server], database, "&target_session_attrs=read-write")
    said = called("prepare", "--target", target, "--table-size", "100", "--yes", folder=tmp_path)
    why = (
        f"{server.folder}/.s.PGSQL.{server.port} was chosen of 2 hosts"
        f" (target_session_attrs=read-write): {standby.folder}/.s.PGSQL.{standby.port} is a standby"
    )
    assert f"note: {why}" in said.stderr
    said = called(
        "run", "oltp_read_write", "--target", target, "--concurrency", "2", "--duration", "1",
        "--warmup", "0", "--yes", folder=tmp_path,
    )  # fmt: skip
    assert said.stderr.count(why) == 1
    (run,) = (tmp_path / "runs").iterdir()
    result = json.loads((run / "result.json").read_text())
    assert why in result["run"]["notes"]
    assert len(result["steps"]) == 1
    said = called(
        "run", "ledger", "--timeline", "--target", target, "--duration", "1", folder=tmp_path,
        code=2,
    )  # fmt: skip
    assert "a failover drill needs one host" in said.stderr
