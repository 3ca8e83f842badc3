"""Keeps a copy of a sandbox's data, which can be restored as often as needed."""

from __future__ import annotations

import shutil

from loadstone.sandbox.copying import copy_folder
from loadstone.sandbox.disk import disk_error
from loadstone.sandbox.programs import PROGRAMS
from loadstone.sandbox.sandbox import Sandbox
from loadstone.sandbox.unprivileged import give

_KEPT = "data.kept"


def keep_data(sandbox: Sandbox) -> None:
    """Copy the data folder of a server that was halted.

    Raises:
        SandboxError: there is no room for the copy.
    """
    try:
        copy_folder(sandbox.datadir, sandbox.folder / _KEPT)
    except OSError as error:
        raise disk_error(error, sandbox.folder) from error


def put_data_back(sandbox: Sandbox) -> None:
    """Restore the data folder of a server that does not run from its copy.

    Raises:
        SandboxError: there is no room for it.
    """
    try:
        shutil.rmtree(sandbox.datadir)
        copy_folder(sandbox.folder / _KEPT, sandbox.datadir)
        if PROGRAMS[sandbox.state.family].refuses_root:
            give(sandbox.datadir)
    except OSError as error:
        raise disk_error(error, sandbox.folder) from error
