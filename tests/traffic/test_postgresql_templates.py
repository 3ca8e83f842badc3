"""Templates of PostgreSQL's logs: shapes, transactions, parameters, and what is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from loadstone.traffic.grammar import NotSql
from loadstone.traffic.import_log import ImportOptions, ImportResult, from_log
from loadstone.traffic.postgresql.grammar import kind_of, tokens_of
from loadstone.workloads.templates.file import parse_template
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
