"""Every message has a translation in each language, and the product reads what Babel reads."""

from __future__ import annotations

import ast
import gettext
import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import read_po

from loadstone.model.language import Catalogue, Language, read_catalogue
from loadstone.model.message import counted, say, say_in
from tools import catalogue, prose

TEMPLATES = {"say": (0,), "say_in": (0, 1), "counted": (0, 1)}
"""For each function, the arguments that are literals where it is called."""

POLISH = r"""
# Polish has three plural forms.
msgid ""
msgstr ""
"Language: pl\n"
"Content-Type: text/plain; charset=utf-8\n"
"Plural-Forms: nplurals=3; plural=n==1 ? 0 : "
"n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2;\n"

#: cli/app.py
#, python-brace-format
msgid "{share} of the \"users\" wait"
msgstr ""
"{share} \"użytkowników\"\n"
"czeka"

msgctxt "unit"
msgid "events"
msgstr "zdarzeń"

msgid "events"
msgstr "zdarzenia"

#, fuzzy
msgid "a guess"
msgstr "domysł"

msgid "1 user"
msgid_plural "{number} users"
msgstr[0] "{number} użytkownik"
msgstr[1] "{number} użytkownicy"
msgstr[2] "{number} użytkowników"

msgid "not yet"
msgstr ""

#~ msgid "no longer"
#~ msgstr "już nie"
"""


def in_file(folder: Path, *entries: str) -> Path:
    path = folder / "pl" / "LC_MESSAGES" / "loadstone.po"
    path.parent.mkdir(parents=True)
    head = POLISH.partition("\n\n")[0]
    path.write_text("\n\n".join((head, *entries)) + "\n", "utf-8")
    return path


def forms(message: Message) -> tuple[str, ...]:
    told = message.string or ""
    return tuple(one for one in ([told] if isinstance(told, str) else told) if one)


def as_babel_reads(found: Catalog) -> dict[tuple[str | None, str], tuple[str, ...]]:
    return {
        (one.context, one.id if isinstance(one.id, str) else one.id[0]): forms(one)
        for one in found
        if one.id and not one.fuzzy
    }


def assert_read_alike(text: str) -> Catalogue:
    ours, babel = read_catalogue(text), read_po(BytesIO(text.encode()))
    assert ours.texts == as_babel_reads(babel)
    form = gettext.c2py(babel.plural_expr)
    assert [ours.form(number) for number in range(200)] == [form(n) for n in range(200)]
    return ours


@pytest.fixture(scope="module")
def collected() -> Catalog:
    """All messages of the sources, which take two seconds to read."""
    return catalogue.collected()


@pytest.mark.parametrize("path", catalogue.catalogues(), ids=lambda path: path.parts[-3])
def test_each_message_has_a_translation_with_the_same_placeholders(
    path: Path, collected: Catalog
) -> None:
    assert list(catalogue.faults(path, collected)) == []


@pytest.mark.parametrize("path", catalogue.catalogues(), ids=lambda path: path.parts[-3])
def test_our_reader_reads_what_babel_reads(path: Path) -> None:
    assert len(assert_read_alike(path.read_text("utf-8")).texts) > 500


def test_chinese_has_one_word_for_each_thing() -> None:
    assert list(prose.chinese_faults()) == []
    assert list(prose.chinese("再次运行\n两次运行，在沙箱中", "here")) == [
        "here:2: 沙箱 ==> 临时服务器",
        "here:2: 次运行 ==> 次测试（“再次运行”除外）",
    ]


def test_our_reader_reads_contexts_plural_forms_and_lines_as_babel_does() -> None:
    polish = Language("zh", "pl", assert_read_alike(POLISH))
    assert polish(say('{share} of the "users" wait', share=3)) == '3 "użytkowników"\nczeka'
    assert (polish(say("events")), polish(say_in("unit", "events"))) == ("zdarzenia", "zdarzeń")
    many = [polish(counted("1 user", "{number} users", number)) for number in (1, 3, 5, 22)]
    assert many == ["1 użytkownik", "3 użytkownicy", "5 użytkowników", "22 użytkownicy"]
    for left_as_it_is in ("a guess", "not yet", "no longer", "never heard of"):
        assert polish(say(left_as_it_is)) == left_as_it_is


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ('msgid "{a} b"\nmsgstr "{a} b"', []),
        ('msgid "{a} b"\nmsgstr ""', ["pl: no translation of '{a} b' (here.py)"]),
        ('msgctxt "c"\nmsgid "{a} b"\nmsgstr "{a}"', ["no translation of", "nobody says"]),
        ('msgid "{a} b"\nmsgstr "{b} a"', ["pl: other placeholders than in '{a} b': '{b} a'"]),
        (
            'msgid "{a} b"\nmsgstr "{a} b"\n\nmsgid "gone"\nmsgstr "nie ma"',
            ["pl: nobody says 'gone'"],
        ),
    ],
)
def test_a_catalogue_s_faults_are_found(tmp_path: Path, entry: str, fault: list[str]) -> None:
    said = Catalog()
    said.add("{a} b", locations=[("here.py", 0)])
    found = list(catalogue.faults(in_file(tmp_path, entry), said))
    assert len(found) == len(fault)
    assert all(part in line for part, line in zip(fault, found, strict=True))


def test_what_is_counted_needs_plural_forms(tmp_path: Path) -> None:
    said = Catalog()
    said.add(("1 user", "{number} users"), locations=[("here.py", 0)])
    single = in_file(tmp_path / "a", 'msgid "1 user"\nmsgstr "1 użytkownik"')
    assert len(list(catalogue.faults(single, said))) == 1
    other = in_file(
        tmp_path / "b",
        'msgid "1 user"\nmsgid_plural "{number} users"\n'
        + "\n".join(f'msgstr[{form}] "{{number}} {form}"' for form in range(3)),
    )
    catalogue.merge(single, other)
    assert list(catalogue.faults(single, said)) == []
    assert read_catalogue(single.read_text("utf-8")).texts == {
        (None, "1 user"): ("{number} 0", "{number} 1", "{number} 2")
    }


def test_merging_fills_in_what_is_missing_and_replaces_nothing(tmp_path: Path) -> None:
    ours = in_file(tmp_path / "a", 'msgid "a"\nmsgstr "A"', 'msgid "b"\nmsgstr ""')
    other = in_file(tmp_path / "b", *(f'msgid "{one}"\nmsgstr "{one} nowe"' for one in "abc"))
    catalogue.merge(ours, other)
    told = read_catalogue(ours.read_text("utf-8")).texts
    assert told == {(None, "a"): ("A",), (None, "b"): ("b nowe",), (None, "c"): ("c nowe",)}


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id in TEMPLATES:
                yield node.func.id, node


def placeholders(*templates: str) -> set[str]:
    return {name for text in templates for name in re.findall(r"\{(\w+)\}", text)}


def wrong(function: str, call: ast.Call) -> str | None:
    """Reasons why the message could not be collected, or not be filled."""
    given = [call.args[place] for place in TEMPLATES[function] if place < len(call.args)]
    texts = [one.value for one in given if isinstance(one, ast.Constant)]
    if len(texts) != len(TEMPLATES[function]) or not all(isinstance(one, str) for one in texts):
        return "is no literal"
    values = {one.arg for one in call.keywords if one.arg}
    if not values or any(one.arg is None for one in call.keywords):
        return None  # filled later, or with values that are not literals here
    automatic = {"number"} if function == "counted" else set()
    templates = [str(one) for one in (texts[1:] if function == "say_in" else texts)]
    if placeholders(*templates) - automatic != values - automatic:
        return "has other placeholders than values"
    return None


def faults_of(source: str) -> list[str]:
    return [fault for name, call in calls(ast.parse(source)) if (fault := wrong(name, call))]


@pytest.fixture(scope="module")
def faults_by_file() -> dict[str, list[str]]:
    """The faults of each source's messages; all sources are parsed, as above."""
    return {
        str(path.relative_to(catalogue.SOURCE)): faults_of(path.read_text("utf-8"))
        for path in sorted(catalogue.SOURCE.rglob("*.py"))
    }


def test_each_message_is_a_literal_whose_placeholders_have_values(
    faults_by_file: dict[str, list[str]],
) -> None:
    assert len(faults_by_file) > 500
    assert {name: faults for name, faults in faults_by_file.items() if faults} == {}


@pytest.mark.parametrize(
    ("source", "faults"),
    [
        ('say("a" "b {c}", c=1)', []),
        ('say_in("unit", "s")', []),
        ('counted("1 user", "{number} users", n)', []),
        ("say(text)", ["is no literal"]),
        ('say(f"a {b}")', ["is no literal"]),
        ('say("a" + b)', ["is no literal"]),
        ('say_in(context, "a")', ["is no literal"]),
        ('counted("1 user", many, n)', ["is no literal"]),
        ('say("a {b}", c=1)', ["has other placeholders than values"]),
        ('say("a {b}", b=1, c=2)', ["has other placeholders than values"]),
        ('say("a", b=1)', ["has other placeholders than values"]),
    ],
)
def test_what_is_no_message_is_found(source: str, faults: list[str]) -> None:
    assert faults_of(source) == faults
