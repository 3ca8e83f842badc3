"""Passwords on the command line, blanked where other users of the machine can read them.

`ps` and `/proc/PID/cmdline` show the memory in which the kernel put the arguments at the start.
That memory is ours to write: the arguments are rewritten in place, shorter, and what is left over
at the end is filled with zeros.
"""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

# `model.target.password_span` as a pattern (a test compares them): importing that module takes
# some tenths of a second, and until we are done the password can be read.
_URL = re.compile(rb"^(.*?://[^:]*:)(.*)(@[^@]*)$", re.DOTALL)
_OPTION = re.compile(rb"^(--(?:(?:mysql|pgsql)[-_])?password=)(.*)()$", re.DOTALL)
_OPTIONS_WITH_A_VALUE = (b"--mysql-password", b"--pgsql-password")


def hide_passwords() -> bool:
    """Blank the passwords in this process's command line; whether there were any.

    Call it first thing: until then they can be read. Where /proc is missing nothing is done.
    """
    try:
        start, end = _argument_memory()
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


def blank_arguments(arguments: list[bytes]) -> list[bytes]:
    """The same arguments with every password replaced by `***`."""
    blanked: list[bytes] = []
    for position, argument in enumerate(arguments):
        follows = position > 0 and arguments[position - 1] in _OPTIONS_WITH_A_VALUE
        blanked.append(_stars(argument) if follows else _blank(argument))
    return blanked


def _blank(argument: bytes) -> bytes:
    for pattern in (_URL, _OPTION):
        argument = pattern.sub(lambda found: found[1] + _stars(found[2]) + found[3], argument)
    return argument


def _stars(password: bytes) -> bytes:
    """Three, which says nothing about the length; fewer where there is no room for them."""
    return b"***"[: len(password)]


def _argument_memory() -> tuple[int, int]:
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    # proc_pid_stat(5): arg_start and arg_end are fields 48 and 49; the list begins at field 3.
    start, end = int(fields[45]), int(fields[46])
    if not 0 < start < end:
        raise ValueError("the kernel does not say where the arguments are")
    return start, end
