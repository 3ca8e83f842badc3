"""Hides secrets on the command line and in the environment, where others could read them.

The secrets are servers' passwords, and the token of the live page.

`ps` and `/proc/PID/cmdline` show the memory in which the kernel put the arguments at the start.
That memory is writable: the arguments are rewritten in place, shorter, and the rest is filled with
zeros. The environment follows them, is shown in `/proc/PID/environ`, and is inherited by every
program that we start: its secrets are removed.
"""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Mapping
from pathlib import Path

PASSWORD_VARIABLE = "LOADSTONE_PASSWORD"
TOKEN_VARIABLE = "LOADSTONE_TOKEN"
PGPASSWORD = "PGPASSWORD"
"""The variable of PostgreSQL's own clients."""

# `model.target.password_span` as a pattern (a test compares them): importing that module takes some
# tenths of a second, and the password stays readable until we are done.
_URL = re.compile(rb"^(.*?://[^:]*:)(.*)(@[^@]*)$", re.DOTALL)
_OPTION = re.compile(rb"^(--(?:(?:(?:mysql|pgsql)[-_])?password|token)=)(.*)()$", re.DOTALL)
# In libpq's parameters of a connection, `host=db1 password='my secret'`.
_PARAMETER = re.compile(
    rb"((?:^|\s)password\s*=\s*)('(?:[^'\\]|\\.)*'|(?:[^\s\\]|\\.)+)()", re.DOTALL
)
# In a URL's parameters, `postgresql://db1/shop?user=bench&password=secret`. It may have an `@`.
_IN_QUERY = re.compile(rb"([?&]password=)([^&]+)()", re.DOTALL)
_OPTIONS_WITH_A_VALUE = (
    b"--mysql-password", b"--mysql_password", b"--pgsql-password", b"--pgsql_password", b"--token",
)  # fmt: skip

_taken: dict[str, str] = {}


def hide_secrets() -> bool:
    """Blank the secrets in this process's command line; returns whether there were any.

    Call it first: until then they can be read. Without /proc it does nothing.
    """
    try:
        start, end = _memory_of(_ARGUMENTS)
        shown = Path("/proc/self/cmdline").read_bytes()
    except (OSError, ValueError):
        return False
    room = end - start
    if len(shown) != room:  # something has already rewritten the command line
        return False
    hidden = b"\0".join(blank_arguments(shown.split(b"\0")))
    if hidden == shown:
        return False
    ctypes.memmove(start, hidden.ljust(room, b"\0"), room)
    return True


def take_secrets() -> None:
    """Remove the secrets from the environment, so that no program that we start inherits them.

    Afterwards they are in `taken_environment`.
    """
    for name in (PASSWORD_VARIABLE, PGPASSWORD, TOKEN_VARIABLE):
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
    """The variables that were removed from the environment when the program started."""
    return _taken


def blank_arguments(arguments: list[bytes]) -> list[bytes]:
    """The same arguments with every secret replaced by `***`."""
    blanked: list[bytes] = []
    for position, argument in enumerate(arguments):
        follows = position > 0 and arguments[position - 1] in _OPTIONS_WITH_A_VALUE
        blanked.append(_stars(argument) if follows else _blank(argument))
    return blanked


def _blank(argument: bytes) -> bytes:
    for pattern in (_IN_QUERY, _URL, _OPTION, _PARAMETER):
        argument = pattern.sub(lambda found: found[1] + _stars(found[2]) + found[3], argument)
    return argument


def _stars(secret: bytes) -> bytes:
    """Three stars, which hide the length; fewer if there is no room for them."""
    return b"***"[: len(secret)]


# proc_pid_stat(5): arg_start and arg_end are fields 48 and 49, env_start and env_end 50 and 51; the
# list begins at field 3.
_ARGUMENTS = 45
_ENVIRONMENT = 47


def _memory_of(place: int) -> tuple[int, int]:
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    if len(fields) <= place + 1:  # qemu's user mode has the first fields alone
        raise ValueError("the kernel does not say where that is")
    start, end = int(fields[place]), int(fields[place + 1])
    if not 0 < start < end:
        raise ValueError("the kernel does not say where that is")
    return start, end
