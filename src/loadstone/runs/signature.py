"""Tells a folder that this user's Loadstone wrote from one that somebody sent.

Reading a run harms nothing, whoever made it. Carrying it out again is another matter: run.json says
to which server this user's password goes, which statements and variables are sent there, and which
program is started; environment.json says how a throwaway server is set. So both are sealed while
they are written, and whoever acts on them looks at the seal first. So are the tables: a crafted
Parquet file takes as much memory as its maker likes, and the journal tells the same.

A seal is of bytes that were read already, and those are what is parsed then: a file that somebody
changes meanwhile is not read again. It holds for one run, the one whose journal is in the folder:
what this user has asked for in another run is not asked for in this one.

    $XDG_STATE_HOME/loadstone/seal.key      a secret of this user (else ~/.local/state/...)
    <run>/seals                             a line a document: its HMAC-SHA256 under a key that is
                                            made of that secret and the run's id

RFC 2104, "HMAC: Keyed-Hashing for Message Authentication".
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.message import say
from loadstone.runs import safe_open
from loadstone.runs.calibration import place as calibration_place
from loadstone.runs.journal import RunBegin, read_entries
from loadstone.runs.rebuild import JOURNAL

SEALS = "seals"
_KEY = "seal.key"
_KEY_BYTES = 32
_MOST = safe_open.MEGABYTE


class NotOurs(LoadstoneError):
    """Nobody here has asked for what the folder asks for."""

    exit_code = ExitCode.GUARD


def add(run: Path, name: str, content: bytes, run_id: str) -> None:
    """What is written, or about to be, into a run's folder under this name.

    Where no secret can be kept (a home that may only be read) there is no seal: the run goes on,
    and whoever takes it up says that it is theirs.
    """
    with contextlib.suppress(OSError):
        key = _key() or _new_key()
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(run / SEALS, flags, 0o600)
        try:
            os.write(descriptor, _seal(key, run_id, name, content).encode() + b"\n")
        finally:
            os.close(descriptor)


def check(run: Path, read: Mapping[str, bytes]) -> None:
    """Whether what was read from files of a run, by their names, is this user's Loadstone's.

    Raises:
        NotOurs: one is not, or nobody can tell.
        StoreError: the run's journal cannot be read.
    """
    if all(is_ours(run, name, content) for name, content in read.items()):
        return
    raise NotOurs(
        say(
            "{run} was not started by you on this machine, and would be run in your name",
            run=run.name,
        ),
        say(
            "a seal of another run, or of an older Loadstone, does not count; look in its run.json "
            "for the server, the statements and the programs that it asks for; if you mean all of "
            "that: --trust-folder"
        ),
    )


def is_ours(run: Path, name: str, content: bytes) -> bool:
    """Whether this is what this user's Loadstone wrote into that file of that run.

    Raises:
        StoreError: the run's journal cannot be read.
    """
    try:
        key = _key()
        known = safe_open.contents(run / SEALS, _MOST).decode("ascii", "replace").split()
    except OSError:
        return False
    first = next(read_entries(run / JOURNAL), None)
    if key is None or not isinstance(first, RunBegin):
        return False
    wanted = _seal(key, first.id, name, content)
    return any(hmac.compare_digest(wanted, each) for each in known)


def _seal(key: bytes, run_id: str, name: str, content: bytes) -> str:
    of_run = hmac.digest(key, run_id.encode("utf-8", "surrogatepass"), "sha256")
    made = hmac.new(of_run, name.encode() + b"\0", "sha256")
    made.update(content)
    return made.hexdigest()


def _key() -> bytes | None:
    """The secret; `None` where there is none, or others could have read or written it."""
    try:
        with safe_open.opened(_key_place()) as file:
            facts = os.fstat(file.fileno())
            found = file.read(_KEY_BYTES + 1)
    except FileNotFoundError:
        return None
    is_own = facts.st_uid == os.geteuid() and not facts.st_mode & 0o077
    return found if is_own and len(found) == _KEY_BYTES else None


def _new_key() -> bytes:
    path = _key_place()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    key = secrets.token_bytes(_KEY_BYTES)
    # Two runs may begin at once: the secret of the first is everybody's.
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, key)
        os.fsync(descriptor)
        with contextlib.suppress(FileExistsError):
            os.link(fresh, path)
    finally:
        os.close(descriptor)
        os.unlink(fresh)
    found = _key()
    if found is None:
        raise PermissionError("others can read the secret")
    return found


def _key_place() -> Path:
    return calibration_place().with_name(_KEY)
