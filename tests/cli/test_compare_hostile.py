"""Folders that are hostile or damaged: one clear line or an honest comparison, never a crash."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.test_compare import RUN, a_run, undisturbed
from loadstone.cli.errors import exit_code_of
from scripted_engine import Script

__all__ = ["undisturbed"]  # a fixture for each test here

HUGE = 10**12
"""More steps than any run has: a loop that counts up to it never ends."""


@pytest.fixture
def runs(script: Script) -> tuple[Path, Path]:
    """Two good runs; a test damages the second one."""
    a, b = a_run(script, "before", 100, "--repeats", "2"), a_run(script, "after", 80)
    return a, b


def in_result(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    """Change a part of result.json."""

    def damage(run: Path) -> None:
        document = json.loads((run / "result.json").read_text())
        change(document)
        (run / "result.json").write_text(json.dumps(document))

    return damage


def of_step(**values: object) -> Callable[[Path], None]:
    return in_result(lambda document: document["steps"][0].update(values))


def text_in(name: str, pattern: str, text: str) -> Callable[[Path], None]:
    def damage(run: Path) -> None:
        content, replaced = re.subn(pattern, text, (run / name).read_text(), count=1)
        assert replaced
        (run / name).write_text(content)

    return damage


def written(name: str, content: bytes) -> Callable[[Path], None]:
    def damage(run: Path) -> None:
        (run / name).write_bytes(content)

    return damage


def cut(name: str, left: float = 0.5) -> Callable[[Path], None]:
    """Cut a file off, as if a copy of it had been interrupted."""

    def damage(run: Path) -> None:
        content = (run / name).read_bytes()
        (run / name).write_bytes(content[: int(left * len(content))])

    return damage


def without(*names: str) -> Callable[[Path], None]:
    def damage(run: Path) -> None:
        for name in names:
            (run / name).unlink()

    return damage


def emptied(run: Path) -> None:
    shutil.rmtree(run)
    run.mkdir()


def nothing_done(run: Path) -> None:
    """Killed before its first line was written."""
    without("result.json")(run)
    (run / "journal.jsonl").write_bytes(b"")


MENDED: dict[str, Callable[[Path], None]] = {
    "result cut off": cut("result.json"),
    "result of another version": in_result(lambda document: document.update(version=2)),
    "result with a key too many": in_result(lambda document: document.update(unheard=1)),
    "result that is a list": written("result.json", b"[]\n"),
    "result that is no text": written("result.json", b"\xff\xfe\x00"),
    "a rate that is no number": text_in("result.json", r'"tps": [0-9.]+', '"tps": NaN'),
    "a rate without end": text_in("result.json", r'"tps": [0-9.]+', '"tps": 1e999'),
    "a rate below zero": of_step(tps=-5.0, qps=-5.0),
    "environment cut off": cut("environment.json"),
    "environment that is a list": written("environment.json", b"[]"),
    "environment gone": without("environment.json"),
    "run.json of another version": text_in("run.json", r'"version": *1', '"version": 9, "x": 1'),
    "run.json gone": without("run.json"),
    "latencies that are no text": written("latency.hlog", b"\x00\xff" * 500),
    "journal's last line cut off": cut("journal.jsonl", 0.999),
}
"""There is enough to compare, or the journal supplies what is missing."""

REFUSED: dict[str, Callable[[Path], None]] = {
    "empty": emptied,
    "nothing in the journal": nothing_done,
    "only the journal": without("latency.hlog", "result.json"),
    "journal of another version": written("journal.jsonl", b'{"kind":"unheard"}\n'),
    "journal that is no text": written("journal.jsonl", b"\xff\xfe\n"),
    "no step": in_result(lambda document: document.update(steps=[])),
}
"""There is nothing to compare."""


def told(capsys: pytest.CaptureFixture[str]) -> str:
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    assert len([line for line in err.splitlines() if line.startswith("error: ")]) <= 1
    return out + err


@pytest.mark.parametrize("name", MENDED)
def test_what_can_be_mended_is_compared(
    name: str, runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = runs
    MENDED[name](b)
    capsys.readouterr()
    # Damage never turns a failure into a pass: the rate fell by a fifth.
    assert exit_code_of(["compare", str(a), str(b), "--fail-on", "tps<-5%"]) == 99
    assert "tps<-5% failed: tps -1" in told(capsys)
    assert exit_code_of(["compare", str(b), str(a), "--json"]) == 0
    json.loads(told(capsys))
    assert exit_code_of(["runs", "trend", str(a), str(b), "--json"]) == 0
    json.loads(told(capsys))


@pytest.mark.parametrize("name", REFUSED)
def test_what_says_nothing_is_one_line(
    name: str, runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = runs
    REFUSED[name](b)
    for words in (["compare", str(a), str(b)], ["compare", str(b), str(a)]):
        capsys.readouterr()
        assert exit_code_of([*words, "--fail-on", "tps<-5%"]) in (2, 8)
        said = told(capsys)
        assert "error: " in said
        assert b.name in said


@pytest.mark.parametrize("number", [0, -1, HUGE])
def test_steps_that_are_not_of_the_experiment_are_compared_without_it(
    number: int,
    script: Script,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Somebody put the files of two runs into one folder."""
    plain = a_run(script, "plain", 100)
    recipe = experiment_folder(script, monkeypatch)
    shutil.copy(recipe / "run.json", plain / "run.json")
    of_step(step=number)(plain)
    capsys.readouterr()
    assert exit_code_of(["compare", str(plain), str(recipe), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {"default", ""} & {level["context"] for level in document["levels"]}


def experiment_folder(script: Script, monkeypatch: pytest.MonkeyPatch) -> Path:
    from experiment.test_experiment import made_up, with_tables

    monkeypatch.setattr("loadstone.experiments.servers.described", made_up)
    monkeypatch.setattr("loadstone.experiments.servers.inspect_target", with_tables)
    monkeypatch.setattr("loadstone.experiments.servers.confirm_tables", lambda *_: None)
    monkeypatch.setattr("loadstone.experiments.hosts.Loads.reload", lambda *_: None)
    words = ["duration=4s", "warmup=0s", "users=4", "repeats=2"]
    words += ["off=mysql://b@127.0.0.1:3301/s", "on=mysql://b@127.0.0.1:3302/s"]
    given = [word for each in words for word in ("--set", each)]
    assert exit_code_of(["recipes", "run", "thread-pool", "--quick", "--no-observe", *given]) == 0
    (found,) = Path("runs").glob("thread-pool-*")
    return found


@pytest.mark.parametrize("words", [["--repeats", "0"], ["--concurrency", "0"]])
def test_nothing_is_ever_measured_no_times(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code_of([*RUN, *words]) == 2
    assert "error: " in told(capsys)
    assert not Path("runs").exists()
