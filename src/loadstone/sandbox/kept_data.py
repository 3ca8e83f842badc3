"""A sandbox's data as it was at one moment, kept beside it and put back as often as wanted."""

from __future__ import annotations

import shutil

from loadstone.sandbox.disk import disk_error
from loadstone.sandbox.sandbox import Sandbox

_KEPT = "data.kept"


def keep_data(sandbox: Sandbox) -> None:
    """Copy the data folder of a server that was halted.

    Raises:
        SandboxError: there is no room for it.
    """
    try:
        shutil.copytree(sandbox.datadir, sandbox.folder / _KEPT)
    except OSError as error:
        raise disk_error(error, sandbox.folder) from error


def put_data_back(sandbox: Sandbox) -> None:
    """Make the data folder of a server that does not run what it was when it was kept.

    Raises:
        SandboxError: there is no room for it.
    """
    try:
        shutil.rmtree(sandbox.datadir)
        shutil.copytree(sandbox.folder / _KEPT, sandbox.datadir)
    except OSError as error:
        raise disk_error(error, sandbox.folder) from error
