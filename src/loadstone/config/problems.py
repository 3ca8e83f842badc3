"""What is wrong with an experiment file: each fault with its line, its key and what to write."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path as FilePath
from types import MappingProxyType
from typing import TypeVar

from loadstone.config.lines import Path
from loadstone.config.values import InvalidValue, shown
from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode

T = TypeVar("T")
D = TypeVar("D")


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong."""

    line: int
    key: str
    """From the outermost table on, as `factor.pool.on.startup`; empty for the file as a whole."""
    what: str
    write: str
    """What to do about it."""

    def __str__(self) -> str:
        """Line, key and what is wrong; the file's name stands before it."""
        return f"{self.line}: {self.key}: {self.what}" if self.key else f"{self.line}: {self.what}"


class ExperimentRefused(LoadstoneError):
    """An experiment file that is not carried out; nothing was started for it."""

    exit_code = ExitCode.PLAN

    def __init__(self, file: str, faults: Sequence[Problem]) -> None:
        first, *others = sorted(faults, key=lambda fault: fault.line)
        more = f" (and {len(others)} more)" if others else ""
        super().__init__(f"{file}:{first}{more}", first.write)
        self.file = file
        self.faults = (first, *others)


def not_toml(said: str, text: str) -> Problem:
    """The fault of a text that tomllib refused with these words."""
    found = re.fullmatch(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", said, re.DOTALL)
    line = int(found[2]) if found and found[2] else text.count("\n") + 1
    what = found[1] if found else said
    write = 'write key = value, texts between quotes: duration = "30s"'
    return Problem(line, "", f"it is not TOML: {what[:1].lower()}{what[1:]}", write)


def text_of(path: FilePath, refused: type[ExperimentRefused]) -> str:
    """What the file has in it.

    Raises:
        ExperimentRefused: of the kind `refused`: it cannot be read, or is not UTF-8.
    """
    try:
        # Some editors begin UTF-8 with a byte order mark, which TOML does not know.
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        fault = Problem(1, "", f"cannot be read: {error.strerror}", "give the path of a TOML file")
        raise refused(str(path), [fault]) from error
    except UnicodeDecodeError as error:
        raise refused(str(path), [Problem(1, "", "it is not UTF-8", "save it as UTF-8")]) from error


class Problems:
    """Collects what is wrong while a file is read, and knows where its keys stand."""

    def __init__(self, lines: Mapping[Path, int]) -> None:
        self._lines = lines
        self.found: list[Problem] = []
        self.paths: set[Path] = set()
        """Of what is known to be wrong."""

    def add(self, path: Path, what: str, write: str) -> None:
        """A fault of this key; of one that is missing, the table around it says the line."""
        self.found.append(Problem(self.line(path), key(path), what, write))
        self.paths.add(path)

    def has(self, path: Path) -> bool:
        """Whether the file has this key."""
        return path in self._lines

    def line(self, path: Path) -> int:
        """Where a key stands, or the nearest table around it."""
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)


def key(path: Path) -> str:
    """As people write it; elements are counted from 1."""
    parts = (f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".")


class Section:
    """A table of the file, whose keys are taken one after the other; what is left is unknown."""

    def __init__(self, table: object, path: Path, faults: Problems) -> None:
        self.path = path
        self.faults = faults
        self._known: list[str] = []
        self._table: dict[str, object] = table if isinstance(table, dict) else {}
        if not isinstance(table, dict):
            faults.add(
                path, f"{shown(table)} is no table", f"write [{key(path)}] and keys below it"
            )

    def has(self, name: str) -> bool:
        """Whether the key is there."""
        return name in self._table

    def names(self) -> Collection[str]:
        """All keys, in the order of the file."""
        return self._table.keys()

    def take(self, name: str, convert: Callable[[object], T], default: D) -> T | D:
        """The value of a key; a fault and the default where it cannot be what is meant."""
        self._known.append(name)
        if name not in self._table:
            return default
        try:
            return convert(self._table[name])
        except InvalidValue as unfit:
            self.faults.add((*self.path, name), unfit.what, unfit.write)
            return default

    def section(self, name: str) -> Section | None:
        """The table of that name."""
        self._known.append(name)
        if name not in self._table:
            return None
        return Section(self._table[name], (*self.path, name), self.faults)

    def sections(self, name: str) -> list[Section]:
        """The tables of `[[name]]`; `[name]` is as good where there is only one."""
        self._known.append(name)
        given = self._table.get(name, [])
        if isinstance(given, dict):
            return [Section(given, (*self.path, name), self.faults)]
        if not isinstance(given, list):
            self.faults.add((*self.path, name), f"{shown(given)} is no table", f"write [[{name}]]")
            return []
        return [Section(each, (*self.path, name, at), self.faults) for at, each in enumerate(given)]

    def wrong(self, name: str | None, what: str, write: str) -> None:
        """A fault of one of its keys, or of itself."""
        self.faults.add(self.path if name is None else (*self.path, name), what, write)

    def end(self, elsewhere: Mapping[str, str] = MappingProxyType({})) -> None:
        """Whatever was not taken is unknown; `elsewhere`: keys that are known, and not here."""
        for name in self._table:
            if name not in self._known:
                near = get_close_matches(name, self._known, n=1, cutoff=0.6)
                known = ", ".join(self._known)
                write = f"did you mean {near[0]}?" if near else f"there are {known}"
                write = elsewhere.get(name, write)
                self.wrong(name, "there is no such key", write)
