"""The page's files: no markup made of text, nothing inline, and each text in each language."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from importlib.resources import files
from typing import get_args

import pytest

from loadstone.analyse.differences import Group as OfDifferences
from loadstone.analyse.meaning import Weight
from loadstone.analyse.verdict import Word
from loadstone.model.finding import Group, ProofVerdict
from loadstone.model.result import RunState, StepState
from loadstone.report.figures.live import TIMELINES, ladder
from loadstone.web.pages import PAGE, pages
from loadstone.web.theme_export import NAMES, shared

STATIC = files("loadstone.web").joinpath("static")
SCRIPTS = sorted(
    name for name in pages() if name.endswith(".js") and not name.startswith("echarts")
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


def test_nothing_in_the_page_is_inline() -> None:
    class Reader(HTMLParser):
        inside = ""
        found: list[str] = []

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            self.inside = tag
            names = dict(attrs)
            self.found += [name for name in names if name == "style" or name.startswith("on")]
            if tag == "style" or (tag == "script" and "src" not in names):
                self.found.append(tag)
            for link in (names.get("src"), names.get("href")):
                if link and not link.startswith(("/static/", "#")):
                    self.found.append(link)

    reader = Reader()
    reader.feed(text(PAGE))
    assert reader.found == []


def texts_of_the_page() -> set[str]:
    """What stands in the code in English, to be shown in other languages too."""
    said = set(re.findall(r'data-text="([^"]+)"', text(PAGE)))
    for script in SCRIPTS:
        said |= set(re.findall(r'\bt\(\s*"((?:[^"\\]|\\.)+)"', text(script)))
        said |= set(re.findall(r'charts\.draw\([^;]*?"([A-Z][^"]+\.)"\)', text(script)))
    for figure in TIMELINES.values():
        said |= {figure.title, figure.about, *figure.axes, *(line.name for line in figure.lines)}
    options = [ladder([], by_rate=by_rate) for by_rate in (False, True)]
    said |= {option["xAxis"]["name"] for option in options}
    return said | {options[0]["yAxis"][0]["name"], "this second"}


@pytest.fixture(scope="module")
def chinese() -> dict[str, str]:
    """The page's own texts as the browser has them."""
    if NODE is None:
        pytest.skip("not evaluated: there is no node to read the page's scripts")
    source = re.sub(r"^import .*$", "", text("words.js"), flags=re.MULTILINE)
    said = subprocess.run(
        [NODE, "--input-type=module", "-"],
        input=f"{source}\nconsole.log(JSON.stringify(WORDS.zh));",
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, str] = json.loads(said.stdout)
    return found


def test_each_text_is_in_chinese_once_with_the_same_places_to_fill(
    chinese: dict[str, str],
) -> None:
    of_the_report = shared()["texts"]["zh"]
    wanted = texts_of_the_page()
    assert len(wanted) > 80
    assert wanted - chinese.keys() - of_the_report.keys() == set()
    assert chinese.keys() & of_the_report.keys() == set()
    # Nor is anything kept that nobody says.
    assert of_the_report.keys() - wanted == set()
    for english, translated in chinese.items():
        places = re.findall(r"\{\w+\}", english)
        assert sorted(places) == sorted(re.findall(r"\{\w+\}", translated)), english


def test_what_is_shown_by_its_name_has_one_in_each_language(chinese: dict[str, str]) -> None:
    # Of a run that goes on, or cannot be read, there is no report to have a word for it.
    states = {*get_args(RunState), *get_args(StepState)}
    for lang, names in shared()["names"].items():
        assert set(get_args(Group)) == names["groups"].keys(), lang
        assert set(get_args(ProofVerdict)) == names["proof_verdicts"].keys(), lang
        assert set(get_args(Word)) == names["verdict_words"].keys(), lang
        assert set(get_args(Weight)) == names["weights"].keys(), lang
        assert states - names["states"].keys() <= chinese.keys(), lang
    assert set(get_args(OfDifferences)) <= chinese.keys()
    asked = {name for script in SCRIPTS for name in re.findall(r'named\("(\w+)"', text(script))}
    assert asked == set(NAMES)
