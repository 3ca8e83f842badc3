"""`loadstone null-server`: a server without a database, to measure load generators with."""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from loadstone.cli.options.types import DURATION, FILE, SIZE, TABLES, WORD

if TYPE_CHECKING:
    from loadstone.engine import NullServer
    from loadstone.model.null_server import NullServerSettings, NullServerTls

_PEM = click.Path(path_type=Path, dir_okay=False, exists=True)
_AUTH = ["mysql_native_password", "caching_sha2_password"]
_LOOK_EVERY_S = 1.0
# A client on this machine reaches a server that listens everywhere.
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}


@click.command("null-server")
@click.option(
    "--host", type=WORD, default="127.0.0.1", show_default=True, help="Address to listen on."
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="Port to listen on. [default: a free one]",
)
@click.option("--socket", type=FILE, help="Unix socket to listen on as well.")
@click.option(
    "--script", type=WORD, metavar="FILE|JSON", help="Script of stalls, errors and slow answers."
)
@click.option(
    "--log", type=FILE, help="Write the timestamps of all answers at the end; .csv is text."
)
@click.option(
    "--log-records", type=SIZE, metavar="N", help="Most answers to log. [default: 4,000,000]"
)
@click.option("--duration", type=DURATION, help="Stop after this time. [default: at Ctrl-C]")
@click.option("--tls", is_flag=True, help="Offer TLS with a temporary certificate.")
@click.option("--tls-cert", type=_PEM, help="Offer TLS with this certificate.")
@click.option("--tls-key", type=_PEM, help="Key of the certificate.")
@click.option("--auth", type=click.Choice(_AUTH), default=_AUTH[0], show_default=True)
@click.option(
    "--tables",
    type=TABLES,
    default=10,
    show_default=True,
    help="Number of tables that it claims to have.",
)
@click.option(
    "--table-size",
    type=SIZE,
    default=10_000,
    show_default=True,
    help="Rows that each table claims to have.",
)
@click.option(
    "--range-rows",
    type=TABLES,
    default=1,
    show_default=True,
    help="Rows in the answer to a range query.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print a line of JSON at the start and at the end."
)
def null_server(as_json: bool, **asked: Any) -> None:
    """Answer every query at once, or as a script says, to measure the load generator.

    Accepts any user and password. Prints its counters at the end.
    """
    script = _script(asked["script"])
    if asked["log_records"] is not None and asked["log"] is None:
        raise click.UsageError("--log-records is for a log: say where with --log")
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
            pass  # the way to end it
        stats = server.stop()
    if as_json:
        click.echo(stats.model_dump_json())
        return
    from rich.console import Console

    from loadstone.report.null_server import counters

    Console(highlight=False).print(counters(stats))


def _script(given: str | None) -> str | None:
    """The script's text: what begins with a brace is no file."""
    if given is None or given.lstrip().startswith("{"):
        return given
    try:
        return Path(given).read_text(encoding="utf-8")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise click.BadParameter(f"cannot read {given}: {why}", param_hint="'--script'") from error
    except UnicodeDecodeError as error:
        raise click.BadParameter(f"{given} is not a text", param_hint="'--script'") from error


@contextmanager
def _tls_files(asked: dict[str, Any]) -> Iterator[NullServerTls | None]:
    """The files for TLS; those that are made for this run are gone behind it."""
    cert, key = asked["tls_cert"], asked["tls_key"]
    if (cert is None) != (key is None):
        raise click.UsageError("--tls-cert and --tls-key go together")
    if asked["tls"] and cert is not None:
        raise click.UsageError("--tls makes a certificate of its own: leave --tls-cert out")
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

    same = ("host", "port", "socket", "auth", "tables", "table_size", "range_rows", "log")
    given = {name: asked[name] for name in same}
    return NullServerSettings(tls=tls, log_records_max=asked["log_records"], **given)


def _allow_many_descriptors() -> None:
    """A connection needs one; the soft limit is for programs that use select()."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _wait(server: NullServer, duration_s: float | None) -> None:
    """Until the time is up; a server that has failed is heard of within a second."""
    end = time.monotonic() + (duration_s or float("inf"))
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, _LOOK_EVERY_S))
        server.stats()


def _target(server: NullServer, settings: NullServerSettings) -> str:
    host = _EVERYWHERE.get(settings.host, settings.host)
    place = f"[{host}]" if ":" in host else host
    return f"mysql://u@{place}:{server.port}/sbtest"


def _as_text(server: NullServer, settings: NullServerSettings, lasts: float | None) -> str:
    """Where it listens, for how long, and how to reach it from another terminal."""
    until = "until Ctrl-C" if lasts is None else f"for {lasts:g} s or until Ctrl-C"
    where = f"{settings.host}:{server.port}"
    if settings.socket is not None:
        where += f" and {settings.socket}"
    tls = " --tls required" if settings.tls else ""
    command = f"loadstone run oltp_point_select --target {_target(server, settings)}{tls}"
    return f"listening on {where}, {until}\n  {command}"


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
