"""The text format of Prometheus, against the reader of its own client library."""

import math
from functools import lru_cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.observe.exposition import Sample, samples

TEXT = """\
# HELP node_x A help with "quotes".
# TYPE node_x counter
node_x 5
node_x{a="1",b="two \\"words\\" \\\\ and\\na line",} 1.5e3
node_x { a = "}" , b="{" } 7 1395066363000
node_y{device="eth0"} +Inf
node_y{device="eth1"} NaN
node_y{device="eth2"} -1
other 9
"""


def taken(text: str) -> list[Sample]:
    return list(samples(text, lambda name: name.startswith("node_")))


def test_names_labels_values() -> None:
    assert taken(TEXT) == [
        Sample("node_x", 5.0),
        Sample("node_x", 1500.0, {"a": "1", "b": 'two "words" \\ and\na line'}),
        Sample("node_x", 7.0, {"a": "}", "b": "{"}),
        Sample("node_y", -1.0, {"device": "eth2"}),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "node_x",
        "node_x{} ",
        "node_x{a=1} 5",
        'node_x{a="1} 5',
        'node_x{a="1" b="2"} 5',
        "node_x five",
        "node_x 1_000",
        "node_x 1 2 3",
        "node_x 1 x",
        'node_x{1a="x"} 5',
    ],
)
def test_a_line_that_is_not_as_described_is_left_out(line: str) -> None:
    assert taken(f"node_a 1\n{line}\nnode_b 2") == [Sample("node_a", 1.0), Sample("node_b", 2.0)]


@given(st.text())
def test_a_hostile_text_gives_numbers_or_nothing(text: str) -> None:
    for sample in taken(f"node_{text}"):
        assert math.isfinite(sample.value)


LABELS = st.dictionaries(
    st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True),
    st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\r\x0b\x0c\x85\u2028\u2029")
    ),
    max_size=3,
)


@given(st.lists(st.tuples(LABELS, st.floats(allow_nan=False, allow_infinity=False)), max_size=6))
def test_what_the_library_reads_is_what_we_read(rows: list[tuple[dict[str, str], float]]) -> None:
    text = "# TYPE node_x untyped\n"
    for labels, value in rows:
        quoted = ",".join(f'{name}="{escaped(word)}"' for name, word in labels.items())
        text += f"node_x{{{quoted}}} {value!r}\n"
    assert [(one.labels, one.value) for one in taken(text)] == theirs(text) == rows


def escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def theirs(text: str) -> list[tuple[dict[str, str], float]]:
    return [
        (dict(sample.labels), float(sample.value))
        for family in library()(text)
        for sample in family.samples
    ]


@lru_cache
def library():  # type: ignore[no-untyped-def] # it is not needed but here
    return pytest.importorskip("prometheus_client.parser").text_string_to_metric_families
