"""The calibration of this machine, kept in the user's state folder between runs.

$XDG_STATE_HOME/loadstone/calibration.json      (else ~/.local/state/...)
"""

from __future__ import annotations

import os
import platform
from pathlib import Path

from pydantic import ValidationError

from loadstone.model.calibration import Calibration
from loadstone.runs import atomic
from loadstone.runs.environment import processor
from loadstone.runs.errors import StoreError
from loadstone.runs.state_folder import state_folder


def place() -> Path:
    """Where it is kept."""
    return state_folder() / "calibration.json"


def this_machine() -> str:
    """What a calibration holds for: processor, cores and kernel."""
    return f"{processor() or 'unknown processor'}, {os.cpu_count()} cores, {platform.release()}"


def keep(calibration: Calibration) -> Path:
    """Put it in place of the one before.

    Raises:
        StoreError: the folder cannot be written to.
    """
    path = place()
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreError.from_os("make", path.parent, error) from error
    atomic.write_bytes(path, (calibration.model_dump_json(indent=1) + "\n").encode())
    return path


def kept() -> Calibration | None:
    """The one that holds for this machine; `None` where there is none.

    One of another machine, or one that cannot be read, says nothing: it is made anew by whoever
    wants to know.
    """
    try:
        found = Calibration.model_validate_json(place().read_text())
    except (OSError, ValidationError):
        return None
    return found if found.machine == this_machine() else None
