"""Templates of PostgreSQL's logs: shapes, transactions, parameters, and what is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.postgresql import dialect as postgresql
from loadstone.traffic.grammar import NotSql
from loadstone.traffic.import_log import ImportOptions, ImportResult, from_log
from loadstone.traffic.postgresql.grammar import kind_of, tokens_of
from loadstone.traffic.postgresql.parameters import with_values
from loadstone.workloads.templates.file import parse_template
from loadstone.workloads.templates.sql import Named, parts_of
from traffic.logs import written
from traffic.postgresql_logs import Said, csvlog

READ = "SELECT name FROM item WHERE id = $1"


def made(said: list[Said], folder: Path, **options: str) -> ImportResult:
    path = written(folder, "a.csv", csvlog(said))
    return from_log(path, "csvlog", ImportOptions(**options))  # type: ignore[arg-type]


def a_load(users: int = 3, times: int = 40) -> list[Said]:
    found = []
    for at in range(times):
        session, number = at % users, at * 37 % 200 + 1
        sent = [
            ("statement: BEGIN", ""),
            (f"execute s1: {READ}", f"parameters: $1 = '{number}'"),
            (
                f'statement: UPDATE "item" SET k = k + 1, x = $${"a" * (at % 7)}$$'
                f" WHERE id = {number}",
                "",
            ),
            ("statement: COMMIT", ""),
        ]
        found += [
            Said(session, f"duration: 1.0 ms  {what}", detail, at_ms=at * 100 + place)
            for place, (what, detail) in enumerate(sent)
        ]
    return found


def test_transactions_and_their_parameters_are_found(tmp_path: Path) -> None:
    said = a_load()
    said.append(Said(1, "statement: COPY item FROM STDIN"))
    said.append(Said(1, "statement: SELECT * FROM pg_stat_activity"))
    found = made(said, tmp_path)
    template = parse_template(found.text, "a.toml")
    (one,) = template.spec.transactions
    assert not one.autocommit
    assert 'dialect = "postgresql"' in found.text
    assert "SELECT name FROM item WHERE id = :id" in found.text
    assert 'WHERE id = :id"' in found.text and "id_2" not in found.text
    assert "id = { sequence = 1 }" in found.text
    assert found.statements == 80
    assert any("COPY" in note for note in found.notes)
    assert any("about the server itself" in note for note in found.notes)


def test_only_sessions_of_the_named_database_are_taken(tmp_path: Path) -> None:
    said = [*a_load(), Said(9, "statement: SELECT 1", database="other")]
    found = made(said, tmp_path, schema="shop")
    assert found.statements == 80
    assert any("outside of the schema shop" in note for note in found.notes)


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("begin isolation level serializable", "begin"), ("END", "commit"), ("ABORT", "rollback"),
        ("START TRANSACTION", "begin"), ("ROLLBACK TO SAVEPOINT a", "ROLLBACK statements"),
        ("SELECT 1", "data"), ("WITH a AS (SELECT 1) SELECT * FROM a", "data"),
        ("VACUUM t", "VACUUM statements"), ("SELECT pg_sleep(0)", "data"),
        ("SELECT * FROM information_schema.tables", "statements about the server itself"),
        ("ALTER ROLE a PASSWORD 'b'", "statements that may hold a password"),
    ],
)  # fmt: skip
def test_the_kind_of_a_statement(sql: str, kind: str) -> None:
    assert kind_of(sql) == kind


def test_tokens_of_texts_names_and_numbers() -> None:
    found = tokens_of("SELECT \"a\", $$it's$$, '5', '05', $1 >= 2::int /* x */ FROM t")
    texts = [(token.kind, token.text) for token in found if token.kind not in ("word", "sign")]
    assert texts == [
        ("name", '"a"'), ("text", "'it''s'"), ("number", "5"), ("text", "'05'"), ("mark", "$1"),
        ("number", "2"),
    ]  # fmt: skip
    assert "".join(" " * token.gap + token.text for token in found).endswith(">= 2::int FROM t")
    for sql in (r"SELECT E'a\n'", "SELECT B'101'", 'SELECT "a""b"', "SELECT 'a"):
        with pytest.raises(NotSql):
            tokens_of(sql)


@pytest.mark.parametrize(
    ("sql", "listed"),
    [
        ("SELECT a FROM t WHERE id = ANY('{4,-8, 15}')", "SELECT a FROM t WHERE id IN (4, -8, 15)"),
        ("SELECT a FROM t WHERE id=any ('{4}'::bigint[])", "SELECT a FROM t WHERE id IN (4)"),
        ("SELECT 1 WHERE b = ANY(ARRAY['x', 'y']::text[])", "SELECT 1 WHERE b IN ('x', 'y')"),
        (
            """SELECT 1 WHERE b = ANY('{x,"it''s, y"}'::character varying[]) AND c = 2""",
            "SELECT 1 WHERE b IN ('x', 'it''s, y') AND c = 2",
        ),
        ("SELECT 1 WHERE id <> ALL('{4,8}')", "SELECT 1 WHERE id NOT IN (4, 8)"),
        ("SELECT 1 WHERE id = ANY($1)", "SELECT 1 WHERE id IN ($1)"),
        # None of these is a list.
        ("SELECT 1 WHERE id >= ANY('{4,8}')", None),
        ("SELECT 1 WHERE id = ANY(SELECT b FROM u)", None),
        ("SELECT 1 WHERE id = ANY(ids)", None),
        ("SELECT 1 WHERE id = ANY(ARRAY[a, b])", None),
    ],
)
def test_values_of_an_array_are_a_list(sql: str, listed: str | None) -> None:
    found = "".join(" " * token.gap + token.text for token in tokens_of(sql))
    assert found == (listed or sql)


@pytest.mark.parametrize("array", ["{}", "{1,NULL}", "{{1,2},{3,4}}", "{1,,2}", "1,2"])
def test_an_array_that_no_list_is_like_is_left_out(array: str) -> None:
    with pytest.raises(NotSql, match="an array that no list is like"):
        tokens_of(f"SELECT 1 WHERE id = ANY('{array}')")


def test_lists_and_patterns_are_drawn_for_their_columns(tmp_path: Path) -> None:
    said = []
    for at in range(60):
        listed = ",".join(str(at * 7 % 50 + place + 1) for place in range(3))
        read = f"SELECT name FROM item WHERE id = ANY('{{{listed}}}'::int[])"
        like = f"SELECT id FROM item WHERE name ILIKE 'n{at % 9}%'"
        for place, sql in enumerate((read, like)):
            said.append(Said(1, f"duration: 1.0 ms  statement: {sql}", at_ms=at * 100 + place))
    text = made(said, tmp_path).text
    assert "id IN (" in text
    assert "ANY" not in text
    assert "name ILIKE :name" in text
    parse_template(text, "a.toml")


def test_a_dollar_within_a_name_opens_no_text(tmp_path: Path) -> None:
    found = tokens_of("SELECT a$b$c, é$x$ FROM t$1 WHERE d = $q$it$q$")
    assert [token.text for token in found] == [
        "SELECT", "a$b$c", ",", "é$x$", "FROM", "t$1", "WHERE", "d", "=", "'it'",
    ]  # fmt: skip
    parts = parts_of("SELECT a$b$c FROM t WHERE d = :d AND e = $x$:e$x$", postgresql)
    assert [part.name for part in parts if isinstance(part, Named)] == ["d"]
    assert with_values("SELECT a$1$b FROM t WHERE a = $1", {1: "'5'"}).endswith("a = '5'")
    assert with_values("SELECT a$b$c, $1, d$b$e", {1: "'5'"}) == "SELECT a$b$c, '5', d$b$e"
