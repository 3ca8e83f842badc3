"""Gates as lines and as JUnit XML, with whatever names people give."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyse.made import a_step
from loadstone.analyse.gates import Check, State, change, judge_thresholds, threshold
from loadstone.analyse.intervals import Interval
from loadstone.analyse.metrics import CLASSES, METRICS
from loadstone.model.language import in_language
from loadstone.model.message import plain, say
from loadstone.report.gates import lines, sentence
from loadstone.report.junit import as_junit

# What the JUnit schema of the Jenkins plugin xUnit (junit-10.xsd) allows in each element: required
# attributes, optional ones, and the elements within it, in any order.
SCHEMA = {
    "testsuites": ("", "name time tests failures errors", "testsuite"),
    "testsuite": (
        "name tests failures errors",
        "group time skipped timestamp hostname id package file log url",
        "testsuite properties testcase system-out system-err",
    ),
    "testcase": ("name", "time classname group", "skipped error failure system-out system-err"),
    "failure": ("", "type message", ""),
    "skipped": ("", "type message", ""),
    "system-out": ("", "", ""),
}


def check_schema(element: ElementTree.Element) -> None:
    """Fails if the schema would refuse the element."""
    must, may, within = (set(names.split()) for names in SCHEMA[element.tag])
    assert must <= element.attrib.keys() <= must | may, element.tag
    assert {each.tag for each in element} <= within, element.tag
    if element.tag in ("testsuites", "testsuite", "testcase"):
        assert not (element.text or "").strip(), "no text between elements"
    for each in element:
        assert not (each.tail or "").strip()
        check_schema(each)


def test_a_case_takes_as_long_as_the_steps_that_it_judges() -> None:
    steps = [a_step(users=8), a_step(users=8).model_copy(update={"repeat": 2})]
    checks = judge_thresholds([threshold("p99<20ms"), threshold("tps>1")], steps)
    root = ElementTree.fromstring(as_junit("loadstone", checks))
    (suite,) = root
    assert [case.attrib["time"] for case in suite] == ["20.000", "20.000"]
    assert suite.attrib["time"] == "20.000", "the same two steps"
    check_schema(root)


HOSTILE = '<x a="1">&amp;]]>\x00\x1b[31m\ud800\ufffe"\'é\n'


def a_check(state: State, where: str = "oltp_read_write, 64 users") -> Check:
    return Check("p99<20ms", METRICS["p99"], plain(where), state, 31.2)


def test_each_state_has_its_place_in_the_document() -> None:
    states: list[State] = ["held", "broken", "not decided", "no evidence"]
    root = ElementTree.fromstring(as_junit("loadstone", [a_check(state) for state in states]))
    (suite,) = root
    assert suite.attrib["tests"] == "4"
    assert suite.attrib["failures"] == "2"
    assert suite.attrib["skipped"] == "1"
    assert [case[0].tag for case in suite] == ["system-out", "failure", "skipped", "failure"]
    assert "31.2 ms" in suite[1][0].attrib["message"]
    check_schema(root)


@pytest.mark.parametrize("text", [HOSTILE, "]]>", "<!--", "&#0;", "\x0b"])
def test_hostile_names_stay_text(text: str) -> None:
    root = ElementTree.fromstring(as_junit(text, [a_check("broken", text)]))
    check_schema(root)
    (case,) = root[0]
    assert case.attrib["name"].replace("\n", "").startswith(text[:1].replace("\x0b", "\\u000b"))


@given(st.text(), st.text())
def test_any_text_parses(name: str, where: str) -> None:
    root = ElementTree.fromstring(as_junit(name, [a_check("broken", where)]))
    assert root[0].attrib["tests"] == "1"


def test_without_a_check_it_is_a_document_all_the_same() -> None:
    root = ElementTree.fromstring(as_junit("loadstone", []))
    check_schema(root)
    assert root[0].attrib["tests"] == "0"


def test_what_held_is_a_line_a_gate_and_what_failed_is_for_stderr() -> None:
    checks = [a_check("held"), a_check("held", "elsewhere"), a_check("broken", "third")]
    assert list(lines(checks)) == ["gate  p99<20ms held at 2 of 3 levels"]
    assert sentence(checks[2]) == "p99<20ms failed: p99 31.2 ms at third"


def test_a_change_is_told_with_its_interval() -> None:
    interval = Interval(-0.12, -0.08, 0.9875, "Welch's t")
    check = Check("tps<-5%", METRICS["tps"], plain("here"), "broken", -0.1, interval, None, True)
    assert sentence(check) == "tps<-5% failed: tps -10.0 % (98.8 %: -12.0 % to -8.0 %) at here"


def test_an_interval_that_excludes_neither_half_nor_twice_is_not_quoted() -> None:
    interval = Interval(-0.999, 1863.9, 0.975, "Welch's t")
    check = Check("p99>10%", METRICS["p99"], plain("here"), "not decided", 0.579, interval, None,
                  True)  # fmt: skip
    assert sentence(check).startswith(
        "p99>10% not decided: p99 +57.9 % (no usable interval: neither half nor twice is excluded)"
    )


def test_what_could_not_be_judged_says_why() -> None:
    check = Check(
        "tps<-5%", METRICS["tps"], plain("here"), "no evidence", why=say("it was not run")
    )
    assert sentence(check) == "tps<-5% no evidence: here (it was not run)"
    assert sentence(check, in_language("zh")) == "tps<-5% 没有依据：here（没有执行）"


@pytest.mark.parametrize("name", [name for name in METRICS if not name.startswith(CLASSES)])
def test_every_figure_is_documented(name: str) -> None:
    document = (Path(__file__).parents[2] / "docs" / "gates.md").read_text()
    assert f"`{name}`" in document


def test_undecided_levels_with_one_reason_share_a_line() -> None:
    gate = change("tps<-5%")
    why = say("1 run: a change shows from 8 on")
    levels = [
        Check(gate.text, gate.metric, plain(f"{users} users"), "not decided", why=why)
        for users in (1, 2)
    ]
    assert list(lines(levels)) == [
        "gate  tps<-5% not decided at 2 levels (1 run: a change shows from 8 on)"
    ]
