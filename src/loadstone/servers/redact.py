"""Secrets on the command line and in the environment, blanked where others can read them.

Passwords of servers, and the token of the live page.

`ps` and `/proc/PID/cmdline` show the memory in which the kernel put the arguments at the start.
That memory is ours to write: the arguments are rewritten in place, shorter, and what is left over
at the end is filled with zeros. The environment lies behind them, is shown in `/proc/PID/environ`,
and is handed on to every program that we start: what is secret in it is taken out.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Mapping
from pathlib import Path

PASSWORD_VARIABLE = "LOADSTONE_PASSWORD"
TOKEN_VARIABLE = "LOADSTONE_TOKEN"

# `model.target.password_span` as a pattern (a test compares them): importing that module takes
# some tenths of a second, and until we are done the password can be read.
_URL = re.compile(rb"^(.*?://[^:]*:)(.*)(@[^@]*)$", re.DOTALL)
_OPTION = re.compile(rb"^(--(?:(?:(?:mysql|pgsql)[-_])?password|token)=)(.*)()$", re.DOTALL)
_OPTIONS_WITH_A_VALUE = (
    b"--mysql-password", b"--mysql_password", b"--pgsql-password", b"--pgsql_password", b"--token",
)  # fmt: skip

_taken: dict[str, str] = {}


def hide_secrets() -> bool:
    """Blank the secrets in this process's command line; whether there were any.

    Call it first thing: until then they can be read. Where /proc is missing nothing is done.
    """
    try:
        start, end = _memory_of(_ARGUMENTS)
        shown = Path("/proc/self/cmdline").read_bytes()
    except (OSError, ValueError):
        return False
    room = end - start
    if len(shown) != room:  # something has rewritten the command line before us
        return False
    hidden = b"\0".join(blank_arguments(shown.split(b"\0")))
    if hidden == shown:
        return False
    ctypes.memmove(start, hidden.ljust(room, b"\0"), room)
    return True


def take_secrets() -> None:
    """Take the secrets out of the environment: no program that we start inherits them.

    From then on they are in `taken_environment`.
    """
    for name in (PASSWORD_VARIABLE, TOKEN_VARIABLE):
        secret = os.environ.pop(name, None)
        if secret is not None:
            _taken[name] = secret
            _blank_in_environment(name)


def _blank_in_environment(variable: str) -> None:
    try:
        start, end = _memory_of(_ENVIRONMENT)
        shown = Path("/proc/self/environ").read_bytes()
    except (OSError, ValueError):
        return
    if len(shown) != end - start:
        return
    name = f"{variable}=".encode()
    for entry in re.finditer(rb"[^\0]+", shown):
        if entry[0].startswith(name):
            ctypes.memset(start + entry.start() + len(name), 0, len(entry[0]) - len(name))


def taken_environment() -> Mapping[str, str]:
    """What was taken out of the environment when the program began."""
    return _taken


def blank_arguments(arguments: list[bytes]) -> list[bytes]:
    """The same arguments with every secret replaced by `***`."""
    blanked: list[bytes] = []
    for position, argument in enumerate(arguments):
        follows = position > 0 and arguments[position - 1] in _OPTIONS_WITH_A_VALUE
        blanked.append(_stars(argument) if follows else _blank(argument))
    return blanked


def _blank(argument: bytes) -> bytes:
    for pattern in (_URL, _OPTION):
        argument = pattern.sub(lambda found: found[1] + _stars(found[2]) + found[3], argument)
    return argument


def _stars(secret: bytes) -> bytes:
    """Three, which says nothing about the length; fewer where there is no room for them."""
    return b"***"[: len(secret)]


# proc_pid_stat(5): arg_start and arg_end are fields 48 and 49, env_start and env_end 50 and 51; the
# list begins at field 3.
_ARGUMENTS = 45
_ENVIRONMENT = 47


def _memory_of(place: int) -> tuple[int, int]:
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(fields[place]), int(fields[place + 1])
    if not 0 < start < end:
        raise ValueError("the kernel does not say where that is")
    return start, end
