"""Notes keep their templates and values, so that a run can be read in another language later."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from loadstone.model.errors import LoadstoneError
from loadstone.model.figure import Seconds
from loadstone.model.language import in_language
from loadstone.model.message import Message, counted, plain, say, user_count
from loadstone.model.result import Result
from loadstone.runs import run_folder
from loadstone.runs.errors import StoreError
from loadstone.runs.journal import Note, parse
from recorded import a_plan, record_step, recorder_for, steps_of
from scripted_engine import Script

CHINESE = in_language("zh")
LOST = say(
    "generator {number} on {node} was lost {at} s after the load started, and {users} with it: "
    "{why}",
    number=1,
    node="b",
    at=3,
    users=user_count(32),
    why=say("it did not answer for {seconds} s", seconds=4),
)


def test_a_run_folder_says_its_notes_in_chinese(tmp_path: Path, script: Script) -> None:
    plan = a_plan()
    recorder = recorder_for(tmp_path, plan)
    recorder.note(say("resumed after {done} steps", done=2))
    recorder.note(LOST)
    record_step(recorder, plan, steps_of(plan)[0])
    written = recorder.end_run("finished")
    run = recorder.folder
    for result in (written, run_folder.load(run), _replayed(run)):
        assert result.run.notes == (
            "resumed after 2 steps",
            "generator 1 on b was lost 3 s after the load started, and 32 users with it: "
            "it did not answer for 4 s",
        )
        assert [CHINESE(one) for one in result.run.notes] == [
            "在完成 2 个步骤后继续",
            "负载开始 3 秒后失去 b 上的压测端 1（32 并发）：它已 4 秒没有应答",
        ]


def _replayed(run: Path) -> Result:
    (run / "result.json").unlink()
    return run_folder.load(run)


def test_a_note_of_an_earlier_version_is_the_text_that_it_was(tmp_path: Path) -> None:
    text = "step 1 is repeated: generator 1 on b was lost"
    line = json.dumps({"kind": "note", "at_s": 1.5, "step": None, "text": text}).encode()
    entry = parse(line + b"\n", "here", 0)
    assert isinstance(entry, Note)
    assert entry.text == text and isinstance(entry.text, Message)
    assert CHINESE(entry.text) == text
    assert "messages" not in entry.model_dump_json()


@pytest.mark.parametrize(
    "message",
    [
        LOST,
        plain("what a server said: {not} a template"),
        say(
            "{what} (generator on {node})", what=counted("1 table", "{number} tables", 2), node="a"
        ),
        say("it takes {time} at {path}", time=Seconds(200.0), path=Path("here")),
    ],
)
def test_a_note_line_keeps_a_message_whole(message: Message) -> None:
    line = Note(at_s=1.0, text=message).model_dump_json().encode()
    entry = parse(line + b"\n", "here", 0)
    assert isinstance(entry, Note)
    assert entry.text == message
    assert CHINESE(entry.text) == CHINESE(message)


def test_the_system_s_refusal_is_a_message_with_a_hint() -> None:
    error: LoadstoneError = StoreError.from_os("write", Path("runs"), OSError(28, "No space left"))
    assert error.message == "cannot write runs: no space left"
    assert CHINESE(error.message) == "无法写入 runs：no space left"
    assert error.hint is not None and CHINESE.knows(error.hint)
