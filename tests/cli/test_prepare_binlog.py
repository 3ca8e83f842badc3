"""Tables that are kept out of the binary log, and who may ask for that."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from cli.person import Person
from loadstone.sandbox import Sandbox

pytestmark = [pytest.mark.server, pytest.mark.slow]

SIZES = ("--tables", "1", "--table-size", "100")


@pytest.fixture
def person(own_schema: Sandbox, tmp_path: Path) -> Person:
    return Person(tmp_path, own_schema, careful=False)


def logged(person: Person, *options: str) -> list[str]:
    """What the binary log has of the tables that this command makes."""
    [(file, position, *_)] = person.rows("SHOW MASTER STATUS")
    person.loadstone("prepare", *person.target, *SIZES, *options)
    events = person.rows(f"SHOW BINLOG EVENTS IN '{file}' FROM {position}")
    return [str(event[-1]) for event in events if "sbtest1" in str(event[-1])]


def test_tables_are_kept_out_of_the_binary_log_where_that_is_asked(person: Person) -> None:
    # What lists the tables of Loadstone is logged in any case.
    made = [each for each in logged(person, "--no-binlog") if "CREATE TABLE" in each]
    assert made == []
    assert person.rows("SELECT COUNT(*) FROM sbtest1") == [(100,)]
    person.loadstone("cleanup", *person.target)
    assert any("CREATE TABLE" in each for each in logged(person))


def test_an_account_that_may_not_do_so_is_refused_in_one_line(person: Person) -> None:
    password = person.environment["LOADSTONE_PASSWORD"]
    person.rows(
        f"CREATE OR REPLACE USER plain@'%' IDENTIFIED BY '{password}'",
        "GRANT CREATE, SELECT, INSERT, UPDATE, DELETE, INDEX, LOCK TABLES ON *.* TO plain@'%'",
    )
    try:
        target = re.sub("//[^@]+@", "//plain@", person.url)
        said = person.loadstone("prepare", "--target", target, *SIZES, "--no-binlog", code=3)
        [line] = [each for each in said.stderr.splitlines() if each.startswith("error: ")]
        assert "BINLOG ADMIN" in line
        assert person.rows("SHOW TABLES LIKE 'sbtest%'") == []
    finally:
        person.rows("DROP USER plain@'%'")
