"""What a command says before its run has a folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from loadstone.model.language import translating
from loadstone.model.message import say
from loadstone.runs.journal import RunEnd, to_line
from loadstone.runs.preparing import Preparation, preparing_in
from loadstone.runs.tail import last_entry

LINE = say("{server} is up, loading its tables", server="MariaDB")


def test_the_latest_line_is_shown_until_there_is_a_run(tmp_path: Path) -> None:
    preparation = Preparation(tmp_path)
    assert preparing_in(tmp_path) == []
    preparation.tell("a line that is much longer than the one after it, and stays English")
    preparation.tell(LINE)
    (found,) = preparing_in(tmp_path)
    assert found == LINE
    assert all(words.knows(found) for words in translating())
    preparation.done()
    preparation.tell(LINE)
    assert preparing_in(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_the_file_of_a_process_that_was_killed_is_ignored_and_later_removed(tmp_path: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path;"
        "from loadstone.runs.preparing import Preparation;"
        "Preparation(Path(sys.argv[1])).tell('loading'); os._exit(1)"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path], check=False, timeout=60)
    assert len(list(tmp_path.iterdir())) == 1
    assert preparing_in(tmp_path) == []
    preparation = Preparation(tmp_path)
    preparation.tell(LINE)
    assert [path.name for path in tmp_path.iterdir()] == [f".preparing-{os.getpid()}.json"]
    preparation.done()


def test_a_folder_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    preparation = Preparation(tmp_path / "not there")
    preparation.tell(LINE)
    preparation.done()
    assert preparing_in(tmp_path / "not there") == []


def test_what_is_not_such_a_file_is_ignored(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".preparing-1.json")
    (tmp_path / ".preparing-2.json").write_text("{")
    assert preparing_in(tmp_path) == []


def test_the_last_entry_of_a_journal_is_its_last_whole_line(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    assert last_entry(journal) is None
    end = to_line(RunEnd(at_s=1.0, state="failed"))
    journal.write_bytes(to_line(RunEnd(at_s=0.5, state="stopped")) + end)
    assert last_entry(journal) == RunEnd(at_s=1.0, state="failed")
    journal.write_bytes(journal.read_bytes() + b'{"kind": "no')
    assert last_entry(journal) == RunEnd(at_s=1.0, state="failed")
    journal.write_bytes(b"x" * 300_000 + b"\n" + end)
    assert last_entry(journal) == RunEnd(at_s=1.0, state="failed")
    journal.write_bytes(b"x\n")
    assert last_entry(journal) is None
