"""The limits that are known of a run's machine: its generator's, and those of the data's disk."""

from __future__ import annotations

from pathlib import Path

from loadstone.model.calibration import Ceilings
from loadstone.model.ceilings import Limits
from loadstone.model.plan import Plan
from loadstone.runs import calibration, probe
from loadstone.runs.run_folder import read_environment


def limits_of(run: Path) -> Limits:
    """By the probe of the disk, where the server's data lies on a disk of this machine.

    Raises:
        StoreError: environment.json cannot be read.
    """
    device = read_environment(run).get("data_device")
    found = probe.kept(device) if isinstance(device, str) else None
    return found.limits if found else Limits()


def generator_ceilings(plan: Plan) -> Ceilings | None:
    """What this machine's generator can do at most, where it was calibrated and is what drives."""
    found = calibration.kept()
    # It says nothing of the machines of a cluster.
    if found is None or plan.cluster:
        return None
    by_socket = all(target.socket is not None for target in plan.targets)
    return found.ceilings(plan.drive.protocol, "socket" if by_socket else "tcp")
