"""The probes of this machine's disks, kept in the user's state folder between runs.

$XDG_STATE_HOME/loadstone/disks/<device>.json      (else ~/.local/state/...)
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from pydantic import ValidationError

from loadstone.model.probe import DiskProbe
from loadstone.runs import atomic
from loadstone.runs.calibration import place as calibration_place
from loadstone.runs.calibration import this_machine
from loadstone.runs.errors import StoreError

_DEVICE = re.compile(r"[0-9]+:[0-9]+")


def device_of(folder: Path) -> str:
    """Major and minor number of the device that a folder lies on.

    Raises:
        StoreError: there is no such folder.
    """
    try:
        number = folder.stat().st_dev
    except OSError as error:
        raise StoreError.from_os("read", folder, error) from error
    return f"{os.major(number)}:{os.minor(number)}"


def keep(probe: DiskProbe) -> Path:
    """Put it in place of the one before of that device.

    Raises:
        StoreError: the folder cannot be written to.
    """
    path = _place(probe.device)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise StoreError.from_os("make", path.parent, error) from error
    atomic.write_bytes(path, (probe.model_dump_json(indent=1) + "\n").encode())
    return path


def kept(device: str) -> DiskProbe | None:
    """The one of that device on this machine; `None` where there is none that can be read."""
    if not _DEVICE.fullmatch(device):  # it stands in the file of a run, and becomes a file's name
        return None
    try:
        found = DiskProbe.model_validate_json(_place(device).read_text())
    except (OSError, ValidationError):
        return None
    return found if found.machine == this_machine() else None


def _place(device: str) -> Path:
    return calibration_place().parent / "disks" / f"{device.replace(':', '-')}.json"
