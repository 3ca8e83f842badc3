"""The probes of this machine's disks, kept in the user's state folder between runs.

$XDG_STATE_HOME/loadstone/disks/<device>.json      (else ~/.local/state/...)
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from loadstone.model.probe import DiskProbe
from loadstone.runs import state_folder
from loadstone.runs.calibration import place as calibration_place
from loadstone.runs.calibration import this_machine
from loadstone.runs.errors import StoreError

_DEVICE = re.compile(r"[0-9]+:[0-9]+")


def device_of(folder: Path) -> str:
    """Major and minor number of the device that holds a folder.

    Raises:
        StoreError: there is no such folder.
    """
    try:
        number = folder.stat().st_dev
    except OSError as error:
        raise StoreError.from_os("read", folder, error) from error
    return f"{os.major(number)}:{os.minor(number)}"


def keep(probe: DiskProbe) -> Path:
    """Store a probe, replacing the previous one of that device; returns its path.

    Raises:
        StoreError: the folder cannot be written to.
    """
    return state_folder.keep(_place(probe.device), probe.model_dump_json(indent=1))


def kept(device: str) -> DiskProbe | None:
    """The probe of that device on this machine; `None` if there is none that can be read."""
    if not _DEVICE.fullmatch(device):  # it comes from a run's file, and becomes a file name
        return None
    found = state_folder.kept(_place(device), DiskProbe)
    return found if found and found.machine == this_machine() else None


def _place(device: str) -> Path:
    return calibration_place().parent / "disks" / f"{device.replace(':', '-')}.json"
