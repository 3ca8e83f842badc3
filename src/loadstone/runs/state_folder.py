"""Where what outlives a run is kept: sandboxes, old settings, the seal, calibrations."""

from __future__ import annotations

import os
from pathlib import Path


def state_folder() -> Path:
    """`$XDG_STATE_HOME/loadstone`, else `~/.local/state/loadstone`; it need not be there."""
    home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return Path(home, "loadstone")
