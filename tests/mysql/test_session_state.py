"""Which statements set variables of a session and nothing else: those are tried through a proxy."""

from __future__ import annotations

import pytest

from loadstone.model.plan import READ_ONLY
from loadstone.model.target import Target
from loadstone.mysql.session_state import named, of_login, only_sets, sets_session
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
        ("SET sql_mode = CONCAT(@@sql_mode, ',ANSI')", True),
        ("SET sql_mode = (SELECT REPLACE(@@sql_mode, 'ANSI', ''));", True),
        ("SET @x = GET_LOCK('a', 5)", False),
        ("SET @x = `mine`.`drops`()", False),
        ("SET @x = (SELECT a FROM t FOR UPDATE)", False),
        ("SET @x = 1; DELETE FROM t", False),
        ("SET `GLOBAL`.x = 1", False),
        ("SET `timestamp` = 5", False),
        ("SET @@global . x = 1", False),
        ("SET /*!80000 GLOBAL */ x = 1", False),
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
        ("SET work_mem = '1MB';", True),
        ("SET work_mem = '1MB'; COMMIT; DELETE FROM t", False),
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
        ("-c work-mem=8MB", ["SET SESSION \"work_mem\" = '8MB'"]),
        ("-c mine.own=x", ['SET SESSION "mine"."own" = \'x\'']),
    ],
)
def test_options_of_a_login_are_settings(options: str | None, statements: list[str]) -> None:
    target = Target(family="postgresql", startup_options=options)
    found = postgresql.of_login(target)
    assert [statement for _, _, statement in found] == statements
    assert {option for option, _, _ in found} <= {"options"}


@pytest.mark.parametrize(
    ("statement", "sets"),
    [
        ("SET sql_log_bin = 0", True),
        ("SET timestamp = 5", True),
        ("SET ROLE admin", True),
        ("SET GLOBAL a = 1", False),
        ("SET GLOBAL a = 1, @@session.b = 2", True),
        ("SET @@global.a = 1, @@GLOBAL . b = 2", False),
        ("SET PASSWORD = 'x'", False),
        ("SELECT GET_LOCK('a', 0)", False),
        ("", False),
    ],
)
def test_what_stays_in_a_session_of_mysql(statement: str, sets: bool) -> None:
    assert sets_session(statement) == sets


@pytest.mark.parametrize(
    ("statement", "names"),
    [
        (READ_ONLY["mysql"], {"transaction_read_only", "tx_read_only"}),
        (
            "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
            {"transaction_isolation", "tx_isolation"},
        ),
        ("set @@session.Sort_Buffer_Size=1, `autocommit` := 0, @A = 2",
         {"sort_buffer_size", "autocommit", "@A"}),
        ("SET NAMES latin1", {"character_set_client", "character_set_results"}),
        ("CREATE TABLE t (a INT) COMMENT = 'x'", set()),
    ],
)  # fmt: skip
def test_what_a_statement_of_mysql_names(statement: str, names: set[str]) -> None:
    assert named(statement) == names


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        (READ_ONLY["postgresql"], "default_transaction_read_only"),
        (
            "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE",
            "default_transaction_isolation",
        ),
        ("set \"work_mem\" to '8MB'", "work_mem"),
        ("SET SESSION Mine.own = 'x'", "mine.own"),
        ("SET ROLE admin", "role"),
        ("SET TIME ZONE 'UTC'", "timezone"),
    ],
)
def test_what_a_statement_of_postgresql_names(statement: str, name: str) -> None:
    assert name in postgresql.named(statement)
    assert postgresql.named("SELECT 1") == set()


def test_a_login_to_mysql_sets_nothing_that_somebody_has_stated() -> None:
    assert of_login(Target()) == ()
