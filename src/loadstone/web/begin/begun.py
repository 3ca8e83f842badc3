"""The acts that were begun from the page: started, kept in a folder each, stopped.

`RUNS/.begun/ID` has what was asked (`asked.json`), the output of the command, the run's folder as
soon as it exists, and how it ended. A lock says whether it is still at work, so a page that was
restarted, and another page of the same folder, know it too.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import secrets
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import ValidationError

from loadstone.model.exit_codes import ExitCode
from loadstone.model.frozen import Frozen
from loadstone.model.message import Message, say
from loadstone.runs import atomic, safe_open
from loadstone.runs.errors import StoreError
from loadstone.servers.redact import PASSWORD_VARIABLE, PGPASSWORD, taken_environment
from loadstone.web.begin.errand import ENDED, LOCK, OUTPUT, STOP
from loadstone.web.begin.forms import command_line

FOLDER = ".begun"
RUN_FOLDER = "folder"
ASKED = "asked.json"

MOST_SHOWN = 20
MOST_AT_ONCE = 4
"""Commands at work at the same time: loads on one machine disturb each other's figures."""

Document = TypeVar("Document", bound=Frozen)

_LARGEST = 64 * 1024
_TAIL = 8 * 1024
"""Bytes of the output's end that the page shows."""
_TAIL_LINES = 40
_ID = re.compile(r"^[0-9]{14}-[0-9a-f]{8}$")

Kind = Literal["run", "recipe", "prove"]


class Asked(Frozen):
    """What was begun, by whom and when."""

    id: str
    kind: Kind
    words: tuple[str, ...]
    """The arguments of `loadstone`, as they are shown; no password is in them."""
    targets: tuple[str, ...]
    who: str
    unix_s: float
    run: str | None = None
    """The run whose findings are to be proved; another's folder is known once it exists."""


class _Ended(Frozen):
    code: int
    unix_s: float


class TooMany(Exception):
    """As many commands as may be at work at once already are."""


class Begun:
    """The acts of one folder of runs."""

    def __init__(self, runs: Path) -> None:
        self._folder = runs / FOLDER
        self._children: list[subprocess.Popen[bytes]] = []
        """Kept, as Python warns of forgotten child processes."""

    def start(self, asked: Asked, language: str) -> None:
        """Start the command, in a process that goes on without this one.

        Raises:
            TooMany: too many are at work.
            StoreError: its folder cannot be written, or no process can be started.
        """
        self._reap()
        if sum(self._is_at_work(self._folder / each.id) for each in self._asked()) >= MOST_AT_ONCE:
            raise TooMany
        folder = self._folder / asked.id
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._is_own():
                raise PermissionError(errno.EPERM, say("it is a link, or others can write to it"))
            folder.mkdir(mode=0o700)
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except OSError as error:
            raise StoreError.from_os("make the folder", folder, error) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            atomic.write_bytes(folder / ASKED, asked.model_dump_json().encode())
            told = [] if asked.kind == "prove" else [f"--folder-to={folder / RUN_FOLDER}"]
            self._children.append(_errand(folder, (*asked.words, *told), lock, language))
        except OSError as error:
            # Else the list would show a command that never was, as one that was killed.
            shutil.rmtree(folder, ignore_errors=True)
            why = (error.strerror or str(error)).lower()
            raise StoreError(say("cannot start the command: {why}", why=why)) from error
        finally:
            os.close(lock)

    def lines(self) -> list[dict[str, Any]]:
        """What the page shows of the newest acts, newest first."""
        self._reap()
        return [self._line(each) for each in self._asked()]

    def find(self, which: str) -> Asked | None:
        """The act with that id."""
        if not _ID.match(which) or which not in {each.id for each in self._asked(most=None)}:
            return None
        return _read(self._folder / which / ASKED, Asked)

    def stop(self, which: str) -> bool:
        """Ask a command to stop, as the first Ctrl-C does; returns whether it is at work.

        Raises:
            StoreError: its folder cannot be written.
        """
        folder = self._folder / which
        if not self._is_at_work(folder):
            return False
        try:
            with safe_open.opened(folder / STOP, flags=os.O_RDWR | os.O_CREAT) as file:
                file.seek(0, os.SEEK_END)
                file.write(b"stop\n")
        except OSError as error:
            raise StoreError.from_os("write", folder / STOP, error) from error
        return True

    def who_began(self, run: str) -> str | None:
        """The person who began the run with this folder's name; `None` if nobody did here."""
        for each in self._asked(most=None):
            if each.kind != "prove" and self._run_of(each) == run:
                return each.who
        return None

    def targets_of(self, run: str) -> tuple[str, ...] | None:
        """What was asked for the run with this folder's name; `None` if nobody did here."""
        for each in self._asked(most=None):
            if each.kind != "prove" and self._run_of(each) == run:
                return each.targets
        return None

    def _reap(self) -> None:
        """Forget the processes that have ended."""
        self._children = [each for each in self._children if each.poll() is None]

    def _is_own(self) -> bool:
        """Whether the folder is one of this user, in which nobody else can write."""
        found = self._folder.lstat()
        own = found.st_uid == os.geteuid() and not found.st_mode & 0o022
        return own and stat.S_ISDIR(found.st_mode)

    def _asked(self, most: int | None = MOST_SHOWN) -> list[Asked]:
        with suppress(OSError):
            if not self._is_own():
                return []
            names = sorted((each.name for each in self._folder.iterdir()), reverse=True)
            known = [name for name in names if _ID.match(name)][:most]
            found = (_read(self._folder / name / ASKED, Asked) for name in known)
            return [each for each in found if each is not None]
        return []

    def _line(self, asked: Asked) -> dict[str, Any]:
        folder = self._folder / asked.id
        ended = _read(folder / ENDED, _Ended)
        is_at_work = ended is None and self._is_at_work(folder)
        code = ended.code if ended else None
        return {
            "id": asked.id,
            "kind": asked.kind,
            "who": asked.who,
            "unix_s": asked.unix_s,
            "command": command_line(asked.words),
            "at_work": is_at_work,
            "code": code,
            "said": _said(code, is_at_work=is_at_work),
            "run": self._run_of(asked),
            "output": _tail(folder / OUTPUT),
        }

    def _run_of(self, asked: Asked) -> str | None:
        """The name of the run's folder, once there is one."""
        if asked.run is not None:
            return asked.run
        with suppress(OSError):
            text = safe_open.contents(self._folder / asked.id / RUN_FOLDER, _LARGEST)
            return Path(os.fsdecode(text.strip())).name
        return None

    def _is_at_work(self, folder: Path) -> bool:
        with suppress(OSError), safe_open.opened(folder / LOCK) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False


def fresh_id(unix_s: float) -> str:
    """The id of an act: sorts by its time, and cannot be guessed."""
    return f"{time.strftime('%Y%m%d%H%M%S', time.gmtime(unix_s))}-{secrets.token_hex(4)}"


def secrets_for_commands() -> Mapping[str, str]:
    """The passwords that this process was given in its environment, which took them out of it."""
    known = taken_environment()
    return {name: known[name] for name in (PASSWORD_VARIABLE, PGPASSWORD) if name in known}


def _errand(
    folder: Path, words: Sequence[str], lock: int, language: str
) -> subprocess.Popen[bytes]:
    started = subprocess.Popen(
        [sys.executable, "-P", "-m", "loadstone.web.begin.errand"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=[lock],
        start_new_session=True,
    )
    environment = {**secrets_for_commands(), "LOADSTONE_LANG": language}
    task = {
        "folder": str(folder.absolute()),
        "words": list(words),
        "lock": lock,
        "environment": environment,
    }
    assert started.stdin is not None
    with suppress(OSError), started.stdin as pipe:  # an errand that cannot start has no lock
        pipe.write(json.dumps(task).encode() + b"\n")
    return started


def _said(code: int | None, *, is_at_work: bool) -> Message:
    """The state of an act in words."""
    if is_at_work:
        return say("at work")
    if code is None:
        return say("was killed")
    if code == ExitCode.OK:
        return say("done")
    if code == ExitCode.INTERRUPTED:
        return say("stopped")
    return say("ended with exit code {code}", code=code)


def _read(path: Path, kind: type[Document]) -> Document | None:
    """A document of ours; `None` if there is none that can be read."""
    with suppress(OSError, ValidationError):
        return kind.model_validate_json(safe_open.contents(path, _LARGEST))
    return None


def _tail(path: Path) -> str:
    """The last lines of a command's output; what moves the cursor of a terminal is left out."""
    with suppress(OSError), safe_open.opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - _TAIL))
        text = file.read(_TAIL).decode(errors="replace")
        lines = (line.rsplit("\r", 1)[-1] for line in text.split("\n"))
        printable = ["".join(mark for mark in line if mark.isprintable()) for line in lines]
        return "\n".join(printable[-_TAIL_LINES:]).strip("\n")
    return ""
