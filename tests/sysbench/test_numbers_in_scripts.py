"""Numbers that scripts draw, and what is said of a call without a range."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from loadstone.sysbench import program

pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")

Printing = Callable[[str], list[str]]


@pytest.fixture
def printed_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Printing:
    """What `prepare` of a script with this body prints."""

    def run(body: str) -> list[str]:
        (tmp_path / "drawing.lua").write_text(f"function prepare()\n{body}\nend")
        program.main(["drawing.lua", "prepare"])
        return capsys.readouterr().out.splitlines()[2:]

    monkeypatch.chdir(tmp_path)
    return run


COUNTING = """
local function count(low, high)
  local seen, found, within = {}, 0, true
  for _ = low, high do
    local number = sb_rand_uniq(low, high)
    found = found + (seen[number] and 0 or 1)
    within = within and number >= low and number <= high
    seen[number] = true
  end
  print(found, within)
end
"""


@pytest.mark.parametrize(("low", "high"), [(1, 100_000), (1, 1), (5, 14), (0, 4095), (-3, 3)])
def test_sb_rand_uniq_gives_each_number_of_a_range_once(
    low: int, high: int, printed_by: Printing
) -> None:
    said = printed_by(f"{COUNTING}count({low}, {high})")
    assert said == [f"{high - low + 1}\ttrue"]


def test_ranges_do_not_disturb_each_other(
    printed_by: Printing,
) -> None:
    body = """
    local one, other = {}, {}
    for _ = 1, 50 do one[sb_rand_uniq(1, 50)], other[sb_rand_uniq(101, 150)] = true, true end
    local all = 0
    for id = 1, 50 do all = all + (one[id] and 1 or 0) + (other[100 + id] and 1 or 0) end
    print(all, type(sb_rand_uniq()))
    """
    assert printed_by(body) == ["100\tnumber"]


@pytest.mark.parametrize(
    ("call", "position", "name", "kind"),
    [
        ("sysbench.rand.uniform()", 1, "uniform", "nil"),
        ("sysbench.rand.default(1)", 2, "default", "nil"),
        ("sysbench.rand.pareto('a', 2)", 1, "pareto", "string"),
        ("sb_rand(1)", 2, "sb_rand", "nil"),
        ("sb_rand_special('x', 'y')", 1, "sb_rand_special", "string"),
    ],
)
def test_a_draw_without_a_range_names_the_function_and_the_line(
    call: str, position: int, name: str, kind: str, printed_by: Printing
) -> None:
    (line,) = printed_by(f"print({call})")
    why = f"bad argument #{position} to '{name}' (cannot convert '{kind}' to 'unsigned int')"
    assert line == f"FATAL: `prepare' function failed: drawing.lua:2: {why}"


def test_options_of_0_5_are_texts_and_may_be_a_range(
    printed_by: Printing,
) -> None:
    body = "print(sb_rand('5', '5'), sb_rand_uniq('7', '7'))"
    assert printed_by(body) == ["5\t7"]


def test_only_the_functions_of_sysbench_rand_are_there(
    printed_by: Printing,
) -> None:
    body = "for name in pairs(sysbench.rand) do print(name) end"
    names = set(printed_by(body))
    of_1_0 = {"default", "uniform", "special", "gaussian", "pareto", "string", "unique"}
    assert names == of_1_0 | {"uniform_double", "uniform_uint64", "zipfian", "varstring"}
