"""What a proxy is called, by what it says and by its address."""

from __future__ import annotations

from typing import Any

import pymysql
import pytest

from loadstone.model.target import Target
from loadstone.mysql.proxies import name_of


class Saying:
    """A connection to what greets with this version, and has this comment if it has any."""

    def __init__(self, greeting: str, comment: str | None) -> None:
        self._greeting, self._comment = greeting, comment

    def get_server_info(self) -> str:
        return self._greeting

    def asked_exactly(self, statement: str) -> tuple[tuple[str, ...], ...]:
        assert statement == "select @@version_comment limit 1", "ProxySQL compares the letters"
        if self._comment is None:
            raise pymysql.err.ProgrammingError(1064, "syntax error")
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
        ("8.0.28", None, "db", None),
    ],
)
def test_a_proxy_has_a_name_where_something_says_it(
    greeting: str, comment: str | None, host: str, name: str | None
) -> None:
    connection: Any = Saying(greeting, comment)
    assert name_of(connection, Target(host=host)) == name
