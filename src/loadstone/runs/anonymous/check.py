"""Checks that no name is left in the files that will be passed on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import lru_cache
from pathlib import Path

from loadstone.model.language import in_language
from loadstone.model.message import say
from loadstone.model.result import Result
from loadstone.runs.anonymous.pseudonyms import is_number
from loadstone.runs.errors import StoreError
from loadstone.runs.recorder import Asked


class NameLeft(StoreError):
    """A name that should be hidden is still in a file; nothing is exported."""


def check(files: Sequence[Path], originals: Mapping[str, str]) -> None:
    """Check each text of these files for the originals, as whole words.

    Raises:
        NameLeft: there is one.
    """
    own = _own_words()
    sought = sorted((one for one in originals if _can_be_found(one, own)), key=len, reverse=True)
    if not sought:
        return
    pattern = re.compile(rf"(?<![A-Za-z0-9_])(?:{'|'.join(map(re.escape, sought))})(?!\w)")
    for file in files:
        for place, text in _texts(file):
            if found := pattern.search(text):
                raise NameLeft(
                    say(
                        "nothing was exported: '{name}' ({pseudonym}) would still be in {file},"
                        " {place}",
                        name=found[0],
                        pseudonym=originals[found[0]],
                        file=file.name,
                        place=place,
                    )
                )


def _can_be_found(original: str, own: Set[str]) -> bool:
    """Whether the name would say something if it were found.

    A number that is a name, such as a server's id, looks like a measured one, and a host called
    `server` like Loadstone's own use of the word.
    """
    return (
        not is_number(original) and original.lower() not in own and any(map(str.isalnum, original))
    )


@lru_cache
def _own_words() -> frozenset[str]:
    """All words of Loadstone's own texts, and the names of its fields."""
    catalogue = in_language("zh").catalogue
    assert catalogue is not None, "the language has a catalogue"
    texts = (text for _, text in catalogue.texts)
    fields = json.dumps([Result.model_json_schema(), Asked.model_json_schema()])
    return frozenset(re.findall(r"\w+", " ".join((*texts, fields)).lower()))


def _texts(file: Path) -> Iterator[tuple[str, str]]:
    """Every text of a file, with its place."""
    if file.suffix == ".parquet":
        yield from _of_table(file)
    elif file.suffix == ".hlog":
        for number, line in enumerate(file.read_text().splitlines(), 1):
            # The rest of a line is numbers, the last of them in base64.
            yield f"line {number}", line.partition(",")[0] if line.startswith("Tag=") else line
    elif file.suffix == ".jsonl":
        for number, line in enumerate(file.read_text().splitlines(), 1):
            yield from _of_json(json.loads(line), f"line {number}")
    else:
        yield from _of_json(json.loads(file.read_text()), "top")


def _of_json(value: object, place: str) -> Iterator[tuple[str, str]]:
    match value:
        case dict():
            for key, one in value.items():
                yield place, key
                yield from _of_json(one, f"{place}.{key}")
        case list():
            for one in value:
                yield from _of_json(one, place)
        case str():
            yield place, value


def _of_table(file: Path) -> Iterator[tuple[str, str]]:
    import polars

    table = polars.read_parquet(file)
    for name in table.columns:
        yield "columns", name
        if table[name].dtype == polars.String:
            yield from ((name, str(one)) for one in table[name].unique().drop_nulls())
