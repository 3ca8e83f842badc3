"""`loadstone null-server`: a server without a database, to measure load generators with."""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from loadstone.cli.help.command import command, option
from loadstone.cli.language import current, in_words
from loadstone.cli.options.types import DURATION, FILE, SIZE, TABLES, WORD
from loadstone.model.figure import Seconds
from loadstone.model.message import Message, say

if TYPE_CHECKING:
    from loadstone.engine import NullServer
    from loadstone.model.null_server import NullServerSettings, NullServerTls

_PEM = click.Path(path_type=Path, dir_okay=False, exists=True)
_AUTH = ["mysql_native_password", "caching_sha2_password"]
_PROTOCOLS = ["mysql", "postgresql"]
_LOOK_EVERY_S = 1.0
# The address at which a client on this machine reaches a server that listens on all interfaces.
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}

# Its options describe a server to start; other commands' of these names, one to connect to.
_option = partial(option, own=True)


@command(
    "null-server",
    help=say(
        "Start a server that answers every query at once, or as a script says, to measure load"
        " generators.\n\n"
        "Accepts any user and password. Prints its counters at the end."
    ),
    examples=(
        (
            say("a server for 30 seconds on port 3399"),
            "loadstone null-server --port 3399 --duration 30s",
        ),
    ),
)
@_option(
    "--host",
    type=WORD,
    default="127.0.0.1",
    show_default=True,
    help=say("Address to listen on."),
)
@_option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help=say("TCP port to listen on. [default: a free one]"),
)
@_option("--socket", type=FILE, help=say("Unix socket to listen on as well."))
@_option(
    "--script",
    type=WORD,
    metavar="FILE|JSON",
    help=say("Script of stalls, errors and slow answers (docs/null-server.md)."),
)
@_option(
    "--log",
    type=FILE,
    help=say(
        "At the end write the timestamps of all answers to this file; as text if it ends with .csv."
    ),
)
@_option(
    "--log-records",
    "log_records_max",
    type=SIZE,
    metavar="N",
    help=say("Log at most this many answers. [default: 4,000,000]"),
)
@_option("--duration", type=DURATION, help=say("Stop after this time. [default: at Ctrl-C]"))
@_option("--tls", is_flag=True, help=say("Offer TLS with a temporary certificate."))
@_option("--tls-cert", type=_PEM, help=say("Offer TLS with this certificate (PEM)."))
@_option("--tls-key", type=_PEM, help=say("Private key of the certificate (PEM)."))
@_option(
    "--protocol",
    type=click.Choice(_PROTOCOLS),
    default=_PROTOCOLS[0],
    show_default=True,
    help=say("The protocol that it speaks: MySQL's or PostgreSQL's."),
)
@_option(
    "--auth",
    type=click.Choice(_AUTH),
    help=say("Authentication method of MySQL's protocol. [default: mysql_native_password]"),
)
@_option(
    "--tables",
    type=TABLES,
    default=10,
    show_default=True,
    help=say("Number of tables that the server claims to have."),
)
@_option(
    "--table-size",
    type=SIZE,
    default=10_000,
    show_default=True,
    help=say("Rows that each table claims to have."),
)
@_option(
    "--range-rows",
    type=TABLES,
    default=1,
    show_default=True,
    help=say("Rows in the answer to a range query."),
)
@option(
    "--json",
    "as_json",
    is_flag=True,
    help=say("Print one line of JSON at the start and one at the end."),
)
def null_server(as_json: bool, **asked: Any) -> None:
    """Answer every query at once, or as a script says."""
    script = _script(asked["script"])
    if asked["log_records_max"] is not None and asked["log"] is None:
        raise click.UsageError(say("--log-records needs --log"))
    if asked["auth"] is not None and asked["protocol"] == "postgresql":
        raise click.UsageError(say("--auth is of MySQL's protocol: PostgreSQL's asks for nothing"))
    from loadstone import engine

    with _tls_files(asked) as tls:
        settings = _settings(asked, tls)
        _allow_many_descriptors()
        server = engine.null_server(settings)
        try:
            if script is not None:
                server.set_script(script)
            lasts = asked["duration"]
            click.echo(_as_json(server, settings) if as_json else _as_text(server, settings, lasts))
            _wait(server, lasts)
        except KeyboardInterrupt:
            pass  # Ctrl-C is the normal way to end it
        stats = server.stop()
    if as_json:
        click.echo(stats.model_dump_json())
        return
    from loadstone.cli.screen import show
    from loadstone.report.null_server import counters

    show(counters(stats, current()))


def _script(given: str | None) -> str | None:
    """The script's text: an argument that starts with a brace is JSON, not the name of a file."""
    if given is None or given.lstrip().startswith("{"):
        return given
    try:
        return Path(given).read_text(encoding="utf-8")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        said = say("cannot read {file}: {why}", file=given, why=why)
        raise click.BadParameter(said, param_hint="'--script'") from error
    except UnicodeDecodeError as error:
        said = say("{file} is not a text file", file=given)
        raise click.BadParameter(said, param_hint="'--script'") from error


@contextmanager
def _tls_files(asked: dict[str, Any]) -> Iterator[NullServerTls | None]:
    """The files for TLS; temporary ones are removed afterwards."""
    cert, key = asked["tls_cert"], asked["tls_key"]
    if (cert is None) != (key is None):
        raise click.UsageError(say("--tls-cert and --tls-key need each other"))
    if asked["tls"] and cert is not None:
        raise click.UsageError(say("--tls creates its own certificate: leave --tls-cert out"))
    if cert is None and not asked["tls"]:
        yield None
        return
    from loadstone.model.null_server import NullServerTls

    if cert is not None:
        yield NullServerTls(cert=cert, key=key)
        return
    from tempfile import TemporaryDirectory

    from loadstone.sandbox.certificates import make_certificates

    with TemporaryDirectory(prefix="loadstone-null-server-") as folder:
        files = make_certificates(Path(folder) / "tls")
        yield NullServerTls(cert=files.cert("server"), key=files.key("server"))


def _settings(asked: dict[str, Any], tls: NullServerTls | None) -> NullServerSettings:
    from loadstone.model.null_server import NullServerSettings

    same = (
        "host", "port", "socket", "protocol", "auth", "tables", "table_size", "range_rows", "log",
        "log_records_max",
    )  # fmt: skip
    given = {name: asked[name] for name in same if asked[name] is not None}
    return NullServerSettings(tls=tls, **given)


def _allow_many_descriptors() -> None:
    """Raise the soft limit: each connection needs a descriptor, and the limit is for select()."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _wait(server: NullServer, duration_s: float | None) -> None:
    """Wait until the time is up; notice a server that failed within a second."""
    end = time.monotonic() + (duration_s or float("inf"))
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, _LOOK_EVERY_S))
        server.stats()


def _target(server: NullServer, settings: NullServerSettings) -> str:
    host = _EVERYWHERE.get(settings.host, settings.host)
    place = f"[{host}]" if ":" in host else host
    return f"{settings.protocol}://u@{place}:{server.port}/sbtest"


def _as_text(server: NullServer, settings: NullServerSettings, lasts: float | None) -> str:
    """The text that says where it listens, for how long, and how to reach it."""
    tls = " --tls required" if settings.tls else ""
    command = f"loadstone run oltp_point_select --target {_target(server, settings)}{tls}"
    return f"{in_words(_listening(server, settings, lasts))}\n  {command}"


def _listening(server: NullServer, settings: NullServerSettings, lasts: float | None) -> Message:
    where: Message | str = f"{settings.host}:{server.port}"
    if settings.socket is not None:
        where = say("{address} and {socket}", address=where, socket=str(settings.socket))
    if lasts is None:
        return say("listening on {address}, until Ctrl-C", address=where)
    return say(
        "listening on {address}, for {time} or until Ctrl-C", address=where, time=Seconds(lasts)
    )


def _as_json(server: NullServer, settings: NullServerSettings) -> str:
    place = {
        "pid": os.getpid(),
        "host": settings.host,
        "port": server.port,
        "socket": None if settings.socket is None else str(settings.socket),
        "tls": settings.tls is not None,
        "target": _target(server, settings),
    }
    return json.dumps(place)
