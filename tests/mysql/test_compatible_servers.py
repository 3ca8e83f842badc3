"""Servers that speak MySQL's protocol: which one it is, and what is done otherwise there.

The greetings, comments and variables are as the servers' own documents and their users quote them;
none of these servers runs here.
"""

from __future__ import annotations

from typing import Any

import pymysql
import pytest
from pymysql.constants import CLIENT

from loadstone.model.compatible import Flavour, is_another, name_of, restart_on
from loadstone.model.error_codes import RESTART_ON
from loadstone.model.plan import Drive
from loadstone.model.target import Target
from loadstone.mysql.facts import describe_server, takes_files
from loadstone.mysql.identity import server_of
from loadstone.servers.errors import TargetError

OCEANBASE = "OceanBase_CE 4.4.2.1 (r101000022026050611-8cf64ed50606966fd5c29f47265cf557d97ea776)"

SAID: list[tuple[str, str, dict[str, str], Flavour]] = [
    ("8.0.11-TiDB-v8.1.1", "TiDB Server (Apache License 2.0) Community Edition", {}, "tidb"),
    ("5.7.25-TiDB-v6.1.0", "", {}, "tidb"),
    ("5.7.25-OceanBase_CE-v4.4.2.1", OCEANBASE, {}, "oceanbase"),
    # Its proxy greets with a version of MySQL.
    ("5.6.25", OCEANBASE, {}, "oceanbase"),
    ("5.7.25-TDDL-5.4.19-20251031", "", {}, "polardbx"),
    ("5.6.29-TDDL-5.4.12-16327949", "", {}, "polardbx"),
    # Its standard edition is MySQL with another replication.
    ("8.0.32-X-Cluster-8.4.20-20251017", "", {}, "mysql"),
    # The variables are those of the MySQL behind it.
    ("8.0.30-Vitess", "MySQL Community Server (GPL)", {"version": "8.0.30"}, "vitess"),
    ("8.0.23-PlanetScale", "", {"version": "8.0.23"}, "vitess"),
    ("8.0.33", "Dolt", {}, "dolt"),
    ("5.7.9-Vitess", "", {"dolt_transaction_commit": "0"}, "dolt"),
    ("8.0.32", "Source distribution", {"aurora_version": "3.05.2"}, "aurora"),
    ("8.0.36-28", "Percona Server (GPL), Release 28", {}, "percona"),
    # As OceanBase seekdb 1.4.0 said it.
    (
        "5.7.25",
        "OceanBase 4.3.5.3 seekdb (r1.4.0.0) (Built 1-d0cbdf0e Sep  8 2026)",
        {"version": "5.7.25-OceanBase seekdb-v1.4.0.0"},
        "oceanbase",
    ),
    ("5.5.5-10.11.14-MariaDB", "Debian 12", {"version": "10.11.14-MariaDB"}, "mariadb"),
    ("8.4.3", "MySQL Community Server - GPL", {}, "mysql"),
    ("3.1", "", {}, "other"),
]


class Answering:
    """A connection to a server that answers SHOW from what it was given, or refuses it."""

    description = ()
    is_passed_on = None

    def __init__(self, greeting: str, variables: dict[str, str], refuses: int | None) -> None:
        self._greeting, self._variables, self._refuses = greeting, variables, refuses
        self._rows: list[tuple[str, str]] = []

    server_capabilities = CLIENT.LOCAL_FILES

    def get_server_info(self) -> str:
        return self._greeting

    def thread_id(self) -> int:
        return 1

    def cursor(self) -> Answering:
        return self

    def __enter__(self) -> Answering:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def execute(self, statement: str) -> None:
        if "VARIABLES" in statement:
            self._rows = list(self._variables.items())
        elif self._refuses is not None:
            raise pymysql.err.ProgrammingError(self._refuses, "not here")
        elif "PROCESSLIST" in statement:
            self._rows = []
        else:
            self._rows = [("Threads_connected", "4"), ("Uptime", "9")]

    def fetchall(self) -> list[tuple[str, str]]:
        return self._rows


def described(greeting: str, refuses: int | None = None, **variables: str) -> Any:
    connection: Any = Answering(greeting, {"version": greeting} | variables, refuses)
    return describe_server(connection, Target(host="db1"))


@pytest.mark.parametrize(("greeting", "comment", "variables", "flavour"), SAID)
def test_a_server_is_known_by_what_it_says(
    greeting: str, comment: str, variables: dict[str, str], flavour: Flavour
) -> None:
    said: dict[str, Any] = {"version_comment": comment} | variables
    assert described(greeting, **said).flavour == flavour


def test_a_version_is_of_what_answers_not_of_what_is_behind_it() -> None:
    assert described("8.0.30-Vitess", version="8.0.30").version == "8.0.30-Vitess"
    assert described("5.5.5-10.11.14-MariaDB", version="10.11.14-MariaDB").version.startswith("10")


@pytest.mark.parametrize(
    ("greeting", "takes"), [("8.0.30-Vitess", False), ("8.0.11-TiDB-v8.1.1", True), ("8.4.3", True)]
)
def test_rows_are_sent_as_statements_where_there_is_no_load_data(
    greeting: str, takes: bool
) -> None:
    connection: Any = Answering(greeting, {"local_infile": "ON"}, None)
    assert takes_files(connection) is takes
    connection.server_capabilities = 0
    assert not takes_files(connection), "a proxy that does not offer it"


@pytest.mark.parametrize("number", [1064, 1105, 1235])
def test_a_statement_that_a_server_does_not_have_leaves_its_facts_unknown(number: int) -> None:
    facts = described("5.7.25-TDDL-5.4.19-20251031", refuses=number)
    assert (facts.flavour, facts.connected, facts.started_s, facts.cipher) == (
        "polardbx",
        None,
        None,
        "",
    )


@pytest.mark.parametrize("number", [1064, 1105, 1193, 1235])
def test_a_server_that_does_not_say_who_it_is_is_known_by_its_address(number: int) -> None:
    target = Target(host="db1")
    connection: Any = Answering("5.7.25-TDDL-5.4.19-20251031", {}, number)
    assert server_of(connection, target) == target.place


def test_any_other_refusal_is_reported() -> None:
    with pytest.raises(TargetError):
        described("8.4.3", refuses=1227)
    connection: Any = Answering("8.4.3", {}, 1227)
    with pytest.raises(TargetError):
        server_of(connection, Target(host="db1"))


@pytest.mark.parametrize(
    ("flavours", "more"),
    [
        ([], ()),
        (["mysql", "mariadb", "aurora", "vitess", "dolt", "other"], ()),
        (["tidb"], ("8002", "8022", "8028", "9007")),
        (["oceanbase", "oceanbase"], ("6002",)),
        (["polardbx", "oceanbase"], ("6002", "5009")),
    ],
)
def test_transactions_are_repeated_after_the_errors_that_its_documents_name(
    flavours: list[str], more: tuple[str, ...]
) -> None:
    assert restart_on("mysql", flavours) == (*RESTART_ON["mysql"], *more)
    assert Drive().at("mysql", flavours).restart_on == (*RESTART_ON["mysql"], *more)


def test_errors_that_the_user_chose_stay() -> None:
    assert Drive(restart_on=("1213",)).at("mysql", ["tidb"]).restart_on == ("1213",)


def test_only_compatible_servers_have_names() -> None:
    assert (name_of("polardbx"), name_of("mysql"), name_of(None)) == ("PolarDB-X", None, None)


def test_another_server_s_settings_are_not_mysql_s() -> None:
    assert is_another("dolt") and is_another("tidb")
    assert not any(map(is_another, ("mysql", "mariadb", "percona", "aurora", "other", None)))
