"""The options that name the database server: the same for all commands that reach one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from loadstone.cli.errors import announce
from loadstone.cli.help.command import options_in
from loadstone.cli.help.sections import Section
from loadstone.cli.language import in_words
from loadstone.cli.options.types import FILE, WORD, CompressionList, with_options
from loadstone.model.message import Message, say

if TYPE_CHECKING:
    from pathlib import Path

    from loadstone.model.target import Endpoint
    from loadstone.servers.endpoint_request import EndpointRequest

_Command = TypeVar("_Command", bound=Callable[..., Any])
_TLS_MODES = ["disabled", "preferred", "required", "verify-ca", "verify-identity"]

_server = options_in(Section.SERVER)
_login = options_in(Section.LOGIN)


def _target(about: Message) -> Callable[[Any], Any]:
    return _server("--target", "targets", type=WORD, multiple=True, metavar="URL", help=about)


_ONE_TARGET = _target(
    say(
        "Server and schema, such as mysql://user@host:3306/schema?tls=required or"
        " postgresql://user@host/database."
    )
)
_TARGETS_OF_USERS = _target(
    say(
        "Server and schema, such as mysql://user@host:3306/schema?tls=required or"
        " postgresql://user@host/database. Repeat it to spread the users over several servers."
    )
)
_WATCHED_TARGETS = _target(
    say(
        "Server and schema, such as mysql://user@host:3306/schema?tls=required. Repeat it to"
        " watch several servers."
    )
)

_OPTIONS = (
    _server(
        "--host",
        "-h",
        type=WORD,
        metavar="HOST",
        help=say(
            "Server host, instead of --target; localhost means the Unix socket. -h alone shows this"
            " help."
        ),
    ),
    _server(
        "--port",
        "-P",
        type=click.IntRange(1, 65535),
        metavar="PORT",
        help=say("TCP port. [default: 3306]"),
    ),
    _login("--socket", "-S", type=FILE, help=say("Unix socket of the server.")),
    _server("--user", "-u", type=WORD, metavar="USER", help=say("User to log in as.")),
    _server(
        "--password",
        "-p",
        "ask_password",
        is_flag=True,
        help=say(
            "Prompt for the password. Without this option it is read from LOADSTONE_PASSWORD,"
            " ~/.my.cnf, ~/.pgpass or the URL."
        ),
    ),
    _server("--database", "-D", type=WORD, metavar="SCHEMA", help=say("Schema. [default: sbtest]")),
    _login(
        "--defaults-file", type=FILE, help=say("MySQL option file to read instead of ~/.my.cnf.")
    ),
    _login(
        "--tls",
        type=click.Choice(_TLS_MODES),
        help=say(
            "TLS mode of the connections. [default: preferred; disabled for a throwaway server on"
            " this machine]"
        ),
    ),
    _login(
        "--tls-ca",
        type=FILE,
        help=say("CA certificates that may have signed the server's certificate (PEM)."),
    ),
    _login("--tls-cert", type=FILE, help=say("Client certificate (PEM).")),
    _login("--tls-key", type=FILE, help=say("Private key of the client certificate (PEM).")),
    _login(
        "--tls-fingerprint",
        type=WORD,
        metavar="SHA256",
        help=say("Accept only the server certificate with this fingerprint."),
    ),
    _login(
        "--tls-version",
        type=WORD,
        metavar="VERSION,...",
        help=say(
            "Allowed TLS versions: TLSv1, TLSv1.1, TLSv1.2, TLSv1.3. [default: TLSv1.2,TLSv1.3]"
        ),
    ),
    _login(
        "--compression",
        type=CompressionList(),
        metavar="off|zlib|zstd,...",
        help=say(
            "Compression of the protocol: the first in the list that the server supports."
            " [default: off]"
        ),
    ),
    _login(
        "--server-public-key",
        type=FILE,
        help=say("RSA public key of the server, for logging in without TLS (PEM)."),
    ),
    _login(
        "--enable-cleartext-plugin",
        is_flag=True,
        help=say("Send the password in clear text even if TLS does not verify the server."),
    ),
)
_NAMES = (
    "host",
    "port",
    "socket",
    "user",
    "ask_password",
    "database",
    "defaults_file",
    "tls",
    "tls_ca",
    "tls_cert",
    "tls_key",
    "tls_fingerprint",
    "tls_version",
    "compression",
    "server_public_key",
    "enable_cleartext_plugin",
)


class Connection:
    """The targets on the command line; resolved only when a command needs them."""

    def __init__(self, urls: Sequence[str], options: EndpointRequest) -> None:
        """`options`: all other options, without the URLs."""
        self._urls = tuple(urls)
        self._options = options

    @property
    def given(self) -> bool:
        """Whether the command line names a target at all."""
        places = ("host", "port", "socket", "defaults_file", "user", "ask_password", "database")
        return bool(self._urls) or any(getattr(self._options, name) for name in places)

    @property
    def count(self) -> int:
        """How many targets the command line names."""
        return max(len(self._urls), 1)

    @property
    def compression(self) -> str | None:
        """The kinds of compression that were given, also for a throwaway server."""
        return self._options.compression

    @property
    def files_without_target(self) -> tuple[str, ...]:
        """Login options that were given without a target to log in to."""
        names = (
            *("tls_ca", "tls_cert", "tls_key", "tls_fingerprint", "tls_version"),
            "server_public_key",
        )
        given = tuple(
            f"--{name.replace('_', '-')}" for name in names if getattr(self._options, name)
        )
        return () if self.given else given

    def for_sandbox(self, endpoint: Endpoint) -> Endpoint:
        """The endpoint of this run's sandbox, with `--tls` and `--compression` applied."""
        from loadstone.model.target_url import compression

        update: dict[str, object] = {}
        if mode := self._options.tls:
            update["tls"] = endpoint.target.tls.model_copy(update={"mode": mode})
        if kinds := self._options.compression:
            update["compression"] = compression(kinds)
        target = endpoint.target.model_copy(update=update)
        return endpoint.model_copy(update={"target": target})

    def endpoints(self, *, noted: bool = False) -> tuple[Endpoint, ...]:
        """One endpoint for each target; without a URL the one that the options describe.

        Why one of several hosts is used is shown, unless it is `noted` elsewhere.

        Raises:
            TargetUrlError: a URL or an option cannot be read.
            TargetError: an option file cannot be read, or there is no socket where one is meant.
        """
        requests = [self._request(url) for url in self._urls] or [self._request(None)]
        found = tuple(_resolved(request) for request in requests)
        for endpoint in found:
            if endpoint.chosen is not None and not noted:
                announce(say("note: {note}", note=endpoint.chosen))
        return found

    def endpoint(self) -> Endpoint:
        """The only target, for commands that work on one at a time."""
        if len(self._urls) > 1:
            raise click.UsageError(say("this command takes one --target at a time"))
        return self.endpoints()[0]

    def at(self, url: str) -> Endpoint:
        """The endpoint of a recorded URL, with the password of the command line."""
        return _resolved(self._request(url).model_copy(update={"is_settled": True}))

    def _request(self, url: str | None) -> EndpointRequest:
        return self._options.model_copy(update={"url": url})


def unasked(*, ask_password: bool = False, defaults_file: Path | None = None) -> Connection:
    """The connection of a command without targets: for recorded URLs, with the usual passwords."""
    from loadstone.servers.endpoint_request import EndpointRequest

    asked = EndpointRequest(ask_password=ask_password, defaults_file=defaults_file)
    return Connection((), asked)


def connection_options(command: _Command) -> _Command:
    """Add them all to a command on one target, which gets one `connection` instead."""
    return _with_connection(command, _ONE_TARGET)


def options_of_driven_targets(command: _Command) -> _Command:
    """As `connection_options`, for a command whose users may be spread over several targets."""
    return _with_connection(command, _TARGETS_OF_USERS)


def options_of_watched_targets(command: _Command) -> _Command:
    """As `connection_options`, for a command that may watch several targets."""
    return _with_connection(command, _WATCHED_TARGETS)


def _with_connection(command: _Command, target: Callable[[Any], Any]) -> _Command:

    @wraps(command)
    def with_connection(*arguments: Any, targets: tuple[str, ...], **options: Any) -> Any:
        from loadstone.servers.endpoint_request import EndpointRequest

        asked = EndpointRequest(**{name: options.pop(name) for name in _NAMES})
        places = [f"--{name}" for name in ("host", "port", "socket") if getattr(asked, name)]
        if targets and places:
            raise click.UsageError(
                say("--target has host and port: leave {option} out", option=places[0])
            )
        return command(*arguments, connection=Connection(targets, asked), **options)

    return with_options(with_connection, (target, *_OPTIONS))  # type: ignore[no-any-return]


def _resolved(request: EndpointRequest) -> Endpoint:
    from loadstone.runner.endpoints import resolved

    return resolved(request, _prompt)


def _prompt(text: str) -> str:
    """Ask without echo; fails if there is no terminal to answer from."""
    import sys
    from getpass import getpass

    if not sys.stdin.isatty():
        raise click.UsageError(
            say("--password prompts for it, and there is no terminal: set LOADSTONE_PASSWORD")
        )
    return getpass(in_words(text))
