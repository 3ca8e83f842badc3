"""Stores what outlives a run: sandboxes, old settings, the seal, calibrations."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from loadstone.runs import atomic
from loadstone.runs.errors import StoreError

M = TypeVar("M", bound=BaseModel)


def state_folder() -> Path:
    """`$XDG_STATE_HOME/loadstone`, or `~/.local/state/loadstone`; it may not exist."""
    home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(home, "loadstone")


def keep(path: Path, document: str) -> Path:
    """Store a document, replacing the previous one, in a folder for its owner alone.

    Raises:
        StoreError: the folder cannot be written to.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreError.from_os("make", path.parent, error) from error
    atomic.write_bytes(path, f"{document}\n".encode())
    return path


def kept(path: Path, kind: type[M]) -> M | None:
    """The stored document; `None` if there is none that can be read."""
    try:
        return kind.model_validate_json(path.read_text())
    except (OSError, ValidationError):
        return None
