"""Gates as JUnit XML, the form of the Jenkins and Surefire schemas that CI systems read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from loadstone.analyse.gates import Check
from loadstone.report.gates import sentence

# What XML 1.0 (section 2.2) has no way to write, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_junit(name: str, checks: Sequence[Check]) -> bytes:
    """A suite with a case a gate and place.

    A failed gate is a failure; an undecided one is skipped. Times are those of the judged steps: a
    step has its time in each of its cases, and once in the suite.
    """
    failed = [check for check in checks if check.fails]
    opened = [check for check in checks if check.state == "not decided"]
    counts = {"tests": str(len(checks)), "failures": str(len(failed)), "errors": "0"}
    # The schema allows a count of skipped cases in a suite, but not in the root.
    root = Element("testsuites", counts)
    skipped = {"skipped": str(len(opened))}
    times = {check.where: check.seconds for check in checks if check.seconds is not None}
    took = {"time": f"{sum(times.values()):.3f}"} if times else {}
    suite = SubElement(root, "testsuite", {"name": _plain(name), **counts, **skipped, **took})
    for check in checks:
        named = {"classname": _plain(f"{name}.{check.gate}"), "name": _plain(check.where)}
        took = {} if check.seconds is None else {"time": f"{check.seconds:.3f}"}
        case = SubElement(suite, "testcase", {**named, **took})
        said = _plain(sentence(check))
        if check.fails:
            SubElement(case, "failure", {"message": said, "type": check.state}).text = said
        elif check.state == "not decided":
            SubElement(case, "skipped", {"message": said})
        else:
            SubElement(case, "system-out").text = said
    indent(root)
    document: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return document + b"\n"


def _plain(text: str) -> str:
    """The text with forbidden characters replaced by their number, so that none is lost."""
    return _FORBIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
