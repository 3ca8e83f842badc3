"""Reads a server's messages: in its error log, and from a check of its options."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from loadstone.model.message import say
from loadstone.sandbox.binary import ServerBinary
from loadstone.sandbox.errors import SandboxError
from loadstone.sandbox.mysql.binaries import command_of, is_mariadb
from loadstone.sandbox.mysql.initialise import run_as_root

_CHECK_S = 20


def check_settings(binary: ServerBinary, settings: dict[str, str], options: Sequence[str]) -> None:
    """Let MySQL check its options, which takes no time; a start finds a bad one late.

    MariaDB has no such check, and ends at once by itself.

    Raises:
        SandboxError: quotes the server's error.
    """
    if is_mariadb(binary) or binary.release < (8, 0, 16) or not settings:
        return
    asked = [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
    try:
        answer = subprocess.run(
            [*command_of(binary), "--validate-config", *run_as_root(), *options, *asked],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_CHECK_S,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return  # the start itself will report it
    if answer.returncode != 0 and (reason := error_of(answer.stdout + answer.stderr)):
        raise SandboxError(
            say("the server does not start: {reason}", reason=reason), hint_of(reason)
        )


def error_of(log: str) -> str | None:
    """The first error line of a server's log, without its time and numbers."""
    for line in log.splitlines():
        _, mark, text = line.partition("[ERROR]")
        if mark and "Aborting" not in text:
            while text.lstrip().startswith("["):  # for example MySQL's [MY-000067] [Server]
                text = text.lstrip().partition("]")[2]
            return text.strip()
    return None


def is_port_taken(log: str) -> bool:
    """Whether the server ended because its port was already in use."""
    return "Address already in use" in log or "Do you already have another" in log


def hint_of(reason: str) -> str | None:
    """What to do about an error; `None` if there is no advice."""
    if "unknown variable" in reason or "unknown option" in reason:
        return say("check --set; servers ignore loose_NAME=VALUE where they do not know NAME")
    if "No space left" in reason or "Disk is full" in reason:
        return say("make room, or set XDG_STATE_HOME to a folder on another disk")
    return None
