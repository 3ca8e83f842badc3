"""Any text in a log is parsed or refused, and has no other effect."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from loadstone.mysql.tokens import NotSql, tokens_of
from loadstone.traffic.kinds import is_read, kind_of
from loadstone.traffic.shapes import Hole, Number, Several, sentence_of

WORDS = (
    "SELECT INSERT INTO t1 t2 VALUES VALUE ( ) ( ) , ; . ... IN IN ( FROM JOIN UPDATE SET a = - 1"
    " 2.5 'x' \"y\" `z` ? NULL TRUE BETWEEN AND LIMIT DATE IS NOT @a := /*!50000 */ /*+ h */ x'00'"
    " BEGIN ON DUPLICATE KEY CREATE USER IDENTIFIED BY WITH AS { } : :p"
).split()
ANY_TEXT = st.one_of(
    st.text(max_size=60), st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join)
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(ANY_TEXT)
def test_any_text_is_taken_apart_or_refused(text: str) -> None:
    try:
        tokens = tokens_of(text)
        kind_of(tokens)
        is_read(tokens)
        found = sentence_of(text)
    except NotSql:
        return
    assert len(found.values) == len(found.shape.holes)
    # With its literals restored it is the same statement.
    again = sentence_of(filled(text))
    assert again.shape.key == found.shape.key and again.values == found.values


def filled(text: str) -> str:
    """A statement, from its shape and its values."""
    found = sentence_of(text)
    values = iter(found.values)
    said = ""
    for piece in found.shape.pieces:
        if isinstance(piece, Several):
            inner = [one for one in piece.pieces if isinstance(one, Hole)]
            columns = [next(values) for _ in inner]
            rows = []
            for row in range(max(len(column) for column in columns)):
                at = iter(columns)
                rows.append(
                    "".join(
                        next(at)[row].written
                        if isinstance(one, Hole)
                        else written(one, found.number)
                        for one in piece.pieces
                    )
                )
            said += ", ".join(rows)
        elif isinstance(piece, Hole):
            (value,) = next(values)
            said += value.written
        else:
            said += written(piece, found.number)
    return said


def written(piece: str | Number, number: int | None) -> str:
    return piece if isinstance(piece, str) else str(number)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.integers(-(2**70), 2**70), st.text(max_size=20))
def test_a_shape_does_not_depend_on_its_literals(number: int, text: str) -> None:
    quoted = "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
    sql = f"SELECT a FROM t WHERE b = {number} AND c = {quoted} LIMIT 5"
    found = sentence_of(sql)
    assert found.shape.key == sentence_of("SELECT a FROM t WHERE b=1 AND c='x' LIMIT 9").shape.key
    assert found.values[0][0].value == number or abs(number) >= 2**63
    (value,) = found.values[1]
    assert value.value == text
