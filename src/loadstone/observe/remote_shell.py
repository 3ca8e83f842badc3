"""A shell on another host over one lasting ssh connection: commands in, their output out.

It uses the system's OpenSSH client with the user's own configuration, keys and jump hosts. It never
prompts the user, and every wait has a limit.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import IO

from loadstone.model.figure import General
from loadstone.model.message import say
from loadstone.observe.source import SourceError
from loadstone.observe.source_spec import PlaceError

_OPTIONS = (
    "BatchMode=yes",  # no prompt that nobody answers
    "ConnectTimeout=5",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=2",
    "ControlMaster=no",  # others' connections may be used, ours is not shared
    "ClearAllForwardings=yes",  # port forwardings; the next two are separate options
    "ForwardAgent=no",
    "ForwardX11=no",
    "PermitLocalCommand=no",
    "RemoteCommand=none",
    "RequestTTY=no",
    "LogLevel=ERROR",  # no banner, so the last line is the reason why ssh ended
)
_ANSWER_BYTES_MAX = 8 << 20
_LAST_WORDS_S = 1.0
_END_S = 1.0


@dataclass(frozen=True)
class Destination:
    """An ssh destination: `host`, `user@host`, `user@host:port`, `user@[2001:db8::1]:port`."""

    host: str
    """The host with its user, as ssh takes it; it may be an alias from the user's configuration."""
    port: int | None = None

    def __str__(self) -> str:
        return self.host if self.port is None else f"{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> Destination:
        """Parse a destination.

        Raises:
            PlaceError: it is not a destination, or ssh could take it for an option.
        """
        user, at, place = text.strip().rpartition("@")
        host, port = place, ""
        if place.startswith("["):
            host, _, rest = place[1:].partition("]")
            port = rest.removeprefix(":")
            odd = bool(rest) and not rest.startswith(":")
        else:
            odd = False
            if place.count(":") == 1:
                host, _, port = place.partition(":")
        if odd or not host or text.strip().startswith("-") or host.startswith("-"):
            raise _no_destination(text)
        if any(mark.isspace() or not mark.isprintable() for mark in user + host):
            raise _no_destination(text)
        if port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
            raise _no_destination(text)
        return cls(f"{user}{at}{host}", int(port) if port else None)


def _no_destination(text: str) -> PlaceError:
    return PlaceError(
        say("no host to reach by ssh: {text}", text=repr(text)),
        say("write user@host or user@host:port"),
    )


class RemoteShell:
    """One ssh process with a POSIX shell at its far end."""

    def __init__(self, destination: Destination, options: Sequence[str] = ()) -> None:
        """Store the destination; nothing is started yet.

        Args:
            destination: the host to connect to.
            options: further ssh options, such as `-i FILE` as two words; they override ours.
        """
        port = [] if destination.port is None else ["-p", str(destination.port)]
        ours = [word for option in _OPTIONS for word in ("-o", option)]
        self._where = str(destination)
        self._command = ["ssh", *options, *ours, *port, "--", destination.host, "exec /bin/sh"]
        self._child: subprocess.Popen[bytes] | None = None
        self._numbers = count(1)

    @property
    def is_open(self) -> bool:
        """Whether ssh has been started and still runs."""
        return self._child is not None

    def open(self) -> None:
        """Start ssh; a failure to connect only shows in the first `ask`.

        Raises:
            SourceError: ssh is not installed.
        """
        try:
            self._child = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,  # Ctrl-C must not reach ssh, which ends when we close it
            )
        except OSError as error:
            raise SourceError(
                say(
                    "ssh to {place}: the program cannot be started ({why})",
                    place=self._where,
                    why=error.strerror,
                ),
                say("install OpenSSH's client (openssh-client)"),
            ) from None

    def ask(self, command: str, within_s: float) -> str:
        """The command's standard output.

        Raises:
            SourceError: the connection was refused or cut, or took too long. It is then closed.
        """
        child = self._child
        if child is None or child.stdin is None or child.stdout is None:
            raise SourceError(say("ssh to {place}: it is not connected", place=self._where))
        mark = f"::{next(self._numbers)}::"
        begin, end = f"{mark}begin", f"{mark}end"
        line = f"echo {begin}; {{ {command}; }} </dev/null 2>/dev/null; echo; echo {end}\n"
        try:
            child.stdin.write(line.encode())
            text = _until(child.stdout, f"\n{end}\n".encode(), time.monotonic() + within_s)
        except TimeoutError:
            self.close()
            raise SourceError(
                say(
                    "ssh to {place}: no answer within {seconds} s",
                    place=self._where,
                    seconds=General(within_s),
                )
            ) from None
        except (OSError, EOFError):
            raise self._why() from None
        # The login may print something before the first mark.
        return text.partition(f"{begin}\n")[2]

    def close(self) -> None:
        """End ssh, and with it the remote shell."""
        child, self._child = self._child, None
        if child is None:
            return
        for pipe in (child.stdin, child.stdout, child.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        for number in (signal.SIGTERM, signal.SIGKILL):
            if child.poll() is not None:
                return
            # It has a session of its own, so this also reaches the proxy commands that it started.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_END_S)

    def _why(self) -> SourceError:
        """Why ssh has ended, in its own words."""
        child = self._child
        said = _last_line(child.stderr) if child is not None and child.stderr is not None else ""
        self.close()
        hint = None
        if "host key" in said.lower():
            hint = say("log in once by hand: ssh {place}", place=self._where)
        elif "permission denied" in said.lower():
            hint = say("a key without a passphrase, or one in an agent, is needed")
        why = said or say("the connection was cut")
        return SourceError(say("ssh to {place}: {why}", place=self._where, why=why), hint)


def _until(pipe: IO[bytes], end: bytes, deadline: float) -> str:
    """Read up to the mark.

    Raises:
        TimeoutError: the deadline has passed.
        EOFError: the output ended, or is far too long.
    """
    got = bytearray()
    with selectors.DefaultSelector() as ready:
        ready.register(pipe, selectors.EVENT_READ)
        while not got.endswith(end):
            left = deadline - time.monotonic()
            if left <= 0 or not ready.select(left):
                raise TimeoutError
            piece = os.read(pipe.fileno(), 65536)
            got += piece
            if not piece or len(got) > _ANSWER_BYTES_MAX:
                raise EOFError
    return got[: -len(end)].decode("ascii", "replace")


def _last_line(pipe: IO[bytes]) -> str:
    """The last line written by a program that has ended or is about to."""
    got = b""
    deadline = time.monotonic() + _LAST_WORDS_S
    with selectors.DefaultSelector() as ready:
        ready.register(pipe, selectors.EVENT_READ)
        while (left := deadline - time.monotonic()) > 0 and ready.select(left):
            piece = os.read(pipe.fileno(), 4096)
            if not piece:
                break
            got = (got + piece)[-4096:]
    lines = [line.strip() for line in got.decode("utf-8", "replace").splitlines()]
    last = next((line for line in reversed(lines) if line), "")
    return "".join(mark for mark in last if mark.isprintable())
