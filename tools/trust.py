"""`make trust`: each promise of docs/reliability.md, the test that holds it, and its figures.

usage: python -m tools.trust [--json]

Ends with 1 where a promise does not hold. A promise whose test was skipped here is "not evaluated",
and so are fuzzing and a soak that have not run on this machine: neither is fine, and neither is
broken.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as tree
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from rich.console import Console
from rich.table import Table
from rich.text import Text

from benches.kept import kept
from benches.place import RESULTS
from benches.soak import Soaked, promises
from benches.tables import counted

PROJECT = Path(__file__).resolve().parent.parent
PAGE = PROJECT / "docs" / "reliability.md"

HOLDS, BROKEN, UNKNOWN = "holds", "BROKEN", "not evaluated"
STYLES = {HOLDS: "green", BROKEN: "bold red", UNKNOWN: "yellow"}
WIDTH = 150
"""Columns, where no terminal has a width of its own."""

MOST_TOLD = 6
"""Reasons of one test in the table; JSON has all."""

SOAKED_MINUTES = 60
"""A slope of memory wants so many."""


@dataclass
class Held:
    """What came of the tests of one place."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    unit: str = "test"
    figures: Counter[str] = field(default_factory=Counter)
    why: list[str] = field(default_factory=list)
    """What failed, and for what reason the rest could not be evaluated; each once."""

    @property
    def verdict(self) -> str:
        """Whether the promise holds, as far as is known."""
        if self.failed:
            return BROKEN
        return HOLDS if self.passed and not self.skipped else UNKNOWN

    def told(self, why: str) -> None:
        """Keep a reason, as one line."""
        line = " ".join(why.split())
        if line and line not in self.why:
            self.why.append(line)

    @property
    def lines(self) -> list[str]:
        """How many there were, their figures, and why not all is well."""
        said = [counted(self.passed, self.unit)] if self.passed else []
        said += [f"{self.failed} failed"] if self.failed else []
        said += [f"{self.skipped} not evaluated"] if self.skipped else []
        more = [f"and {len(self.why) - MOST_TOLD} more"] if len(self.why) > MOST_TOLD else []
        return [", ".join(said), *lines_of(self.figures), *self.why[:MOST_TOLD], *more]


@dataclass(frozen=True)
class Promise:
    """A row of the page, and what came of its tests."""

    text: str
    tests: dict[str, Held]

    @property
    def verdict(self) -> str:
        """The worst of its tests'."""
        of_all = (held.verdict for held in self.tests.values())
        return max(of_all, key=(HOLDS, UNKNOWN, BROKEN).index)


def main() -> int:
    """Run all tests that the page names, and print its table with what they show."""
    parser = argparse.ArgumentParser(prog="python -m tools.trust")
    parser.add_argument("--json", action="store_true", help="the same as one JSON document")
    asked = parser.parse_args()
    rows = list(promises_of(PAGE.read_text()))
    held = held_by({place for _, places in rows for place in places})
    found = [Promise(text, {place: held[place] for place in places}) for text, places in rows]
    if asked.json:
        print(json.dumps(document(found), indent=1))
    else:
        show(found, Console(width=None if sys.stdout.isatty() else WIDTH))
    return 1 if any(each.verdict == BROKEN for each in found) else 0


def promises_of(page: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The rows of the page's table: the promise, and the places of its tests."""
    _, _, rest = page.partition("| promise | held by |\n|---|---|\n")
    table, _, _ = rest.partition("\n\n")
    for row in re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", table, re.MULTILINE):
        text = re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", row[0])
        yield text, tuple(re.findall(r"`([^`]+)`", row[1]))


def held_by(places: Iterable[str]) -> dict[str, Held]:
    """Carry out what stands at each place."""
    known = set(places)
    held = python_tests(place for place in known if place.startswith("tests/"))
    for place in sorted(known - held.keys()):
        match place:
            case "tools/fuzz":
                held[place] = fuzzed()
            case "benches/soak.py":
                held[place] = soaked(RESULTS)
            case _ if place.startswith("crates/"):
                held[place] = rust_tests(place)
            case _:
                held[place] = program(place)
    return held


# -- The table -------------------------------------------------------------------------------------


def show(found: Sequence[Promise], console: Console) -> None:
    """One table of all, and below it the sums."""
    table = Table(title="What is promised, and what holds it", title_justify="left")
    table.add_column("verdict", no_wrap=True)
    table.add_column("promise", ratio=5)
    table.add_column("test", ratio=4, overflow="fold")
    table.add_column("figures", ratio=5, overflow="fold")
    for promise in found:
        text = promise.text
        for place, held in promise.tests.items():
            verdict = Text(held.verdict, STYLES[held.verdict])
            # A promise is stated once, next to the first of its tests.
            table.add_row(verdict, Text(text), Text(place), Text("\n".join(held.lines)))
            text = ""
        table.add_section()
    table.add_row("", "in all", "", Text("\n".join(lines_of(sums(found)))))
    console.print(table)
    counts = Counter(promise.verdict for promise in found)
    said = ", ".join(f"{counts[each]} {each}" for each in (HOLDS, UNKNOWN, BROKEN))
    console.print(f"{len(found)} promises: {said}", highlight=False)


def lines_of(figures: Counter[str]) -> list[str]:
    """Each figure with its words, which are the plural."""
    return [f"{number:,} {what}" for what, number in sorted(figures.items())]


def sums(found: Iterable[Promise]) -> Counter[str]:
    """Of all tests by figure; a test that holds two promises counts once."""
    tests = {place: held for promise in found for place, held in promise.tests.items()}
    summed: Counter[str] = Counter()
    for held in tests.values():
        summed.update(held.figures)
    return summed


def document(found: Sequence[Promise]) -> dict[str, Any]:
    """The same for programs."""
    return {
        "promises": [
            {
                "promise": promise.text,
                "verdict": promise.verdict,
                "tests": [
                    {
                        "test": place,
                        "verdict": held.verdict,
                        "unit": held.unit,
                        "passed": held.passed,
                        "failed": held.failed,
                        "not_evaluated": held.skipped,
                        "figures": dict(held.figures),
                        "why": held.why,
                    }
                    for place, held in promise.tests.items()
                ],
            }
            for promise in found
        ],
        "figures": dict(sums(found)),
        "verdicts": dict(Counter(promise.verdict for promise in found)),
    }


# -- What holds them -------------------------------------------------------------------------------


def python_tests(places: Iterable[str], project: Path = PROJECT) -> dict[str, Held]:
    """Run pytest once, and sum up by file."""
    held = {place: Held() for place in places}
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "record.xml"
        words = [sys.executable, "-m", "pytest", "-q", f"--junitxml={record}"]
        # A file that cannot be read keeps no other from being tried.
        words += ["--continue-on-collection-errors", *sorted(held)]
        subprocess.run(words, cwd=project, stdout=sys.stderr)
        cases = list(tree.parse(record).iter("testcase")) if record.is_file() else []
    for case in cases:
        # A file that is skipped or broken as a whole has a name and no class.
        named = case.get("classname") or case.get("name") or ""
        place = f"{named.replace('.', '/')}.py"
        if place in held:
            count(held[place], case)
    for each in held.values():
        if not each.passed + each.failed + each.skipped:
            each.failed += 1
            each.told("no test of it came to an end")
    return held


def count(held: Held, case: tree.Element) -> None:
    """Take one test in."""
    failed = [found for kind in ("failure", "error") for found in case.findall(kind)]
    skipped = case.find("skipped")
    if failed:
        held.failed += 1
        held.told(f"failed: {case.get('name')}")
    elif skipped is not None:
        held.skipped += 1
        held.told(_reason(skipped))
    else:
        held.passed += 1
    for each in case.iter("property"):
        held.figures[each.get("name", "")] += int(each.get("value", "0"))


def _reason(skipped: tree.Element) -> str:
    """Why, without the place in which pytest wraps it where a whole file is skipped."""
    wrapped = re.search(r", \d+, ['\"]Skipped: (.*)['\"]\)", skipped.text or "")
    return wrapped[1] if wrapped else skipped.get("message", "")


def rust_tests(crate: str) -> Held:
    """Run a crate's tests; some of them tell what they have tried."""
    words = ["cargo", "test", "--manifest-path", f"{crate}/Cargo.toml", "--", "--show-output"]
    done = subprocess.run(words, cwd=PROJECT, stdout=subprocess.PIPE, text=True)
    held = Held(failed=int(done.returncode != 0))
    for passed, failed in re.findall(r"test result: \w+\. (\d+) passed; (\d+) failed", done.stdout):
        held.passed += int(passed)
        held.failed += int(failed)
    for inputs, size in re.findall(r"^(\d+) inputs tried, (\d+) bytes$", done.stdout, re.MULTILINE):
        held.figures["inputs tried"] += int(inputs)
        held.figures["bytes fuzzed"] += int(size)
    for name in re.findall(r"^test (\S+) \.\.\. FAILED$", done.stdout, re.MULTILINE):
        held.told(f"failed: {name}")
    return held


def program(place: str) -> Held:
    """Carry out a program that ends with 0 where all is well, and names what it cannot evaluate."""
    done = subprocess.run([place], cwd=PROJECT, stdout=subprocess.PIPE, text=True)
    held = Held(unit="program")
    if done.returncode:
        held.failed += 1
        held.told(f"it ended with {done.returncode}")
    else:
        held.passed += 1
    for line in done.stdout.splitlines():
        if UNKNOWN in line:
            held.skipped += 1
            held.told(line)
    return held


def fuzzed() -> Held:
    """What `tools/fuzz` has done on this machine with this source.

    A target that has not had its time and its executions yet is one that was skipped.
    """
    words = [sys.executable, "tools/fuzz", "--told"]
    done = subprocess.run(words, cwd=PROJECT, stdout=subprocess.PIPE, text=True, check=True)
    held = Held(unit="target")
    for target in json.loads(done.stdout):
        held.figures["inputs tried"] += target["executions"]
        held.figures["bytes fuzzed"] += target["bytes"]
        held.figures["minutes fuzzed"] += round(target["lasted_s"] / 60)
        held.figures["minutes on a processor"] += round(target["seconds"] / 60)
        if target["found"]:
            held.failed += 1
            held.told(f"{target['target']}: an input that breaks it is in .cache/fuzz")
        elif target["enough"]:
            held.passed += 1
        else:
            held.skipped += 1
            held.told("not for long enough yet: tools/fuzz goes on")
    return held


def soaked(results: Path) -> Held:
    """What the last soak of an hour has shown on this machine with this version.

    A shorter one has no slope to judge: its figures are shown, and it is not evaluated.
    """
    soaks = list(soaks_in(results))
    held = Held(unit="promise")
    if not soaks:
        held.skipped += 1
        held.told("no soak of this machine and version is kept: make soak")
        return held
    whole = [each for each in soaks if each[1].minutes >= SOAKED_MINUTES]
    date, soak = (whole or soaks)[-1]
    held.figures["faults injected"] = len(soak.faults)
    held.figures["events accounted for"] = soak.account.due
    held.figures["events unaccounted"] = soak.account.unaccounted
    for each in promises(soak):
        if each.holds:
            held.passed += 1
        else:
            held.failed += 1
            held.told(f"failed: {each.text}: {each.figure}")
    memory, *_ = promises(soak)
    held.told(f"{memory.text}: {memory.figure}")
    held.told(f"{soak.users:,} users for {soak.minutes} minutes, {date}")
    if not whole:
        held.skipped += 1
        held.told(f"not for {SOAKED_MINUTES} minutes: make soak")
    return held


def soaks_in(results: Path) -> Iterator[tuple[str, Soaked]]:
    """Those of this machine and version, with their dates, oldest first."""
    for date, readings in kept("soak", results):
        for reading in readings:
            # One that has other fields was kept by another state of the sources.
            with suppress(ValidationError):
                yield date, TypeAdapter(Soaked).validate_python(reading)


if __name__ == "__main__":
    sys.exit(main())
