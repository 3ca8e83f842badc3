"""The calibration of this machine, kept in the user's state folder between runs.

$XDG_STATE_HOME/loadstone/calibration.json      (else ~/.local/state/...)
"""

from __future__ import annotations

import os
import platform
from pathlib import Path

from loadstone.model.calibration import Calibration
from loadstone.runs import state_folder
from loadstone.runs.environment import processor


def place() -> Path:
    """The path of the calibration file."""
    return state_folder.state_folder() / "calibration.json"


def this_machine() -> str:
    """What a calibration is valid for: processor, number of cores and kernel."""
    return f"{processor() or 'unknown processor'}, {os.cpu_count()} cores, {platform.release()}"


def keep(calibration: Calibration) -> Path:
    """Store a calibration, replacing the previous one; returns its path.

    Raises:
        StoreError: the folder cannot be written to.
    """
    return state_folder.keep(place(), calibration.model_dump_json(indent=1))


def kept() -> Calibration | None:
    """The calibration for this machine; `None` if there is none.

    One of another machine, or one that cannot be read, counts as none: the caller calibrates again.
    """
    found = state_folder.kept(place(), Calibration)
    return found if found and found.machine == this_machine() else None
