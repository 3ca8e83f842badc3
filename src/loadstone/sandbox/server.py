"""Starts a server process, waits until it answers, and ends it."""

from __future__ import annotations

import random
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from loadstone.model.message import say
from loadstone.sandbox.errors import SandboxError
from loadstone.sandbox.place import Place
from loadstone.sandbox.processes import ProcessMark, mark_of
from loadstone.sandbox.programs import PROGRAMS
from loadstone.sandbox.unprivileged import words_as_user

_LOG_LINES = 12
# Never lowers the hard limit: sets a soft limit within it, or (as root) a raised one, or the most
# that there is.
_RAISE_FILES = (
    'hard=$(ulimit -Hn); if [ "$hard" = unlimited ] || [ "$hard" -ge "$0" ]; then ulimit -Sn "$0";'
    ' else ulimit -n "$0" 2>/dev/null || ulimit -Sn "$hard"; fi; exec "$@"'
)
# The first argument is the number of files that get the process id; the command after them then
# replaces the shell.
_ENTER = 'for at in $(seq "$0"); do echo $$ > "$1" || exit 1; shift; done; exec "$@"'


class PortTaken(Exception):
    """Another process took the port between its choice and the server's start."""


@dataclass(frozen=True)
class Launch:
    """What is needed to start a server."""

    command: tuple[str, ...]
    files: int
    dies_with_us: bool
    within: tuple[Path, ...] = ()
    """Control groups from the server's first instruction on: servers size themselves once."""
    launcher: tuple[str, ...] = ()
    """Command prefix that runs the server in a network namespace."""
    refuses_root: bool = False
    """Whether root must give the server another user."""


_children: dict[int, subprocess.Popen[bytes]] = {}
"""Servers started by this process and not yet reaped, by id."""


def start(launch: Launch, place: Place) -> subprocess.Popen[bytes]:
    """Start the server in a session of its own: Ctrl-C in our terminal does not reach it."""
    ends = _end_with_us(launch)
    user = words_as_user(dies_with_us=bool(ends)) if launch.refuses_root else ()
    with place.error_log.open("ab") as log:
        process = subprocess.Popen(
            [*ends, *_within(launch), *launch.launcher]
            + ["/bin/sh", "-c", _RAISE_FILES, str(launch.files)]
            + [*user, *launch.command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=place.folder,
            start_new_session=True,
        )
    _children[process.pid] = process
    return process


def wait_until_ready(
    process: subprocess.Popen[bytes], place: Place, answers: Callable[[], bool], timeout_s: float
) -> ProcessMark:
    """Wait until the server accepts a login.

    Raises:
        PortTaken: it could not bind its port.
        SandboxError: it ended, or the time is up; quotes its error log.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        if process.poll() is not None:
            raise _why_it_ended(place)
        if place.socket.exists() and answers():
            break
        if time.monotonic() > deadline:
            end(process)
            raise SandboxError(
                f"the server did not answer within {timeout_s:g} s",
                "a slow disk? see `loadstone sandbox start --timeout`",
                _tail(_read(place.error_log)),
            )
        time.sleep(0.005)
    mark = mark_of(process.pid)
    if mark is None:
        raise _why_it_ended(place)
    return mark


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a server of ours and reap it."""
    process.kill()
    reap(process.pid)


def reap(pid: int) -> None:
    """Read the exit status of a server that has ended, if this process started it."""
    process = _children.pop(pid, None)
    if process is not None:
        process.wait()


def not_as_asked(place: Place, what: str) -> SandboxError:
    """The error for a server that runs, but not as requested; quotes its own reason."""
    log = _read(place.error_log)
    said = PROGRAMS[place.family].error_of(log)
    return SandboxError(f"the server is not as asked: {what}", said, _tail(log))


def free_port() -> int:
    """A loopback port that nothing listens on, outside the range of outgoing connections.

    A port in that range could be given to a client that reconnects during a server's outage, which
    would then be connected to itself.
    """
    low, high = _outgoing_ports()
    choices = [port for port in range(15_000, 60_000) if not low <= port <= high]
    random.SystemRandom().shuffle(choices)
    for port in choices:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:  # taken, or kept: see `kept_port`
                continue
            return port
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def kept_port(port: int) -> socket.socket | None:
    """A socket that keeps a port from others who look for a free one; `None`: it is taken already.

    A server can listen there all the same: Linux allows that where both sockets have SO_REUSEADDR,
    as servers' have, and the other one does not listen (socket(7)).
    """
    keeper = socket.socket()
    keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        keeper.bind(("127.0.0.1", port))
    except OSError:
        keeper.close()
        return None
    return keeper


def _outgoing_ports() -> tuple[int, int]:
    try:
        text = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text()
    except OSError:
        return 32_768, 60_999
    low, high = text.split()
    return int(low), int(high)


def _end_with_us(launch: Launch) -> Sequence[str]:
    # The kernel's parent-death signal comes when the *thread* that started the server ends, so it
    # is only safe from the main thread. Elsewhere the next `list` or `start` clears up.
    in_main = threading.current_thread() is threading.main_thread()
    setpriv = shutil.which("setpriv")
    if not (launch.dies_with_us and in_main and setpriv):
        return ()
    return (setpriv, "--pdeathsig", signal.SIGKILL.name.removeprefix("SIG"))


def _within(launch: Launch) -> Sequence[str]:
    if not launch.within:
        return ()
    groups = [str(group / "cgroup.procs") for group in launch.within]
    return ("/bin/sh", "-c", _ENTER, str(len(groups)), *groups)


def _why_it_ended(place: Place) -> Exception:
    log, programs = _read(place.error_log), PROGRAMS[place.family]
    if programs.is_port_taken(log):
        return PortTaken()
    reason = programs.error_of(log) or _tail(log, 1) or say("it left no word in its error log")
    hint = programs.hint_of(reason)
    return SandboxError(say("the server does not start: {reason}", reason=reason), hint, _tail(log))


def _read(log: Path) -> str:
    try:
        return log.read_text(errors="replace")
    except OSError:
        return ""


def _tail(log: str, lines: int = _LOG_LINES) -> str:
    return "\n".join(log.strip().splitlines()[-lines:])
