"""A cause is a file: its rule is found, its title is known, and nothing else lists it."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from loadstone.diagnosis.rule_files import rules_in

ONE = """
from loadstone.diagnosis.rule import Rule
from loadstone.model.message import say
RULE = Rule("{cause}", say("{cause}"), lambda case: None)
"""


def test_each_file_of_a_folder_brings_its_rules(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "made_up_rules"
    (folder / "family").mkdir(parents=True)
    for name, cause in (("b", "second"), ("a", "first"), ("family/c", "of-a-family")):
        (folder / f"{name}.py").write_text(ONE.format(cause=cause))
    (folder / "family" / "__init__.py").write_text("")
    (folder / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    package: ModuleType = __import__("made_up_rules")
    assert [rule.cause for rule in rules_in(package)] == ["first", "second"]
    for name in [name for name in sys.modules if name.startswith("made_up_rules")]:
        del sys.modules[name]
