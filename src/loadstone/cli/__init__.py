"""The command line: parse, call, print.

Nothing heavy is imported before a command needs it: `loadstone --version` answers at once.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from types import FrameType

from loadstone import own_process

_INTERRUPTED = 130


def main() -> None:
    """The program `loadstone`."""
    _begin()
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):
        # If there is no engine, or no output, the commands' own error handling reports it.
        with contextlib.suppress(ImportError, OSError):
            from loadstone import __version__

            print(f"loadstone {__version__}", flush=True)
            sys.exit(0)
    _end(arguments)


def sysbench() -> None:
    """The program `loadstone-sysbench`, which may be linked as `sysbench`."""
    _begin()
    _end(["sysbench", *sys.argv[1:]])


def pgbench() -> None:
    """The program `loadstone-pgbench`, which may be linked as `pgbench`."""
    _begin()
    _end(["pgbench", *sys.argv[1:]])


def _begin() -> None:
    """Prepare the process before anything is imported."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # Not if nohup ignores SIGHUP; a shell that starts us in the background ignores Ctrl-C on
        # purpose.
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)
    _open_what_is_closed()
    own_process.prepare()
    if any(sign in argument for argument in sys.argv[1:] for sign in ("://", "password", "token")):
        from loadstone.servers.redact import hide_secrets

        hide_secrets()
    if "LOADSTONE_PASSWORD" in os.environ or "LOADSTONE_TOKEN" in os.environ:
        from loadstone.servers.redact import take_secrets

        take_secrets()


def _end(arguments: list[str]) -> None:
    from loadstone.cli.errors import exit_code_of

    sys.exit(exit_code_of(arguments))


def _leave(number: int, frame: FrameType | None) -> None:
    """Exit on a signal before anything has started, or once all is done: at once and silently."""
    with contextlib.suppress(OSError):
        os.write(2, b"error: interrupted\n")
    os._exit(_INTERRUPTED)


def _open_what_is_closed() -> None:
    """Open missing standard streams, so that no file or socket of ours takes their place."""
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
