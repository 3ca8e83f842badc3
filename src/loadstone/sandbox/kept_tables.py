"""Keeps the data folders of throwaway servers with their loaded tables.

The next server of the same program, with the same tables and the same settings that reach its
files, starts on a copy. It is shut down before it is copied, and the first server continues on the
same data, so that both begin alike: with clean pages, and a buffer pool that was loaded again.

A folder is kept if loading it took longer than a start of its server does, which is what keeping
it costs. The folders together have a limit; those that were used least recently make room.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from loadstone.families import family_of
from loadstone.model.frozen import Frozen
from loadstone.model.message import Message, say
from loadstone.sandbox.binaries import find_server
from loadstone.sandbox.binary import ServerBinary
from loadstone.sandbox.copying import copy_folder
from loadstone.sandbox.disk import disk_error
from loadstone.sandbox.errors import SandboxError
from loadstone.sandbox.programs import PROGRAMS
from loadstone.sandbox.sandbox import Sandbox
from loadstone.sandbox.spec import SandboxSpec
from loadstone.sandbox.starting import start_sandbox
from loadstone.sandbox.state import locked
from loadstone.sandbox.template import build_of, cache_folder, template_of

LIMIT = "LOADSTONE_KEPT_GIB"
"""The variable with the limit of all folders together, in GiB; 0: nothing is kept or used."""

_MOST_GIB = 16.0
_PART_OF_FREE = 4
"""Together they take at most this part of the room on their disk that others leave."""

_FORMAT = "1"
_DATA, _ABOUT = "data", "about.json"
_BLOCK = 512  # of st_blocks, stat(2)
_WARM_S, _POLL_S = 60.0, 0.05


class Kept(Frozen):
    """What is known of a kept folder."""

    server: str
    tables: str
    """The tables, for people."""
    bytes: int
    """What the folder takes on the disk."""
    used_s: float
    """When it was last used, in seconds since 1970."""


@dataclass(frozen=True)
class Contents:
    """What a server is loaded with."""

    key: str
    """Identifies the rows: what makes them, and with what."""
    tables: str
    """The tables, for people."""


def start_loaded(
    spec: SandboxSpec,
    contents: Contents | None,
    load: Callable[[Sandbox], None],
    tell: Callable[[Message], None],
) -> Sandbox:
    """Start a throwaway server with its tables: on kept ones, or by loading them.

    Args:
        spec: the server.
        contents: what `load` makes; `None` if that cannot be identified, so that nothing is kept.
        load: fills a server that was started on new data.
        tell: shows that kept tables are used, or why they cannot be kept.

    Raises:
        SandboxError: it does not start.
        LoadstoneError: what `load` raises.
    """
    binary = find_server(spec.server, spec.root)
    most = _most_bytes()
    if contents is None or spec.replica or not most:
        return _with_tables(start_sandbox(spec), load)
    folder = cache_folder("tables")
    entry = folder / _name_of(binary, spec, contents)
    found = _start_on(entry, spec, tell)
    if found is not None:
        return found
    # No later start makes it, so it is no part of what keeping costs.
    _make_template(binary)
    began = time.monotonic()
    sandbox = start_sandbox(spec)
    started = time.monotonic()
    _with_tables(sandbox, load)
    if is_worth_keeping(start_s=started - began, load_s=time.monotonic() - started):
        _with_tables(sandbox, lambda loaded: _keep(loaded, binary, entry, contents.tables, tell))
    return sandbox


def _make_template(binary: ServerBinary) -> None:
    try:
        template_of(binary)
    except OSError as error:
        raise disk_error(error, cache_folder("templates")) from error


def is_worth_keeping(*, start_s: float, load_s: float) -> bool:
    """Whether a load saves more than keeping it costs: one more start of the server."""
    return load_s > start_s


def kept_folders() -> list[Kept]:
    """What is kept, the most recently used first."""
    found = (_read(entry) for entry in _entries(cache_folder("tables")))
    return sorted(filter(None, found), key=lambda kept: -kept.used_s)


def clear_kept() -> int:
    """Remove all kept folders; returns how many bytes they took."""
    folder = cache_folder("tables")
    with locked(folder / ".lock"):
        gone = sum(kept.bytes for kept in kept_folders())
        for entry in list(_entries(folder)):
            shutil.rmtree(entry)
    return gone


def _with_tables(sandbox: Sandbox, load: Callable[[Sandbox], None]) -> Sandbox:
    """The server with what `load` does to it; it ends if that fails."""
    try:
        load(sandbox)
    except BaseException:
        sandbox.stop()
        raise
    return sandbox


def _name_of(binary: ServerBinary, spec: SandboxSpec, contents: Contents) -> str:
    programs = PROGRAMS[binary.family]
    settings = programs.settings_of(spec, binary, "primary")
    reaching = sorted(each for each in settings.items() if programs.reaches_files(each[0]))
    facts = (_FORMAT, build_of(binary), reaching, spec.database, contents.key)
    digest = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]
    return f"{binary.flavour}-{binary.version}-{digest}"


def _start_on(entry: Path, spec: SandboxSpec, tell: Callable[[Message], None]) -> Sandbox | None:
    """A server on a copy of what is kept there; `None` if there is nothing of use."""
    with locked(entry.parent / ".lock"):
        kept = _read(entry)
        if kept is None:
            return None
        _write(entry, kept.model_copy(update={"used_s": time.time()}))
    try:
        sandbox = start_sandbox(spec.model_copy(update={"data": entry / _DATA}))
    except SandboxError as error:
        # It may have been removed meanwhile, or is damaged. If neither is the reason, a start on
        # new data fails as well.
        tell(
            say("the tables that an earlier server has left are removed: {why}", why=error.message)
        )
        with locked(entry.parent / ".lock"):
            shutil.rmtree(entry, ignore_errors=True)
        return None
    tell(say("{server} is up, on tables that an earlier one has left", server=_named(sandbox)))
    return _with_tables(sandbox, lambda loaded: _wait_until_warm(loaded, tell))


def _keep(
    sandbox: Sandbox,
    binary: ServerBinary,
    entry: Path,
    tables: str,
    tell: Callable[[Message], None],
) -> None:
    """Shut a server down, copy its data folder, and start it again."""
    programs, most = PROGRAMS[binary.family], _most_bytes()
    with sandbox.connect() as connection:
        family_of(sandbox.local.target).forget_when_made(connection, sandbox.local.target)
        programs.before_keeping(connection, binary)
    sandbox.halt()
    size = _size_of(sandbox.datadir)
    about = Kept(
        server=_named(sandbox),
        tables=tables,
        bytes=size,
        used_s=time.time(),
    )
    try:
        with locked(entry.parent / ".lock"):
            if _make_room(entry.parent, size, most):
                _copy(sandbox.datadir, entry, about, programs.without_identity)
    except OSError as error:
        why = error.strerror or str(error)
        tell(say("its tables cannot be kept for the next server: {why}", why=why))
    sandbox.start_again()
    _wait_until_warm(sandbox, tell)


def _copy(datadir: Path, entry: Path, about: Kept, finish: Callable[[Path], None]) -> None:
    half = Path(tempfile.mkdtemp(prefix=".making-", dir=entry.parent))
    try:
        copy_folder(datadir, half / _DATA)
        finish(half / _DATA)
        _write(half, about)
        shutil.rmtree(entry, ignore_errors=True)
        half.rename(entry)
    finally:
        shutil.rmtree(half, ignore_errors=True)


def _most_bytes() -> int:
    given = os.environ.get(LIMIT) or str(_MOST_GIB)
    try:
        gib = float(given)
    except ValueError:
        gib = math.nan
    if not 0 <= gib < math.inf:
        raise SandboxError(
            say("{variable} is {value}, which is no number of GiB", variable=LIMIT, value=given),
            say("such as 16, or 0 to keep no tables"),
        )
    return int(gib * 2**30)


def _make_room(folder: Path, size: int, most: int) -> bool:
    """Remove the least recently used folders until this one fits; `False` if it never does."""
    for left in folder.glob(".making-*"):
        shutil.rmtree(left, ignore_errors=True)  # of a process that was killed; we hold the lock
    oldest_first = sorted(
        ((kept, entry) for entry in _entries(folder) if (kept := _read(entry))),
        key=lambda each: each[0].used_s,
    )
    total = sum(kept.bytes for kept, _ in oldest_first)
    free = shutil.disk_usage(folder).free
    most = min(most, (total + free) // _PART_OF_FREE)
    if size > most:
        return False
    for kept, entry in oldest_first:
        if total + size <= most:
            break
        shutil.rmtree(entry, ignore_errors=True)
        total -= kept.bytes
    return True


def _wait_until_warm(sandbox: Sandbox, tell: Callable[[Message], None]) -> None:
    programs = PROGRAMS[sandbox.state.family]
    deadline = time.monotonic() + _WARM_S
    with sandbox.connect() as connection:
        while not programs.is_warmed_up(connection):
            if time.monotonic() > deadline:
                tell(say("its memory is not filled yet: the first seconds read from the disk"))
                return
            time.sleep(_POLL_S)


def _named(sandbox: Sandbox) -> str:
    return f"{PROGRAMS[sandbox.state.family].labels[sandbox.flavour]} {sandbox.version}"


def _entries(folder: Path) -> Iterator[Path]:
    return (entry for entry in folder.iterdir() if not entry.name.startswith("."))


def _read(entry: Path) -> Kept | None:
    try:
        return Kept.model_validate_json((entry / _ABOUT).read_bytes())
    except (OSError, ValueError):
        return None


def _write(entry: Path, kept: Kept) -> None:
    fresh = entry / f"{_ABOUT}.{os.getpid()}"
    fresh.write_text(kept.model_dump_json())
    fresh.replace(entry / _ABOUT)


def _size_of(folder: Path) -> int:
    return sum(file.lstat().st_blocks * _BLOCK for file in folder.rglob("*"))
