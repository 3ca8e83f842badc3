"""Which columns statements of PostgreSQL set, and what is shown of a statement."""

from __future__ import annotations

import pytest

from loadstone.observe.postgresql.updates import updated_columns, with_question_marks

SET = (
    ("UPDATE sbtest1 SET k=k+1 WHERE id=$1", "sbtest1", "k"),
    ('update only s."A b" AS x SET "C d" = 1, e = (SELECT f FROM g) WHERE h = 1', "A b", "C d e"),
    ("UPDATE t SET (a, b) = (SELECT c, d FROM e), f = g(h, i) FROM j WHERE k = 1", "t", "a b f"),
    ("INSERT INTO t (a, b) VALUES (1, 2) ON CONFLICT (a) DO UPDATE SET b = excluded.b", "t", "b"),
    ("UPDATE t SET a[3] = 1, c = DEFAULT RETURNING d", "t", "a c"),
    ("SELECT a FROM t FOR UPDATE", "", ""),
    ("INSERT INTO t SELECT 1", "", ""),
    ("UPDATE t SET a = 'cut", "", ""),
)


@pytest.mark.parametrize(("sql", "table", "columns"), SET)
def test_the_columns_that_a_statement_sets_are_known(sql: str, table: str, columns: str) -> None:
    names = {"C d", "e"} if columns == "C d e" else set(columns.split())
    assert updated_columns([sql]) == ({table: names} if table else {})


def test_statements_of_one_table_add_up() -> None:
    statements = ("UPDATE a SET b = 1", "UPDATE s.a SET c = 2", "UPDATE d SET b = 3")
    assert updated_columns(statements) == {"a": {"b", "c"}, "d": {"b"}}


@pytest.mark.parametrize(
    ("sql", "shown"),
    [
        (
            "SELECT a FROM b\n WHERE c = 'x' AND d > 1.5 -- e",
            "SELECT a FROM b WHERE c = ? AND d > ?",
        ),
        ("FETCH 100 FROM c", "FETCH ? FROM c"),
        ("UPDATE a SET b = 'cut", "UPDATE …"),
        ("", ""),
    ],
)
def test_no_value_of_a_statement_is_shown(sql: str, shown: str) -> None:
    assert with_question_marks(sql) == shown
