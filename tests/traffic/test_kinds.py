"""The purpose of a statement: passwords are never kept, and a replay only reads."""

from __future__ import annotations

import pytest

from loadstone.mysql.tokens import tokens_of
from loadstone.traffic.kinds import OWN_TABLES, SECRET, is_read, kind_of


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("(SELECT 1) UNION (SELECT 2)", "data"),
        ("WITH a AS (SELECT 1) SELECT * FROM a", "data"),
        ("/*!40001 SELECT */ 1", "data"),
        ("BEGIN", "begin"),
        ("START TRANSACTION READ ONLY", "begin"),
        ("COMMIT /* x */", "commit"),
        ("ROLLBACK", "rollback"),
        ("ROLLBACK TO a", "ROLLBACK statements"),
        ("SET @@session.autocommit = 0", "autocommit off"),
        ("SET autocommit=ON", "autocommit on"),
        ("SET NAMES utf8mb4", "SET statements"),
        ("SHOW TABLES", "SHOW statements"),
        ("SELECT * FROM performance_schema.threads", OWN_TABLES),
        ("SELECT user FROM `mysql`.user", OWN_TABLES),
        ("CREATE USER u IDENTIFIED BY 'hunter2'", SECRET),
        ("alter user u identified with x as 'hunter2'", SECRET),
        ("SET PASSWORD FOR u = PASSWORD('hunter2')", SECRET),
        ("GRANT ALL ON *.* TO u IDENTIFIED BY 'hunter2'", SECRET),
        ("CHANGE MASTER TO MASTER_PASSWORD='hunter2'", SECRET),
        ("CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (PASSWORD 'hunter2')", SECRET),
        ("SELECT AES_DECRYPT(a, 'hunter2') FROM t", SECRET),
        ("INSERT INTO t VALUES (PASSWORD('hunter2'))", SECRET),
        ("/*!50000 CREATE USER u IDENTIFIED BY 'hunter2' */", SECRET),
    ],
)
def test_kinds(sql: str, kind: str) -> None:
    assert kind_of(tokens_of(sql)) == kind


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM t WHERE b = 'INSERT INTO'",
        "(SELECT 1)",
        "SHOW STATUS",
        "WITH a AS (SELECT 1) SELECT * FROM a",
        "SET NAMES gbk",
        "SET SESSION sql_mode = '', @a = (1 + 2)",
        "BEGIN",
        "START TRANSACTION WITH CONSISTENT SNAPSHOT",
        "COMMIT",
        "USE shop",
        "SELECT `update` FROM t;",
    ],
)
def test_reads(sql: str) -> None:
    assert is_read(tokens_of(sql))


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO t VALUES (1)",
        "SELECT a INTO OUTFILE 'x' FROM t",
        "SELECT 1 /*!INTO OUTFILE 'x'*/",
        "SELECT a FROM t FOR UPDATE",
        "SELECT a FROM t LOCK IN SHARE MODE",
        "WITH a AS (SELECT 1) DELETE FROM t",
        "SELECT 1; DROP TABLE t",
        "SELECT @a := 1",
        "SELECT SLEEP(100)",
        "SELECT GET_LOCK('a', 1)",
        "SELECT NEXTVAL(s)",
        "ANALYZE UPDATE t SET a = 1",
        "EXPLAIN ANALYZE SELECT 1",
        "CALL p()",
        "DO SLEEP(1)",
        "SET GLOBAL x = 1",
        "SET @@global.x = 1",
        "SET SESSION TRANSACTION READ WRITE",
        "SET transaction_read_only = 0",
        "SET @a = 1, sql_log_bin = 0",
        "SET STATEMENT x = 1 FOR DELETE FROM t",
        "SET @a = (SELECT f())",
        "START TRANSACTION READ WRITE",
        "PREPARE s FROM 'DROP TABLE t'",
        "EXECUTE s",
        "KILL 5",
        "LOAD DATA INFILE 'x' INTO TABLE t",
        "",
    ],
)
def test_what_is_no_read(sql: str) -> None:
    assert not is_read(tokens_of(sql))
