"""What statements of PostgreSQL would do, judged by their words."""

from __future__ import annotations

import pytest

from loadstone.model.effect import TableName
from loadstone.postgresql.effects import administers, effect_of
from loadstone.postgresql.tokens import NotSql, tokens_of

READS = (
    "SELECT 1",
    "SELECT a FROM b WHERE c = 'x; DELETE FROM y' -- FOR UPDATE",
    "SELECT $t$ ; DELETE FROM x $t$, E'a\\'; DELETE FROM x', U&'d'",
    "SELECT /* a /* INSERT INTO b */ c */ 1",
    "SELECT \"update\", t.delete, REPLACE(d, 'a', 'b') FROM t",
    "WITH a AS (SELECT 1) SELECT * FROM a",
    "(SELECT 1) UNION (VALUES (2))",
    "EXPLAIN SELECT 1",
    "SHOW work_mem",
    "SELECT pg_sleep(0.01), a::text[] FROM b",
)


@pytest.mark.parametrize("sql", READS)
def test_what_only_reads_is_known_to(sql: str) -> None:
    found = effect_of(sql)
    assert found.only_reads, found


WRITES = (
    ("INSERT INTO a (b) VALUES (?) ON CONFLICT (b) DO UPDATE SET c = a.c + 1", "a"),
    ('UPDATE ONLY s."A b" SET x = 1 WHERE y IN (SELECT 1 FROM z)', "s.A b"),
    ("DELETE FROM Shop WHERE id = ?", "shop"),
    ("WITH d AS (DELETE FROM q RETURNING *) INSERT INTO r SELECT * FROM d", "q r"),
    ("WITH d AS (UPDATE q SET a = 1 RETURNING *) SELECT * FROM d", "q"),
    ("SELECT a FROM b WHERE c = ? FOR UPDATE", "b"),
    ("SELECT 1 FROM a AS x, b JOIN c ON true FOR NO KEY UPDATE OF x SKIP LOCKED", "a b c"),
    ("SELECT 1 FROM a FOR KEY SHARE", "a"),
    ("TRUNCATE TABLE a", "a"),
    (
        "MERGE INTO a USING b ON a.i = b.i WHEN MATCHED THEN UPDATE SET x = 1"
        " WHEN NOT MATCHED THEN INSERT VALUES (1)",
        "a",
    ),
    ("INSERT IGNORE INTO a VALUES (1) ON DUPLICATE KEY UPDATE b = 1", "a"),
    ("REPLACE INTO a VALUES (1)", "a"),
)


@pytest.mark.parametrize(("sql", "tables"), WRITES)
def test_the_tables_that_are_written_to_are_named(sql: str, tables: str) -> None:
    found = effect_of(sql)
    assert not found.unclear
    assert " ".join(map(str, found.writes)) == tables


UNCLEAR = (
    ("SELECT a INTO b FROM c", "INTO"),
    ("SELECT setval('s', 1)", "setval()"),
    ("SELECT lo_unlink(1)", "lo_unlink()"),
    ("SELECT public.f(1)", "public.f()"),
    ("DO $$ BEGIN DELETE FROM a; END $$", "DO"),
    ("CALL f()", "CALL"),
    ("COPY a FROM '/etc/passwd'", "COPY"),
    ("TRUNCATE a, b", "TRUNCATE"),
    ("UPDATE a", "UPDATE without SET"),
    ("INSERT a", "INSERT without INTO"),
    ("DELETE FROM (SELECT 1)", "( in place of a table"),
    ("DELETE FROM a.b.c", "the name a.b.c"),
    ("SELECT 1; SELECT 2", "more than one statement"),
    ('SELECT * FROM U&"d\\0061t"', 'U&"d\\0061t"'),
    ("SELECT 1 FROM (SELECT 1 FROM a FOR UPDATE) AS b", "a locking read"),
    ("SELECT $$a", "what starts with $$ has no end"),
    ("SELECT 'a", "what starts with ' has no end"),
    ("", "a text that is not a statement"),
)


@pytest.mark.parametrize(("sql", "said"), UNCLEAR)
def test_anything_else_may_write_to_anything(sql: str, said: str) -> None:
    found = effect_of(sql)
    assert said in found.unclear
    assert not found.only_reads


def test_functions_and_views_can_be_looked_up_by_their_names() -> None:
    found = effect_of('SELECT Own_F(a), count(*) FROM "A view" AS v')
    assert found.calls == ("count", "own_f")
    assert {"A view", "v", "a"} <= set(found.names)


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("ALTER SYSTEM SET a = 1", "ALTER SYSTEM"),
        ("CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'", None),
        ("CREATE EXTENSION IF NOT EXISTS x", "CREATE EXTENSION"),
        ("DROP ROLE a", "DROP ROLE"),
        ("GRANT a TO b", "GRANT A"),
        ("SELECT pg_reload_conf()", "pg_reload_conf()"),
        ("SELECT 'GRANT'", None),
        ("SELECT 'a", None),
    ],
)
def test_what_concerns_the_whole_server_is_known(sql: str, what: str | None) -> None:
    assert administers(sql) == what


def test_a_text_without_an_end_is_no_sql() -> None:
    for sql in ("'a", 'SELECT "a', "/* /* */", "$a$ $b$"):
        with pytest.raises(NotSql):
            tokens_of(sql)


def test_names_are_as_the_server_knows_them() -> None:
    assert effect_of('DELETE FROM "A""b"').writes == (TableName(name='A"b'),)
    assert [token.name for token in tokens_of("Straße ABC")] == ["straße", "abc"]
