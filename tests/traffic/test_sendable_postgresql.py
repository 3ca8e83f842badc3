"""Which statements of a PostgreSQL log are sent again."""

from __future__ import annotations

import pytest

from loadstone.traffic.postgresql.sendable import COPIED, judged
from loadstone.traffic.sendable import NOT_READ, PASSWORDS, SERVER


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM t WHERE b = 'DELETE FROM t'", "WITH x AS (SELECT 1) SELECT * FROM x",
        "begin", "START TRANSACTION READ ONLY", "COMMIT;", "ROLLBACK TO SAVEPOINT a", "END",
        "SET search_path = a, b", "SET LOCAL work_mem = '1MB'", "RESET work_mem",
        "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SET enable_seqscan = off",
        "DECLARE c CURSOR FOR SELECT a FROM t", "FETCH 10 FROM c", "CLOSE c",
        "PREPARE p (int) AS SELECT a FROM t WHERE b = $1", "EXECUTE p(1)", "SHOW work_mem",
    ],
)  # fmt: skip
def test_what_only_reads_is_sent(sql: str) -> None:
    assert judged(sql, writes=False).left_out is None


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE t SET a = 1", "WITH x AS (DELETE FROM t RETURNING a) SELECT * FROM x",
        "SELECT a FROM t FOR UPDATE", "SELECT nextval('s')", "SELECT pg_sleep(1)",
        "SELECT 1; DROP TABLE t", "SET default_transaction_read_only = off", "RESET ALL",
        "DISCARD ALL", "SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
        "BEGIN READ WRITE", "SET TRANSACTION READ WRITE", "PREPARE p AS DELETE FROM t",
        "COMMIT PREPARED 'x'", "DECLARE c CURSOR FOR SELECT a FROM t FOR UPDATE",
        "SELECT set_config('transaction_read_only', 'off', false)", "VACUUM t", "CREATE TABLE a ()",
    ],
)  # fmt: skip
def test_what_may_change_data_or_end_the_readonly_session_is_sent_with_writes(sql: str) -> None:
    assert judged(sql, writes=False).left_out == NOT_READ
    assert judged(sql, writes=True).left_out is None


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("ALTER ROLE a PASSWORD 'x'", PASSWORDS), ("SELECT crypt('a', 'b')", PASSWORDS),
        ("CREATE USER MAPPING FOR a SERVER b OPTIONS (password 'x')", PASSWORDS),
        ("ALTER SYSTEM SET fsync = off", SERVER), ("SELECT pg_terminate_backend(1)", SERVER),
        ("SET ROLE other", SERVER), ("SET SESSION AUTHORIZATION other", SERVER),
        ("COPY t FROM STDIN", COPIED), ("BEGIN; COPY t TO STDOUT", COPIED),
    ],
)  # fmt: skip
def test_what_is_never_sent(sql: str, why: str) -> None:
    assert judged(sql, writes=True).left_out == why


def test_a_text_without_an_end_is_no_statement() -> None:
    assert "not statements" in str(judged("SELECT 'a", writes=True).left_out)
