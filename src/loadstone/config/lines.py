"""Finds the line of each key in a TOML text, which Python's own reader does not report.

tomllib has read the text before, so it is known to be TOML (1.0.0, https://toml.io). This module
only finds keys: where they begin, and how far their values extend.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping

Path = tuple[str | int, ...]
"""Keys from the outermost on; for an element of an array, its number."""

_BLANK = " \t\r\n"
_ENDS_BARE = ",]}#\n"


def lines_of(text: str) -> Mapping[Path, int]:
    """The line of each key and of each element of an array, counted from 1.

    A table without a header of its own, such as `a` of `[a.b]`, has the line where it is first
    named.
    """
    scanner = _Scanner(text)
    scanner.document()
    return scanner.found


class _Scanner:
    def __init__(self, text: str) -> None:
        self.found: dict[Path, int] = {}
        self._text = text
        self._at = 0
        # The number of elements that `[[x]]` has made so far, by the path of `x`.
        self._elements: dict[Path, int] = {}

    def document(self) -> None:
        """Read lines: each is a header, or a key with its value in the table of the last header."""
        table: Path = ()
        while self._skip_blank():
            if self._text.startswith("[[", self._at):
                table = self._array_header()
            elif self._peek() == "[":
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> Path:
        line = self._line()
        self._at += 1
        path = self._within(self._key())
        self._note(path, line)
        self._expect("]")
        return path

    def _array_header(self) -> Path:
        line = self._line()
        self._at += 2
        name = self._key()
        array = self._within(name[:-1]) + name[-1:]
        number = self._elements.get(array, 0)
        self._elements[array] = number + 1
        element: Path = (*array, number)
        self._note(element, line)
        self._expect("]]")
        return element

    def _within(self, name: Path) -> Path:
        """The path that a header's name refers to: in an array of tables, its last element."""
        path: Path = ()
        for part in name:
            path += (part,)
            if path in self._elements:
                path += (self._elements[path] - 1,)
        return path

    def _pair(self, table: Path) -> None:
        line = self._line()
        path = table + self._key()
        self._note(path, line)
        self._expect("=")
        self._value(path)

    def _key(self) -> Path:
        """Read a key, dotted or not: `a`, `a.b`, `"a b".c`."""
        parts: list[str] = []
        while True:
            self._skip_blank()
            begin = self._at
            if self._peek() in "\"'":
                self._string()
            else:
                while self._peek() not in " \t.=]\r\n":
                    self._at += 1
            parts.extend(tomllib.loads(f"{self._text[begin : self._at]} = 0"))
            self._skip_blank()
            if self._peek() != ".":
                return tuple(parts)
            self._at += 1

    def _value(self, path: Path) -> None:
        self._skip_blank()
        match self._peek():
            case '"' | "'":
                self._string()
            case "[":
                self._array(path)
            case "{":
                self._inline_table(path)
            case _:
                while self._peek() not in _ENDS_BARE:
                    self._at += 1

    def _array(self, path: Path) -> None:
        self._at += 1
        element = 0
        while self._skip_blank() and self._peek() != "]":
            if self._peek() == ",":
                self._at += 1
                element += 1
                continue
            self._note((*path, element), self._line())
            self._value((*path, element))
        self._expect("]")

    def _inline_table(self, path: Path) -> None:
        self._at += 1
        while self._skip_blank() and self._peek() != "}":
            if self._peek() == ",":
                self._at += 1
                continue
            self._pair(path)
        self._expect("}")

    def _string(self) -> None:
        quote = self._peek()
        ends = quote * 3 if self._text.startswith(quote * 3, self._at) else quote
        self._at += len(ends)
        while not self._text.startswith(ends, self._at):
            # A backslash escapes the next character, except between single quotes.
            self._at += 2 if quote == '"' and self._peek() == "\\" else 1
        self._at += len(ends)
        # Up to two quotes may come before the three that end the text.
        while len(ends) == 3 and self._peek() == quote:
            self._at += 1

    def _note(self, path: Path, line: int) -> None:
        for length in range(1, len(path) + 1):
            self.found.setdefault(path[:length], line)

    def _skip_blank(self) -> bool:
        """Skip to the next meaningful character; returns whether there is one."""
        while self._at < len(self._text):
            if self._peek() == "#":
                while self._peek() != "\n":
                    self._at += 1
            elif self._peek() in _BLANK:
                self._at += 1
            else:
                return True
        return False

    def _peek(self) -> str:
        """The next character; after the last one, an end of line."""
        return self._text[self._at] if self._at < len(self._text) else "\n"

    def _expect(self, mark: str) -> None:
        self._skip_blank()
        assert self._text.startswith(mark, self._at), f"no {mark} at line {self._line()}"
        self._at += len(mark)

    def _line(self) -> int:
        return self._text.count("\n", 0, self._at) + 1
