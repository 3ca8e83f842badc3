"""`make trust`: each promise of docs/reliability.md, the test that holds it, and a figure.

Ends with 1 where a promise does not hold. A promise whose test was skipped here is "not evaluated",
and so is fuzzing that has not run on this machine: neither is fine, and neither is broken.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as tree
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
PAGE = PROJECT / "docs" / "reliability.md"

HOLDS, BROKEN, UNKNOWN = "holds", "BROKEN", "not evaluated"


@dataclass
class Held:
    """What came of the tests of one place."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    unit: str = "tests"
    figures: Counter[str] = field(default_factory=Counter)

    @property
    def verdict(self) -> str:
        """Whether the promise holds, as far as is known."""
        if self.failed:
            return BROKEN
        return HOLDS if self.passed and not self.skipped else UNKNOWN

    def __str__(self) -> str:
        said = [f"{self.passed} {self.unit}"] if self.passed else []
        said += [f"{self.failed} failed"] if self.failed else []
        missing = "skipped" if self.unit == "tests" else "not for long enough"
        said += [f"{self.skipped} {missing}"] if self.skipped else []
        return ", ".join([*said, *(f"{number:,} {what}" for what, number in self.figures.items())])


def main() -> int:
    """Run all tests that the page names, and print its table with what they show."""
    promises = list(promises_of(PAGE.read_text()))
    places = {place for _, places in promises for place in places}
    held = python_tests(place for place in places if place.endswith(".py"))
    held |= {place: rust_tests(place) for place in places if place.startswith("crates/")}
    if "tools/fuzz" in places:
        held["tools/fuzz"] = fuzzed()
    verdicts = []
    for promise, of in promises:
        found = [held[place] for place in of]
        verdicts.append(worst(each.verdict for each in found))
        print(f"{verdicts[-1]:14} {promise}")
        for place, each in zip(of, found, strict=True):
            print(f"{'':14}   {place}: {each}")
    counts = Counter(verdicts)
    print(", ".join(f"{counts[each]} {each}" for each in (HOLDS, UNKNOWN, BROKEN)))
    return 1 if counts[BROKEN] else 0


def promises_of(page: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The rows of the page's table: the promise, and the places of its tests."""
    for row in re.findall(r"^\| (?!promise )([^|]+) \| ([^|]*`[^|]*) \|$", page, re.MULTILINE):
        yield row[0], tuple(re.findall(r"`([^`]+)`", row[1]))


def worst(verdicts: Iterable[str]) -> str:
    """Of several tests of one promise."""
    return max(verdicts, key=(HOLDS, UNKNOWN, BROKEN).index)


def python_tests(places: Iterable[str]) -> dict[str, Held]:
    """Run pytest once, and sum up by file."""
    held = {place: Held() for place in places}
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "record.xml"
        words = [sys.executable, "-m", "pytest", "-q", f"--junitxml={record}", *sorted(held)]
        subprocess.run(words, cwd=PROJECT, stdout=sys.stderr)
        for case in tree.parse(record).iter("testcase"):
            place = case.get("classname", "").replace(".", "/") + ".py"
            if place in held:
                count(held[place], case)
    return held


def count(held: Held, case: tree.Element) -> None:
    """Take one test in."""
    if case.find("failure") is not None or case.find("error") is not None:
        held.failed += 1
    elif case.find("skipped") is not None:
        held.skipped += 1
    else:
        held.passed += 1
    for each in case.iter("property"):
        held.figures[each.get("name", "")] += int(each.get("value", "0"))


def rust_tests(crate: str) -> Held:
    """Run a crate's tests."""
    words = ["cargo", "test", "--manifest-path", f"{crate}/Cargo.toml"]
    done = subprocess.run(words, cwd=PROJECT, stdout=subprocess.PIPE, text=True)
    held = Held(failed=int(done.returncode != 0))
    for passed, failed in re.findall(r"test result: \w+\. (\d+) passed; (\d+) failed", done.stdout):
        held.passed += int(passed)
        held.failed += int(failed)
    return held


def fuzzed() -> Held:
    """What `tools/fuzz` has done on this machine with this source.

    A target that has not had its time and its executions yet is one that was skipped.
    """
    words = [sys.executable, "tools/fuzz", "--told"]
    done = subprocess.run(words, cwd=PROJECT, stdout=subprocess.PIPE, text=True, check=True)
    held = Held(unit="targets")
    for target in json.loads(done.stdout):
        held.figures["executions"] += target["executions"]
        held.figures["bytes tried"] += target["bytes"]
        held.figures["seconds of a processor"] += round(target["seconds"])
        if target["found"]:
            held.failed += 1
        elif target["enough"]:
            held.passed += 1
        else:
            held.skipped += 1
    return held


if __name__ == "__main__":
    sys.exit(main())
