"""The folder of sandboxes: one folder each, with a record by which another process can judge it.

    $XDG_STATE_HOME/loadstone/sandboxes/      (else ~/.local/state/...)
      .lock                                   held while a name is given or stale ones are cleared
      mariadb-1/
        state.json      the record below, for the owner's eyes only: it holds the passwords
        data/  tls/  error.log  client.cnf  server.sock

A sandbox is stale when nobody can use it any more: its maker died before it was ready, or its owner
died. `clear_stale` ends its remaining processes and removes its folder. One without an owner stays
until it is stopped, even if its server crashed: its data may be what a drill is about.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError, field_validator

from loadstone.model.error_codes import MYSQL
from loadstone.model.frozen import Frozen
from loadstone.model.message import say
from loadstone.model.target import is_first
from loadstone.runs.state_folder import state_folder
from loadstone.sandbox.account import Account
from loadstone.sandbox.errors import SandboxError
from loadstone.sandbox.network import Namespace
from loadstone.sandbox.pooler import FOLDER, Pooler
from loadstone.sandbox.processes import ProcessMark, poolers_of, servers_of
from loadstone.sandbox.programs import PROGRAMS
from loadstone.sandbox.shared_memory import SharedMemory

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
_RECORD = "state.json"
_ENDING_S = 10.0
_REMOVING_S = 5.0
"""How long the removal of a folder is repeated in which something is still written."""
_AGAIN_S = 0.05


class SandboxState(Frozen):
    """Everything that another process must know about a sandbox."""

    name: str
    phase: Literal["making", "running", "killed"]
    role: Literal["primary", "replica"] = "primary"
    partner: str | None = None
    """The sandbox at the other end of the replication, if any."""
    family: str = Field(default=MYSQL, exclude_if=is_first)
    """The server's family, as in a target."""
    flavour: str
    version: str
    command: tuple[str, ...] = ()
    """The server's whole command line, to start it again on the same data."""
    open_files: int
    """The limit on open files that was requested for the server."""
    maker: ProcessMark
    owner: ProcessMark | None = None
    """The process with which the sandbox ends; `None` if it stays until it is stopped."""
    server: ProcessMark | None = None
    port: int = 0
    socket: Path = Path()
    namespace: Namespace | None = None
    """The server's network namespace; `None`: this machine's own network."""
    database: str
    accounts: tuple[Account, ...] = ()
    settings: dict[str, str] = {}
    pooler: Pooler | None = None
    """The connection pooler in front of the server; `None`: none."""
    created_at: str

    @field_validator("family")
    @classmethod
    def _family_is_known(cls, family: str) -> str:
        if family not in PROGRAMS:
            raise ValueError("a family of another Loadstone")
        return family

    @property
    def address(self) -> str:
        """The address on which the server listens."""
        return self.namespace.there if self.namespace else "127.0.0.1"

    @property
    def is_stale(self) -> bool:
        """Whether nobody can use it any more."""
        if self.owner is not None:
            return not self.owner.is_alive()
        return self.phase == "making" and not self.maker.is_alive()

    @property
    def is_running(self) -> bool:
        """Whether its server runs, as far as this machine's processes tell."""
        return self.phase == "running" and self.server is not None and self.server.is_alive()


def sandboxes_folder() -> Path:
    """The folder of all sandboxes; created if it is missing.

    Raises:
        SandboxError: it cannot be created or written to.
    """
    folder = state_folder() / "sandboxes"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        (folder / ".lock").touch(mode=0o600)
    except OSError as error:
        raise SandboxError(
            say(
                "cannot keep sandboxes in {folder}: {reason}",
                folder=str(folder),
                reason=error.strerror,
            ),
            say("set XDG_STATE_HOME to a folder on a real disk that you can write to"),
        ) from None
    return folder


@contextlib.contextmanager
def locked(lock: Path) -> Iterator[None]:
    """Hold a lock file against other processes (and other threads of this one)."""
    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def write_state(folder: Path, state: SandboxState) -> None:
    """Replace the record atomically: a reader sees the old one or the new one."""
    fresh = folder / f"{_RECORD}.{os.getpid()}"
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(state.model_dump_json(indent=1))
    fresh.replace(folder / _RECORD)


def read_state(folder: Path) -> SandboxState | None:
    """The record in that folder; `None` if there is none that can be read."""
    try:
        return SandboxState.model_validate_json((folder / _RECORD).read_bytes())
    except (OSError, ValidationError):
        return None


def read_states(root: Path) -> list[SandboxState]:
    """All records, by name."""
    states = (read_state(folder) for folder in sorted(root.iterdir()) if folder.is_dir())
    return [state for state in states if state is not None]


def free_name(root: Path, wanted: str | None, flavour: str) -> str:
    """The requested name if it may be used, else the first free number of that flavour."""
    if wanted is None:
        numbers = (number for number in range(1, 10_000))
        return next(
            f"{flavour}-{number}"
            for number in numbers
            if not (root / f"{flavour}-{number}").exists()
        )
    if _NAME.fullmatch(wanted) is None:
        raise SandboxError(
            say("{value} cannot be a sandbox's name", value=repr(wanted)),
            say("write at most 32 small letters, digits, - and _"),
        )
    if (root / wanted).exists():
        raise SandboxError(
            say("there is a sandbox named {name} already", name=wanted),
            say("`loadstone sandbox stop {name}` ends it", name=wanted),
        )
    return wanted


def clear_stale(root: Path) -> list[str]:
    """Remove sandboxes that nobody can use; the caller holds the lock. Returns their names."""
    cleared = []
    for folder in sorted(root.iterdir()):
        if not folder.is_dir():
            continue
        state = read_state(folder)
        if state is None and servers_of(folder / "data"):
            continue  # written by another version, and in use
        if state is None or state.is_stale:
            remove(folder, state)
            cleared.append(folder.name)
    return cleared


def remove(folder: Path, state: SandboxState | None) -> None:
    """End the servers that still run in a sandbox's folder, then remove the folder.

    A server whose starter was killed may begin only now, and write into the folder meanwhile.
    """
    known = [state.server] if state is not None and state.server is not None else []
    known += [state.pooler.process] if state is not None and state.pooler is not None else []
    if state is not None and state.socket.parent.name.startswith("loadstone-"):
        shutil.rmtree(state.socket.parent, ignore_errors=True)
    deadline = time.monotonic() + _REMOVING_S
    while True:
        _end([*servers_of(folder / "data"), *poolers_of(folder / FOLDER), *known])
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists() or time.monotonic() > deadline:
            return
        time.sleep(_AGAIN_S)


def _end(servers: Sequence[ProcessMark]) -> None:
    memory = SharedMemory(servers)
    for mark in servers:
        mark.signal(signal.SIGKILL)
    for mark in servers:
        mark.wait_until_gone(_ENDING_S)
    memory.free()
