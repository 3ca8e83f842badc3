"""`loadstone sandbox start|restart|kill|stop|list|shell`: throwaway servers, managed by hand."""

from __future__ import annotations

import datetime
import json
import os
import shutil
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from loadstone.cli.help.command import group, option
from loadstone.cli.help.sections import Section
from loadstone.cli.language import in_words
from loadstone.cli.options.types import DURATION, json_option
from loadstone.cli.screen import width
from loadstone.model.figure import Seconds
from loadstone.model.message import Message, counted, plain, say, say_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from loadstone.sandbox import Sandbox, SandboxSpec
    from loadstone.servers.connection import Connection

F = TypeVar("F", bound="Callable[..., Any]")

_HEADS = (
    say("name"),
    say("server"),
    say("role"),
    plain("pid"),
    say("port"),
    say("state"),
)

_KEPT_HEADS = (say("server"), say("tables"), say("size"), say("last used"))

_ROLES = {"primary": say_in("role", "primary"), "replica": say_in("role", "replica")}


_STILL_EVERY_S = 10.0


def sandbox_options(command: F) -> F:
    """`--server` and `--set`, for all commands that start a throwaway server."""
    server = option(
        "--server",
        metavar="NAME|PATH",
        section=Section.SANDBOX,
        help=say(
            "mariadb, mysql, postgresql, one with a version such as mysql-5.7, or the path of a"
            " server program."
            " [default: one of MySQL's family that is installed]"
        ),
    )
    settings = option(
        "--set",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        section=Section.SANDBOX,
        help=say("Server variable to start it with. May be repeated."),
    )
    return server(settings(command))


_timeout_option = option(
    "--timeout",
    type=DURATION,
    default="60s",
    show_default=True,
    help=say("Give up if the server has not started after this time."),
)


@group(
    help=say(
        "Start and stop throwaway MariaDB, MySQL and PostgreSQL servers.\n\n"
        "Each has its own data folder and socket, and leaves nothing behind."
    )
)
def sandbox() -> None:
    """Throwaway servers."""


@contextmanager
def _still_waiting(server: str, *, quiet: bool) -> Iterator[None]:
    """Print now and then that the server has not started yet: it takes a minute on a busy host."""
    from loadstone.cli.errors import announce

    began, ended = time.monotonic(), threading.Event()

    def wait() -> None:
        while not ended.wait(_STILL_EVERY_S):
            seconds = Seconds(round(time.monotonic() - began))
            waits = say("still starting {server}, {time} so far", server=server, time=seconds)
            announce(waits, quiet=quiet)

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    try:
        yield
    finally:
        ended.set()
        waiting.join()


@sandbox.command(
    help=say("Start a throwaway server that runs until `sandbox stop`."),
    examples=(
        (
            say("MariaDB with a larger buffer pool"),
            "loadstone sandbox start --server mariadb --set innodb_buffer_pool_size=1G",
        ),
    ),
)
@sandbox_options
@option(
    "--name",
    metavar="NAME",
    own=True,
    help=say("Name of the sandbox. [default: mariadb-1, mysql-1, ...]"),
)
@option(
    "--auth",
    multiple=True,
    metavar="METHOD,...",
    help=say("Create one more user for each of these authentication methods."),
)
@option("--empty-password", is_flag=True, help=say("Let the main user log in without a password."))
@option(
    "--replica",
    is_flag=True,
    own=True,
    help=say("Also start a second server that replicates from the first."),
)
@option(
    "--semi-sync",
    is_flag=True,
    help=say("With --replica: commits wait until the replica has them."),
)
@option(
    "--max-connections",
    type=click.IntRange(min=1),
    help=say("max_connections of the server. [default: 4500]"),
)
@option("--no-tls", is_flag=True, help=say("Start the server without TLS."))
@option(
    "--pooler",
    metavar="NAME",
    help=say("Also start a connection pooler in front of the server: pgbouncer for PostgreSQL."),
)
@option(
    "--pooler-set",
    "pooler_settings",
    multiple=True,
    metavar="NAME=VALUE",
    help=say("Setting of the pooler, such as pool_mode=transaction. May be repeated."),
)
@_timeout_option
@json_option
def start(as_json: bool, **asked: object) -> None:
    """Start a throwaway server."""
    from loadstone.cli.errors import announce
    from loadstone.runner.recording import labelled
    from loadstone.sandbox import find_server, start_sandbox

    spec = _spec(asked)
    binary = find_server(spec.server)
    name = labelled(binary.family, binary.flavour, binary.version)
    announce(say("starting {server}", server=name), quiet=as_json)
    with _still_waiting(name, quiet=as_json):
        started = start_sandbox(spec)
    if as_json:
        click.echo(json.dumps(_as_dict(started), indent=1))
        return
    for each in _with_replica(started):
        click.echo(_as_text(each))


@sandbox.command(
    help=say(
        "Start a sandbox's server again on the same data, port and socket.\n\n"
        "A running server is shut down cleanly first. After `sandbox kill` or a crash the server "
        "recovers its data as it starts."
    )
)
@click.argument("name", required=False)
@_timeout_option
def restart(name: str | None, timeout: float) -> None:
    """Start a sandbox's server again."""
    from loadstone.sandbox import find_sandbox

    chosen = find_sandbox(name, running=False)
    chosen.restart(timeout)
    click.echo(in_words(say("restarted {name}, pid {pid}", name=chosen.name, pid=chosen.pid)))


@sandbox.command(
    help=say(
        "Kill a sandbox's server with SIGKILL, as a crash would end it.\n\n"
        "Its data stays until `sandbox stop`; `sandbox restart` starts the server on it."
    )
)
@click.argument("name", required=False)
def kill(name: str | None) -> None:
    """Kill a sandbox's server."""
    from loadstone.sandbox import find_sandbox

    chosen = find_sandbox(name)
    chosen.kill()
    said = say("killed {name}; `loadstone sandbox restart {name}` starts it", name=chosen.name)
    click.echo(in_words(said))


@sandbox.command(help=say("Stop sandboxes and remove everything that they created."))
@click.argument("names", nargs=-1, metavar="[NAME]...")
@option("--all", "everything", is_flag=True, help=say("Stop all sandboxes."))
def stop(names: tuple[str, ...], everything: bool) -> None:
    """Stop sandboxes."""
    from loadstone.sandbox import SandboxError, clear_leftovers, find_sandbox, kept_sandboxes

    if everything:
        clear_leftovers()
        chosen = [each for each in kept_sandboxes() if each.state.role == "primary"]
    elif names:
        chosen = [find_sandbox(name, running=False) for name in names]
    else:
        raise SandboxError(say("which sandbox?"), say("loadstone sandbox stop NAME, or --all"))
    for each in chosen:
        each.stop()
        click.echo(in_words(say("stopped {name}", name=each.name)))


@sandbox.command(
    "list",
    help=say("List the sandboxes, those whose server crashed or was killed included."),
)
@option(
    "--available",
    is_flag=True,
    help=say("List instead the servers that can be started here, and how to get others."),
)
@json_option
def list_(as_json: bool, available: bool) -> None:
    """List the sandboxes."""
    from loadstone.sandbox import kept_sandboxes

    if available:
        _list_available(as_json)
        return
    known = kept_sandboxes()
    if as_json:
        click.echo(json.dumps([_as_dict(each) for each in known], indent=1))
    elif not known:
        click.echo(in_words(say("no sandbox is running")), err=True)
    else:
        # Names, ports and sockets are there to be copied; a socket's path would need most of a
        # terminal's width, so it has a line of its own.
        _print_table(map(in_words, _HEADS), [_row(each) for each in known], folds=False)
        click.echo()
        for each in known:
            click.echo(f"socket  {each.name}  {each.socket}")


def _list_available(as_json: bool) -> None:
    from loadstone.sandbox.binaries import available_servers, ways_to_missing

    here = available_servers()
    missing = ways_to_missing(here)
    if as_json:
        servers = [
            {"server": each.flavour, "version": each.version, "program": str(each.program)}
            for each in here
        ]
        click.echo(json.dumps({"here": servers, "missing": missing}, indent=1))
        return
    rows = [(f"{each.flavour} {each.version}", str(each.program)) for each in here]
    rows += [(name, in_words(say("not here: {how}", how=how))) for name, how in missing.items()]
    _print_table((in_words(say("server")), in_words(say("program"))), rows)


@sandbox.command(
    help=say(
        "Open an SQL prompt: in the server's own client if it is installed, else a simple one.\n\n"
        "NAME may be left out if only one sandbox is running."
    )
)
@click.argument("name", required=False)
@option(
    "-e", "--execute", "statement", metavar="SQL", help=say("Execute these statements and exit.")
)
def shell(name: str | None, statement: str | None) -> None:
    """Open an SQL prompt."""
    from loadstone.sandbox import find_sandbox
    from loadstone.sandbox.programs import PROGRAMS

    chosen = find_sandbox(name)
    programs = PROGRAMS[chosen.state.family]
    known = programs.clients_of(chosen.flavour, chosen.state.command)
    client = next(filter(None, map(shutil.which, known)), None)
    if client is not None:
        database = chosen.state.database
        arguments = programs.client_command(client, chosen.place, database, statement)
        sys.stdout.flush()
        os.execv(client, arguments)
    with chosen.connect() as connection:
        if statement is not None:
            _execute(connection, chosen, statement)
        elif not sys.stdin.isatty():
            _execute(connection, chosen, sys.stdin.read())
        else:
            _prompt(connection, chosen)


@sandbox.group(
    help=say(
        "Loaded tables that throwaway servers have left for the next of their kind.\n\n"
        "They are kept where loading them took longer than a server takes to start, as long as "
        "there is room. Nothing else depends on them."
    )
)
def cache() -> None:
    """Kept tables."""


@cache.command("list", help=say("List what is kept, the most recently used first."))
@json_option
def list_cache(as_json: bool) -> None:
    """List what is kept."""
    from loadstone.sandbox.kept_tables import kept_folders

    kept = kept_folders()
    if as_json:
        click.echo(json.dumps([each.model_dump() for each in kept], indent=1))
    elif not kept:
        click.echo(in_words(say("nothing is kept")), err=True)
    else:
        rows = [(each.server, each.tables, _mib(each.bytes), _day_of(each.used_s)) for each in kept]
        _print_table(map(in_words, _KEPT_HEADS), rows)


@cache.command(help=say("Remove what is kept."))
def clear() -> None:
    """Remove what is kept."""
    from loadstone.sandbox.kept_tables import clear_kept

    click.echo(in_words(say("removed {size}", size=_mib(clear_kept()))))


def _mib(size: int) -> str:
    return f"{size / 2**20:,.0f} MiB"


def _day_of(time_s: float) -> str:
    return datetime.datetime.fromtimestamp(time_s, datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")


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
            "pooler": asked["pooler"],
            "pooler_settings": _pooler_settings(asked["pooler_settings"]),  # type: ignore[arg-type]
            "timeout_s": asked["timeout"],
            "owned": False,
        }
    )


def settings_of(texts: Iterable[str]) -> dict[str, str]:
    """The variables of `--set`."""
    from loadstone.sandbox import parse_setting

    settings: dict[str, str] = {}
    for text in texts:
        name, value = parse_setting(text)
        if name.removeprefix("loose_") == "plugin_load_add" and name in settings:
            value = f"{settings[name]};{value}"  # the only variable whose values accumulate
        settings[name] = value
    return settings


def _pooler_settings(texts: Iterable[str]) -> dict[str, str]:
    from loadstone.sandbox import parse_setting

    return dict(parse_setting(text, "--pooler-set", "pool_mode=transaction") for text in texts)


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
        "state": _condition(each),
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
        "pooler": _pooler_of(each),
        # The passwords of a throwaway server are the purpose of this list.
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


def _pooler_of(each: Sandbox) -> dict[str, object] | None:
    pooler, pooled = each.state.pooler, each.pooled
    if pooler is None or pooled is None:
        return None
    pid = pooler.process.pid if pooler.is_running else None
    return {"name": pooler.name, "pid": pid, "target": pooled.target.url}


def _settings_of(each: Sandbox) -> list[str]:
    """A text of all its settings, folded to the width of the terminal."""
    from loadstone.report.wrapping import wrapped

    settings = ", ".join(f"{name}={value}" for name, value in each.settings.items())
    said = in_words(say("  settings {settings}", settings=settings))
    return wrapped(said.lstrip(), width(), first="  ", later=" " * 11)


def _as_text(each: Sandbox) -> str:
    """A text with what the user needs next; the password is in the named option file."""
    lines = [
        f"{each.name}: {each.flavour} {each.version}, pid {each.pid}",
        *map(
            in_words,
            (
                say("  tcp      {url}", url=each.tcp.target.url),
                say("  socket   {url}", url=each.local.target.url),
                say("  login    {option}", option=each.login_words),
                say("  disk     {disk}", disk=each.disk.description),
            ),
        ),
        *_settings_of(each),
    ]
    if each.pooled is not None:
        lines.append(in_words(say("  pooler   {url}", url=each.pooled.target.url)))
    lines += [
        in_words(
            say(
                "  user     {user} ({method}), password {password}",
                user=account.user,
                method=account.method,
                password=account.password.get_secret_value(),
            )
        )
        for account in each.accounts[1:]
    ]
    return "\n".join(lines)


def _row(each: Sandbox) -> tuple[str, ...]:
    return (
        each.name,
        f"{each.flavour} {each.version}",
        in_words(_ROLES[each.state.role]),
        str(each.pid) if each.is_running() else "-",
        str(each.port),
        in_words(_state_of(each)),
    )


def _condition(each: Sandbox) -> str:
    if each.is_running():
        return "running"
    return "killed" if each.state.phase == "killed" else "crashed"


def _state_of(each: Sandbox) -> Message:
    owner = each.state.owner
    if owner and each.is_running():
        return say("runs until process {pid} ends", pid=owner.pid)
    match _condition(each):
        case "running":
            return say("runs until it is stopped")
        case "killed":
            return say("killed, data kept")
        case _:
            return say("crashed, data kept")


def _prompt(connection: Connection, chosen: Sandbox) -> None:
    greeting = say(
        "{name}, {server}; an empty line exits",
        name=chosen.name,
        server=f"{chosen.flavour} {chosen.version}",
    )
    click.echo(in_words(greeting), err=True)
    while True:
        try:
            statement = input(f"{chosen.name}> ").strip()
        except EOFError:
            return
        if not statement or statement.lower().rstrip(";") in ("exit", "quit", "\\q"):
            return
        from loadstone.cli.errors import tell
        from loadstone.servers.errors import TargetError

        try:
            _execute(connection, chosen, statement)
        except TargetError as error:
            tell(error.message)


def _execute(connection: Connection, chosen: Sandbox, statements: str) -> None:
    from loadstone.families import family_of

    for one in family_of(chosen.local.target).statements_in(statements):
        _execute_one(connection, chosen, one)


def _execute_one(connection: Connection, chosen: Sandbox, statement: str) -> None:
    from loadstone.families import family_of

    target, place = chosen.local.target, say("sandbox {name}", name=chosen.name)
    with family_of(target).statement_errors(target, place), connection.cursor() as cursor:
        count = cursor.execute(statement)
        names = [str(column[0]) for column in cursor.description or ()]
        rows = cursor.fetchall()
    if not names:
        changed = counted("1 row changed", "{number} rows changed", count)
        click.echo(in_words(changed), err=True)
        return
    _print_table(names, [tuple("NULL" if v is None else str(v) for v in row) for row in rows])


def _print_table(
    names: Iterable[str], rows: Iterable[tuple[str, ...]], *, folds: bool = True
) -> None:
    """A table for people."""
    from loadstone.cli.screen import show
    from loadstone.report.table import Column, Table

    columns = (Column(name, is_text=True, folds=folds) for name in names)
    show(Table(tuple(columns), tuple(rows)))
