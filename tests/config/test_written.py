"""Tables as types: what pydantic refuses is reported with line, key and what to write."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import pytest
from pydantic import Field

from loadstone.config import kinds
from loadstone.config.problems import ExperimentRefused
from loadstone.config.written import Fault, Tables, Written, read, table
from loadstone.model.language import in_language


class Part(Written):
    count: kinds.Count = 1
    share: float = Field(0.5, gt=0, lt=1, examples=["share = 0.5"])
    number: int = Field(1, ge=1, le=9, examples=["number = 3"])
    word: Literal["one", "two"] = "one"
    is_on: bool = False
    called: kinds.Text = Field("", alias="as")

    def unfit(self) -> Iterator[Fault]:
        if self.is_on:
            yield from self.misplaced(["as"], "leave it out", "what is on has no name")


class File(Written):
    url: kinds.Text = Field(examples=['url = "x"'])
    piece: Tables[Part] = []
    named: dict[kinds.Text, Part] = {}
    length: Annotated[int, table(Part, lambda **given: len(given))] = 0


GOOD = 'url = "x"\n'


def faults(text: str) -> list[tuple[str, str]]:
    with pytest.raises(ExperimentRefused) as refused:
        read(File, text, "x.toml", ExperimentRefused)
    return [(str(fault), fault.write) for fault in refused.value.faults]


def test_a_table_is_read_and_knows_what_was_given() -> None:
    found, problems = read(
        File, f'{GOOD}length = {{ count = "2k" }}\n[piece]\nas = "a"', "x.toml", ExperimentRefused
    )
    assert (found.piece, found.length) == ([Part.model_validate({"as": "a"})], 1)
    assert found.piece[0].given == {"called": "a"}
    assert problems.found == [] and problems.line(("piece", "as")) == 4


@pytest.mark.parametrize(
    ("text", "said", "write"),
    [
        ("", "1: no url", 'write url = "x"'),
        (f"{GOOD}ulr = 1", "2: ulr: there is no such key", "did you mean url?"),
        (f"{GOOD}zzz = 1", "2: zzz: there is no such key", "there are url, piece, named, length"),
        (f"{GOOD}piece = 3", "2: piece: 3 is not a list of at least one", "docs/experiments.md"),
        (f"{GOOD}[[piece]]\nass = 1", "3: piece[1].ass: there is no such key", "did you mean as?"),
        (f"{GOOD}[piece]\ncount = 0", "3: piece.count: 0 is not a number from 1", "1 or more"),
        (f"{GOOD}[piece]\nshare = 1", "3: piece.share: 1 is not below 1", "write share = 0.5"),
        (f'{GOOD}[piece]\nshare = "1"', '3: piece.share: "1" is not a number', "write share = 0.5"),
        (f"{GOOD}[piece]\nnumber = 0", "3: piece.number: 0 is below 1", "write number = 3"),
        (f"{GOOD}[piece]\nnumber = 10", "3: piece.number: 10 is above 9", "write number = 3"),
        (
            f"{GOOD}[piece]\nnumber = true",
            "3: piece.number: true is not a",
            "write number = 3",
        ),
        (f'{GOOD}[piece]\nword = "on"', '3: piece.word: "on" is not one of "one", "two"', "one?"),
        (
            f"{GOOD}[piece]\nis_on = 1",
            "3: piece.is_on: 1 is neither true nor false",
            "true or false",
        ),
        (
            f'{GOOD}[piece]\nis_on = true\nas = "a"',
            "4: piece.as: what is on has no name",
            "leave it out",
        ),
        (f'{GOOD}[named]\n" " = {{}}', '3: named. : " " is not a text', "between quotes"),
        (f"{GOOD}named.a = 3", "2: named.a: 3 is not a table", "keys with their values"),
        (f"{GOOD}[[named.a]]\nn = 3", "2: named.a: a list is not a table", "[[name]] makes a list"),
        (f"{GOOD}length.cuont = 3", "2: length.cuont: there is no such key", "count?"),
        ("a = ", "1: it is not TOML: ", "write key = value"),
    ],
)
def test_what_is_wrong_is_told_where_it_stands(text: str, said: str, write: str) -> None:
    ((found, remedy),) = faults(text)
    assert found.startswith(said)
    assert write in remedy


def test_all_that_is_wrong_is_told_at_once() -> None:
    text = "urls = 1\n[[piece]]\ncount = 0\nshare = 2\n[[piece]]\n[[piece]]\nis_on = 3\n"
    assert [found.split(": ")[:2] for found, _ in faults(text)] == [
        ["1", "no url"],
        ["1", "urls"],
        ["3", "piece[1].count"],
        ["4", "piece[1].share"],
        ["7", "piece[3].is_on"],
    ]


def test_what_is_wrong_can_be_said_in_chinese() -> None:
    text = f'{GOOD}ulr = 1\n[piece]\nnumber = 0\nword = "on"\nis_on = true\nas = ""\n'
    with pytest.raises(ExperimentRefused) as refused:
        read(File, text, "x.toml", ExperimentRefused)
    chinese = in_language("zh")
    assert chinese(refused.value.message) == (
        "x.toml:2: ulr：没有这个键；4: piece.number：0 小于 1；"
        '5: piece.word："on" 不在 "one"、"two" 之中；7: piece.as："" 不是文本'
    )
    assert chinese(refused.value.hint or "") == "您是否想写 url？"
    assert [chinese(fault.said) for fault in refused.value.faults[1:]] == [
        "4: piece.number：0 小于 1",
        '5: piece.word："on" 不在 "one"、"two" 之中',
        '7: piece.as："" 不是文本',
    ]


def test_each_problem_has_a_line_to_which_an_editor_can_jump_and_its_own_hint() -> None:
    wrong = "\n".join(f"[[piece]]\nass = {number}" for number in range(7))
    with pytest.raises(ExperimentRefused) as refused:
        read(File, f"ulr = 1\n{wrong}", "x.toml", ExperimentRefused)
    *each, last = map(str, refused.value.lines)
    assert each[:3] == [
        'x.toml:1: no url; write url = "x"',
        "x.toml:1: ulr: there is no such key; did you mean url?",
        "x.toml:3: piece[1].ass: there is no such key; did you mean as?",
    ]
    assert (len(each), last) == (9, "x.toml: 9 problems")
    with pytest.raises(ExperimentRefused) as refused:
        read(File, f"{GOOD}ulr = 1", "x.toml", ExperimentRefused)
    assert refused.value.lines == ()
