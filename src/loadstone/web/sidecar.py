"""Servers beside a run: processes of their own, so that the run pays nothing for who looks.

The run's process binds the socket, so it can say at once what is wrong with an address, and gives
it to a child. The child is told what to do on its standard input, which also tells it of the run's
end, however that comes: then nobody holds the other end any more.
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

Kind = Literal["page", "metrics"]

LEAVING_S = 1.0
"""How long a run waits at its end for a child that nobody needs any more."""

LOG = "live.log"
"""In the state folder: what the last child complained of."""

_LEFT: list[subprocess.Popen[bytes]] = []
"""Pages that somebody looks at after their run: kept, as Python complains of forgotten children."""


class Task(Frozen):
    """A child's first line: what it serves."""

    kind: Kind
    descriptor: int
    """File descriptor of the listening socket."""
    address: tuple[str, int]
    runs: Path
    token: str = ""
    """Token of a page. It goes this way, as a command line and an environment can be read."""


@contextmanager
def live_page(runs: Path, wanted: Address) -> Iterator[str]:
    """A page of these runs while it is entered, and the link to it.

    A server that shows them already is taken as it is. Where the port is taken by somebody else, a
    free one is. The page goes when the run has ended and nobody looks any more.

    Raises:
        AddressError: nobody can listen on that address.
    """
    running = found(runs)
    if running is not None:
        yield running
        return
    try:
        bound, address = listen(wanted)
    except AddressError:
        bound, address = listen(Address(wanted.host, 0))
    token = fresh_token()
    place = (address.host, address.port)
    task = Task(kind="page", descriptor=bound.fileno(), address=place, runs=runs, token=token)
    with _child(task, bound):
        yield address.link(token)


class Scraped:
    """The metrics of one run, once it is known which."""

    def __init__(self, words: IO[bytes], url: str) -> None:
        self._words = words
        self.url = url
        """Where they are."""

    def tell(self, run: Path) -> None:
        """This is the run; a child that is gone costs the run nothing."""
        with suppress(OSError):
            self._words.write(os.fsencode(run) + b"\n")
            self._words.flush()


@contextmanager
def metrics(runs: Path, wanted: Address) -> Iterator[Scraped]:
    """`/metrics` while it is entered.

    Raises:
        AddressError: nobody can listen on that address.
    """
    bound, address = listen(wanted)
    place = (address.host, address.port)
    task = Task(kind="metrics", descriptor=bound.fileno(), address=place, runs=runs)
    with _child(task, bound) as words:
        yield Scraped(words, f"{address.url}metrics")


@contextmanager
def _child(task: Task, bound: socket.socket) -> Iterator[IO[bytes]]:
    """A child with this socket, and the way to it; it is told of the end, not waited for long."""
    with bound:
        child = _start(task)
    assert child.stdin is not None
    try:
        yield child.stdin
    finally:
        with suppress(OSError):
            child.stdin.close()
        try:
            child.wait(LEAVING_S)
        except subprocess.TimeoutExpired:
            # Somebody still looks. It is not ours any more, and ends when they have gone.
            _LEFT.append(child)


def _start(task: Task) -> subprocess.Popen[bytes]:
    with _log() as log:
        child = subprocess.Popen(
            # Without -P a module of the working folder would be run in place of one of ours.
            [sys.executable, "-P", "-m", "loadstone.web"],
            stdin=subprocess.PIPE,
            # Not the run's: whoever waits for the end of its output would wait for the page's.
            stdout=log,
            stderr=log,
            pass_fds=[task.descriptor],
            # Ctrl-C in the terminal is for the run: the child hears of its end by itself.
            start_new_session=True,
        )
    assert child.stdin is not None
    with suppress(OSError):  # a child that cannot start costs the run nothing but the page
        child.stdin.write(task.model_dump_json().encode() + b"\n")
        child.stdin.flush()
    return child


def _log() -> IO[bytes]:
    """Where a child says what is wrong with it: beside what is kept of other faults."""
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state", "loadstone")
    try:
        state.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(state / LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError:
        return open(os.devnull, "wb")
    return os.fdopen(descriptor, "wb")
