"""SQL is cut as a server's lexer cuts it, whatever stands in its literals."""

from __future__ import annotations

import pytest

from loadstone.mysql.tokens import NotSql, meaning_of, statements_in, tokens_of, with_code


def texts(sql: str) -> list[str]:
    return [token.text for token in tokens_of(sql)]


@pytest.mark.parametrize(
    ("sql", "cut"),
    [
        ("a -- b\n+1", ["a", "+", "1"]),
        ("a--1", ["a", "-", "-", "1"]),
        ("a # b ' \n/* ; ' */ b", ["a", "b"]),
        ("/*+ MAX_EXECUTION_TIME(1) */ a", ["/*+ MAX_EXECUTION_TIME(1) */", "a"]),
        ("'it''s', \"a\\\"b\", '\\\\'", ["'it''s'", ",", '"a\\"b"', ",", "'\\\\'"]),
        ("`a``b`.`c d`", ["`a``b`", ".", "`c d`"]),
        ("x'4a' 0x4A b'01' 0b01 0xg", ["x'4a'", "0x4A", "b'01'", "0b01", "0xg"]),
        ("_utf8mb4 'ä' N'b'", ["_utf8mb4 'ä'", "N'b'"]),
        ("1.5e-3 .5 1. t1.c2 5th", ["1.5e-3", ".5", "1.", "t1", ".", "c2", "5th"]),
        ("@a := @@global.x + @'b c'", ["@a", ":=", "@@global.x", "+", "@'b c'"]),
        ("a->>'$.b' <=> ?", ["a", "->>", "'$.b'", "<=>", "?"]),
        ("名前 = '値'", ["名前", "=", "'値'"]),
    ],
)  # fmt: skip
def test_tokens(sql: str, cut: list[str]) -> None:
    assert texts(sql) == cut


@pytest.mark.parametrize("sql", ["'a", '"a', "`a", "/* a", "a 'b''", "'a\\'"])
def test_what_has_no_end_is_no_sql(sql: str) -> None:
    with pytest.raises(NotSql, match="has no end"):
        tokens_of(sql)


def test_a_long_text_without_an_end_is_refused_at_once() -> None:
    with pytest.raises(NotSql):
        tokens_of("SELECT '" + "a''\\'" * 50_000)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("'it''s'", "it's"),
        (r"'a\'b\\c\nd\0e'", "a'b\\c\nd\0e"),
        (r"'10\%'", r"10\%"),
        ("_latin1'a'", "a"),
        ('"say ""x"""', 'say "x"'),
        ("N'x'", "x"),
    ],
)
def test_what_a_text_says(text: str, meaning: str) -> None:
    assert meaning_of(text) == meaning


def test_executable_comments_are_code() -> None:
    tokens = with_code(tokens_of("SELECT 1 /*!50000 INTO OUTFILE 'x' */ /*M!100100 , 2 */"))
    assert [token.text for token in tokens] == ["SELECT", "1", "INTO", "OUTFILE", "'x'", ",", "2"]


@pytest.mark.parametrize(
    ("text", "statements"),
    [
        ("SET GLOBAL a=1; SET GLOBAL b=2", ("SET GLOBAL a=1", "SET GLOBAL b=2")),
        ("SELECT 1;", ("SELECT 1",)),
        (
            "SELECT ';', `a;b` -- c;d\n; SELECT 2 /* ; */",
            ("SELECT ';', `a;b` -- c;d", "SELECT 2 /* ; */"),
        ),
        (" ;; -- nothing\n;", ()),
        ("SELECT 1; SELECT 'open; SELECT 2", ("SELECT 1", "SELECT 'open; SELECT 2")),
        ("/*! SET a=1 */; SELECT 1", ("/*! SET a=1 */", "SELECT 1")),
    ],
)
def test_statements_end_at_semicolons_outside_of_literals(
    text: str, statements: tuple[str, ...]
) -> None:
    assert statements_in(text) == statements
