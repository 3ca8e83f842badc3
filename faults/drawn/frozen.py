"""The commit that the diagnosis is of: its constants were frozen before the faults were drawn."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass

from benches.place import ROOT

FROZEN = (
    "src/loadstone/diagnosis",
    "src/loadstone/observe",
    "src/loadstone/runs/account*",
    "src/loadstone/analyse",
)
"""What decides findings, their figures, and the rates that they predict."""


@dataclass(frozen=True)
class Constants:
    """The state of these paths."""

    commit: str | None
    """The last one that touched them; `None`: this is no clone."""
    head: str | None
    changed: tuple[str, ...]
    """Files that differ from it."""

    @property
    def are_frozen(self) -> bool:
        """Whether a commit has them as they are."""
        return self.commit is not None and not self.changed


def constants() -> Constants:
    """As they are now."""
    changed = _git("status", "--porcelain", "--", *FROZEN) or ""
    return Constants(
        commit=_git("log", "-1", "--format=%H", "--", *FROZEN) or None,
        head=_git("rev-parse", "HEAD"),
        changed=tuple(line[3:] for line in changed.splitlines()),
    )


def _git(*words: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.rstrip("\n")
