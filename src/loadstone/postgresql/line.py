"""The socket below a connection, read and written within limits of time and size.

pg8000 reads from and writes to what the `makefile` of its socket returns. It trusts the server with
both: an answer that never ends would fill the memory, and one that comes a byte at a time would
last forever.
"""

from __future__ import annotations

import socket
import time

import pg8000

from loadstone.model.figure import Bytes
from loadstone.model.message import Message, say

MOST_BYTES = 256 * 1024 * 1024
"""Limit for one answer; the tables of the largest schema take a tenth of it."""

_READ_AT_ONCE = 64 * 1024


class LineError(pg8000.InterfaceError):  # type: ignore[misc]
    """The connection is lost."""

    def __init__(self, said: Message, *, timed_out: bool = False) -> None:
        super().__init__(str(said))
        self.said = said
        self.timed_out = timed_out


class Line:
    """A connected socket with limits for each answer."""

    def __init__(self, connected: socket.socket, longest_s: float) -> None:
        self.socket = connected
        self._there = bytearray()
        self._unsent = bytearray()
        self.expect(longest_s, longest_s)

    def expect(self, silent_s: float, longest_s: float) -> None:
        """Set the limits of the next answer: between two bytes, and for all of it."""
        self._silent_s = silent_s
        self._until = time.monotonic() + longest_s
        self._bytes_left = MOST_BYTES

    def makefile(self, mode: str) -> Line:
        """What pg8000 reads from and writes to."""
        return self

    def read(self, size: int) -> bytes:
        """Exactly that many bytes.

        Raises:
            LineError: they do not arrive within the limits.
        """
        self._bytes_left -= size
        if self._bytes_left < 0:
            raise LineError(
                say("the server's answer is longer than {size}", size=Bytes(MOST_BYTES))
            )
        while len(self._there) < size:
            self._there += self._received()
        found = bytes(self._there[:size])
        del self._there[:size]
        return found

    def _received(self) -> bytes:
        left_s = self._until - time.monotonic()
        if left_s <= 0:
            raise LineError(say("the server's answer timed out"), timed_out=True)
        try:
            self.socket.settimeout(min(self._silent_s, left_s))
            piece = self.socket.recv(_READ_AT_ONCE)
        except TimeoutError as error:
            raise LineError(say("the server's answer timed out"), timed_out=True) from error
        except OSError as error:
            raise _lost(error) from error
        if not piece:
            raise LineError(say("the server closed the connection"))
        return piece

    def write(self, data: bytes) -> None:
        """Keep the bytes for the next `flush`."""
        self._unsent += data

    def flush(self) -> None:
        """Send all.

        Raises:
            LineError: the connection is lost.
        """
        data, self._unsent = bytes(self._unsent), bytearray()
        try:
            self.socket.settimeout(self._silent_s)
            self.socket.sendall(data)
        except TimeoutError as error:
            raise LineError(say("the server's answer timed out"), timed_out=True) from error
        except OSError as error:
            raise _lost(error) from error

    def close(self) -> None:
        """Close the socket."""
        self.socket.close()


def _lost(error: OSError) -> LineError:
    return LineError(say("the connection is lost: {reason}", reason=error.strerror or str(error)))
