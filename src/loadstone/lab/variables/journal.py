"""Records changes to a target's variables on disk before they happen, in one file for each staging.

    $XDG_STATE_HOME/loadstone/settings/       (else ~/.local/state/...)
      db1:3306-1734000000-4711.jsonl          the target and all that is set there,
                                              then each variable before and after it is set

While a file exists, a target's variables are not as they were. Its lock, which the kernel releases
however a process ends, shows whether somebody is still at work with it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from loadstone.families import family_of
from loadstone.model.exit_codes import ExitCode
from loadstone.model.frozen import DEFERRED, Frozen
from loadstone.model.message import say
from loadstone.model.target import Target
from loadstone.model.target_url import TargetUrlError, parse_target_url
from loadstone.runs import safe_open
from loadstone.runs.state_folder import state_folder
from loadstone.servers.errors import SettingsError
from loadstone.servers.facts import Value
from loadstone.servers.identity import Identity


class LeftChanged(SettingsError):
    """Variables do not have their old values, or may not have them."""

    exit_code = ExitCode.LEFT_CHANGED


class Unreadable(LeftChanged):
    """A journal from which nothing can be restored."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(
            say("cannot read the old settings in {path}: {why}", path=path, why=why),
            say("set the variables by hand, and remove the file"),
        )
        self.path = path

    def is_of(self, target: Target) -> bool:
        """Whether the file has the name of a journal of this target."""
        return self.path.name.rsplit("-", 2)[0] == _in_file_name(target)


@dataclass(frozen=True)
class Change:
    """A variable that was about to be set, and its old value."""

    variable: str
    old: Value
    new: Value
    """The value that the server took; the same as `old` if that was not recorded any more."""
    kept: str | None = None
    """What each start of the server set it to, if setting it has replaced that."""

    def is_undone(self, now: Value) -> bool:
        """Whether the variable has its old value."""
        return alike(now, self.old)


def alike(one: Value, other: Value) -> bool:
    """Whether two values are the same, also `1` and `ON`: one may be a number and one a text."""
    return one == other or _plain(one) == _plain(other)


def _plain(value: Value) -> str:
    said = str(value).strip().upper()
    return {"ON": "1", "OFF": "0", "TRUE": "1", "FALSE": "0"}.get(said, said)


@dataclass(frozen=True)
class Staged:
    """The contents of a journal."""

    path: Path
    target: str
    """A URL without a password."""
    place: str
    server: Identity
    """The server that answered there."""
    before: Mapping[str, str]
    """All of the server's variables, as texts, before the first change."""
    changes: tuple[Change, ...]
    """In the order in which they were made."""
    cut_short: bool
    """Whether the maker died before the effects of the last change were recorded."""
    restoring: tuple[str, ...] | None
    """The variables that somebody has started to restore; `None`: nobody has."""

    @property
    def names(self) -> frozenset[str]:
        """The variables that were about to be set."""
        return frozenset(change.variable for change in self.changes)


@dataclass(frozen=True)
class LeftBehind:
    """The contents of a folder of journals."""

    staged: tuple[Staged, ...]
    """Oldest first."""
    unreadable: tuple[Unreadable, ...]
    """Each is reported, and does not keep the others from being restored."""


def settings_folder() -> Path:
    """The folder of journals; created if it is missing.

    Raises:
        SettingsError: it cannot be created.
    """
    folder = state_folder() / "settings"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise SettingsError(
            say("cannot keep old settings in {path}: {why}", path=folder, why=error.strerror),
            say("set XDG_STATE_HOME to a folder that you can write to"),
        ) from error
    return folder


class Journal:
    """An open journal, whose lock is held until it is closed."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    @classmethod
    def begin(
        cls,
        folder: Path,
        target: Target,
        before: Mapping[str, str],
        server: Identity | None = None,
    ) -> Journal:
        """Create a journal for a target with these variables, which also identify its server.

        Raises:
            SettingsError: it cannot be written; nothing of it is left.
        """
        path = folder / f"{_in_file_name(target)}-{time.time_ns()}-{os.getpid()}.jsonl"
        journal = cls(path, _made(path))
        head = {
            "target": target.url,
            "place": target.place,
            "server": (server or family_of(target).identity_of(before)).model_dump(),
            "before": dict(before),
        }
        try:
            journal._append(head)
        except SettingsError:
            journal.close(done=True)
            raise
        _sync_folder(folder)
        return journal

    @classmethod
    def take(cls, path: Path) -> Journal | None:
        """Open a journal that was left behind; `None` if its maker is at work, or it is gone."""
        try:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(path, flags)
        except FileNotFoundError:
            return None
        for wait_s in (_PEEK_S, 0.0):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return cls(path, descriptor)
            except BlockingIOError:
                time.sleep(wait_s)  # another command may be checking the lock
        os.close(descriptor)
        return None

    def changing(self, variable: str, old: Value, kept: str | None = None) -> None:
        """Record that a variable is about to be set; on disk when this returns."""
        line: dict[str, object] = {"variable": variable, "old": old}
        if kept is not None:
            line["kept"] = kept
        self._append(line)

    def changed(self, variable: str, new: Value) -> None:
        """Record the value that the server took, after the other variables that changed with it."""
        self._append({"variable": variable, "new": new})

    def restoring(self, changes: Sequence[Change], now: Mapping[str, Value]) -> None:
        """Record that these changes are about to be undone, with the current values.

        From here on `changing` and `changed` record what the restore does.
        """
        for change in changes:
            self.changing(change.variable, change.old, change.kept)
            self.changed(change.variable, now[change.variable])
        self._append({"restoring": [change.variable for change in changes]})

    def close(self, *, done: bool) -> None:
        """Close the journal; if `done`, remove the file, since all is as it was."""
        if done:
            self.path.unlink(missing_ok=True)
            _sync_folder(self.path.parent)
        os.close(self._descriptor)

    def _append(self, line: Mapping[str, object]) -> None:
        """Append a whole line.

        Raises:
            SettingsError: the disk refuses it; no part of the line stays.
        """
        size = os.fstat(self._descriptor).st_size
        rest = json.dumps(line).encode() + b"\n"
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            os.fsync(self._descriptor)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, size)
            raise _cannot_keep(self.path, error) from error


def _made(path: Path) -> int:
    """Create a locked file; repeats if another process removed it before it was locked."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
    while True:
        try:
            descriptor = os.open(path, flags, 0o600)
        except OSError as error:
            raise _cannot_keep(path, error) from error
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)


def is_at_work(path: Path) -> bool:
    """Whether a journal's maker is still running, and will restore the variables."""
    try:
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(path, flags)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _in_file_name(target: Target) -> str:
    return re.sub(r"[^\w.:-]+", "_", target.place).strip("_")


class _Head(Frozen):
    target: str
    place: str
    server: Identity | None = None
    before: dict[str, str]


class _Old(Frozen):
    variable: str
    old: Value
    kept: str | None = None


class _New(Frozen):
    variable: str
    new: Value


class _Restoring(Frozen):
    restoring: tuple[str, ...]


_Line = _Old | _New | _Restoring
_HEAD: TypeAdapter[_Head] = TypeAdapter(_Head)
_LINE: TypeAdapter[_Line] = TypeAdapter(_Line, config=DEFERRED)

_PEEK_S = 0.05
"""How long `take` waits, in seconds, for a process that checks whether a journal's maker is at
work."""

_LARGEST = 16 * 1024 * 1024
"""Bytes; all variables of a server are some 50 kB."""


def read_journal(path: Path) -> Staged | None:
    """Read a journal; `None` where nothing was set: its maker died before the first line was whole.

    Its values are set on a server, so it is read only where nobody else can have written it.

    Raises:
        Unreadable: it is not a journal, or not one of this user's.
    """
    try:
        whole = _own(path).split(b"\n")[:-1]  # a line that was cut off was never acted on
        if not whole:
            return None
        head = _HEAD.validate_json(whole[0])
        lines = [_LINE.validate_json(each) for each in whole[1:]]
        target = _checked_target(head)
        rest = [line for line in lines if not isinstance(line, _Restoring)]
        server = head.server or family_of(target).identity_of(head.before)
        said = head.target, head.place, server, head.before
        return Staged(path, *said, _changes(rest), *_phase(lines))
    except ValidationError as error:
        raise Unreadable(path, say("it is no journal of settings")) from error
    except FileNotFoundError:
        return None  # its maker has ended just now
    except OSError as error:
        raise Unreadable(path, error.strerror or str(error)) from error
    except (ValueError, TargetUrlError) as error:
        raise Unreadable(path, str(error)) from error


def _own(path: Path) -> bytes:
    """The contents of a file that belongs to this user.

    Raises:
        OSError: others could have written it, or it cannot be read.
    """
    with safe_open.opened(path) as file:
        facts = os.fstat(file.fileno())
        if facts.st_uid != os.geteuid() or facts.st_mode & 0o022:
            raise PermissionError(errno.EPERM, say("others could have written it"))
        found = file.read(_LARGEST + 1)
    if len(found) > _LARGEST:
        raise safe_open.NotPlain(errno.EFBIG, say("it is far too large"))
    return found


def _checked_target(head: _Head) -> Target:
    """The target to connect to; its place, which the command line names, must match.

    Raises:
        ValueError: they are not the same server.
        TargetUrlError: the target is not a valid URL.
    """
    target, _ = parse_target_url(head.target)
    if target.place != head.place:
        raise ValueError(f"it is of {head.place} and names {target.place}")
    return target


def _changes(lines: Sequence[_Old | _New]) -> tuple[Change, ...]:
    """One change for each variable: from its first old value to its last new one."""
    old: dict[str, _Old] = {}
    new: dict[str, Value] = {}
    for line in lines:
        if isinstance(line, _Old):
            old.setdefault(line.variable, line)
        else:
            new[line.variable] = line.new
    return tuple(
        Change(name, first.old, new.get(name, first.old), first.kept) for name, first in old.items()
    )


def _phase(lines: Sequence[_Line]) -> tuple[bool, tuple[str, ...] | None]:
    """Whether the last change was cut short, and which variables a restore has started with."""
    begun: set[str] = set()
    restoring: tuple[str, ...] | None = None
    for line in lines:
        match line:
            case _Old():
                begun.add(line.variable)
            case _New():
                begun.discard(line.variable)
            case _Restoring():
                restoring = line.restoring
                begun.clear()
    return bool(begun), restoring


def left_behind(folder: Path) -> LeftBehind:
    """Read the folder's journals, oldest first; those without a whole line are removed."""
    staged: list[Staged] = []
    unreadable: list[Unreadable] = []
    for path in sorted(folder.glob("*.jsonl"), key=lambda each: each.name.split("-")[-2:]):
        try:
            found = read_journal(path)
        except Unreadable as error:
            unreadable.append(error)
            continue
        if found is not None:
            staged.append(found)
        elif (journal := Journal.take(path)) is not None:
            # Its maker may have written the line and died since it was read.
            journal.close(done=read_journal(path) is None)
    return LeftBehind(tuple(staged), tuple(unreadable))


def _cannot_keep(path: Path, error: OSError) -> SettingsError:
    return SettingsError(
        say(
            "cannot keep old settings in {path}: {why}",
            path=path,
            why=(error.strerror or str(error)).lower(),
        ),
        say("make room there, or set XDG_STATE_HOME to a folder on another disk"),
    )


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
