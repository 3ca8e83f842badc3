"""`loadstone host-test` as a person calls it."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from loadstone.cli.errors import exit_code_of

pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")


@pytest.fixture(autouse=True)
def a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def told(line: str, capsys: pytest.CaptureFixture[str], code: int = 0) -> tuple[str, str]:
    assert exit_code_of(shlex.split(f"host-test {line}")) == code
    said = capsys.readouterr()
    return said.out, said.err


@pytest.mark.parametrize(
    ("line", "heads"),
    [
        ("cpu --cpu-max-prime 100", ["1 thread: 40 events in ", "p95"]),
        ("memory --memory-total-size 1M --memory-oper read", ["read", "MiB/s"]),
        ("threads --thread-yields 2 --threads 2", ["2 threads: 40 events in ", "p99"]),
        ("mutex --mutex-locks 10 --mutex-loops 5", ["max"]),
    ],
)
def test_a_test_shows_its_figures(
    line: str, heads: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    shown, said = told(f"{line} --events 40", capsys)
    assert said == ""
    assert shown.startswith(line.split()[0])
    assert all(head in shown for head in heads)


def test_files_from_begin_to_end(capsys: pytest.CaptureFixture[str]) -> None:
    files = "--file-num 2 --file-total-size 64K"
    assert told(f"fileio prepare {files}", capsys)[0].startswith("made 2 files: ")
    assert "nothing to do" in told(f"fileio prepare {files}", capsys)[0]
    line = f"fileio run {files} --file-test-mode rndwr --file-fsync-all --events 20 --json"
    end = json.loads(told(line, capsys)[0])
    assert (end["done"]["writes"], end["done"]["syncs"]) == (20, 20)
    shown, _ = told(f"fileio {files} --file-test-mode rndrd --events 20", capsys)
    assert "fsyncs" in shown
    assert told(f"fileio cleanup {files}", capsys)[0] == "removed 2 files\n"
    _, said = told(f"fileio run {files} --file-test-mode rndrd", capsys, code=9)
    assert re.fullmatch(r"error: cannot open \S*test_file\.0: no such .*\nhint:  .*\n", said)


@pytest.mark.parametrize(
    ("line", "code", "begins"),
    [
        ("disk", 2, "no such command 'disk'"),
        ("cpu walk", 2, "invalid value for '[run|prepare|cleanup]'"),
        ("cpu --cpu-max-prime 0", 2, "invalid value for '--cpu-max-prime'"),
        ("cpu --threads 0", 2, "invalid value for '--threads'"),
        ("memory --memory-block-size 1X", 2, "invalid value for '--memory-block-size': '1X' is"),
        ("memory --memory-block-size 9", 4, "block_size: 8 to 2^40, in steps of 8"),
        ("fileio", 2, "name a test with --file-test-mode"),
        ("fileio --file-test-mode rndro", 2, "invalid value for '--file-test-mode'"),
        ("fileio prepare --file-total-size 1K", 4, "total_size: at least one block in each file"),
        ("fileio prepare --folder nowhere", 2, "invalid value for '--folder'"),
    ],
)
def test_bad_input_is_one_line(
    line: str, code: int, begins: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shown, said = told(line, capsys, code)
    assert shown == ""
    assert said.startswith(f"error: {begins}")
    assert len(said.splitlines()) <= 2


@pytest.mark.sysbench
def test_files_of_either_program_serve_the_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if shutil.which("sysbench") is None:
        pytest.skip("sysbench is not installed")
    files = "--file-num=2 --file-total-size=64K"
    told(f"fileio prepare {files}", capsys)
    run = f"sysbench fileio {files} --file-test-mode=rndrd --events=20 run"
    done = subprocess.run(
        shlex.split(run), cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert re.search(r"total number of events: +20\n", done.stdout)
    told(f"fileio cleanup {files}", capsys)
    subprocess.run(
        shlex.split(f"sysbench fileio {files} prepare"),
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    told(f"fileio {files} --file-test-mode rndrd --events 20", capsys)
