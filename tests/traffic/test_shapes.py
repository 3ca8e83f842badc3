"""Statements that differ only in literals have one shape; others have different ones."""

from __future__ import annotations

import pytest

from loadstone.mysql.tokens import NotSql
from loadstone.traffic.shapes import sentence_of


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("SELECT a FROM t WHERE id=1", "select  a\nfrom `t` where id = -20 -- 7"),
        ("SELECT a FROM t WHERE id IN (1)", "SELECT a FROM t WHERE id IN (1, 2,3) /* trace 9 */"),
        ("INSERT INTO t (a,b) VALUES (1,'x')", "INSERT INTO t (a, b) VALUES (2, 'y'),(3,NULL)"),
        ("SELECT a FROM t WHERE d > '2026-01-01'", "SELECT a FROM t WHERE d > DATE '2026-02-01'"),
        ("SELECT a FROM t WHERE b = 'x'", "SELECT a FROM t WHERE b = _binary'y' "),
        ("SELECT a FROM t WHERE b = 0xff", "SELECT a FROM t WHERE b = b'1'"),
        ("SELECT c FROM sbtest1 WHERE id=1", "SELECT c FROM sbtest22 WHERE id=2"),
        ("SELECT `sbtest1`.c FROM sbtest1", "SELECT sbtest2.c FROM `sbtest2`"),
        ("SELECT a FROM t LIMIT 5;", "SELECT a FROM t LIMIT 10"),
        ("UPDATE t SET a = a + 1 WHERE b = TRUE", "UPDATE t SET a = a + 2 WHERE b = FALSE"),
    ],
)
def test_one_shape(first: str, second: str) -> None:
    assert sentence_of(first).shape.key == sentence_of(second).shape.key


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("SELECT a FROM t", "SELECT b FROM t"),
        ("SELECT a FROM t WHERE a IS NULL", "SELECT a FROM t WHERE a IS NOT NULL"),
        ("SELECT a FROM Tab", "SELECT a FROM tab"),
        ("SELECT /*+ NO_MERGE(a) */ a FROM t", "SELECT a FROM t"),
        ("INSERT INTO t VALUES (1, NOW())", "INSERT INTO t VALUES (1, 2)"),
        ("SELECT a - 1 FROM t", "SELECT a, -1 FROM t"),
    ],
)
def test_other_shapes(first: str, second: str) -> None:
    assert sentence_of(first).shape.key != sentence_of(second).shape.key


def test_values_are_known_with_what_they_are_for() -> None:
    found = sentence_of(
        "INSERT INTO shop.sale (customer, price, state) VALUES (7, 1.50, 'new'), (8, -2.5, NULL)"
        " ON DUPLICATE KEY UPDATE price = price + 3, state = VALUES(state)"
    )
    columns = [hole.column for hole in found.shape.holes]
    assert columns == ["customer", "price", "state", "price"]
    assert [[str(value.value) for value in values] for values in found.values] == [
        ["7", "8"],
        ["1.50", "-2.5"],
        ["new", "None"],
        ["3"],
    ]
    assert found.shape.tables == ("sale",)
    assert found.shape.holes[3].function == "+"


def test_ranges_lists_and_limits_know_their_columns() -> None:
    found = sentence_of(
        "SELECT f(a, 3) FROM t JOIN u ON t.x = u.y WHERE t.id BETWEEN 1 AND 2 AND b IN (1, 2)"
        " AND c LIKE 'x%' ORDER BY a LIMIT 5 OFFSET 6"
    )
    named = [(hole.column, hole.function) for hole in found.shape.holes]
    assert named == [
        (None, ""),
        ("id", ""),
        ("id", ""),
        ("b", ""),
        ("c", ""),
        (None, "LIMIT"),
        (None, "OFFSET"),
    ]
    assert [len(values) for values in found.values] == [1, 1, 1, 2, 1, 1, 1]


def test_numbers_of_tables_are_kept_where_they_agree() -> None:
    assert sentence_of("SELECT c FROM sbtest7 WHERE id = 1").number == 7
    assert sentence_of("SELECT 1 FROM a1 JOIN b1").number == 1
    apart = sentence_of("SELECT 1 FROM a1 JOIN b2")
    assert apart.number is None and apart.shape.tables == ("a1", "b2")
    assert sentence_of("SELECT address1 FROM person").number is None


def test_bytes_that_are_no_text_are_values_of_their_own() -> None:
    raw = b"SELECT a FROM t WHERE b = 'x\xff\xfe'".decode("utf-8", "surrogateescape")
    (value,) = sentence_of(raw).values[0]
    assert (value.kind, value.value) == ("bytes", 3)
    (value,) = sentence_of("SELECT 0xfff").values[0]
    assert value.value == 2
    # A backslash may be the second byte of a GBK character: in a text of that set it escapes
    # nothing.
    gbk = b"SELECT a FROM t WHERE b = '\xd5\x5c'".decode("gbk", "surrogateescape")
    assert len(sentence_of(gbk).values) == 1


@pytest.mark.parametrize("sql", ["", " ; ", "-- nothing", "SELECT 1; DROP TABLE t"])
def test_none_and_several_are_no_statement(sql: str) -> None:
    with pytest.raises(NotSql):
        sentence_of(sql)
