"""Run folders made by an attacker: real ones, changed where it hurts."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

JOURNAL = "journal.jsonl"
MADE_FROM_JOURNAL = ("result.json", "load.parquet", "server.parquet", "host.parquet")

SCRIPT = "<script>alert('mine')</script>"
TERMINAL = "\x1b]0;mine\x07\x1b[2J\x9b31m"

# Values as they stand in a file: not all of them are JSON.
VALUES = (
    "0", "-1", "1", "2", "0.5", "true", "null", '""', "[]", "{}", '[[]]', "[null]", '{"a": {}}',
    "2147483648", "4503599627370496", "-9223372036854775809", "18446744073709551616",
    "1" + "0" * 30, "9" * 400, "1e19", "-1e19", "1e308", "-1e308", "1e-320", "1e999",
    "NaN", "-Infinity", '"[/bold] [red"',
    json.dumps(SCRIPT), json.dumps(TERMINAL), '"\\ud800"', '"\\u0000"', '"../../../../etc/passwd"',
    '"' + "x" * 100_000 + '"', "[" * 5000 + "]" * 5000, '{"a":' * 300 + "1" + "}" * 300,
)  # fmt: skip

_PLACE = '"\N{SNOWMAN} here"'

Change = Callable[[Any], object]


def changed(document: bytes, chance: random.Random) -> bytes:
    """A JSON document with one value moved, removed, or duplicated."""
    found = json.loads(document)
    places = list(_places(found))
    if not places:
        return chance.choice(VALUES).encode()
    holder, key = chance.choice(places)
    what = chance.random()
    if what < 0.1:
        del holder[key]
    elif what < 0.2 and isinstance(holder, list):
        holder.insert(key, holder[key])
    elif what < 0.3:
        other, at = chance.choice(places)
        holder[key] = json.loads(json.dumps(other[at]))
    else:
        holder[key] = json.loads(_PLACE)
    text = json.dumps(found, separators=(",", ":"))
    return text.replace(json.dumps(json.loads(_PLACE)), chance.choice(VALUES)).encode()


def _places(found: Any) -> Iterator[tuple[Any, Any]]:
    entries = found.items() if isinstance(found, dict) else enumerate(found)
    for key, value in list(entries):
        yield found, key
        if isinstance(value, dict | list):
            yield from _places(value)


def changed_bytes(content: bytes, chance: random.Random) -> bytes:
    """A file that was truncated, or has some bytes changed."""
    if not content or chance.random() < 0.3:
        return content[: chance.randrange(len(content) + 1)]
    changed = bytearray(content)
    for _ in range(chance.randint(1, 8)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def changed_lines(journal: bytes, chance: random.Random) -> bytes:
    """A journal with some lines changed; the offsets of its steps stay right."""
    lines = journal.splitlines()
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = _a_line(lines, chance)
        what = chance.random()
        if what < 0.08:
            del lines[at]
        elif what < 0.16:
            lines.insert(chance.randrange(len(lines) + 1), lines[at])
        elif what < 0.2:
            lines[at] = changed_bytes(lines[at], chance).replace(b"\n", b"")
        else:
            try:
                lines[at] = changed(lines[at], chance)
            except ValueError:  # a document that was changed before
                continue
        if not lines:
            break
    return placed(lines)


def _a_line(lines: list[bytes], chance: random.Random) -> int:
    """A line of a random kind: most lines are seconds."""
    kinds: dict[bytes, list[int]] = {}
    for number, line in enumerate(lines):
        kinds.setdefault(_kind(line), []).append(number)
    return chance.choice(kinds[chance.choice(sorted(kinds))])


def _kind(line: bytes) -> bytes:
    record = line.find(b'"record":{"kind":"')
    return line[:25] + (line[record : record + 26] if record >= 0 else b"")


def placed(lines: list[bytes]) -> bytes:
    """The lines as a journal, in which each step has the byte offset of its own line."""
    made = b""
    for line in lines:
        made += _placed(line, len(made)) + b"\n"
    return made


def _placed(line: bytes, at: int) -> bytes:
    if not line.startswith(b'{"kind":"step_begin"'):
        return line
    try:
        document = json.loads(line)
    except ValueError:
        return line
    if isinstance(document.get("journal_from"), int):
        document["journal_from"] = at
    return json.dumps(document, separators=(",", ":")).encode()


def change_a_file(run: Path, chance: random.Random) -> None:
    """Change one file of the folder."""
    names = [path.name for path in sorted(run.iterdir()) if path.is_file()]
    name = chance.choice([*names, JOURNAL, JOURNAL, "result.json", "result.json"])
    path = run / name
    content = path.read_bytes()
    if name == JOURNAL:
        path.write_bytes(changed_lines(content, chance))
        # Otherwise nobody would read the changed file.
        for made in MADE_FROM_JOURNAL:
            (run / made).unlink(missing_ok=True)
    elif name.endswith(".json"):
        path.write_bytes(changed(content, chance))
    else:
        path.write_bytes(changed_bytes(content, chance))
