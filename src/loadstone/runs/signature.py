"""Distinguishes folders that this user's Loadstone wrote from those of others.

Reading anybody's run is harmless. Running it again is not: run.json decides which server
gets this user's password, which statements and variables are sent there, and which program is
started; environment.json decides how a throwaway server is configured. So both are sealed when they
are written, and the seal is checked before they are used. The tables are sealed, too: a crafted
Parquet file may take any amount of memory, and the journal has the same content.

A seal is checked on bytes in memory, which are then parsed: the file is not read again, so it
cannot be changed in between. It is valid for one run, the one whose journal is in the folder: what
this user asked for in one run is not asked for in another.

  $XDG_STATE_HOME/loadstone/seal.key      a secret of this user (else ~/.local/state/...)
  <run>/seals                             a line per document: its HMAC-SHA256 under a key
                                          derived from that secret and the run's id

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
    """The user never asked for what the folder asks for."""

    exit_code = ExitCode.GUARD


def add(run: Path, name: str, content: bytes, run_id: str) -> None:
    """Seal content that is written, or about to be, into a run's folder under this name.

    If no secret can be stored (a read-only home) there is no seal: the run continues, and a user
    who resumes it must confirm that it is theirs.
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
    """Check that content read from a run's files, by name, is from this user's Loadstone.

    Raises:
        NotOurs: one is not, or it cannot be determined.
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
    """Whether this user's Loadstone wrote this content into that file of that run.

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


def secret_for(use: str) -> bytes:
    """A secret of this user for another use, the same each time.

    If none can be stored (a read-only home), it is a new one.
    """
    with contextlib.suppress(OSError):
        return hmac.digest(_key() or _new_key(), f"for {use}".encode(), "sha256")
    return secrets.token_bytes(_KEY_BYTES)


def _seal(key: bytes, run_id: str, name: str, content: bytes) -> str:
    of_run = hmac.digest(key, run_id.encode("utf-8", "surrogatepass"), "sha256")
    made = hmac.new(of_run, name.encode() + b"\0", "sha256")
    made.update(content)
    return made.hexdigest()


def _key() -> bytes | None:
    """The secret; `None` if there is none, or others could have read or written it."""
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
    # Two runs may start at once: the first one's secret is used by both.
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
