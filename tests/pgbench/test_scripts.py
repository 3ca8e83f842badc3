"""Scripts as they are read and checked, without a server."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from loadstone.pgbench import program, scripts
from loadstone.pgbench.commands import commands_of
from loadstone.pgbench.scripts import Script, of_file

TEXT = """\
-- a comment
\\set a \\
  1
SELECT 1,
  2;
\\if :a = 1
SELECT 3 \\gset
\\endif
"""


def test_commands_are_numbered_as_reports_list_them() -> None:
    found = [" ".join(text.split()) for text in commands_of(Script("a.sql", TEXT))]
    assert found[1:] == ["SELECT 1,", "\\if :a = 1", "SELECT 3", "\\endif"]
    assert found[0].startswith("\\set a")


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("-- nothing\n", "", 'empty command list for script "{path}"'),
        (
            "SELECT 1;\n\\foo bar\n", "",
            '{path}:2: invalid command in command "foo"\n\\foo bar',
        ),
        (
            "SELECT 1;\n\\set a 1 +\n", "",
            '{path}:2: syntax error in command "set"\n\\set a 1 +\n          ^ error found here',
        ),
        (
            "SELECT 1;\n\\if 1\n", "",
            'condition error in script "{path}" command 3: \\if without matching \\endif',
        ),
        (
            f"SELECT {':a, ' * 256} 1;\n", "-M prepared",
            f"statement has too many arguments (maximum is 255): SELECT {':a, ' * 256} 1",
        ),
        (
            "\\set a 1\n\\startpipeline\nSELECT 1;\n\\endpipeline\n", "-M simple",
            "{path}: command 1 (startpipeline): cannot use pipeline mode with the simple query"
            " protocol",
        ),
    ],
)  # fmt: skip
def test_a_wrong_script_is_refused_before_anything_reaches_a_server(
    tmp_path: Path, text: str, words: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.sql"
    path.write_text(text)
    place = ["-h", "127.0.0.1", "-p", "1", "-U", "nobody"]
    assert program.main([*place, "-f", str(path), *words.split()]) == 1
    said = capsys.readouterr()
    assert not said.out
    assert said.err == f"pgbench: error: {expected.format(path=path)}\n"


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (b"SELECT '\xff';\n", "is not UTF-8: invalid start byte"),
        (b"SELECT 1;\0SELECT 2;\n", "has a byte of zero"),
        (b"-" * 100, "is larger than 99 bytes"),
    ],
)
def test_a_script_that_is_no_text_is_refused(
    tmp_path: Path,
    written: bytes,
    expected: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scripts, "_MOST_BYTES", 99)
    path = tmp_path / "a.sql"
    path.write_bytes(written)
    assert program.main(["-f", str(path)]) == 1
    assert capsys.readouterr().err == f'pgbench: error: file "{path}" {expected}\n'


def test_a_script_may_come_from_the_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"SELECT 1;\n")))
    assert of_file("-@3") == Script("-", "SELECT 1;\n", 3)


def test_a_report_can_be_printed_whatever_bytes_a_script_s_name_has(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.sql")
    Path(path).write_text("SELECT 1;\n")
    assert of_file(path).called == f"{tmp_path}/\\xff.sql"
