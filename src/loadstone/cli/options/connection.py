"""The options that say where the database is: the same for all commands that reach one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import click

from loadstone.cli.options.types import FILE, WORD, CompressionList, with_options

if TYPE_CHECKING:
    from pathlib import Path

    from loadstone.model.target import Endpoint
    from loadstone.servers.endpoint_request import EndpointRequest

_Command = TypeVar("_Command", bound=Callable[..., Any])
_TLS_MODES = ["disabled", "preferred", "required", "verify-ca", "verify-identity"]

_OPTIONS = (
    click.option(
        "--target",
        "targets",
        type=WORD,
        multiple=True,
        metavar="URL",
        help="mysql://user@host:3306/schema?tls=required; several share the users.",
    ),
    click.option("--host", "-h", type=WORD, help="Server host; localhost means the Unix socket."),
    click.option("--port", "-P", type=click.IntRange(1, 65535), help="TCP port. [default: 3306]"),
    click.option("--socket", "-S", type=FILE, help="Unix socket of the server."),
    click.option("--user", "-u", type=WORD, help="User name to log in with."),
    click.option(
        "--password",
        "-p",
        "ask_password",
        is_flag=True,
        help="Ask for the password; otherwise LOADSTONE_PASSWORD, ~/.my.cnf or the URL.",
    ),
    click.option("--database", "-D", type=WORD, help="Schema. [default: sbtest]"),
    click.option("--defaults-file", type=FILE, help="Option file to read instead of ~/.my.cnf."),
    click.option("--tls", type=click.Choice(_TLS_MODES), help="TLS mode of the connections."),
    click.option(
        "--tls-ca", type=FILE, help="CA certificates that may sign the server's certificate."
    ),
    click.option("--tls-cert", type=FILE, help="Client certificate."),
    click.option("--tls-key", type=FILE, help="Key of the client certificate."),
    click.option(
        "--tls-fingerprint",
        type=WORD,
        metavar="SHA256",
        help="Accept only this server certificate.",
    ),
    click.option(
        "--compression",
        type=CompressionList(),
        metavar="off|zlib|zstd,...",
        help="Protocol compression; the first of the list that the server supports. [default: off]",
    ),
    click.option(
        "--server-public-key", type=FILE, help="Server's RSA public key, for a login without TLS."
    ),
    click.option(
        "--enable-cleartext-plugin",
        is_flag=True,
        help="Send the password in clear text even where TLS verifies nothing.",
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
    "compression",
    "server_public_key",
    "enable_cleartext_plugin",
)


class Connection:
    """What the command line said about the targets; resolved only when a command asks."""

    def __init__(self, urls: Sequence[str], options: EndpointRequest) -> None:
        """`options`: what was said apart from the URLs."""
        self._urls = tuple(urls)
        self._options = options

    @property
    def given(self) -> bool:
        """Whether the command line names a target at all."""
        places = ("host", "port", "socket", "defaults_file", "user", "ask_password", "database")
        return bool(self._urls) or any(getattr(self._options, name) for name in places)

    @property
    def count(self) -> int:
        """How many targets it names."""
        return max(len(self._urls), 1)

    @property
    def files_without_target(self) -> tuple[str, ...]:
        """Options that say how to log in, where there is no target to log in to."""
        names = ("tls_ca", "tls_cert", "tls_key", "tls_fingerprint", "server_public_key")
        given = tuple(
            f"--{name.replace('_', '-')}" for name in names if getattr(self._options, name)
        )
        return () if self.given else given

    def for_sandbox(self, endpoint: Endpoint) -> Endpoint:
        """The way to a sandbox of this run, as `--tls` and `--compression` want it."""
        from loadstone.model.target import compression

        update: dict[str, object] = {}
        if mode := self._options.tls:
            update["tls"] = endpoint.target.tls.model_copy(update={"mode": mode})
        if kinds := self._options.compression:
            update["compression"] = compression(kinds)
        target = endpoint.target.model_copy(update=update)
        return endpoint.model_copy(update={"target": target})

    def endpoints(self) -> tuple[Endpoint, ...]:
        """One endpoint for each target; without a URL the one that the options describe.

        Raises:
            TargetUrlError: a URL or an option cannot be read.
            TargetError: an option file cannot, or there is no socket where one is meant.
        """
        requests = [self._request(url) for url in self._urls] or [self._request(None)]
        return tuple(_resolved(request) for request in requests)

    def endpoint(self) -> Endpoint:
        """The only target, for commands that work on one at a time."""
        if len(self._urls) > 1:
            raise click.UsageError("this command takes one --target at a time")
        return self.endpoints()[0]

    def at(self, url: str) -> Endpoint:
        """The endpoint of a URL that was kept, with the password that the command line has."""
        return _resolved(self._request(url))

    def _request(self, url: str | None) -> EndpointRequest:
        return self._options.model_copy(update={"url": url})


def unasked(*, ask_password: bool = False, defaults_file: Path | None = None) -> Connection:
    """Of a command that names no target: for URLs that were kept, passwords as they always come."""
    from loadstone.servers.endpoint_request import EndpointRequest

    asked = EndpointRequest(ask_password=ask_password, defaults_file=defaults_file)
    return Connection((), asked)


def connection_options(command: _Command) -> _Command:
    """Give a command all of them; it gets one `connection` in their place."""

    @wraps(command)
    def with_connection(*arguments: Any, targets: tuple[str, ...], **options: Any) -> Any:
        from loadstone.servers.endpoint_request import EndpointRequest

        asked = EndpointRequest(**{name: options.pop(name) for name in _NAMES})
        return command(*arguments, connection=Connection(targets, asked), **options)

    return with_options(with_connection, _OPTIONS)  # type: ignore[no-any-return]


def _resolved(request: EndpointRequest) -> Endpoint:
    from loadstone.runner.endpoints import resolved

    return resolved(request, _prompt)


def _prompt(text: str) -> str:
    """Ask without echo; never where nobody could answer."""
    import sys
    from getpass import getpass

    if not sys.stdin.isatty():
        raise click.UsageError(
            "--password asks for the password, and there is no terminal: use LOADSTONE_PASSWORD"
        )
    return getpass(text)
