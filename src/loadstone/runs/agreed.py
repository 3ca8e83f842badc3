"""Servers that serve others, and that this user has agreed to drive a load at."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path

from loadstone.runs.state_folder import keep, state_folder


def has_agreed(server: str) -> bool:
    """Whether it was noted; `server`: what tells it from any other."""
    return _note(server).is_file()


def note(server: str, place: str) -> None:
    """Remember it.

    Raises:
        StoreError: it cannot be written.
    """
    said = {"place": place, "agreed": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    keep(_note(server), json.dumps(said))


def _note(server: str) -> Path:
    name = hashlib.sha256(server.encode()).hexdigest()[:32]
    return state_folder() / "agreed" / f"{name}.json"
