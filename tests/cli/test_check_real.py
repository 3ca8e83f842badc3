"""`loadstone check` as a user starts it: the account's rights, and who else is at work there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from called import called
from loadstone.families import connect
from loadstone.model.target import Endpoint
from loadstone.mysql.facts import variables_of
from loadstone.mysql.variables import set_variable
from loadstone.sandbox import Sandbox
from loadstone.servers.errors import SettingsError
from pooled import KINDS, QUICK, Pool
from trust.summing import execute

pytestmark = [pytest.mark.server, pytest.mark.slow]

WIDE = {"COLUMNS": "1000", "LOADSTONE_PASSWORD": "of-the-least"}
"""Each line is whole."""


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, pool: Pool) -> Iterator[Sandbox]:
    """A server of its own: what an account may not see counts as somebody else's."""
    sandbox = pool.server(str(request.param), {**QUICK, "interactive_timeout": "28802"})
    execute(
        sandbox,
        "DROP USER IF EXISTS least@'%'",
        "CREATE USER least@'%' IDENTIFIED BY 'of-the-least'",
    )
    yield sandbox
    execute(sandbox, "DROP USER least@'%'")


def said(server: Sandbox, folder: Path, *words: str) -> str:
    target = f"mysql://least@127.0.0.1:{server.port}/shop"
    environment = WIDE | {"HOME": str(folder)}
    return called(
        "check", "--target", target, *words, folder=folder, environment=environment
    ).stdout


def lines(text: str, label: str) -> list[str]:
    return [one[8:] for one in text.splitlines() if one.startswith(f"{label:8}")]


def state_of(server: Sandbox) -> tuple[dict[str, str], list[object]]:
    """All variables of a server, and the names of its schemas with the tables in them."""
    with server.connect() as connection, connection.cursor() as cursor:
        variables = variables_of(connection, server.tcp.target)
        cursor.execute("SHOW DATABASES")
        schemas = list(cursor.fetchall())
        cursor.execute(
            "SELECT table_schema, table_name, create_time FROM information_schema.tables"
            " WHERE table_schema <> 'information_schema'"  # made when it is read
        )
        return variables, [schemas, sorted(map(repr, cursor.fetchall()))]


def test_an_account_that_may_only_log_in_is_told_what_it_lacks(
    server: Sandbox, tmp_path: Path
) -> None:
    text = said(server, tmp_path)
    assert lines(text, "may") == ["least@%, on shop: check and watch"]
    right = "SUPER" if server.flavour == "mariadb" else "SYSTEM_VARIABLES_ADMIN"
    lacks = lines(text, "lacks")
    makes = "SELECT, INSERT, UPDATE, DELETE, CREATE, INDEX"
    assert f"prepare: GRANT {makes} ON shop.* TO 'least'@'%'" in lacks
    assert any(one.endswith(f": GRANT {right} ON *.* TO 'least'@'%'") for one in lacks)
    assert lines(text, "others") == [
        "nobody else, by the server's count of sessions; without PROCESS only own ones are visible"
    ]
    assert text.index("lacks") < text.index("[mysqld]"), "what to copy is the end"


def test_sessions_that_the_account_may_not_see_are_counted(server: Sandbox, tmp_path: Path) -> None:
    with server.connect(), server.connect():
        others = lines(said(server, tmp_path), "others")
    assert others == [
        f"127.0.0.1:{server.port} has 2 connections that this user may not see (PROCESS)",
        "without PROCESS only own sessions are visible",
    ]


def test_other_clients_are_named_to_who_may_see_them(server: Sandbox, tmp_path: Path) -> None:
    execute(server, "GRANT PROCESS ON *.* TO least@'%'", "GRANT ALL ON shop.* TO least@'%'")
    assert lines(said(server, tmp_path), "others") == ["nobody else has a session"]
    with server.connect(), server.connect():
        text = said(server, tmp_path)
        document = json.loads(said(server, tmp_path, "--json"))
    (others,) = lines(text, "others")
    assert f"127.0.0.1:{server.port} has connections of loadstone@" in others
    assert others.endswith("(2)")
    (may,) = lines(text, "may")
    assert "prepare" in may and "cleanup" in may
    assert document["others"]["accounts"][0]["connections"] == 2
    assert document["rights"]["account"] == "least@%"
    missing = {one["what"]: one["missing"] for one in document["rights"]["rights"]}
    assert (
        missing["prepare"] == []
        and missing["statements and waits, in the account and the diagnosis"]
    )
    assert document["service"] is None and document["not_judged"] == []


def test_it_changes_nothing_and_speaks_chinese(server: Sandbox, tmp_path: Path) -> None:
    before = state_of(server)
    text = said(server, tmp_path, "--lang", "zh")
    assert state_of(server) == before
    assert "least@%" in text and "GRANT" in text
    assert "没有其他会话；没有 PROCESS 权限时只能看到自己的会话" in text


GOOGLE = "10.11.19-google-MariaDB"
"""MariaDB with the version that it is started with: nothing else about it is Cloud SQL's."""


def test_a_managed_server_is_told_where_to_set_what_is_advised(pool: Pool, tmp_path: Path) -> None:
    server = pool.server("mariadb", {**QUICK, "version": GOOGLE})
    execute(
        server,
        "DROP USER IF EXISTS least@'%'",
        "CREATE USER least@'%' IDENTIFIED BY 'of-the-least'",
    )
    text = said(server, tmp_path)
    assert lines(text, "cloud")[0].startswith("Cloud SQL: no account is a superuser (SUPER)")
    assert "set it in the database flags: sync_binlog = 1 (dynamic)" in text
    assert "[mysqld]" not in text
    assert any(
        one.endswith("Cloud SQL gives no account that right") for one in lines(text, "lacks")
    )
    target = server.tcp.target.model_copy(update={"user": "least", "database": None})
    credentials = server.tcp.credentials.model_copy(update={"password": SecretStr("of-the-least")})
    with (
        connect(Endpoint(target=target, credentials=credentials), database=None) as connection,
        pytest.raises(SettingsError) as refused,
    ):
        set_variable(connection, target, "innodb_io_capacity", "300")
    assert refused.value.hint == (
        "users of Cloud SQL set variables in the database flags: set it there, and compare two runs"
    )
