"""The page's files: no markup made of text, nothing inline, and each text in each language."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files
from typing import Any, get_args

import pytest

from loadstone.analyse.differences import Group as OfDifferences
from loadstone.analyse.meaning import Weight
from loadstone.model.finding import Group, ProofVerdict
from loadstone.model.language import Language, translating
from loadstone.model.message import say
from loadstone.model.numbers import digits
from loadstone.model.result import RunState, StepState
from loadstone.report.figures.live import TIMELINES, ladder
from loadstone.web.access import policy
from loadstone.web.localize import translations
from loadstone.web.pages import EARLY, PAGE, pages
from loadstone.web.theme_export import NAMES, shared

STATIC = files("loadstone.web").joinpath("static")
SCRIPTS = sorted(
    name for name in (*pages(), EARLY) if name.endswith(".js") and not name.startswith("echarts")
)
NODE = shutil.which("node")


def text(name: str) -> str:
    return STATIC.joinpath(name).read_text()


@pytest.mark.parametrize("script", SCRIPTS)
def test_no_script_parses_text_as_markup_or_code(script: str) -> None:
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|srcdoc"
    )
    assert not re.findall(forbidden, text(script))
    # A style or a handler as an attribute would be refused by the policy.
    assert not re.findall(r"""setAttribute\("(style|on)|style: ["`]|cssText""", text(script))


def test_nothing_in_the_page_is_inline_but_the_script_that_asks_early() -> None:
    class Reader(HTMLParser):
        found: list[str] = []

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            names = dict(attrs)
            if names == {"data-file": EARLY}:
                return
            self.found += [name for name in names if name == "style" or name.startswith("on")]
            if tag == "style" or (tag == "script" and "src" not in names):
                self.found.append(tag)
            for link in (names.get("src"), names.get("href")):
                if link and not link.startswith(("/static/", "#")):
                    self.found.append(link)

    reader = Reader()
    reader.feed(text(PAGE))
    assert reader.found == []


def test_the_page_allows_the_script_within_it_by_its_hash() -> None:
    page = pages()[PAGE]
    (script,) = re.findall(rb"<script>(.*?)</script>", page.content, flags=re.DOTALL)
    assert script == STATIC.joinpath(EARLY).read_bytes()
    hashed = b64encode(sha256(script).digest()).decode()
    assert page.policy == policy(f"'self' 'sha256-{hashed}'")
    assert b"data-file" not in page.content


def texts_of_the_page() -> set[str]:
    """Texts in the page's code, in English, which are shown in other languages too."""
    said = set(re.findall(r'data-text="([^"]+)"', text(PAGE)))
    for script in SCRIPTS:
        said |= set(re.findall(r'\bt\(\s*"((?:[^"\\]|\\.)+)"', text(script)))
        said |= set(re.findall(r'charts\.draw\([^;]*?"([A-Z][^"]+\.)"\)', text(script)))
    for figure in TIMELINES.values():
        said |= {figure.title, figure.about, *figure.axes, *(line.name for line in figure.lines)}
    options = [ladder([], by_rate=by_rate) for by_rate in (False, True)]
    said |= {option["xAxis"]["name"] for option in options}
    return said | {options[0]["yAxis"][0]["name"], "this second"}


@pytest.mark.parametrize("language", translating(), ids=lambda one: one.code)
def test_the_page_is_given_each_of_its_texts_with_the_same_places_to_fill(
    language: Language,
) -> None:
    given, wanted = shared()["texts"][language.code], texts_of_the_page()
    assert len(wanted) > 80
    assert wanted - given.keys() == set()
    for english in wanted:
        # A text about one thing may contain the number in a language that has a single plural form.
        places = set(re.findall(r"\{\w+\}", english)) ^ set(re.findall(r"\{\w+\}", given[english]))
        assert places <= ({"{number}"} if english.startswith("1 ") else set()), english


def run_by_node(code: str) -> Any:
    """Run the page's text script in Chinese; returns its answer."""
    if NODE is None:
        pytest.skip("not evaluated: there is no node to run the page's scripts")
    source = re.sub(r"^(import .*|export (?=function))", "", text("words.js"), flags=re.MULTILINE)
    known = shared()
    given = (
        f"const texts = {json.dumps(known['texts'])}; const names = {json.dumps(known['names'])};"
        f"const joins = {json.dumps(known['joins'])};"
        'const stored = () => "zh"; const keep = () => {};'
        "const element = (tag, attributes, inside) => [tag, attributes, inside];"
    )
    said = subprocess.run(
        [NODE, "--input-type=module", "-"],
        input=f"{given}\n{source}\nconsole.log(JSON.stringify({code}));",
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(said.stdout)


def test_the_script_fills_texts_and_names_in_the_chosen_language() -> None:
    assert run_by_node('t("step {number} of {planned}", { number: 2, planned: 3 })') == (
        "步骤 2，共 3 个步骤"
    )
    assert run_by_node("[1, 64].map(users)") == ["1 并发", "64 并发"]
    assert run_by_node('t("what nobody translated")') == "what nobody translated"
    assert run_by_node('["running", "toString"].map((one) => named("states", one))') == [
        "进行中",
        "toString",
    ]


def test_the_script_joins_as_the_language_does() -> None:
    assert run_by_node('listed(["a", null, "", "b"])') == "a、b"
    assert run_by_node('pair("a", bracketed("b", percent(0.05)))') == "a：b（5.0%）"


def test_the_script_rounds_as_the_terminal_does() -> None:
    values = [220.5, 102.5, 103.5, 17.25, 0.03125, 1234.5]
    assert run_by_node(f"{values}.map(number)") == [digits(one) for one in values]


def test_the_script_says_what_it_hears_in_the_chosen_language() -> None:
    known = json.dumps(translations([say("{run} has no such level", run="r1")]))
    heard = f'(hear({known}), ["r1 has no such level", "x"].map((one) => speech("p", one)))'
    assert run_by_node(heard) == [
        ["p", {"lang": None}, "r1 没有该场景"],
        ["p", {"lang": "en"}, "x"],
    ]
    assert run_by_node(f'(hear({known}), spoken("r1 has no such level"))') == "r1 没有该场景"


def test_what_is_shown_by_its_name_has_one_in_each_language() -> None:
    for lang, names in shared()["names"].items():
        assert set(get_args(Group)) == names["groups"].keys(), lang
        assert set(get_args(OfDifferences)) == names["difference_groups"].keys(), lang
        assert set(get_args(ProofVerdict)) == names["proof_verdicts"].keys(), lang
        assert set(get_args(Weight)) == names["weights"].keys(), lang
        assert {*get_args(RunState), *get_args(StepState), "damaged"} == names["states"].keys()
    asked = {name for script in SCRIPTS for name in re.findall(r'named\("(\w+)"', text(script))}
    assert asked == set(NAMES)
