"""Runs PostgreSQL's own programs and reads what they say, which is always in English."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from loadstone.model.message import say
from loadstone.sandbox.errors import SandboxError


def run_program(
    command: Sequence[str], feed: str = "", *, timeout_s: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; its input and output are text.

    libpq's variables do not reach it: they would name another server.

    Raises:
        SandboxError: it cannot be run, or takes longer than that.
    """
    own = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    try:
        return subprocess.run(
            list(command),
            input=feed,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env={**own, "LC_ALL": "C"},
            timeout=timeout_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxError(
            say("{command}: {reason}", command=command[0], reason=str(error))
        ) from None
