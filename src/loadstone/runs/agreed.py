"""Servers that serve others, and that this user has agreed to drive a load at."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path

from loadstone.runs.atomic import write_bytes
from loadstone.runs.errors import StoreError
from loadstone.runs.state_folder import state_folder


def has_agreed(server: str) -> bool:
    """Whether it was noted; `server`: what tells it from any other."""
    return _note(server).is_file()


def note(server: str, place: str) -> None:
    """Remember it.

    Raises:
        StoreError: it cannot be written.
    """
    path = _note(server)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError.from_os("make", path.parent, error) from error
    said = {"place": place, "agreed": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    write_bytes(path, f"{json.dumps(said)}\n".encode())


def _note(server: str) -> Path:
    name = hashlib.sha256(server.encode()).hexdigest()[:32]
    return state_folder() / "agreed" / f"{name}.json"
