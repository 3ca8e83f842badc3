"""What a proxy is called, by what it says and by its address, and servers without locks."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator
from typing import Any, NoReturn

import pymysql
import pytest

from loadstone.model.target import Target
from loadstone.mysql.errors import NO_LOCKS
from loadstone.mysql.proxies import name_of, shares_sessions


def refuse(number: int) -> NoReturn:
    """Raise what PyMySQL makes of a server's error."""
    packet = b"\xff" + struct.pack("<h", number) + b"#HY000refused"
    pymysql.err.raise_mysql_exception(packet)
    raise AssertionError("it raises")


class Saying:
    """A connection to what greets with this version, and has this comment, or an error."""

    def __init__(self, greeting: str, comment: str | int) -> None:
        self._greeting, self._comment = greeting, comment

    def get_server_info(self) -> str:
        return self._greeting

    def asked_exactly(self, statement: str) -> tuple[tuple[str, ...], ...]:
        assert statement == "select @@version_comment limit 1", "ProxySQL compares the letters"
        if isinstance(self._comment, int):
            refuse(self._comment)
        return ((self._comment,),)


RDS = "the-proxy.proxy-demo.us-east-1.rds.amazonaws.com"


@pytest.mark.parametrize(
    ("greeting", "comment", "host", "name"),
    [
        ("8.0.27", "(ProxySQL)", "db", "ProxySQL"),
        ("5.5.5-10.2.12 2.2.5-maxscale", "MariaDB Server", "db", "MaxScale"),
        ("8.0.28", "Source distribution", RDS, "RDS Proxy"),
        ("8.0.28", "Source distribution", "reader.endpoint." + RDS + ".cn", "RDS Proxy"),
        ("8.0.28", "Source distribution", "mine.abc123.us-east-1.rds.amazonaws.com", None),
        ("8.0.28", "Source distribution", "proxy-db.example.com", None),
        ("8.0.28", 1193, "db", None),
        ("8.0.28", 1064, "db", None),
        ("5.7.28 maxscale", 1105, "db", "MaxScale"),
    ],
)
def test_a_proxy_has_a_name_where_something_says_it(
    greeting: str, comment: str | int, host: str, name: str | None
) -> None:
    connection: Any = Saying(greeting, comment)
    assert name_of(connection, Target(host=host)) == name


def test_an_account_that_is_refused_is_not_one_without_a_comment() -> None:
    connection: Any = Saying("8.0.28", 1045)
    with pytest.raises(pymysql.MySQLError):
        name_of(connection, Target(host="db"))


class WithoutLocks:
    """A connection to a server that refuses GET_LOCK with an error of this number."""

    shares_sessions = None
    session_settings = ()

    def __init__(self, number: int) -> None:
        self._number = number

    def reach(self) -> NoReturn:
        pytest.fail("there is nothing to ask another login")

    @contextlib.contextmanager
    def cursor(self) -> Iterator[WithoutLocks]:
        yield self

    def execute(self, statement: str) -> None:
        assert "GET_LOCK" in statement
        refuse(self._number)


@pytest.mark.parametrize("number", NO_LOCKS)
def test_a_server_without_locks_gives_none_to_others(number: int) -> None:
    """Such as a cluster that forbids GET_LOCK (1105), behind a proxy."""
    connection: Any = WithoutLocks(number)
    assert not shares_sessions(connection)


@pytest.mark.parametrize("number", [1205, 2013])
def test_a_lock_that_fails_in_another_way_says_nothing(number: int) -> None:
    connection: Any = WithoutLocks(number)
    with pytest.raises(pymysql.MySQLError):
        shares_sessions(connection)
