"""The licences of everything linked into the engine, which must accompany a binary."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tools.linked import Crate, Library, crates_of_engine, libraries_of

NAMES = re.compile(r"(LICEN[CS]E|COPYING|COPYRIGHT|NOTICE|UNLICENSE)", re.IGNORECASE)
RULE = "=" * 100

HEAD = """\
The engine of Loadstone, _engine.abi3.so, has works of others linked into it. Each text below stands
under the names of those that it came with; of a work with several licences all are here.
"""


def main() -> int:
    """Write them to the file that is named."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m tools.licences FILE")
    crates = crates_of_engine()
    Path(sys.argv[1]).write_text(written(crates, list(libraries_of(crates))))
    return 0


def written(crates: Iterable[Crate], libraries: Sequence[Library]) -> str:
    """The file: a list of all works with their licences, then each text once."""
    others = [crate for crate in crates if crate.checksum]
    lines = [f"  {crate.key}: {crate.licence}" for crate in others]
    for each in libraries:
        lines.append(f"  {each.name} {each.version} (in {each.brought_by}): {each.licence}")
    found = [*named_texts(others), *((each.name, each.text) for each in libraries)]
    return "\n".join([HEAD, *lines, "", *sections(found)])


def named_texts(crates: Iterable[Crate]) -> Iterator[tuple[str, Path]]:
    """The files of licences, copyrights and notices at the top of each crate's sources."""
    for crate in crates:
        for path in sorted(crate.folder.iterdir()):
            if path.is_file() and NAMES.match(path.name):
                yield crate.key, path


def sections(found: Iterable[tuple[str, Path]]) -> Iterator[str]:
    """Each text once, below the names of all that it came with."""
    texts: dict[str, tuple[str, list[str]]] = {}
    for name, path in found:
        text = path.read_text(encoding="utf-8", errors="replace").strip()
        _, names = texts.setdefault(" ".join(text.split()), (text, []))
        if name not in names:
            names.append(name)
    for text, names in texts.values():
        yield f"{RULE}\n{', '.join(names)}\n{RULE}\n{text}\n"


if __name__ == "__main__":
    sys.exit(main())
