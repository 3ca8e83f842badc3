"""Checks the words of what people read: English with codespell, Chinese by parts of its sentences.

    python -m tools.prose

tools/words.txt has the English words that are replaced, tools/words-zh.txt the Chinese ones; each
thing has one name there. Read are documents, comments, docstrings and sentences in the code; names
in the code are not prose.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
WORDS = ROOT / "tools" / "words.txt"
CHINESE_WORDS = ROOT / "tools" / "words-zh.txt"
CATALOGUE = ROOT / "src/loadstone/locale/zh_CN/LC_MESSAGES/loadstone.po"

_NOT_OURS = re.compile(
    r"^(CHANGELOG\.md|CONTRIBUTING\.md|docs/reference/|tools/words(-zh)?\.txt|crates/[^/]+/corpus)"
)
_SENTENCE = re.compile(r"\w+ \w+")
_RUST_COMMENT = re.compile(r"(?<!:)//[/!]?(.*)")


def prose_of_python(source: str) -> Iterator[tuple[int, str]]:
    """Comments, and those strings that are more than a name, by line."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT or (
            token.type == tokenize.STRING and _SENTENCE.search(token.string)
        ):
            for offset, line in enumerate(token.string.splitlines()):
                yield token.start[0] + offset, line


def prose_of_rust(source: str) -> Iterator[tuple[int, str]]:
    """Comments by line."""
    for number, line in enumerate(source.splitlines(), 1):
        if found := _RUST_COMMENT.search(line):
            yield number, found[1]


def prose_of_text(source: str) -> Iterator[tuple[int, str]]:
    """Every line, but for code within it."""
    for number, line in enumerate(source.splitlines(), 1):
        yield number, re.sub(r"`[^`]*`", "", line)


READERS: Mapping[str, Callable[[str], Iterator[tuple[int, str]]]] = {
    ".py": prose_of_python,
    ".rs": prose_of_rust,
    ".md": prose_of_text,
}


def files() -> list[str]:
    """What git knows, from the root."""
    found = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [name for name in found.stdout.splitlines() if not _NOT_OURS.match(name)]


def prose(names: Iterable[str]) -> Iterator[str]:
    """Each line with its place before it, as compilers write it."""
    for name in names:
        path = ROOT / name
        reader = READERS.get(path.suffix)
        if reader is not None and path.is_file():
            for number, line in reader(path.read_text("utf-8")):
                yield f"{name}:{number}: {line}"


def chinese_words() -> Mapping[str, str]:
    """The Chinese words that are replaced, and by what."""
    lines = CHINESE_WORDS.read_text("utf-8").splitlines()
    return dict(line.split("->", 1) for line in lines)


def chinese(text: str, place: str) -> Iterator[str]:
    """The words of a text that should be others, with their lines."""
    for number, line in enumerate(text.splitlines(), 1):
        for word, other in chinese_words().items():
            if word in line.replace("再次运行", ""):
                yield f"{place}:{number}: {word} ==> {other}"


def chinese_faults() -> Iterator[str]:
    """The words that should be others in the catalogue and in the Chinese documents."""
    catalogue = CATALOGUE.read_text("utf-8")
    said = re.sub(r'^(?:#|msgid|msgctxt).*(?:\n".*")*', "", catalogue, flags=re.MULTILINE)
    yield from chinese(said, CATALOGUE.name)
    for name in files():
        if name.startswith("docs/zh/") or name == "README.zh-CN.md":
            yield from chinese((ROOT / name).read_text("utf-8"), name)


def main() -> int:
    """Print the words that should be others; 1 if there are any."""
    if faults := list(chinese_faults()):
        print("\n".join(faults))
        return 1
    text = "\n".join(prose(files()))
    said = subprocess.run(
        [Path(sys.executable).with_name("codespell"), "--dictionary", WORDS, "-"],
        input=text, capture_output=True, text=True, check=False,
    )  # fmt: skip
    print(said.stdout, end="")
    print(said.stderr, end="", file=sys.stderr)
    return 1 if said.stdout.strip() else said.returncode


if __name__ == "__main__":
    sys.exit(main())
