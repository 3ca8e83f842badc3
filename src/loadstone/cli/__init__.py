"""The command line: parse, call, print.

Nothing heavy is imported before a command needs it: `loadstone --version` answers at once.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from types import FrameType

_INTERRUPTED = 130


def main() -> None:
    """The program `loadstone`."""
    _begin()
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):
        from loadstone import __version__

        # Where that cannot be written, the way of all commands says so.
        with contextlib.suppress(OSError):
            print(f"loadstone {__version__}", flush=True)
            sys.exit(0)
    _end(arguments)


def sysbench() -> None:
    """The program `loadstone-sysbench`, which may be linked as `sysbench`."""
    _begin()
    _end(["sysbench", *sys.argv[1:]])


def _begin() -> None:
    """What comes before anything is imported."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # Not where nohup has the end of the terminal ignored; a shell that starts us in the
        # background ignores Ctrl-C of its own accord.
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)
    _open_what_is_closed()
    _leave_no_core()
    if any(sign in argument for argument in sys.argv[1:] for sign in ("://", "password", "token")):
        from loadstone.servers.redact import hide_secrets

        hide_secrets()
    if "LOADSTONE_PASSWORD" in os.environ or "LOADSTONE_TOKEN" in os.environ:
        from loadstone.servers.redact import take_secrets

        take_secrets()


def _leave_no_core() -> None:
    """A crash writes no memory to the disk, since passwords are in it.

    A server of a sandbox with `core_file` set raises its own limit again.
    """
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))


def _end(arguments: list[str]) -> None:
    from loadstone.cli.errors import exit_code_of

    sys.exit(exit_code_of(arguments))


def _leave(number: int, frame: FrameType | None) -> None:
    """End on a signal while nothing was begun yet, or all is done: at once, without a word more."""
    with contextlib.suppress(OSError):
        os.write(2, b"error: interrupted\n")
    os._exit(_INTERRUPTED)


def _open_what_is_closed() -> None:
    """Let no file or socket of ours become the stdin, stdout or stderr that we were not given."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, descriptor)
            if nothing != descriptor:
                os.close(nothing)
    sys.stdin = sys.stdin or open(0, closefd=False)
    sys.stdout = sys.stdout or open(1, "w", closefd=False)
    sys.stderr = sys.stderr or open(2, "w", closefd=False)
