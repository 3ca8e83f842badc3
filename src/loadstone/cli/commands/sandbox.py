"""`loadstone sandbox start|stop|list|shell`: throwaway servers by hand."""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from loadstone.sandbox import Sandbox, SandboxSpec
    from loadstone.servers.connection import Connection

F = TypeVar("F", bound="Callable[..., Any]")


def sandbox_options(command: F) -> F:
    """`--server` and `--set`, wherever a throwaway server is started."""
    server = click.option(
        "--server",
        help="mariadb, mysql or the path of a server program. [default: whichever is installed]",
    )
    settings = click.option(
        "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Server variable to set."
    )
    return server(settings(command))


@click.group()
def sandbox() -> None:
    """Throwaway MariaDB and MySQL servers: own data folder, own socket, gone afterwards."""


@sandbox.command()
@sandbox_options
@click.option("--name", help="Name of the sandbox. [default: mariadb-1, mysql-1, ...]")
@click.option(
    "--auth",
    multiple=True,
    metavar="METHOD,...",
    help="Create a user for each authentication method.",
)
@click.option("--empty-password", is_flag=True, help="Let the main user log in without a password.")
@click.option(
    "--replica", is_flag=True, help="Start a second server that replicates from the first."
)
@click.option(
    "--semi-sync", is_flag=True, help="Let commits wait for the replica (semi-synchronous)."
)
@click.option(
    "--max-connections",
    type=click.IntRange(min=1),
    help="max_connections of the server. [default: 4500]",
)
@click.option("--no-tls", is_flag=True, help="Start the server without TLS.")
@click.option("--timeout", type=click.FloatRange(min=1), default=60.0, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def start(as_json: bool, **asked: object) -> None:
    """Start a throwaway server that runs until `sandbox stop`."""
    from loadstone.sandbox import start_sandbox

    started = start_sandbox(_spec(asked))
    if as_json:
        click.echo(json.dumps(_as_dict(started), indent=1))
        return
    for each in _with_replica(started):
        click.echo(_as_text(each))


@sandbox.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "everything", is_flag=True, help="Stop all sandboxes.")
def stop(names: tuple[str, ...], everything: bool) -> None:
    """Stop sandboxes and remove everything that they created."""
    from loadstone.sandbox import SandboxError, find_sandbox, list_sandboxes

    if everything:
        chosen = [each for each in list_sandboxes() if each.state.role == "primary"]
    elif names:
        chosen = [find_sandbox(name) for name in names]
    else:
        raise SandboxError("which sandbox?", "loadstone sandbox stop NAME, or --all")
    for each in chosen:
        each.stop()
        click.echo(f"stopped {each.name}")


@sandbox.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def list_(as_json: bool) -> None:
    """Show the running sandboxes, after clearing away what is stale."""
    from loadstone.sandbox import list_sandboxes

    running = list_sandboxes()
    if as_json:
        click.echo(json.dumps([_as_dict(each) for each in running], indent=1))
    elif not running:
        click.echo("no sandbox is running", err=True)
    else:
        _print_table(
            ("name", "server", "role", "pid", "port", "socket", "lives"),
            [_row(each) for each in running],
        )


@sandbox.command()
@click.argument("name", required=False)
@click.option(
    "-e", "--execute", "statement", metavar="SQL", help="Execute this statement and exit."
)
def shell(name: str | None, statement: str | None) -> None:
    """Open a SQL prompt: the mariadb or mysql client where there is one, else a small one."""
    from loadstone.sandbox import find_sandbox
    from loadstone.sandbox.programs import PROGRAMS

    chosen = find_sandbox(name)
    programs = PROGRAMS[chosen.state.family]
    client = next(filter(None, map(shutil.which, programs.clients_of(chosen.flavour))), None)
    if client is not None:
        database = chosen.state.database
        arguments = programs.client_command(client, chosen.client_file, database, statement)
        sys.stdout.flush()
        os.execv(client, arguments)
    with chosen.connect() as connection:
        if statement is not None:
            _carry_out(connection, chosen, statement)
        else:
            _prompt(connection, chosen)


def _spec(asked: dict[str, object]) -> SandboxSpec:
    from loadstone.sandbox import SandboxSpec

    return SandboxSpec.model_validate(
        {
            "server": asked["server"],
            "name": asked["name"],
            "settings": settings_of(asked["settings"]),  # type: ignore[arg-type]
            "auth": _methods(asked["auth"]),  # type: ignore[arg-type]
            "password": "" if asked["empty_password"] else None,
            "replica": asked["replica"],
            "semi_sync": asked["semi_sync"],
            "max_connections": asked["max_connections"],
            "tls": not asked["no_tls"],
            "timeout_s": asked["timeout"],
            "owned": False,
        }
    )


def settings_of(texts: Iterable[str]) -> dict[str, str]:
    """What `--set` asked for."""
    from loadstone.sandbox import parse_setting

    settings: dict[str, str] = {}
    for text in texts:
        name, value = parse_setting(text)
        if name.removeprefix("loose_") == "plugin_load_add" and name in settings:
            value = f"{settings[name]};{value}"  # the one variable that adds up
        settings[name] = value
    return settings


def _methods(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(method.strip() for text in texts for method in text.split(",") if method.strip())


def _with_replica(started: Sandbox) -> tuple[Sandbox, ...]:
    return (started,) if started.replica is None else (started, started.replica)


def _as_dict(each: Sandbox) -> dict[str, object]:
    return {
        "name": each.name,
        "server": f"{each.flavour} {each.version}",
        "flavour": each.flavour,
        "version": each.version,
        "role": each.state.role,
        "partner": each.state.partner,
        "pid": each.pid,
        "port": each.port,
        "socket": str(each.socket),
        "datadir": str(each.datadir),
        "error_log": str(each.error_log),
        "client_file": str(each.client_file),
        "tls": {
            "ca": str(each.certificates.ca),
            "cert": str(each.certificates.cert("client")),
            "key": str(each.certificates.key("client")),
        },
        "target": {"tcp": each.tcp.target.url, "socket": each.local.target.url},
        # A throwaway server's passwords are what this list is asked for.
        "users": [
            {
                "user": account.user,
                "password": account.password.get_secret_value(),
                "method": account.method,
            }
            for account in each.accounts
        ],
        "settings": each.settings,
        "disk": each.disk.description,
        "created_at": each.state.created_at,
        "owner": each.state.owner.pid if each.state.owner is not None else None,
    }


def _as_text(each: Sandbox) -> str:
    """What a person needs next; the password is in the option file that it names."""
    settings = ", ".join(f"{name}={value}" for name, value in each.settings.items())
    lines = [
        f"{each.name}: {each.flavour} {each.version}, pid {each.pid}",
        f"  tcp      {each.tcp.target.url}",
        f"  socket   {each.local.target.url}",
        f"  login    --defaults-file={each.client_file}",
        f"  disk     {each.disk.description}",
        f"  settings {settings}",
    ]
    lines += [
        f"  user     {account.user} ({account.method}),"
        f" password {account.password.get_secret_value()}"
        for account in each.accounts[1:]
    ]
    return "\n".join(lines)


def _row(each: Sandbox) -> tuple[str, ...]:
    owner = each.state.owner
    return (
        each.name,
        f"{each.flavour} {each.version}",
        each.state.role,
        str(each.pid),
        str(each.port),
        str(each.socket),
        f"with process {owner.pid}" if owner is not None else "until stopped",
    )


def _prompt(connection: Connection, chosen: Sandbox) -> None:
    click.echo(f"{chosen.name}, {chosen.flavour} {chosen.version}; an empty line leaves", err=True)
    while True:
        try:
            statement = input(f"{chosen.name}> ").strip()
        except EOFError:
            return
        if not statement or statement.lower().rstrip(";") in ("exit", "quit", "\\q"):
            return
        from loadstone.servers.errors import TargetError

        try:
            _carry_out(connection, chosen, statement)
        except TargetError as error:
            click.echo(f"error: {error.message}", err=True)


def _carry_out(connection: Connection, chosen: Sandbox, statement: str) -> None:
    from loadstone.families import family_of

    with (
        family_of(chosen.local.target).statement_errors(chosen.local.target),
        connection.cursor() as cursor,
    ):
        count = cursor.execute(statement.rstrip().rstrip(";"))
        names = [str(column[0]) for column in cursor.description or ()]
        rows = cursor.fetchall()
    if not names:
        click.echo(f"{count} rows changed", err=True)
        return
    _print_table(names, [tuple("NULL" if v is None else str(v) for v in row) for row in rows])


def _print_table(names: Iterable[str], rows: Iterable[tuple[str, ...]]) -> None:
    """A table for people; through a pipe it is not cut to any width."""
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in names:
        table.add_column(escape(name), overflow="fold", no_wrap=not sys.stdout.isatty())
    for row in rows:
        table.add_row(*(escape(value) for value in row))
    width = None if sys.stdout.isatty() else 100_000
    Console(width=width).print(table)
