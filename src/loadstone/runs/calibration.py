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
    """Where it is kept."""
    return state_folder.state_folder() / "calibration.json"


def this_machine() -> str:
    """What a calibration holds for: processor, cores and kernel."""
    return f"{processor() or 'unknown processor'}, {os.cpu_count()} cores, {platform.release()}"


def keep(calibration: Calibration) -> Path:
    """Put it in place of the one before.

    Raises:
        StoreError: the folder cannot be written to.
    """
    return state_folder.keep(place(), calibration.model_dump_json(indent=1))


def kept() -> Calibration | None:
    """The one that holds for this machine; `None` where there is none.

    One of another machine, or one that cannot be read, says nothing: it is made again by whoever
    wants to know.
    """
    found = state_folder.kept(place(), Calibration)
    return found if found and found.machine == this_machine() else None
