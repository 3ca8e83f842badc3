"""The tables that a statement names, by its words."""

from __future__ import annotations

import pytest

from loadstone.mysql.named_tables import tables_named, with_n_for_numbers
from loadstone.mysql.tokens import tokens_of

NAMED = {
    "SELECT 1": [],
    "SELECT c FROM sbtest1 WHERE id = 1": ["sbtest1"],
    "select * from `a b` as x, shop.item i, part where 1": ["a b", "shop.item", "part"],
    "SELECT * FROM a JOIN b ON a.x = b.x LEFT JOIN c USING (x) WHERE y IN (SELECT z FROM d)": [
        "a",
        "b",
        "c",
        "d",
    ],
    "SELECT * FROM (a, b) JOIN (SELECT 1 FROM c) AS t": ["a", "b", "c"],
    "INSERT IGNORE INTO note (item, body) VALUES (1, 'x')": ["note"],
    "INSERT INTO note VALUES (1) ON DUPLICATE KEY UPDATE body = 2, item = 3": ["note"],
    "UPDATE a, b SET a.x = 1 WHERE a.y = b.y": ["a", "b"],
    "DELETE FROM a WHERE x = 1": ["a"],
    "SELECT x FROM a FOR UPDATE": ["a"],
    "SELECT x FROM a USE INDEX FOR JOIN (k) WHERE x = 1": ["a"],
    "SELECT EXTRACT(YEAR FROM bought), TRIM('x' FROM name) FROM purchase": ["purchase"],
    "SELECT ABS(x) FROM JSON_TABLE('[]', '$' COLUMNS (x INT PATH '$')) AS j": [],
    "SELECT x INTO @a FROM b": ["b"],
    "SELECT x FROM b INTO OUTFILE '/x'": ["b"],
    "SELECT 1 FROM DUAL": [],
    "WITH RECURSIVE a (n) AS (SELECT 1), b AS (SELECT x FROM c) SELECT * FROM a, b": ["c"],
    "CREATE TABLE IF NOT EXISTS made (id INT)": ["made"],
    "COMMIT": [],
}


@pytest.mark.parametrize(("sql", "names"), NAMED.items(), ids=NAMED)
def test_tables_are_named_where_they_stand(sql: str, names: list[str]) -> None:
    assert [str(name) for name in tables_named(tokens_of(sql))] == names


def test_a_number_at_the_end_of_a_table_is_n() -> None:
    digest = "SELECT `c` FROM `sbtest17` WHERE `sbtest17` . `id` = ? AND `k2` > ?"
    assert with_n_for_numbers(digest) == (
        "SELECT `c` FROM `sbtestN` WHERE `sbtestN` . `id` = ? AND `k2` > ?"
    )
    assert with_n_for_numbers("UPDATE sbtest3 SET k=k+?") == "UPDATE sbtestN SET k=k+?"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT c1 FROM item WHERE k1 = ?",
        "SELECT * FROM a1 JOIN b2 USING ( id )",
        "SELECT `c` FROM `sbtest1",
    ],
)
def test_what_has_no_number_or_several_stays(sql: str) -> None:
    assert with_n_for_numbers(sql) == sql
