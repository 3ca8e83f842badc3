"""What a bench that was killed (SIGKILL) could not put away: groups, namespaces, swap files."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

from benches.caps import GROUPS
from loadstone.sandbox.network import clear_stale

_CONTROLLERS = Path("/sys/fs/cgroup")
_SWAPS = Path("/proc/swaps")


def remove() -> list[str]:
    """Those whose maker is gone; returns their names. What cannot be removed is left."""
    removed = []
    for group in _CONTROLLERS.glob(f"*/{GROUPS}*"):
        maker = group.name.removeprefix(GROUPS).partition("-")[0]
        if _is_gone(maker) and _emptied(group):
            removed.append(str(group))
    for path in _swap_files():
        maker = path.name.removeprefix(GROUPS).partition("-")[0]
        if _is_gone(maker):
            subprocess.run(["swapoff", str(path)], capture_output=True, check=False)
            path.unlink(missing_ok=True)
            removed.append(str(path))
    return removed + clear_stale()


def _swap_files() -> list[Path]:
    """Files of ours that the kernel swaps to."""
    paths = (Path(line.split()[0]) for line in _SWAPS.read_text().splitlines()[1:])
    return [path for path in paths if path.name.startswith(GROUPS)]


def _is_gone(maker: str) -> bool:
    return maker.isdigit() and not Path("/proc", maker).exists()


def _emptied(group: Path) -> bool:
    """Its remaining processes move to the group above."""
    with suppress(OSError):
        for pid in (group / "cgroup.procs").read_text().split():
            with suppress(ProcessLookupError):
                (group.parent / "cgroup.procs").write_text(pid)
        os.rmdir(group)
        return True
    return False
