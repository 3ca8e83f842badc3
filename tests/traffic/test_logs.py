"""Logs of both servers are read entry by entry; an invalid entry is reported with file and line."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from loadstone.traffic import logfile
from loadstone.traffic.by_family import LogKind
from loadstone.traffic.entries import Entry, ReadStats
from loadstone.traffic.errors import LogRefused
from loadstone.traffic.general_log import CUT_OFF, LINES_BEFORE
from loadstone.traffic.read_log import kind_of_log, log_entries
from traffic.logs import (
    Did,
    general_of_mariadb,
    general_of_mysql,
    slow_of_mariadb,
    slow_of_mysql,
    written,
)

Writer = Callable[[Iterable[Did]], bytes]
FORMATS: list[tuple[LogKind, Writer]] = [
    ("general", general_of_mysql),
    ("general", general_of_mariadb),
    ("slow", slow_of_mysql),
    ("slow", slow_of_mariadb),
]
DID: list[Did] = [
    (7, "Query", "SELECT 1"),
    (8, "Query", "INSERT INTO t VALUES ('a\n# not a head\nb', 'ä')"),
    (7, "Query", "COMMIT"),
    (7, "Quit", ""),
    (8, "Query", "SELECT '\udcff\udcfe'"),
]


def read(path: Path, kind: LogKind, encoding: str = "utf-8") -> tuple[list[Entry], ReadStats]:
    stats = ReadStats(str(path))
    return list(log_entries(path, kind, stats, encoding)), stats


@pytest.mark.parametrize(("kind", "write"), FORMATS)
def test_statements_come_as_they_were_written(kind: LogKind, write: Writer, tmp_path: Path) -> None:
    path = written(tmp_path, "x.log", write(DID))
    entries, stats = read(path, kind)
    said = [(one.session, one.text) for one in entries if one.command == "statement"]
    assert said == [(session, text) for session, command, text in DID if command == "Query"]
    assert [one.session for one in entries if one.command == "quit"] == [7]
    times = [one.at_s for one in entries]
    assert times == sorted(times) and times[-1] > times[0]
    assert not stats.left_out and kind_of_log(path) == kind


def test_times_within_a_second_are_spread_where_the_log_has_none(tmp_path: Path) -> None:
    did: list[Did] = [(1, "Query", f"SELECT {number}") for number in range(20)]
    entries, stats = read(written(tmp_path, "x.log", general_of_mariadb(did)), "general")
    assert stats.whole_seconds
    assert [round(one.at_s - entries[0].at_s, 3) for one in entries] == [n / 10 for n in range(20)]
    entries, stats = read(written(tmp_path, "y.log", general_of_mysql(did)), "general")
    assert not stats.whole_seconds
    assert round(entries[-1].at_s - entries[0].at_s, 6) == 0.019


def test_a_slow_log_tells_when_a_statement_began(tmp_path: Path) -> None:
    entries, _ = read(written(tmp_path, "x.log", slow_of_mysql(DID)), "slow")
    assert round(entries[0].at_s % 60, 6) == 0


def test_commands_of_the_protocol_are_told_apart(tmp_path: Path) -> None:
    did: list[Did] = [
        (1, "Connect", "app@localhost on shop using Socket"),
        (1, "Prepare", "SELECT a FROM t WHERE id = ?"),
        (1, "Execute", "SELECT a FROM t WHERE id = 5"),
        (1, "Close stmt", ""),
        (1, "Init DB", "other"),
        (1, "Ping", ""),
        (1, "Field List", "t %"),
    ]
    entries, _ = read(written(tmp_path, "x.log", general_of_mysql(did)), "general")
    assert [(one.command, one.text) for one in entries] == [
        ("connect", "shop"),
        ("statement", "SELECT a FROM t WHERE id = 5"),
        ("schema", "other"),
    ]


@pytest.mark.parametrize(("kind", "write"), FORMATS)
def test_a_log_that_begins_and_ends_in_the_middle(
    kind: LogKind, write: Writer, tmp_path: Path
) -> None:
    content = write([*DID, (9, "Query", "SELECT 'the last one'")])
    cut = content[content.index(b"# not a head") : -8]
    entries, stats = read(written(tmp_path, "x.log", cut), kind)
    said = [one.text for one in entries if one.command == "statement"]
    assert said == ["COMMIT", "SELECT '\udcff\udcfe'"]
    assert stats.left_out[CUT_OFF] == 1 and stats.left_out[LINES_BEFORE] >= 2
    assert stats.examples[0] == f"x.log:1: {LINES_BEFORE}"


def test_an_entry_of_a_slow_log_that_lost_its_end_is_left_out(tmp_path: Path) -> None:
    content = slow_of_mysql([(1, "Query", "SELECT 1"), (2, "Query", "SELECT 2")])
    torn = content.replace(b"SELECT 1;\n", b"SEL\n")
    entries, stats = read(written(tmp_path, "x.log", torn), "slow")
    assert [one.text for one in entries] == ["SELECT 2"] and stats.left_out == {CUT_OFF: 1}


@pytest.mark.parametrize("kind", ["slow", "general"])
@pytest.mark.parametrize(
    ("content", "line", "said"),
    [
        (b"", 1, "the file is empty"),
        (b"to whom it may concern\n" * 3, 1, "no entry of a {kind} log in 3 lines"),
        (b"\0\xff" * 5_000 + b"\n", 1, "no entry of a {kind} log in 1 lines"),
        (b"x\n" * 5_000, 1, "no entry of a {kind} log in 1,000 lines"),
    ],
)
def test_what_is_no_log_is_named(
    kind: LogKind, content: bytes, line: int, said: str, tmp_path: Path
) -> None:
    path = written(tmp_path, "x.log", content)
    with pytest.raises(LogRefused) as refused:
        read(path, kind)
    assert refused.value.message == f"{path}:{line}: {said.format(kind=kind)}"
    assert refused.value.hint and refused.value.exit_code == 4


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(LogRefused, match="no such file or directory"):
        read(tmp_path / "nowhere.log", "slow")
    with pytest.raises(LogRefused, match="is a directory"):
        read(tmp_path, "slow")


def test_a_line_without_an_end_is_not_read_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logfile, "LONGEST_LINE", 1 << 20)
    path = written(tmp_path, "x.log", b"\0" * (3 << 20))
    with pytest.raises(LogRefused, match=r"x\.log:1: a line of more than 1 MiB"):
        read(path, "general")


def test_gzip_is_read_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    packed = gzip.compress(general_of_mysql(DID * 2_000))
    entries, _ = read(written(tmp_path, "x.log.gz", packed), "general")
    assert sum(one.command == "statement" for one in entries) == 8_000
    path = written(tmp_path, "y.log.gz", packed[: len(packed) // 2])
    with pytest.raises(LogRefused, match=r"y\.log\.gz:\d+: the gzip file is damaged"):
        read(path, "general")


def test_other_character_sets_are_read_as_what_they_are(tmp_path: Path) -> None:
    # The second byte of this character is a backslash, which would escape the quote after it.
    text = "SELECT a FROM t WHERE b = '誠'"
    content = general_of_mysql([(1, "Query", "X")]).replace(b"X", text.encode("gbk"))
    (entry,), _ = read(written(tmp_path, "x.log", content), "general", "gbk")
    assert entry.text == text


LONG = """\
# Time: {time}
# User@Host: app[app] @ localhost [127.0.0.1]  Id: {session}
# Thread_id: {session}  Schema: shop  QC_hit: No
# Query_time: {took}  Lock_time: 0.000001  Rows_sent: 1  Rows_examined: 1
SET timestamp={stamp};
{text};
"""


@pytest.mark.parametrize("exact", [True, False])
def test_a_long_statement_began_before_others_that_were_logged_meanwhile(
    exact: bool, tmp_path: Path
) -> None:
    content = ""
    did = [(1, 0.0, "SELECT 'first'"), (2, 0.0, "SELECT 'short'"), (1, 0.0, "SELECT 'next'")]
    did.append((3, 5.0, "SELECT 'long'"))
    for second, (session, took, text) in enumerate(did, 10):
        time = f"2026-11-22T10:00:{second}.000000Z" if exact else f"261122 10:00:{second}"
        stamp = 1795341600 + second
        content += LONG.format(time=time, session=session, took=took, stamp=stamp, text=text)
    entries, stats = read(written(tmp_path, "x.log", content.encode()), "slow")
    assert stats.whole_seconds != exact
    began = {one.text: one.at_s for one in entries if one.command == "statement"}
    first = began["SELECT 'first'"]
    # Without microseconds a statement's place within its second is not known.
    wanted = {"SELECT 'short'": 1.0, "SELECT 'next'": 2.0, "SELECT 'long'": -2.0}
    for text, at_s in wanted.items():
        assert began[text] - first == pytest.approx(at_s, abs=1e-6 if exact else 0.5)
