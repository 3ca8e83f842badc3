"""The last minutes of a long journal, without reading the hours before them."""

from __future__ import annotations

from pathlib import Path

import pytest

import scripted_engine as scripted
from loadstone.model.message import plain
from loadstone.runs.journal import Note, to_line
from loadstone.runs.rebuild import JOURNAL
from loadstone.runs.recent import recent_from
from loadstone.runs.tail import Tail
from recorded import a_plan, recorded_run
from scripted_engine import OF_A_SECOND, Script
from stretched import stretch

real = pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")


@pytest.fixture
def long(tmp_path: Path, script: Script) -> Path:
    """The journal of a run with two steps of 300 seconds, whose times are as if they had passed."""
    run = recorded_run(tmp_path, a_plan(ladder=(1, 2), duration_s=299.0))
    stretch(run)
    return run / JOURNAL


def test_what_is_passed_over_are_seconds_and_nothing_else(long: Path) -> None:
    every = [line.entry for line in Tail(long).read(10**9)]
    byte = recent_from(long, 120.0)
    assert 0 < byte < long.stat().st_size
    recent = [line.entry for line in Tail(long, byte).read(10**9)]
    lines = long.read_bytes().splitlines(keepends=True)
    seconds = [bool(OF_A_SECOND.match(line)) for line in lines]
    assert sum(seconds) == 600
    assert [one for one, of_it in zip(every, seconds, strict=True) if not of_it] == [
        one for one in recent if not OF_A_SECOND.match(to_line(one))
    ]
    shown = [one.at_s for one in recent if OF_A_SECOND.match(to_line(one))]
    last_s = every[-1].at_s
    assert shown[0] <= last_s - 120.0
    assert shown == [one.at_s for one in every if OF_A_SECOND.match(to_line(one))][-len(shown) :]
    assert len(shown) < 250


def test_the_engine_finds_the_lines_that_are_not_of_a_second(long: Path, tmp_path: Path) -> None:
    lines = long.read_bytes().splitlines(keepends=True)
    others = [line for line in lines if not OF_A_SECOND.match(line)]
    seconds = [line for line in lines if OF_A_SECOND.match(line)]
    unlike = [
        b'{"kind":"engine","at_s":1,"step":2,"record":{"kind":"end"}}\n',
        b'{"kind":"observed_names","at_s":1}\n',
        b'{"kind":"engine","at_s":1\n',
        b"\n",
        b"x" * 1_000_000 + b"\n",
    ]
    journal = tmp_path / "some.jsonl"
    many = seconds * 3  # more than are looked at at once
    written = [*seconds[:2], *others[:3], *many, *unlike]
    journal.write_bytes(b"".join([*written, seconds[0][:-1]]))
    whole = sum(map(len, written))
    for until in (0, 1, len(seconds[0]), len(seconds[0]) + 1, whole // 2, whole, 2 * whole):
        for most in (1, 10_000, 10**9):
            asked = (str(journal), 0, until, most)
            assert real.other_lines(*asked) == scripted.other_lines(*asked)
    found, next_at = real.other_lines(str(journal), 0, 2 * whole, 10**9)
    assert [line for _, line in found] == [*others[:3], *unlike]
    assert next_at == whole, "a line that lacks its end is looked at when it has one"
    with pytest.raises(FileNotFoundError):
        real.other_lines(str(tmp_path / "missing"), 0, 1, 1)


def test_reading_in_small_pieces_reads_the_same(long: Path) -> None:
    byte = recent_from(long, 60.0)
    whole = Tail(long, byte).read(10**9)
    tail, pieces = Tail(long, byte), []
    while found := tail.read(1000):
        pieces += found
    assert pieces == whole
    assert tail.at_byte == long.stat().st_size


def test_lines_that_are_added_later_are_all_read(long: Path) -> None:
    tail = Tail(long, recent_from(long, 60.0))
    while tail.read():
        continue
    note = Note(at_s=9999.0, text=plain("later"))
    with long.open("ab") as journal:
        journal.write(to_line(note))
    assert [line.entry for line in tail.read()] == [note]
    assert tail.read() == []


@pytest.mark.parametrize("content", [b"", b"no journal\n" * 20_000, b"{"])
def test_what_is_no_journal_is_read_from_its_start(tmp_path: Path, content: bytes) -> None:
    (tmp_path / JOURNAL).write_bytes(content)
    assert recent_from(tmp_path / JOURNAL, 60.0) == 0
    assert recent_from(tmp_path / "missing", 60.0) == 0
