"""What was changed on which target, on disk before it is changed: one file for each staging.

    $XDG_STATE_HOME/loadstone/settings/       (else ~/.local/state/...)
      db1:3306-1734000000-4711.jsonl          lines: the target, then each old value

A file that is there says that a target's variables are not as they were; its lock, which the kernel
lets go of however a process ends, says whether somebody is still at work with it.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.target import Target

Value = int | float | str | None
"""As the server gives it for `@@GLOBAL.name`."""


class SettingsError(LoadstoneError):
    """A target's variables could not be set, or not be put back."""

    exit_code = ExitCode.TARGET


@dataclass(frozen=True)
class Change:
    """A variable that was about to be set, and what it was before."""

    variable: str
    old: Value
    new: Value
    """As the server took it; the same as `old` where that was not noted any more."""


@dataclass(frozen=True)
class Staged:
    """What a journal says."""

    path: Path
    target: str
    """A URL without a password."""
    place: str
    changes: tuple[Change, ...]
    """In the order in which they were made."""


def settings_folder() -> Path:
    """Where journals lie; made when missing.

    Raises:
        SettingsError: it cannot be made.
    """
    home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    folder = Path(home, "loadstone", "settings")
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise SettingsError(
            f"cannot keep old settings in {folder}: {error.strerror}",
            "set XDG_STATE_HOME to a folder that you can write to",
        ) from error
    return folder


class Journal:
    """An open journal, whose lock is held until it is closed."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    @classmethod
    def begin(cls, folder: Path, target: Target) -> Journal:
        """A new journal for a target."""
        place = re.sub(r"[^\w.:-]+", "_", target.place).strip("_")
        path = folder / f"{place}-{time.time_ns()}-{os.getpid()}.jsonl"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        journal = cls(path, descriptor)
        journal._append({"target": target.url, "place": target.place})
        _sync_folder(folder)
        return journal

    @classmethod
    def take(cls, path: Path) -> Journal | None:
        """One that was left behind; `None` where its maker is still at work, or it is gone."""
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return cls(path, descriptor)

    def changing(self, variable: str, old: Value) -> None:
        """A variable is about to be set: on disk when this returns."""
        self._append({"variable": variable, "old": old})

    def changed(self, variable: str, new: Value) -> None:
        """What the server made of it."""
        self._append({"variable": variable, "new": new})

    def close(self, *, done: bool) -> None:
        """Let go of it; where all is as it was, the file goes."""
        if done:
            self.path.unlink(missing_ok=True)
            _sync_folder(self.path.parent)
        os.close(self._descriptor)

    def _append(self, line: dict[str, Value]) -> None:
        os.write(self._descriptor, json.dumps(line).encode() + b"\n")
        os.fsync(self._descriptor)


def read_journal(path: Path) -> Staged | None:
    """What it says; `None` where its maker died before the first line was whole: nothing was set.

    Raises:
        SettingsError: it is no journal.
    """
    try:
        whole = path.read_text(encoding="utf-8").split("\n")[:-1]  # a cut line was never acted on
        lines = [json.loads(line) for line in whole]
        head, rest = (lines[0], lines[1:]) if lines else ({}, [])
        return Staged(path, head["target"], head["place"], _changes(rest)) if head else None
    except (OSError, ValueError, KeyError, TypeError) as error:
        hint = "set the variables by hand, and remove the file"
        raise SettingsError(f"cannot read the old settings in {path}: {error}", hint) from error


def _changes(lines: list[dict[str, Value]]) -> tuple[Change, ...]:
    """The first old value of a variable counts, and the last new one."""
    old: dict[str, Value] = {}
    new: dict[str, Value] = {}
    for line in lines:
        name = str(line["variable"])
        if "old" in line:
            old.setdefault(name, line["old"])
        else:
            new[name] = line["new"]
    return tuple(Change(name, value, new.get(name, value)) for name, value in old.items())


def left_behind(folder: Path) -> Iterator[Staged]:
    """Journals of this folder, oldest first; those without a whole line are removed.

    Raises:
        SettingsError: one of them is no journal.
    """
    for path in sorted(folder.glob("*.jsonl"), key=lambda each: each.name.split("-")[-2:]):
        staged = read_journal(path)
        if staged is not None:
            yield staged
        elif (journal := Journal.take(path)) is not None:
            journal.close(done=True)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
