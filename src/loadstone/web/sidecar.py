"""Servers that accompany a run, in separate processes, so that viewers cost the run nothing.

The run's process binds the socket, so it can report at once what is wrong with an address, and
passes it to a child process. The child gets its instructions on its standard input. When the run
ends, in whatever way, the other end of that pipe closes, and the child sees the end of its input.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Literal

from loadstone.model.frozen import Frozen
from loadstone.web.address import Address, AddressError, found, fresh_token, listen
from loadstone.web.extras import need_page

Kind = Literal["page", "metrics"]

LEAVING_S = 1.0
"""How long a run waits at its end for a child that is no longer needed."""

LOG = "live.log"
"""The file in the state folder with the errors of the last child."""

NICENESS = 10
"""Added to a child's niceness, so that a load driven on this machine has priority."""

_LEFT: list[subprocess.Popen[bytes]] = []
"""Children left after their run: kept, as Python warns of forgotten child processes."""


class Task(Frozen):
    """A child's first line of input: what to serve."""

    kind: Kind
    descriptor: int
    """File descriptor of the listening socket."""
    address: tuple[str, int]
    runs: Path
    token: str = ""
    """Token of the page. It is sent on the pipe, as others can read a command line or an
    environment.
    """


@contextmanager
def live_page(runs: Path, wanted: Address) -> Iterator[str]:
    """Serve a page of these runs within the block; yields its link.

    A server that already shows them is used as it is. If the port is taken by something else, a
    free one is used. The page ends when the run has ended and it has no viewers left.

    Raises:
        AddressError: no server can listen on that address.
        ExtraMissing: what serves a page is not installed.
    """
    running = found(runs)
    if running is not None:
        yield running
        return
    need_page("--live")
    try:
        bound, address = listen(wanted)
    except AddressError:
        bound, address = listen(Address(wanted.host, 0))
    token = fresh_token()
    place = (address.host, address.port)
    task = Task(kind="page", descriptor=bound.fileno(), address=place, runs=runs, token=token)
    with bound, child("loadstone.web", task.model_dump_json(), bound):
        yield address.link(token)


class Scraped:
    """The metrics endpoint of one run, started before the run's folder is known."""

    def __init__(self, words: IO[bytes], url: str) -> None:
        self._words = words
        self.url = url
        """The URL of the metrics."""

    def tell(self, run: Path) -> None:
        """Send the run's folder to the child; if the child is gone, nothing happens."""
        with suppress(OSError):
            self._words.write(os.fsencode(run) + b"\n")
            self._words.flush()


@contextmanager
def metrics(runs: Path, wanted: Address) -> Iterator[Scraped]:
    """Serve `/metrics` within the block.

    Raises:
        AddressError: no server can listen on that address.
        ExtraMissing: what serves the metrics is not installed.
    """
    need_page("--metrics")
    bound, address = listen(wanted)
    place = (address.host, address.port)
    task = Task(kind="metrics", descriptor=bound.fileno(), address=place, runs=runs)
    with bound, child("loadstone.web", task.model_dump_json(), bound) as words:
        yield Scraped(words, f"{address.url}metrics")


@contextmanager
def child(
    module: str, task: str, bound: socket.socket | None = None, wait_s: float = LEAVING_S
) -> Iterator[IO[bytes]]:
    """Run a module of ours as a child process within the block; yields the pipe to its input.

    `task` is its first line, `bound` a socket that it gets, which is closed here. `wait_s`: how
    long the block's end waits for it.
    """
    started = _start(module, task, bound)
    if bound is not None:
        bound.close()
    assert started.stdin is not None
    try:
        yield started.stdin
    finally:
        with suppress(OSError):
            started.stdin.close()
        try:
            started.wait(wait_s)
        except subprocess.TimeoutExpired:
            # It still has viewers, so it is left running and ends when they have gone.
            _LEFT.append(started)


def _start(module: str, task: str, bound: socket.socket | None) -> subprocess.Popen[bytes]:
    with _log() as log:
        started = subprocess.Popen(
            # Without -P a module in the working folder could replace one of ours.
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            # Not the run's: a program that waits for the end of the run's output would wait for the
            # page.
            stdout=log,
            stderr=log,
            pass_fds=[] if bound is None else [bound.fileno()],
            # Ctrl-C in the terminal is for the run: the child ends when its input does.
            start_new_session=True,
        )
    assert started.stdin is not None
    with suppress(OSError):  # a child that cannot start costs the run only the page
        started.stdin.write(task.encode() + b"\n")
        started.stdin.flush()
    return started


def _log() -> IO[bytes]:
    """The log for a child's errors, in the state folder."""
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state", "loadstone")
    try:
        state.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(state / LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError:
        return open(os.devnull, "wb")
    return os.fdopen(descriptor, "wb")
