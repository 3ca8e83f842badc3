"""The known limits of a run's machine: those of its generator and of the disk with the data."""

from __future__ import annotations

from pathlib import Path

from loadstone.model.calibration import Ceilings
from loadstone.model.limits import Limits, stated
from loadstone.model.plan import Plan
from loadstone.runs import calibration, probe
from loadstone.runs.run_folder import read_environment, stated_limits


def limits_of(run: Path) -> Limits:
    """Limits by the disk probe, where the server's data is on a disk of this machine.

    Those that the user stated for the run count before them.

    Raises:
        StoreError: environment.json cannot be read.
    """
    environment = read_environment(run)
    device = environment.get("data_device")
    found = probe.kept(device) if isinstance(device, str) else None
    measured = found.limits if found else Limits()
    return measured.but(stated(stated_limits(run, environment).items()))


def generator_ceilings(plan: Plan) -> Ceilings | None:
    """The limits of this machine's generator; `None` if it was not calibrated or does not drive."""
    found = calibration.kept()
    # The calibration says nothing about the machines of a cluster.
    if found is None or plan.cluster:
        return None
    match plan.drive.protocol:
        case "prepared" | "text" as measured:
            by_socket = all(target.socket is not None for target in plan.targets)
            return found.ceilings(measured, "socket" if by_socket else "tcp")
        case _:
            return None
