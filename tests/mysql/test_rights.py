"""What an account may do, from its grants as SHOW GRANTS lists them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pymysql
import pytest
from pydantic import SecretStr

from loadstone.families import connect
from loadstone.model.target import Endpoint, Target
from loadstone.mysql.rights import NEEDS, grants_in, judged, rights_of
from loadstone.sandbox import Sandbox
from loadstone.servers import rights
from loadstone.servers.rights import Rights
from pooled import KINDS, QUICK, Pool
from trust.summing import execute
from trust.test_privileges import ON_MYSQL, RIGHTS

ROWS = {
    rights.RUN_READS: "run oltp_read_only",
    rights.RUN: "run oltp_read_write",
    rights.PREPARE: "prepare",
    rights.CLEANUP: "cleanup",
    rights.EXPERIMENT: "experiment without variables",
    rights.SET: "restore",
}
"""The line of docs/privileges.md about it."""


def lacking(*lines: str, schema: str = "shop", splits_super: bool = False) -> dict[str, list[str]]:
    found = judged(grants_in(lines), "least@%", schema, splits_super=splits_super)
    return {str(one.what): list(one.missing) for one in found.rights if one.missing}


def test_needs_are_those_of_the_page() -> None:
    told = {need.what: need for need in NEEDS}
    for what, row in ROWS.items():
        need = told[what]
        shown = [f"{', '.join(need.on_schema)} ON shop.*"] if need.on_schema else []
        shown += [f"{', '.join(need.on_all)} ON *.*"] if need.on_all else []
        assert shown == RIGHTS[row], row


def test_an_account_without_rights_may_look_only() -> None:
    found = lacking("GRANT USAGE ON *.* TO `least`@`%` IDENTIFIED BY PASSWORD '*ABC'")
    assert str(rights.CHECK) not in found
    assert found[str(rights.RUN)] == [
        "GRANT SELECT, INSERT, UPDATE, DELETE ON shop.* TO 'least'@'%'"
    ]
    assert found[str(rights.OBSERVE)] == ["GRANT PROCESS ON *.* TO 'least'@'%'"]
    assert len(found) == len(NEEDS) - 1


@pytest.mark.parametrize(
    "lines",
    [
        ("GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION",),
        (
            "GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, PROCESS, INDEX, SUPER, LOCK TABLES"
            " ON *.* TO 'root'@'localhost'",
        ),
        (
            "GRANT PROCESS, SYSTEM_VARIABLES_ADMIN ON *.* TO `a`@`%`",
            "GRANT ALL PRIVILEGES ON `shop`.* TO `a`@`%`",
            "GRANT SELECT ON `performance_schema`.* TO `a`@`%`",
        ),
        (
            'GRANT PROCESS, SUPER ON *.* TO "a"@"%"',
            'GRANT ALL PRIVILEGES ON "s%".* TO "a"@"%"',
            'GRANT SELECT ON "performance\\_schema".* TO "a"@"%"',
        ),
    ],
)
def test_enough_grants_leave_nothing_missing(lines: tuple[str, ...]) -> None:
    assert lacking(*lines) == {}


@pytest.mark.parametrize(
    "line",
    [
        "GRANT SELECT, INSERT, UPDATE, DELETE ON `shop`.`sbtest1` TO `a`@`%`",
        "GRANT SELECT (id), INSERT (id) ON `shop`.`sbtest1` TO `a`@`%`",
        "GRANT EXECUTE ON PROCEDURE `shop`.`p` TO `a`@`%`",
        "GRANT PROXY ON ''@'%' TO 'root'@'localhost' WITH GRANT OPTION",
        "GRANT `reader`@`%` TO `a`@`%`",
        "GRANT ALL PRIVILEGES ON `sho\\_`.* TO `a`@`%`",
    ],
)
def test_rights_on_less_than_the_schema_are_not_counted(line: str) -> None:
    assert str(rights.RUN_READS) in lacking(line)


def test_a_schema_may_be_excepted_from_what_holds_everywhere() -> None:
    everywhere = "GRANT SELECT, INSERT ON *.* TO `a`@`%`"
    revoked = "REVOKE SELECT ON `shop`.* FROM `a`@`%`"
    assert str(rights.RUN_READS) in lacking(everywhere, revoked)
    assert str(rights.RUN_READS) not in lacking(everywhere, revoked, schema="other")


def test_the_statement_quotes_what_has_to_be() -> None:
    said = lacking(schema="my-shop", splits_super=True)
    assert said[str(rights.RUN_READS)] == ["GRANT SELECT ON `my-shop`.* TO 'least'@'%'"]
    assert said[str(rights.SET)] == ["GRANT SYSTEM_VARIABLES_ADMIN ON *.* TO 'least'@'%'"]


class Telling:
    """A connection to a server of this version, to an account without rights."""

    def __init__(self, version: str) -> None:
        self._version = version
        self._row = ""

    def get_server_info(self) -> str:
        return self._version

    @contextlib.contextmanager
    def cursor(self) -> Iterator[Telling]:
        yield self

    def execute(self, statement: str) -> None:
        if statement == "SELECT CURRENT_ROLE()" and self._version < "8":
            raise pymysql.err.OperationalError(1305, "FUNCTION CURRENT_ROLE does not exist")
        self._row = {
            "SELECT CURRENT_USER()": "least@%",
            "SELECT VERSION()": self._version,
            "SHOW GRANTS": "GRANT USAGE ON *.* TO 'least'@'%'",
            "SELECT CURRENT_ROLE()": "NONE",
        }[statement]

    def fetchone(self) -> tuple[str]:
        return (self._row,)

    def fetchall(self) -> list[tuple[str]]:
        return [(self._row,)]


@pytest.mark.parametrize(
    ("version", "right"),
    [
        ("5.7.44-log", "SUPER"),
        ("8.0.36", "SYSTEM_VARIABLES_ADMIN"),
        ("9.7.0", "SYSTEM_VARIABLES_ADMIN"),
    ],
)
def test_the_statement_is_one_that_this_version_knows(version: str, right: str) -> None:
    connection: Any = Telling(version)
    found = {one.what: one.missing for one in rights_of(connection, Target()).rights}
    assert found[rights.SET] == (f"GRANT {right} ON *.* TO 'least'@'%'",)


@pytest.fixture(params=KINDS)
def server(request: pytest.FixtureRequest, pool: Pool) -> Iterator[Sandbox]:
    sandbox = pool.server(str(request.param), QUICK)
    execute(
        sandbox,
        "DROP USER IF EXISTS least@'%'",
        "DROP ROLE IF EXISTS reader",
        "CREATE USER least@'%' IDENTIFIED BY 'of-the-least'",
        "CREATE ROLE reader",
    )
    yield sandbox
    execute(sandbox, "DROP USER least@'%'", "DROP ROLE reader")


def asked(server: Sandbox) -> Rights:
    target = server.tcp.target.model_copy(update={"user": "least", "database": "shop"})
    password = SecretStr("of-the-least")
    credentials = server.tcp.credentials.model_copy(update={"password": password})
    endpoint = Endpoint(target=target, credentials=credentials)
    with connect(endpoint, database=None) as connection:
        return rights_of(connection, target)


@pytest.mark.server
@pytest.mark.slow
def test_a_server_s_own_words_are_read(server: Sandbox) -> None:
    nothing = asked(server)
    assert (nothing.account, nothing.schema, nothing.sees_sessions) == ("least@%", "shop", False)
    assert [one.what for one in nothing.rights if one.is_given] == [rights.CHECK]
    # What it says would help does.
    for one in nothing.rights:
        for statement in one.missing:
            execute(server, statement)
    everything = asked(server)
    assert [one.what for one in everything.rights if not one.is_given] == []
    assert everything.sees_sessions


@pytest.mark.server
@pytest.mark.slow
def test_rights_of_a_role_count_while_it_is_active(server: Sandbox) -> None:
    execute(server, "GRANT SELECT ON shop.* TO reader", "GRANT reader TO least@'%'")
    given = {one.what for one in asked(server).rights if one.is_given}
    assert rights.RUN_READS not in given
    default = (
        "SET DEFAULT ROLE reader FOR least@'%'"
        if server.flavour == "mariadb"
        else "SET DEFAULT ROLE reader TO least@'%'"
    )
    execute(server, default)
    given = {one.what for one in asked(server).rights if one.is_given}
    assert rights.RUN_READS in given and rights.RUN not in given


def test_mysql_s_name_of_the_right_is_the_page_s() -> None:
    assert ON_MYSQL == {"SUPER": "SYSTEM_VARIABLES_ADMIN"}
