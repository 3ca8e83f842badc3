"""The lines at which keys stand, in each TOML syntax."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadstone.config.lines import Path, lines_of

TEXT = '''\
# a comment with key = 1 and [header]
name = "a # b"          # 2
"quoted key" = 'x = 1'  # 3

ladder = [              # 5
  1,                    # 6
  8, 64,                # 7: both
]
long = """
not = a key             # 10
[nor.a.table] \\"""
""""                    # ends with a quote of its own
after.dots."a b" = 2    # 13

[factor.pool.off]       # 15
startup = { a = 1, b.c = "}" , d = [ { e = 2 } ] }   # 16

[factor . "pool" . on]  # 18
x = 1979-05-27 07:32:00

[[workload]]            # 21
name = """one line"""
[workload.options]      # 23
n = 1
[[workload]]            # 25
name = 2
[[workload.deep]]       # 27
a = 0x1F
[[workload.deep]]       # 29
a = 1e-3
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("name",), 2),
        (("quoted key",), 3),
        (("ladder",), 5),
        (("ladder", 0), 6),
        (("ladder", 1), 7),
        (("ladder", 2), 7),
        (("long",), 9),
        (("after",), 13),
        (("after", "dots"), 13),
        (("after", "dots", "a b"), 13),
        (("factor",), 15),
        (("factor", "pool"), 15),
        (("factor", "pool", "off"), 15),
        (("factor", "pool", "off", "startup"), 16),
        (("factor", "pool", "off", "startup", "a"), 16),
        (("factor", "pool", "off", "startup", "b", "c"), 16),
        (("factor", "pool", "off", "startup", "d", 0, "e"), 16),
        (("factor", "pool", "on"), 18),
        (("factor", "pool", "on", "x"), 19),
        (("workload", 0), 21),
        (("workload", 0, "name"), 22),
        (("workload", 0, "options", "n"), 24),
        (("workload", 1), 25),
        (("workload", 1, "name"), 26),
        (("workload", 1, "deep", 0, "a"), 28),
        (("workload", 1, "deep", 1), 29),
        (("workload", 1, "deep", 1, "a"), 30),
    ],
)
def test_a_key_is_found_on_its_line(path: Path, line: int) -> None:
    assert lines_of(TEXT)[path] == line


def test_nothing_is_found_that_is_not_there() -> None:
    assert set(lines_of(TEXT)) == set(paths(tomllib.loads(TEXT)))


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing", "a = 1", "[a]", "a = 1\r\nb = 2\r\n"])
def test_short_texts_have_their_keys(text: str) -> None:
    assert set(lines_of(text)) == set(paths(tomllib.loads(text)))


def paths(value: object, path: Path = ()) -> Iterator[Path]:
    below: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        below = list(value.items())
    elif isinstance(value, list):
        below = list(enumerate(value))
    for name, each in below:
        yield (*path, name)
        yield from paths(each, (*path, name))


# Generated documents, written in a generated style.

WORD = st.text("abcxyz_-019", min_size=1, max_size=4)
STRING = st.text("ab #=[]{}.,\"'\\\n", max_size=8)


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def multiline(text: str) -> str:
    return '"""\n' + text.replace("\\", "\\\\").replace('"', '\\"') + '"""'


SCALAR = st.one_of(
    st.integers(-5, 5).map(str),
    st.sampled_from(["true", "1.5", "inf", "07:32:00", "'it = #1'", "'''\n[a]\n'''"]),
    STRING.map(quoted),
    STRING.map(multiline),
)


def arrays(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    between = st.sampled_from([", ", ",\n  # x = 1 ]\n  ", " ,"])
    return st.builds(
        lambda each, mark: f"[{mark.join(each)}]", st.lists(values, max_size=3), between
    )


def inline_tables(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.dictionaries(WORD, values, max_size=3)
    return pairs.map(lambda all_: "{ " + ", ".join(f"{k} = {v}" for k, v in all_.items()) + " }")


VALUE = st.recursive(SCALAR, lambda below: arrays(below) | inline_tables(below), max_leaves=6)


@st.composite
def documents(draw: st.DrawFn) -> str:
    lines: list[str] = []
    for word, value in draw(st.dictionaries(WORD, VALUE, max_size=4)).items():
        key = draw(st.sampled_from([word, quoted(word), f"{word}.below", f"{word} . 'a b'"]))
        lines.append(f"{key} = {value}" + draw(st.sampled_from(["", "  # x = 2", "\n"])))
    for at in range(draw(st.integers(0, 3))):
        header = draw(st.sampled_from([f"[t{at}.a]", "[[r]]", f"[ t{at} ]", "[[r]]\n[r.s]"]))
        lines.append(header)
        pairs = draw(st.dictionaries(WORD, VALUE, max_size=2))
        lines.extend(f"{key} = {value}" for key, value in pairs.items())
    return "\n".join(lines)


@given(documents())
def test_every_key_of_every_document_is_found_where_it_is_written(text: str) -> None:
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return  # a line break in an inline table, or a table made twice
    found = lines_of(text)
    assert set(found) == set(paths(document))
    for path, line in found.items():
        if isinstance(path[-1], str):
            assert path[-1] in text.splitlines()[line - 1]
