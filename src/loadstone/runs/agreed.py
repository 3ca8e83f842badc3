"""Servers in use by others that this user has agreed to put load on."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path

from loadstone.runs.state_folder import keep, state_folder


def has_agreed(server: str) -> bool:
    """Whether the agreement was noted; `server` identifies the server."""
    return _note(server).is_file()


def note(server: str, place: str) -> None:
    """Remember the agreement.

    Raises:
        StoreError: it cannot be written.
    """
    said = {"place": place, "agreed": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    keep(_note(server), json.dumps(said))


def _note(server: str) -> Path:
    name = hashlib.sha256(server.encode()).hexdigest()[:32]
    return state_folder() / "agreed" / f"{name}.json"
