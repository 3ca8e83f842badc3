"""The address of a server: parsing it, binding it, and publishing it to other processes."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import ipaddress
import json
import os
import secrets
import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from pydantic import Field

from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.frozen import Frozen
from loadstone.model.message import say
from loadstone.runs import safe_open
from loadstone.runs.errors import StoreError
from loadstone.web.tls import TlsFiles

DEFAULT_PORT = 8321
MARK = ".live.json"
"""The file in a folder of runs that says where its server listens; locked while that server runs.
"""

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}
_BACKLOG = 128
_TOKEN_BYTES = 24


class AddressError(LoadstoneError):
    """No server can listen on the address."""

    exit_code = ExitCode.USAGE


@dataclass(frozen=True)
class Address:
    """A host and a port; port 0 means any free one."""

    host: str
    port: int
    tls: TlsFiles | None = None
    """`None`: plain HTTP."""
    proxied: tuple[str, ...] = ()
    """Names under which a proxy before it passes requests on."""

    @property
    def url(self) -> str:
        """The URL that a browser on this machine opens."""
        host = _EVERYWHERE.get(self.host, self.host)
        scheme = "https" if self.tls else "http"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}/"

    def link(self, token: str | None) -> str:
        """The link that opens the page; `None`: the user chose the token and adds it."""
        return _link(self.url, token)


def fresh_token() -> str:
    """A random secret for one server, safe to use in a link."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


def _link(url: str, token: str | None) -> str:
    return f"{url}?token={token or '…'}"


def parsed(text: str, host: str, port: int) -> Address:
    """Parse `host:port`, `[::1]:port`, `:port`, or either alone.

    `host` and `port` are the defaults.

    Raises:
        ValueError: `text` has none of these forms.
    """
    if text.startswith("["):
        name, bracket, rest = text[1:].partition("]")
        number = rest.removeprefix(":")
        ipaddress.IPv6Address(name)
        if not bracket:
            raise ValueError(say("{address} lacks the closing bracket", address=text))
    elif text.count(":") > 1:
        name, number = str(ipaddress.IPv6Address(text)), ""
    elif text.isdigit():
        name, number = "", text
    else:
        name, _, number = text.partition(":")
    if number and not (number.isascii() and number.isdigit() and int(number) < 65536):
        raise ValueError(say("{port} is not a port", port=number))
    if any(character in name for character in "/@? \t"):
        raise ValueError(say("{address} is not an address", address=name))
    return Address(name or host, int(number) if number else port)


def listen(address: Address) -> tuple[socket.socket, Address]:
    """Listen on the address; returns the socket and the address with its actual port.

    Raises:
        AddressError: the port is taken, or the address is not one of this machine.
    """
    found: socket.socket | None = None
    try:
        family, kind, number, _, place = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        found = socket.socket(family, kind, number)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(place)
        found.listen(_BACKLOG)
        return found, replace(address, port=found.getsockname()[1])
    except OSError as error:
        if found:
            found.close()
        why = (error.strerror or str(error)).lower()
        hint = say("give another one with --address, or port 0 for any free one")
        asked = f"{address.host}:{address.port}"
        raise AddressError(
            say("cannot listen on {address}: {why}", address=asked, why=why),
            hint if _is_taken(error) else None,
        ) from error


def _is_taken(error: OSError) -> bool:
    return error.errno in (errno.EADDRINUSE, errno.EACCES)


@contextlib.contextmanager
def marked(runs: Path, address: Address, token: str | None) -> Iterator[None]:
    """Within the block, `found` leads other processes of this user to this server.

    A second server of the same folder leaves the mark to the first. `token` is `None` if it must
    not be written down.

    Raises:
        StoreError: the folder of runs cannot be made.
    """
    path = runs / MARK
    try:
        runs.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError.from_os("make the folder", runs, error) from error
    try:
        file = safe_open.opened(path, flags=os.O_RDWR | os.O_CREAT)
    except OSError:  # a read-only folder of runs is served without a mark
        yield
        return
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield
            return
        if not _is_own(file):
            # Another user owns or can read the file: the link is not written to it.
            yield
            return
        file.truncate()
        mark = {"url": address.url, "token": token, "pid": os.getpid()}
        file.write(json.dumps(mark).encode())
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def found(runs: Path) -> str | None:
    """The link to this user's server that shows these runs now; `None` if there is none."""
    try:
        with safe_open.opened(runs / MARK) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                mark = _Mark.model_validate_json(file.read(_LARGEST_MARK))
                return _link(mark.url, mark.token) if _is_own(file) else None
    except (OSError, ValueError):
        return None
    return None


def _is_own(mark: BinaryIO) -> bool:
    """Whether the file belongs to this user and nobody else can read it."""
    facts = os.fstat(mark.fileno())
    return facts.st_uid == os.geteuid() and not facts.st_mode & 0o077


class _Mark(Frozen):
    """The page's address in a folder of runs. People read it, and anyone may own the folder."""

    url: str = Field(pattern=r"^https?://[A-Za-z0-9.:%\[\]_-]+:[0-9]+/$")
    token: str | None = Field(pattern=r"^[A-Za-z0-9_-]+$")
    pid: int


_LARGEST_MARK = 4096
