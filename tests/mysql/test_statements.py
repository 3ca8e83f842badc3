"""What statements would do: where that is not certain, they may do anything."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.mysql.statements import administers, effect_of

READS = [
    "SELECT 1",
    "select c from sbtest1 where id = ?",
    "(SELECT 1) UNION (SELECT 2)",
    "WITH a AS (SELECT 1) SELECT * FROM a",
    "VALUES ROW(1)",
    "TABLE orders",
    "SHOW CREATE TABLE shop.customers",
    "EXPLAIN DELETE FROM shop.customers",
    "SELECT 'DELETE FROM shop.customers'",
    "SELECT /*+ MAX_EXECUTION_TIME(10) */ 1 -- UPDATE shop.customers\n",
    "SELECT `update` FROM orders # FOR UPDATE",
    "SELECT COUNT(*) INTO @n FROM orders",
    "SET @a = 1, @b := (SELECT 2)",
    "DO 1",
]
WRITES = {
    "UPDATE orders SET a = 1": ["orders"],
    "update low_priority ignore `orders` set a = 1": ["orders"],
    "UPDATE shop.customers SET name = 'x'": ["shop.customers"],
    "UPDATE shop . `customers` SET name = 'x'": ["shop.customers"],
    "UPDATE/**/shop/**/./**/customers/**/SET name = 'x'": ["shop.customers"],
    "UPDATE orders o JOIN shop.customers c ON o.id = c.id SET c.name = 'x'": [
        "orders",
        "shop.customers",
    ],
    "UPDATE orders, (shop.customers) SET a = 1": ["orders", "shop.customers"],
    "UPDATE orders JOIN (a CROSS JOIN shop.b) USING (id) SET x = 1": ["orders", "a", "shop.b"],
    "UPDATE orders JOIN (SELECT 1 AS id FROM shop.c) d ON d.id = 1 SET x = 1": ["orders"],
    "UPDATE orders o JOIN a ON o.set = 1, shop.b SET x = 1": ["orders", "a", "shop.b"],
    "UPDATE orders PARTITION (p0) AS o SET x = (SELECT MAX(y) FROM shop.c)": ["orders"],
    "WITH a AS (SELECT 1) UPDATE orders, shop.b SET x = 1": ["orders", "shop.b"],
    "DELETE FROM shop.customers WHERE id = 1": ["shop.customers"],
    "DELETE QUICK FROM orders ORDER BY id LIMIT 1": ["orders"],
    "DELETE c FROM orders o, shop.customers c WHERE 1": ["orders", "shop.customers"],
    "DELETE shop.customers.* FROM shop.customers": ["shop.customers"],
    "DELETE FROM shop.customers.* USING shop.customers JOIN a USING (id)": ["shop.customers", "a"],
    "DELETE FROM orders USING (shop.customers AS orders)": ["orders", "shop.customers"],
    "DELETE a FROM orders AS returning, shop.b": ["orders", "shop.b"],
    "INSERT INTO shop.customers (id) VALUES (1)": ["shop.customers"],
    "INSERT IGNORE orders SELECT * FROM shop.customers": ["orders"],
    "INSERT INTO orders VALUES (1) ON DUPLICATE KEY UPDATE a = 2": ["orders"],
    "REPLACE DELAYED INTO `a``b`.c SET x = 1": ["a`b.c"],
    "TRUNCATE TABLE shop.customers": ["shop.customers"],
    "TRUNCATE orders": ["orders"],
    "SELECT a FROM orders WHERE id = 1 FOR UPDATE": ["orders"],
    "SELECT a FROM shop.customers LOCK IN SHARE MODE": ["shop.customers"],
    "SELECT a FROM orders USE INDEX FOR JOIN (k), shop.b FOR UPDATE": ["orders", "shop.b"],
}
UNCLEAR = [
    "",
    "CALL wipe()",
    "SELECT 1; DELETE FROM shop.customers",
    "SELECT 'cut off",
    "/*!50000 DELETE FROM shop.customers */",
    "SELECT 1 /*M! INTO OUTFILE '/tmp/x' */",
    r"UPDATE orders SET a = 'it\'s' ",
    'UPDATE "shop"."customers" SET a = 1',
    "UPDATE .customers SET a = 1",
    "UPDATE a.b.c SET x = 1",
    "UPDATE orders",
    "UPDATE orders, LATERAL (SELECT 1) l SET x = 1",
    "UPDATE orders SET a = shop.wipe()",
    "DELETE orders",
    "SELECT a FROM orders INTO OUTFILE '/tmp/x'",
    "SELECT NEXT VALUE FOR shop.numbers",
    "SELECT NEXTVAL(shop.numbers)",
    "SELECT * FROM (SELECT * FROM shop.c FOR UPDATE) d",
    "SELECT 1 UNION SELECT a FROM shop.c FOR UPDATE",
    "CREATE TABLE orders (id INT)",
    "DROP TABLE shop.customers",
    "ALTER TABLE orders ADD x INT",
    "RENAME TABLE shop.customers TO mine.customers",
    "LOAD DATA INFILE '/x' INTO TABLE shop.customers",
    "LOCK TABLES shop.customers WRITE",
    "USE shop",
    "HANDLER shop.customers OPEN",
    "PREPARE s FROM 'DELETE FROM shop.customers'",
    "EXECUTE IMMEDIATE 'DELETE FROM shop.customers'",
    "ANALYZE DELETE FROM shop.customers",
    "EXPLAIN ANALYZE DELETE FROM shop.customers",
    "OPTIMIZE TABLE shop.customers",
    "XA START 'a'",
    "SET SESSION transaction_read_only = 0",
    "SET @a = 1, sql_mode = 'ANSI_QUOTES'",
    "SET ROLE admin",
    "IF 1 THEN DELETE FROM shop.customers; END IF",
]
ADMINISTERS = {
    "SET GLOBAL max_connections = 333": "SET GLOBAL",
    "set @@global.max_connections = 333": "SET GLOBAL",
    "SET @a = 1, @@`global`.x = 2": "SET GLOBAL",
    "SET @a = f(1, 2), PERSIST x = 1": "SET PERSIST",
    "/*!50000 SET GLOBAL max_connections = 333 */": "SET GLOBAL",
    "SET STATEMENT a = 1 FOR SET GLOBAL b = 2": "SET GLOBAL",
    "SET STATEMENT a = 1 FOR SET @@global.b = 2": "SET GLOBAL",
    "SET STATEMENT a = 1 FOR KILL 5": "KILL",
    "SET STATEMENT a = 1, b = 2 FOR FLUSH TABLES": "FLUSH TABLES",
    "SET PASSWORD FOR a = 'b'": "SET PASSWORD",
    "GRANT ALL ON *.* TO a": "GRANT ALL",
    "KILL 7": "KILL",
    "FLUSH TABLES": "FLUSH TABLES",
    "CREATE OR REPLACE USER IF NOT EXISTS a": "CREATE USER",
    "DROP DATABASE IF EXISTS shop": "DROP DATABASE",
    "CREATE FUNCTION f RETURNS INT SONAME 'x.so'": "CREATE FUNCTION",
    "SHUTDOWN": "SHUTDOWN",
    "STOP REPLICA": "STOP REPLICA",
}


@pytest.mark.parametrize("sql", READS)
def test_a_read_is_known_for_one(sql: str) -> None:
    assert effect_of(sql).only_reads, effect_of(sql)
    assert administers(sql) is None


@pytest.mark.parametrize("sql", WRITES)
def test_what_is_written_to_is_named_however_it_is_written(sql: str) -> None:
    effect = effect_of(sql)
    assert [str(table) for table in effect.writes] == WRITES[sql]
    assert not effect.unclear


@pytest.mark.parametrize("sql", UNCLEAR)
def test_what_is_not_understood_may_write_to_anything(sql: str) -> None:
    assert effect_of(sql).unclear


@pytest.mark.parametrize("sql", ADMINISTERS)
def test_what_is_for_the_whole_server_is_known(sql: str) -> None:
    assert administers(sql) == ADMINISTERS[sql]


@pytest.mark.parametrize(
    "sql", ["SET @a = @@GLOBAL.x", "CREATE TABLE user (id INT)", "SELECT 'SET GLOBAL'", "SET x = 1"]
)
def test_what_only_looks_like_it_is_not_taken_for_it(sql: str) -> None:
    assert administers(sql) is None


def test_functions_are_told() -> None:
    assert effect_of("UPDATE orders SET a = Wipe(1), b = `tax` (2)").calls == ("tax", "wipe")


@settings(max_examples=50)
@given(st.text(st.sampled_from("UPDATE SET `'\"().,;/*!\\a=?") | st.characters(), max_size=60))
def test_no_text_is_too_strange(text: str) -> None:
    effect_of(text)
    administers(text)


NOISE = ["", " ", "/**/", "\n-- x\n", " # y\n"]


@settings(max_examples=50)
@given(st.lists(st.sampled_from(NOISE[1:]), min_size=6, max_size=6), st.booleans())
def test_blanks_and_comments_hide_no_table(gaps: list[str], quoted: bool) -> None:
    shop = "`shop`" if quoted else "shop"
    words = ["UPDATE", "orders", ",", shop, ".", "customers", "SET a = 1"]
    sql = words[0] + "".join(gap + word for gap, word in zip(gaps, words[1:], strict=True))
    assert [str(table) for table in effect_of(sql).writes] == ["orders", "shop.customers"]
