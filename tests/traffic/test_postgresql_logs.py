"""PostgreSQL's csvlog and jsonlog: their statements, parameters, sessions, and what is damaged."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from loadstone.traffic.by_family import LogKind
from loadstone.traffic.entries import Entry, ReadStats
from loadstone.traffic.errors import LogRefused
from loadstone.traffic.general_log import CUT_OFF, LINES_BEFORE
from loadstone.traffic.logfile import LONGEST_LINE
from loadstone.traffic.postgresql.log import (
    BACKWARDS,
    FAILED,
    MAYBE_CUT,
    NO_TIME,
    NO_VALUES,
    REST,
)
from loadstone.traffic.postgresql.records import NOT_RECORDS, ZERO_BYTES
from loadstone.traffic.read_log import in_schema, kind_of_log, log_entries
from traffic.logs import written
from traffic.postgresql_logs import Said, csvlog, jsonlog

USUAL = (
    Said(1, "connection authorized: user=app database=shop"),
    Said(1, "duration: 0.200 ms  statement: BEGIN", at_ms=1000),
    Said(2, 'duration: 900.000 ms  statement: SELECT "a",\n  \'x,"y"\' FROM t', at_ms=1500),
    Said(1, "duration: 0.010 ms  parse <unnamed>: SELECT b FROM t WHERE a = $1", at_ms=1600),
    Said(1, "duration: 0.010 ms  bind <unnamed>: SELECT b FROM t WHERE a = $1", at_ms=1600),
    Said(
        1, "duration: 1.500 ms  execute <unnamed>: SELECT b FROM t WHERE a = $1 AND c = $2",
        "parameters: $1 = '5', $2 = NULL", at_ms=1700,
    ),
    Said(1, "duration: 0.100 ms  statement: COMMIT", at_ms=1800),
    Said(1, "disconnection: session time: 0:00:01.000 user=app database=shop", at_ms=1900),
)  # fmt: skip
LATER = 1795341600.0
"""The first record's time."""


def read(
    content: bytes, folder: Path, kind: LogKind = "csvlog", encoding: str = "utf-8"
) -> tuple[list[Entry], ReadStats]:
    path = written(folder, "log", content)
    stats = ReadStats(str(path))
    return list(log_entries(path, kind, stats, encoding)), stats


def texts(entries: list[Entry]) -> list[tuple[int, str]]:
    return [(one.session & 0xFF, one.text) for one in entries if one.command == "statement"]


def statements(*sent: str) -> list[Said]:
    return [
        Said(1, f"duration: 0.001 ms  statement: {sql}", at_ms=at) for at, sql in enumerate(sent)
    ]


@pytest.mark.parametrize("columns", [23, 24, 26])
def test_statements_have_their_session_start_and_parameters(tmp_path: Path, columns: int) -> None:
    found, stats = read(csvlog(USUAL, columns), tmp_path)
    assert [(one.session & 0xFF, one.command, one.text) for one in found] == [
        (1, "connect", "shop"),
        (1, "statement", "BEGIN"),
        (2, "connect", "shop"),
        (2, "statement", 'SELECT "a",\n  \'x,"y"\' FROM t'),
        (1, "statement", "SELECT b FROM t WHERE a = '5' AND c = NULL"),
        (1, "statement", "COMMIT"),
        (1, "quit", ""),
    ]
    starts = [round(one.at_s - LATER, 4) for one in found if one.command == "statement"]
    assert starts == [0.9998, 0.6, 1.6985, 1.7999]
    assert not stats.left_out and not stats.noted and stats.entries == len(USUAL)


def test_jsonlog_has_the_same(tmp_path: Path) -> None:
    of_csv, _ = read(csvlog(USUAL), tmp_path)
    of_json, stats = read(jsonlog(USUAL), tmp_path, "jsonlog")
    assert [one._replace(line=0) for one in of_json] == [one._replace(line=0) for one in of_csv]
    assert not stats.left_out


@pytest.mark.parametrize(("kind", "make"), [("csvlog", csvlog), ("jsonlog", jsonlog)])
def test_the_kind_is_recognized_even_if_it_begins_without_statements(
    tmp_path: Path, kind: str, make: type
) -> None:
    before = [Said(9, "database system is ready to accept connections")] * 300
    assert kind_of_log(written(tmp_path, "a", make([*before, *USUAL]))) == kind


def test_with_log_statement_a_text_is_taken_at_its_start_and_once(tmp_path: Path) -> None:
    said = [
        Said(1, "statement: SELECT 1", at_ms=10),
        Said(1, "duration: 5.000 ms", at_ms=15),
        Said(1, "execute s1: SELECT $1", "Parameters: $1 = 'it''s $2'", at_ms=20),
        Said(1, 'column "x" does not exist', at_ms=30, severity="ERROR", query="SELECT x"),
    ]
    found, stats = read(csvlog(said), tmp_path)
    assert texts(found) == [(1, "SELECT 1"), (1, "SELECT 'it''s $2'")]
    assert found[1].at_s == pytest.approx(LATER + 0.01)
    assert not stats.left_out


def test_what_cannot_be_sent_again_is_counted_by_its_reason(tmp_path: Path) -> None:
    said = [
        *statements("SELECT 1"),
        Said(1, "duration: 1.0 ms  execute s1: SELECT $1"),
        Said(1, "duration: 1.0 ms  execute fetch from s1/c1: SELECT a FROM t"),
        Said(1, "duration: 1.0 ms  execute s1: SELECT $1", "parameters: $1 = 'abc...'"),
        Said(1, "division by zero", severity="ERROR", query="SELECT 1/0"),
    ]
    found, stats = read(csvlog(said), tmp_path)
    assert texts(found) == [(1, "SELECT 1"), (1, "SELECT 'abc...'")]
    assert stats.left_out == {NO_VALUES: 1, FAILED: 1}
    assert stats.noted == {REST: 1, MAYBE_CUT: 1}


def test_damage_costs_only_the_record_that_has_it(tmp_path: Path) -> None:
    whole = csvlog(statements("SELECT 1", "SELECT 'a\nb'", "SELECT 3")).splitlines(keepends=True)
    torn = [b"b'\",,,\n", whole[0], whole[1], whole[3], whole[3].replace(b"SELECT 3", b"a\0b")]
    found, stats = read(b"".join([*torn, whole[0][:40] + b"\n", whole[3][:90]]), tmp_path)
    assert texts(found) == [(1, "SELECT 1"), (1, "SELECT 3")]
    assert stats.left_out[LINES_BEFORE] == 1 and stats.left_out[ZERO_BYTES] == 1
    assert stats.left_out[CUT_OFF] == 2
    assert sum(stats.left_out.values()) == 4


def test_lines_of_a_jsonlog_that_are_none_are_counted(tmp_path: Path) -> None:
    bad = [b"[1]", b"{", b"[" * 100_000, b'{"timestamp": 5, "session_id": "1.1"}', b"\xff\xfe"]
    whole = jsonlog(statements("SELECT 1"))
    found, stats = read(b"\n".join([*bad, whole]) + whole[:50], tmp_path, "jsonlog")
    assert texts(found) == [(1, "SELECT 1")]
    assert stats.left_out == {NOT_RECORDS: 5, CUT_OFF: 1}


def test_times_that_go_back_are_counted_and_keep_the_sessions_order(tmp_path: Path) -> None:
    said = [
        Said(1, f"duration: 1.0 ms  statement: {sql}", at_ms=at)
        for sql, at in (("A", 5000), ("B", 1000), ("C", 6000))
    ]
    found, stats = read(csvlog(said), tmp_path)
    assert [round(one.at_s - LATER, 2) for one in found if one.command == "statement"] == [5, 5, 6]
    assert stats.noted == {BACKWARDS: 1}
    damaged = csvlog(statements("A")).replace(b"11-22 10", b"13-22 10") + csvlog(statements("B"))
    found, stats = read(damaged, tmp_path)
    assert texts(found) == [(1, "B")] and stats.left_out == {NO_TIME: 1}


def test_bytes_of_another_encoding_arrive_as_they_were(tmp_path: Path) -> None:
    content = csvlog(statements("SELECT 'ü'")).decode().encode("latin-1")
    found, _ = read(content, tmp_path)
    assert found[1].text.encode("utf-8", "surrogateescape") == b"SELECT '\xfc'"
    found, _ = read(content, tmp_path, encoding="latin-1")
    assert found[1].text == "SELECT 'ü'"


def test_what_is_no_such_log_is_refused_with_one_line(tmp_path: Path) -> None:
    for kind in ("csvlog", "jsonlog"):
        with pytest.raises(LogRefused, match=f"no record of a {kind}"):
            read(b"hello\n" * 2000, tmp_path, kind)
    with pytest.raises(LogRefused, match="1 records, and none has a statement"):
        read(csvlog([Said(1, "checkpoint starting: time")]), tmp_path)
    with pytest.raises(LogRefused, match="a line of more than"):
        read(csvlog(statements("SELECT 1")) + b"x" * (LONGEST_LINE + 5), tmp_path)


def test_sessions_of_another_database_are_left_out_and_counted(tmp_path: Path) -> None:
    said = [*statements("SELECT 1"), Said(2, "statement: SELECT 2", database="other")]
    found, stats = read(csvlog(said), tmp_path)
    assert texts(list(in_schema(found, "shop", stats))) == [(1, "SELECT 1")]
    assert list(stats.left_out.values()) == [1]


def test_long_statements_are_read_and_the_limit_of_other_files_stays(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    content = csvlog(statements("SELECT 1")).replace(b"SELECT 1", b"SELECT " + b"1" * 2 * before)
    entries, _ = read(content, tmp_path)
    assert texts(entries) == [(1, f"SELECT {'1' * 2 * before}")]
    assert csv.field_size_limit() == before
