"""Which statements set variables of a session and nothing else: those are tried through a proxy."""

from __future__ import annotations

import pytest

from loadstone.model.plan import READ_ONLY
from loadstone.model.target import Target
from loadstone.mysql.session_state import of_login, only_sets
from loadstone.postgresql import session_state as postgresql


@pytest.mark.parametrize(
    ("statement", "only"),
    [
        ("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", True),
        (READ_ONLY["mysql"], True),
        ("set @@session.sort_buffer_size=1, @a = 'GLOBAL'", True),
        ("/* why */ SET NAMES latin1", True),
        ("SET autocommit = 0", True),
        ("SET TRANSACTION READ ONLY", False),
        ("SET GLOBAL a = 1", False),
        ("SET a = 1, @@global.b = 2", False),
        ("SET PASSWORD = 'x'", False),
        ("SET ROLE admin", False),
        ("SET STATEMENT max_statement_time=1 FOR SELECT 1", False),
        ("SET timestamp = 5", False),
        ("SET @@session.gtid_next = 'AUTOMATIC'", False),
        ("SELECT GET_LOCK('a', 0)", False),
        ("SET sql_mode = 'cut", False),
        ("", False),
    ],
)
def test_a_statement_of_mysql(statement: str, only: bool) -> None:
    assert only_sets(statement) == only


@pytest.mark.parametrize(
    ("statement", "only"),
    [
        ("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE", True),
        (READ_ONLY["postgresql"], True),
        ("set work_mem to '8MB'", True),
        ("SET ROLE admin", True),
        ("-- why\nSET mine.own = 'x'", True),
        ("SET LOCAL work_mem = '8MB'", False),
        ("SET TRANSACTION READ ONLY", False),
        ("SELECT set_config('work_mem', '8MB', false)", False),
        ("SET x = 'cut", False),
        ("SET", False),
    ],
)
def test_a_statement_of_postgresql(statement: str, only: bool) -> None:
    assert postgresql.only_sets(statement) == only


@pytest.mark.parametrize(
    ("options", "statements"),
    [
        (None, []),
        ("-c work_mem=8MB", ["SET SESSION \"work_mem\" = '8MB'"]),
        (
            "-cgeqo=off --statement_timeout=7s -O",
            ["SET SESSION \"geqo\" = 'off'", "SET SESSION \"statement_timeout\" = '7s'"],
        ),
        (r"-c search_path=a\ b,\\c", ["SET SESSION \"search_path\" = 'a b,\\c'"]),
        ("-c mine.own=x", ['SET SESSION "mine"."own" = \'x\'']),
    ],
)
def test_options_of_a_login_are_settings(options: str | None, statements: list[str]) -> None:
    target = Target(family="postgresql", startup_options=options)
    found = postgresql.of_login(target)
    assert [statement for _, _, statement in found] == statements
    assert {option for option, _, _ in found} <= {"options"}


def test_a_login_to_mysql_sets_nothing_that_somebody_has_stated() -> None:
    assert of_login(Target()) == ()
