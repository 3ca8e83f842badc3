"""Manual pages and the rest of a wheel's data: complete, and read without a warning."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import click
import pytest

from loadstone.cli.app import COMMANDS, app
from loadstone.cli.help.command import Option
from tools import man, wheel_data


@pytest.fixture(scope="module")
def pages() -> Mapping[str, str]:
    """The text of each page by its name."""
    return dict(man.pages())


def test_each_command_has_a_page_and_each_page_is_listed(pages: Mapping[str, str]) -> None:
    assert {"loadstone.1", *(f"loadstone-{name}.1" for name in COMMANDS)} <= pages.keys()
    assert {"loadstone-sandbox-start.1", "loadstone-workload-from-digest.1"} <= pages.keys()
    named = re.findall(r"^\.BR (\S+) \(1\)", "\n".join(pages.values()), re.MULTILINE)
    assert {f"{name}.1".replace("\\-", "-") for name in named} == pages.keys()


def test_a_page_has_all_options_of_its_command(pages: Mapping[str, str]) -> None:
    context = click.Context(app, info_name="loadstone")
    run = app.get_command(context, "run")
    assert run is not None
    options = [each for each in run.params if isinstance(each, Option) and not each.hidden]
    assert any(each.rare for each in options), "those of --help-all, too"
    page = pages["loadstone-run.1"].replace("\\-", "-")
    heads = [line for line in page.splitlines() if line.startswith(".B -")]
    lacking = [each.opts[0] for each in options if not any(each.opts[0] in one for one in heads)]
    assert lacking == []
    assert "loadstone run oltp_read_write" in page


def test_the_programs_page_has_commands_and_exit_codes(pages: Mapping[str, str]) -> None:
    page = pages["loadstone.1"].replace("\\-", "-")
    assert ".SH EXIT STATUS" in page and ".B 99\nThe run or comparison is complete" in page
    assert "LOADSTONE_PASSWORD" in page


def test_the_gates_page_has_what_it_reads_and_what_it_writes(pages: Mapping[str, str]) -> None:
    page = pages["loadstone-gate.1"].replace("\\-", "-")
    for name in ("RUN", "FOLDER", "NAME", "REPEATS", "FAIL_ON", "THRESHOLD"):
        assert f".TP\n.B {name}\n" in page
    assert "Writes FOLDER/comment.md" in page and "99 is a failed gate" in page


READERS = {
    "groff": ("-ww", "-z", "-man", "-Tutf8"),
    "mandoc": ("-T", "lint", "-W", "warning"),
}


@pytest.mark.slow
@pytest.mark.parametrize("reader", READERS)
def test_readers_of_manuals_warn_of_nothing(reader: str, tmp_path: Path) -> None:
    if shutil.which(reader) is None:
        pytest.skip(f"there is no {reader} here: apt-get install {reader}")
    man.write(tmp_path)
    written = sorted(tmp_path.iterdir())
    assert len(written) > 30
    said = [
        subprocess.run([reader, *READERS[reader], path], capture_output=True, text=True)
        for path in written
    ]
    assert [one.stdout + one.stderr for one in said if one.stdout or one.stderr] == []


def test_odd_signs_are_printed_as_they_are_written() -> None:
    assert man.escaped(r".a\b-c…") == r"\&.a\eb\-c\[u2026]"


def test_a_wheels_data_is_complete_and_the_same_each_time(tmp_path: Path) -> None:
    for name in ("first", "second"):
        wheel_data.write(tmp_path / name)
    first, second = (
        {path.relative_to(top): path.read_bytes() for path in top.rglob("*") if path.is_file()}
        for top in (tmp_path / "first", tmp_path / "second")
    )
    assert first == second
    for place in wheel_data.COMPLETION.values():
        assert b"_LOADSTONE_COMPLETE" in first[Path(place)]
    schema = json.loads(first[Path("share/loadstone/experiment.schema.json")])
    assert "workload" in schema["properties"]
