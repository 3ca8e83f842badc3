"""A parser for the wanted lines of Prometheus' text format.

https://prometheus.io/docs/instrumenting/exposition_formats/ describes it. A scrape has thousands of
lines, of which a few hundred are used, so a line is parsed only if its name is wanted
(docs/decisions/0018). Malformed lines are left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(,|$)')
_ESCAPES = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


@dataclass(frozen=True)
class Sample:
    """One line: a name, labels and a numeric value."""

    name: str
    value: float
    labels: dict[str, str] = field(default_factory=dict)


def samples(text: str, wanted: Callable[[str], bool]) -> Iterator[Sample]:
    """The samples whose name is wanted, without those whose value is not a finite number."""
    for line in text.split("\n"):
        if not line or line[0] == "#":
            continue
        name = line.partition("{")[0].partition(" ")[0].rstrip("\t")
        if not wanted(name):
            continue
        sample = _sample(name, line[len(name) :])
        if sample is not None:
            yield sample


def gauges_among(text: str, wanted: Callable[[str], bool]) -> Iterator[str]:
    """The wanted names that the exporter declares as gauges, whose values may also fall."""
    for line in text.split("\n"):
        words = line.split() if line.startswith("# TYPE ") else ()
        if len(words) == 4 and words[3] == "gauge" and wanted(words[2]):
            yield words[2]


def _sample(name: str, rest: str) -> Sample | None:
    labels: dict[str, str] | None = {}
    rest = rest.lstrip()
    if rest.startswith("{"):
        inner, brace, rest = rest[1:].rpartition("}")
        labels = _labels(inner) if brace else None
    words = rest.split()
    if labels is None or not 1 <= len(words) <= 2:  # a timestamp may follow the value
        return None
    value = _number(words[0])
    if value is None or (len(words) == 2 and _number(words[1]) is None):
        return None
    return Sample(name, value, labels)


def _labels(text: str) -> dict[str, str] | None:
    found = {}
    at = 0
    while at < len(text):
        label = _LABEL.match(text, at)
        if label is None:
            return None
        value = label[2]
        if "\\" in value:
            value = re.sub(r"\\.", lambda mark: _ESCAPES.get(mark[0], mark[0]), value)
        found[label[1]] = value
        at = label.end()
    return found


def _number(word: str) -> float | None:
    if "_" in word:  # Python accepts underscores between digits
        return None
    try:
        value = float(word)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
