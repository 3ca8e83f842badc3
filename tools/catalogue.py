"""The catalogues of languages: lists what is missing in them, and brings them up to date.

python -m tools.catalogue            list messages without a translation, and wrong translations
python -m tools.catalogue update     collect all messages: add new ones without a translation, and
                                     remove those that nobody says any more
python -m tools.catalogue merge PO   add the translations of another file where we have none
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "loadstone"
LOCALE = SOURCE / "locale"

PYTHON = {"say": None, "say_in": ((1, "c"), 2), "counted": (1, 2)}
"""The functions whose first arguments are messages (model/message.py)."""

SCRIPTS = {"t": None, "draw": (3,)}
"""The same of the page's scripts (web/static/words.js, charts.js)."""

_HOLE = re.compile(r"\{(\w+)\}")


def catalogues() -> list[Path]:
    """One for each language but English."""
    return sorted(LOCALE.glob("*/LC_MESSAGES/loadstone.po"))


def read(path: Path) -> Catalog:
    """A catalogue's file."""
    with path.open("rb") as file:
        return read_po(file, locale=path.parts[-3])


def collected() -> Catalog:
    """All messages of the sources, without translations."""
    found = Catalog(domain="loadstone", fuzzy=False)
    for methods, keywords in (
        (
            [
                ("**.py", "python"),
                ("recipes/*.toml", "tools.catalogue:texts_of_a_recipe"),
            ],
            PYTHON,
        ),
        (
            [
                ("web/static/*.js", "javascript"),
                ("web/static/*.html", "tools.catalogue:texts_of_a_page"),
            ],
            SCRIPTS,
        ),
    ):
        for name, _line, message, _comments, context in extract_from_dir(
            SOURCE, methods, keywords=keywords
        ):
            # Without lines: what moves within its file is no change of a catalogue.
            found.add(message, None, [(name, 0)], context=context)
    return found


def texts_of_a_page(
    file: BinaryIO, _keywords: object, _tags: object, options: object
) -> Iterator[tuple[int, str, str, list[str]]]:
    """What `data-text` of an element says, as the script `words.js` looks it up."""
    for number, line in enumerate(file.read().decode().splitlines(), 1):
        for text in re.findall(r'data-text="([^"]+)"', line):
            yield number, "t", text, []


def texts_of_a_recipe(
    file: BinaryIO, _keywords: object, _tags: object, options: object
) -> Iterator[tuple[int, str, str, list[str]]]:
    """What a recipe says of itself, as the messages that `Recipe` makes of it."""
    recipe = tomllib.loads(file.read().decode())
    without_root = recipe.get("without_root", {})
    texts = [recipe.get(key, "") for key in ("title", "question", "needs", "needs_root")]
    texts += [each["about"] for each in recipe["parameter"].values()]
    expected = recipe["expect"] + without_root.get("expect", [])
    for theirs in recipe["family"].values():
        texts.append(theirs.get("question", ""))
        expected += theirs.get("expect", [])
    texts += [each["field"] for each in expected]
    for text in (*texts, without_root.get("about", "")):
        if text:
            yield 1, "say", " ".join(text.split()), []


def faults(path: Path, wanted: Catalog) -> Iterator[str]:
    """What is wrong in one catalogue, a line each."""
    catalogue, language = read(path), path.parts[-3]
    for message in wanted:
        if not message.id:
            continue
        there = _translated(catalogue, message)
        if there is None:
            yield f"{language}: no translation of {message.id!r} ({message.locations[0][0]})"
            continue
        for text in _forms(there):
            strange = _holes(text) ^ _holes(*_ids(message))
            # One form for all numbers may leave the number's place to the other's text.
            if strange - ({"number"} if message.pluralizable else set()):
                yield f"{language}: other placeholders than in {message.id!r}: {text!r}"
    for message in catalogue:
        if message.id and wanted.get(message.id, message.context) is None:
            yield f"{language}: nobody says {message.id!r}"


def update(path: Path, wanted: Catalog) -> None:
    """Keep exactly the messages that are said, sorted, with the translations there are."""
    old = read(path)
    new = _like(old)
    for message in wanted:
        if message.id:
            there = _translated(old, message)
            text = there.string if there is not None else None
            new.add(message.id, text, message.locations, context=message.context)
    _write(new, path)


def merge(path: Path, other: Path) -> None:
    """Add what the other has and we have not, or have without a translation."""
    ours = read(path)
    for message in read(other):
        if message.id and _has_text(message) and _translated(ours, message) is None:
            if ours.get(message.id, message.context) is not None:
                ours.delete(message.id, message.context)
            ours.add(message.id, message.string, message.locations, context=message.context)
    _write(ours, path)


def _translated(catalogue: Catalog, message: Message) -> Message | None:
    """Its entry, where that has a translation: a single one is none of what is counted."""
    there = catalogue.get(message.id, message.context)
    if there is None or not _has_text(there) or there.pluralizable != message.pluralizable:
        return None
    return there


def _like(old: Catalog) -> Catalog:
    return Catalog(locale=old.locale, domain="loadstone", fuzzy=False)


def _write(catalogue: Catalog, path: Path) -> None:
    header = f"# The messages of Loadstone in {catalogue.locale.english_name}."
    plain = Catalog(locale=catalogue.locale, domain="loadstone", fuzzy=False, header_comment=header)
    for message in sorted(catalogue, key=lambda one: (_ids(one), one.context or "")):
        if message.id:
            places = sorted({(name, 0) for name, _line in message.locations})
            plain.add(message.id, message.string, places, context=message.context)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write_po(file, plain, width=98, omit_header=True, include_lineno=False)
    rules = f"nplurals={plain.num_plurals}; plural={plain.plural_expr};"
    head = (
        f'{header}\nmsgid ""\nmsgstr ""\n"Language: {plain.locale_identifier}\\n"\n'
        '"MIME-Version: 1.0\\n"\n"Content-Type: text/plain; charset=utf-8\\n"\n'
        f'"Plural-Forms: {rules}\\n"\n\n'
    )
    path.write_text(head + path.read_text("utf-8"), "utf-8")


def _ids(message: Message) -> tuple[str, ...]:
    return (message.id,) if isinstance(message.id, str) else tuple(message.id)


def _forms(message: Message) -> tuple[str, ...]:
    text = message.string or ""
    return (text,) if isinstance(text, str) else tuple(text)


def _has_text(message: Message) -> bool:
    return all(_forms(message))


def _holes(*texts: str) -> set[str]:
    return {hole for text in texts for hole in _HOLE.findall(text)}


def main(arguments: Sequence[str]) -> int:
    """Do what the command line says."""
    match arguments:
        case []:
            wanted = collected()
            found = [line for path in catalogues() for line in faults(path, wanted)]
            print("\n".join(found) or "all messages are translated")
            return 1 if found else 0
        case ["update"]:
            wanted = collected()
            for path in catalogues():
                update(path, wanted)
            return 0
        case ["merge", other]:
            for path in catalogues():
                merge(path, Path(other))
            return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
