"""The table of `make trust`: what is broken or left out never looks like a promise kept."""

from __future__ import annotations

import io
import json
import sys
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from benches.place import ROOT, conditions
from benches.soak import Soaked
from soaked import GOOD
from tools import trust
from tools.trust import BROKEN, HOLDS, UNKNOWN, Held, Promise

FILES = {
    "test_good.py": """
def test_it_counts(record_property):
    record_property("inputs tried", 7)
def test_it_counts_again(record_property):
    record_property("inputs tried", 5)
""",
    "test_bad.py": "def test_a(): pass\ndef test_that_fails(): assert 0\n",
    "test_skipped.py": "import pytest\n@pytest.mark.skip('no server')\ndef test_a(): pass\n",
    "test_nowhere.py": "import pytest\npytest.skip('no dist/ here', allow_module_level=True)\n",
    "test_damaged.py": "def test_a(: pass\n",
    "test_empty.py": "",
}


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Held]:
    """The outcome of real tests that pass, fail, are skipped, cannot be read, or do not exist."""
    place = tmp_path_factory.mktemp("project")
    (place / "tests").mkdir()
    settings = '[tool.pytest.ini_options]\njunit_family = "xunit1"\n'
    (place / "pyproject.toml").write_text(f'{settings}addopts = ["--import-mode=importlib"]\n')
    for name, content in FILES.items():
        (place / "tests" / name).write_text(content)
    return trust.python_tests((f"tests/{name}" for name in FILES), place)


@pytest.mark.parametrize(
    ("name", "verdict", "why"),
    [
        ("good", HOLDS, []),
        ("bad", BROKEN, ["failed: test_that_fails"]),
        ("skipped", UNKNOWN, ["no server"]),
        ("nowhere", UNKNOWN, ["no dist/ here"]),
        ("damaged", BROKEN, ["failed: tests.test_damaged"]),
        ("empty", BROKEN, ["no test of it came to an end"]),
    ],
)
def test_each_file_of_tests_has_its_verdict(
    held: dict[str, Held], name: str, verdict: str, why: list[str]
) -> None:
    found = held[f"tests/test_{name}.py"]
    assert (found.verdict, found.why) == (verdict, why)


def test_what_tests_have_counted_is_added_up(held: dict[str, Held]) -> None:
    assert held["tests/test_good.py"].lines == ["2 tests", "12 inputs tried"]


def test_a_promise_is_as_good_as_the_worst_of_its_tests() -> None:
    good, unknown, bad = Held(passed=1), Held(skipped=1), Held(passed=9, failed=1)
    for helds, verdict in (
        ((good, good), HOLDS),
        ((good, unknown), UNKNOWN),
        ((bad, unknown, good), BROKEN),
    ):
        assert Promise("", dict(zip("abc", helds, strict=False))).verdict == verdict


@pytest.fixture
def found() -> list[Promise]:
    figures = Held(passed=3, figures=Counter({"inputs tried": 1200, "secrets found": 0}))
    unknown = Held(skipped=1, why=["no server"])
    return [
        Promise("Nothing is lost", {"tests/a.py": figures, "tests/b.py": unknown}),
        Promise("Nothing is leaked", {"tests/a.py": figures}),
    ]


def test_the_table_has_each_promise_its_tests_and_the_sums_of_their_figures(
    found: list[Promise],
) -> None:
    out = io.StringIO()
    trust.show(found, Console(file=out, width=120))
    lines = out.getvalue().splitlines()
    (head,) = (line for line in lines if "verdict" in line and "figures" in line)
    at = [head.index(word) for word in ("verdict", "promise", "test", "figures")]
    (row,) = (line for line in lines if "Nothing is lost" in line)
    words = ("holds", "Nothing is lost", "tests/a.py", "3 tests")
    assert [row.index(word) for word in words] == at
    below = [line[at[3] :].split("│")[0].strip() for line in lines]
    first = below.index("3 tests")
    assert below[first : first + 3] == ["3 tests", "1,200 inputs tried", "0 secrets found"]
    assert any("not evaluated" in line and "tests/b.py" in line for line in lines)
    # Both promises have the same test, which ran once.
    assert any("in all" in line and "1,200 inputs tried" in line for line in lines)
    assert lines[-1] == "2 promises: 1 holds, 1 not evaluated, 0 BROKEN"


def test_programs_read_the_same(found: list[Promise]) -> None:
    told = json.loads(json.dumps(trust.document(found)))
    assert told["verdicts"] == {UNKNOWN: 1, HOLDS: 1}
    assert told["figures"] == {"inputs tried": 1200, "secrets found": 0}
    first, second = told["promises"][0]["tests"]
    assert (first["test"], first["verdict"], first["passed"]) == ("tests/a.py", HOLDS, 3)
    assert (second["verdict"], second["why"]) == (UNKNOWN, ["no server"])


def keep(folder: Path, soaked: Soaked, stamp: str = "1", **there: str) -> None:
    """Store a measurement as a bench does."""
    kept: dict[str, Any] = {
        "conditions": conditions(None) | {"date": f"of {stamp}"} | there,
        "soak": {"title": "Soak", "readings": [asdict(soaked)]},
    }
    (folder / f"{stamp}.json").write_text(json.dumps(kept))


def test_a_soak_that_was_kept_is_judged_again(tmp_path: Path) -> None:
    assert trust.soaked(tmp_path).verdict == UNKNOWN
    keep(tmp_path, GOOD)
    held = trust.soaked(tmp_path)
    assert held.verdict == HOLDS
    assert held.figures["faults injected"] == 60
    assert held.figures["events accounted for"] == GOOD.account.due
    assert held.figures["events unaccounted"] == 0
    assert held.why[0].startswith("memory of its own grows by, MB an hour: +0.00")
    assert held.why[1] == "2,000 users for 60 minutes, of 1"
    keep(tmp_path, replace(GOOD, account=replace(GOOD.account, unaccounted=3)), "2")
    assert trust.soaked(tmp_path).verdict == BROKEN
    assert trust.soaked(tmp_path).figures["events unaccounted"] == 3


@pytest.mark.parametrize(
    "there", [{"machine": "another"}, {"programs": "loadstone 0.0.0"}, {"kernel": "another"}]
)
def test_a_soak_of_elsewhere_says_nothing_here(tmp_path: Path, there: dict[str, str]) -> None:
    keep(tmp_path, GOOD, **there)
    held = trust.soaked(tmp_path)
    assert (held.verdict, held.figures) == (UNKNOWN, {})


def test_a_soak_with_other_fields_is_another_versions(tmp_path: Path) -> None:
    keep(tmp_path, GOOD)
    kept = json.loads((tmp_path / "1.json").read_text())
    del kept["soak"]["readings"][0]["users"]
    (tmp_path / "1.json").write_text(json.dumps(kept))
    assert trust.soaked(tmp_path).verdict == UNKNOWN


def test_a_short_soak_is_told_and_is_not_enough(tmp_path: Path) -> None:
    keep(tmp_path, GOOD)
    short = replace(GOOD, minutes=10, faults=GOOD.faults[:10], memory=GOOD.memory[:10])
    account = replace(GOOD.account, seconds=600)
    keep(tmp_path, replace(short, account=account), "2")
    assert trust.soaked(tmp_path).verdict == HOLDS  # of the hour
    (tmp_path / "1.json").unlink()
    held = trust.soaked(tmp_path)
    assert (held.verdict, held.failed) == (UNKNOWN, 0)
    assert held.figures["faults injected"] == 10
    assert held.why[-1] == "not for 60 minutes: make soak"


def test_each_place_that_the_page_names_is_there() -> None:
    page = trust.PAGE.read_text()
    table = page[: page.index("\n## ")]
    rows = list(trust.promises_of(page))
    assert len({text for text, _ in rows}) == len(rows) > 20
    assert len(rows) == sum(" | `" in line for line in table.splitlines())
    for text, places in rows:
        assert "](" not in text
        assert places
        for place in places:
            assert (ROOT / place).exists(), place


def test_a_program_that_cannot_evaluate_all_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trust, "PROJECT", tmp_path)
    asks = tmp_path / "asks"
    for script, verdict in (
        ("true", HOLDS),
        ("echo 'advisories: not evaluated (no way there)'", UNKNOWN),
        ("exit 3", BROKEN),
    ):
        asks.write_text(f"#!/bin/sh\n{script}\n")
        asks.chmod(0o755)
        assert trust.program(str(asks)).verdict == verdict


def test_the_command_line_has_one_option(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["trust", "--help"])
    with pytest.raises(SystemExit) as ended:
        trust.main()
    said = capsys.readouterr()
    assert (ended.value.code, said.err) == (0, "")
    assert "--json" in said.out


def test_each_attack_stands_in_the_table() -> None:
    """`make trust` would never run a file of tests/trust that no row names."""
    named = {place for _, places in trust.promises_of(trust.PAGE.read_text()) for place in places}
    attacks = {f"tests/trust/{each.name}" for each in (ROOT / "tests/trust").glob("test_*.py")}
    assert attacks and attacks <= named, attacks - named
    missing = [each for each in named if each.startswith("tests/") and not (ROOT / each).exists()]
    assert not missing
