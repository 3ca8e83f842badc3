"""Problems of an experiment file: each with its line, its key and what to write instead."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from loadstone.config.lines import Path, lines_of
from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.figure import Count
from loadstone.model.message import Joined, Message, plain, say

_NAMED = 5
"""With more problems, only the first are named, because all are one line."""


@dataclass(frozen=True)
class Problem:
    """One problem of a file."""

    line: int
    """0: the file has no lines that could be read."""
    key: str
    """The key from the outermost table on, as `factor.pool.on.startup`; empty for the whole
    file."""
    what: str
    write: str
    """What to write instead."""

    def __str__(self) -> str:
        """Line, key and problem; callers put the file's name before it."""
        return str(self.said)

    @property
    def said(self) -> Message:
        """The problem as a message."""
        if not self.line:
            return say("{wrong}", wrong=self.what)
        if not self.key:
            return say("{line}: {wrong}", line=self.line, wrong=self.what)
        return say("{line}: {key}: {wrong}", line=self.line, key=self.key, wrong=self.what)

    def said_in(self, file: str) -> Message:
        """The problem with the file's name before it, and with what to write after it."""
        whole = Joined([self.said, self.write], "clauses")
        if not self.line:
            return say("{file}: {problem}", file=file, problem=whole)
        return say("{file}:{problem}", file=file, problem=whole)


class ExperimentRefused(LoadstoneError):
    """An experiment file was refused; nothing was started for it."""

    exit_code = ExitCode.PLAN

    def __init__(self, file: str, faults: Sequence[Problem]) -> None:
        first, *others = sorted(faults, key=lambda fault: fault.line)
        named = Joined([fault.said for fault in (first, *others)[:_NAMED]], "clauses")
        said = say("{file}:{problem}", file=file, problem=named)
        if not first.line:
            said = say("{file}: {problem}", file=file, problem=named)
        if (more := len(others) + 1 - _NAMED) > 0:
            said = say(
                "{file}:{problem} (and {number} more)",
                file=file,
                problem=named,
                number=Count(more),
            )
        super().__init__(said, first.write)
        self.file = file
        self.faults = (first, *others)

    @property
    def lines(self) -> tuple[Message, ...]:
        """Each problem as `file:line: key: what is wrong; what to write`, as compilers print them.

        Editors jump to such lines. The message of a single problem is one already.
        """
        if len(self.faults) == 1:
            return ()
        count = say("{file}: {number} problems", file=self.file, number=Count(len(self.faults)))
        return (*(fault.said_in(self.file) for fault in self.faults), count)


def not_toml(said: str, text: str) -> Problem:
    """The problem of a text that tomllib refused with this message."""
    found = re.fullmatch(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", said, re.DOTALL)
    line = int(found[2]) if found and found[2] else text.count("\n") + 1
    what = found[1] if found else said
    reason = plain(f"{what[:1].lower()}{what[1:]}")
    hint = say('write key = value, texts between quotes: duration = "30s"')
    return Problem(line, "", say("it is not TOML: {reason}", reason=reason), hint)


def text_of(path: FilePath, refused: type[ExperimentRefused]) -> str:
    """The text of a file.

    Raises:
        ExperimentRefused: of the kind `refused`: the file cannot be read, or is not UTF-8.
    """
    try:
        # Some editors start UTF-8 with a byte order mark, which TOML does not allow.
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        said = say("cannot be read: {reason}", reason=error.strerror)
        fault = Problem(0, "", said, say("give the path of a TOML file"))
        raise refused(str(path), [fault]) from error
    except UnicodeDecodeError as error:
        fault = Problem(1, "", say("it is not UTF-8"), say("save it as UTF-8"))
        raise refused(str(path), [fault]) from error


def document_of(
    text: str, file: str, refused: type[ExperimentRefused]
) -> tuple[dict[str, Any], Problems]:
    """The tables of a TOML text, and the lines of its keys; `file` is its name in messages.

    Raises:
        ExperimentRefused: of the kind `refused`: it is not TOML.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise refused(file, [not_toml(str(error), text)]) from error
    except RecursionError:
        fault = Problem(1, "", say("it is nested too deeply"), say("write lists of values only"))
        raise refused(file, [fault]) from None
    return document, Problems(lines_of(text))


class Problems:
    """Collects problems while a file is read, and knows the lines of its keys."""

    def __init__(self, lines: Mapping[Path, int]) -> None:
        self._lines = lines
        self.found: list[Problem] = []
        self.paths: set[Path] = set()
        """Paths that are known to have problems."""

    def add(self, path: Path, what: str, write: str) -> None:
        """Add a problem of this key; a missing key has the line of the table around it."""
        path = self._written(path)
        self.found.append(Problem(self.line(path), key(path), what, write))
        self.paths.add(path)

    def has(self, path: Path) -> bool:
        """Whether the file has this key."""
        return path in self._lines

    def _written(self, path: Path) -> Path:
        """The path as written: the keys of `[x]` as the only `[[x]]` have no number before them."""
        known: Path = ()
        for part in path:
            if part != 0 or (*known, part) in self._lines:
                known += (part,)
        return known

    def line(self, path: Path) -> int:
        """The line of a key, or of the nearest table around it."""
        while path and path not in self._lines:
            path = path[:-1]
        return self._lines.get(path, 1)


def key(path: Path) -> str:
    """The key as people write it; elements are counted from 1."""
    parts = (f"[{part + 1}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".")
