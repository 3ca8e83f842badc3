"""`loadstone workload replay`, and the commands that make templates of logs and digests."""

from __future__ import annotations

import codecs
import re
import shutil
import sys
import tempfile
from contextlib import contextmanager
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from loadstone.cli.help.command import command, option
from loadstone.cli.language import in_words
from loadstone.cli.options.connection import Connection, connection_options
from loadstone.cli.options.observe import observing_options
from loadstone.cli.options.protection import protection_options
from loadstone.cli.options.types import (
    DURATION,
    FILE,
    WORD,
    Duration,
    Parsed,
    name_option,
    out_option,
    output_option,
    result_json_option,
)
from loadstone.model.error_codes import POSTGRESQL
from loadstone.model.figure import Seconds
from loadstone.model.message import Joined, Message, counted, say, say_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from loadstone.model.observe_request import Observing
    from loadstone.traffic.by_family import LogKind
    from loadstone.traffic.entries import ReadStats
    from loadstone.traffic.import_log import ImportOptions, ImportResult
    from loadstone.traffic.replay_lanes import Dealt

_MOST_UNKNOWN = 10
_MOST_USERS = 512
_PATH = click.Path(path_type=Path, file_okay=True)


class Encoding(Parsed[str]):
    """A character set by the name that Python or MySQL gives it."""

    name = "name"

    _OF_MYSQL = {"utf8mb4": "utf-8", "utf8mb3": "utf-8", "ujis": "euc-jp", "latin1": "cp1252"}

    def read(self, text: str) -> str:
        """Python's name for it."""
        name = self._OF_MYSQL.get(text.lower(), text)
        try:
            found = codecs.lookup(name)
        except LookupError:
            raise ValueError(
                say("'{text}' is not a character set: write utf8mb4, gbk or latin1", text=text)
            ) from None
        # Some of Python's codecs are not for text (`hex`), and a line end must be one byte.
        try:
            is_text = "\n".encode(found.name) == b"\n"
        except (LookupError, TypeError, UnicodeError):
            is_text = False
        if not is_text:
            raise ValueError(say("'{text}' is not a character set of logs", text=text))
        return found.name


class Speed(Parsed[float]):
    """`2x`, `0.5x`, `2`, or `max`: as fast as answers come."""

    name = "factor"

    def read(self, text: str) -> float:
        """The factor; 0 for `max`."""
        if text.lower() == "max":
            return 0.0
        found = re.fullmatch(r"(\d+(?:\.\d+)?)x?", text.strip().lower())
        speed = float(found[1]) if found else 0.0
        if not 0.001 <= speed <= 1000:
            raise ValueError(say("'{text}' is not a speed: write 2x, 0.5x or max", text=text))
        return speed


def _making_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of all commands that create a template."""
    for add in (
        output_option(say("Output file. [default: stdout]")),
        option(
            "--name",
            type=WORD,
            own=True,
            help=say("Name of the workload. [default: from the output file's name]"),
        ),
        option(
            "--most",
            type=click.IntRange(1, 1000),
            default=200,
            show_default=True,
            help=say("Keep at most this many transactions, the most frequent ones."),
        ),
    ):
        command = add(command)
    return command


def _log_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of all commands that read a log."""
    command = option(
        "--charset",
        "encoding",
        type=Encoding(),
        own=True,
        default="utf8mb4",
        show_default=True,
        help=say("Character set of the statements in the log."),
    )(command)
    return click.argument("file", type=FILE)(command)


_schema_option = option(
    "--schema", type=WORD, help=say("Keep only statements of sessions that use this schema.")
)


@command(
    "from-slowlog",
    help=say(
        "Create a template from a slow query log (docs/traffic.md).\n\n"
        "FILE is a log of MariaDB or MySQL, plain or gzip. It has all statements if it was written"
        " with long_query_time=0."
    ),
    examples=(
        (
            say("a template of one schema"),
            "loadstone workload from-slowlog slow.log --schema shop -o shop.toml",
        ),
    ),
)
@_log_options
@_schema_option
@_making_options
def from_slowlog(file: Path, **asked: Any) -> None:
    """Create a template from a slow query log."""
    _from_log(file, "slow", asked)


@command(
    "from-generallog",
    help=say(
        "Create a template from a general query log (docs/traffic.md).\n\n"
        "FILE is a log of MariaDB or MySQL, plain or gzip."
    ),
)
@_log_options
@_schema_option
@_making_options
def from_generallog(file: Path, **asked: Any) -> None:
    """Create a template from a general query log."""
    _from_log(file, "general", asked)


@command(
    "from-csvlog",
    help=say(
        "Create a template from a csvlog of PostgreSQL (docs/traffic.md).\n\n"
        "FILE may be plain or gzip. It has all statements if it was written with"
        " log_min_duration_statement = 0."
    ),
    examples=(
        (
            say("a template of one database"),
            "loadstone workload from-csvlog postgresql.csv --schema shop -o shop.toml",
        ),
    ),
)
@_log_options
@_schema_option
@_making_options
def from_csvlog(file: Path, **asked: Any) -> None:
    """Create a template from PostgreSQL's csvlog."""
    _from_log(file, "csvlog", asked)


@command(
    "from-jsonlog",
    help=say(
        "Create a template from a jsonlog of PostgreSQL 15 or newer (docs/traffic.md).\n\n"
        "FILE may be plain or gzip. It has all statements if it was written with"
        " log_min_duration_statement = 0."
    ),
)
@_log_options
@_schema_option
@_making_options
def from_jsonlog(file: Path, **asked: Any) -> None:
    """Create a template from PostgreSQL's jsonlog."""
    _from_log(file, "jsonlog", asked)


@command(
    "from-digest",
    help=say(
        "Create a template from the statements that the server counted in the target's schema, in"
        " performance_schema or PostgreSQL's pg_stat_statements.\n\n"
        "Changes nothing on the server: reads the counts, and the lowest and highest key of some"
        " indexes."
    ),
)
@connection_options
@option(
    "--over",
    type=DURATION,
    help=say("Count for this long. [default: everything counted so far]"),
)
@_making_options
def from_digest(connection: Connection, over: float | None, **asked: Any) -> None:
    """Create a template from the server's counts of statements."""
    from loadstone.traffic.import_log import from_digests

    if not connection.given:
        raise click.UsageError(say("name the server with --target"))
    wanted = _wanted(asked)
    _tell(from_digests(connection.endpoint(), wanted, over), asked["output"])


def _from_log(file: Path, kind: LogKind, asked: dict[str, Any]) -> None:
    from loadstone.traffic.import_log import from_log

    _tell(from_log(file, kind, _wanted(asked)), asked["output"])


def _wanted(asked: dict[str, Any]) -> ImportOptions:
    """The options of the template; an existing output file is not overwritten."""
    from loadstone import engine
    from loadstone.config.values import InvalidValue
    from loadstone.traffic.import_log import ImportOptions
    from loadstone.workloads.templates import values

    output: Path | None = asked["output"]
    if output is not None and output.exists():
        raise click.UsageError(
            say("{file} already exists: remove it, or give another name", file=str(output))
        )
    if output is not None and output.suffix != ".toml":
        raise click.UsageError(
            say("{file}: the name of a template ends with .toml", file=str(output))
        )
    stem = re.sub(r"\W", "_", output.stem, flags=re.ASCII) if output else "recorded"
    name = asked["name"] or stem
    try:
        values.name(name)
    except InvalidValue as unfit:
        said = say("--name: {what}: {write}", what=unfit.what, write=unfit.write)
        raise click.UsageError(said) from None
    if name in engine.workloads():
        raise click.UsageError(say("{name} is a built-in workload: give another --name", name=name))
    more = {each: asked[each] for each in ("schema", "encoding") if asked.get(each)}
    return ImportOptions(name=name, most=asked["most"], **more)


def _tell(made: ImportResult, output: Path | None) -> None:
    """Write the template, all of it or nothing, and its notes to stderr."""
    from loadstone.runs.atomic import write_bytes

    if output is None:
        click.echo(made.text, nl=False)
    else:
        write_bytes(output, made.text.encode())
    for note in made.notes:
        click.echo(in_words(note), err=True)
    for line in made.unknown[:_MOST_UNKNOWN]:
        click.echo(in_words(line), err=True)
    if len(made.unknown) > _MOST_UNKNOWN:
        more = len(made.unknown) - _MOST_UNKNOWN
        said = say("and {more} more: comments in the template list all of them", more=more)
        click.echo(in_words(said), err=True)
    if output is not None:
        written = counted(
            "1 transaction written to {file}",
            "{number} transactions written to {file}",
            made.transactions,
            file=str(output),
        )
        click.echo(in_words(written), err=True)


@command(
    help=say(
        "Replay the statements of a log, each session on its own connection.\n\n"
        "FILE is a slow or general log of MariaDB or MySQL, or a csvlog or jsonlog of"
        " PostgreSQL, plain or gzip. Keeps the log's timing unless --speed is given. Sends only"
        " statements that read, unless --writes is given."
    ),
    examples=(
        (
            say("at twice the speed, for ten minutes"),
            "loadstone workload replay slow.log --target mysql://user@host/schema --speed 2x"
            " --duration 10m",
        ),
    ),
)
@_log_options
@option(
    "--log",
    "kind",
    type=click.Choice(["auto", "slow", "general", "csvlog", "jsonlog"]),
    own=True,
    default="auto",
    show_default=True,
    help=say("Kind of log; auto recognizes it."),
)
@_schema_option
@connection_options
@option(
    "--speed",
    type=Speed(),
    default="1x",
    show_default=True,
    help=say("Speed relative to the log, such as 2x or 0.5x; max: as fast as answers arrive."),
)
@option("--loop", is_flag=True, help=say("Start over at the end, until --duration or Ctrl-C."))
@option(
    "--duration",
    type=DURATION,
    own=True,
    help=say("Stop after this time. [default: at the end]"),
)
@option(
    "--warmup",
    type=Duration(zero=True),
    own=True,
    default="0s",
    show_default=True,
    help=say("Time from the first statement on that is not measured."),
)
@option("--writes", is_flag=True, help=say("Also send statements that change data."))
@option(
    "--yes",
    is_flag=True,
    help=say(
        "With --writes, allow this in a schema that holds other tables. Replay although tables that"
        " the log names are missing."
    ),
)
@option(
    "--connections",
    type=click.IntRange(1, 100_000),
    default=_MOST_USERS,
    show_default=True,
    help=say("Use at most this many connections; if there are more sessions, they take turns."),
)
@option(
    "--spool",
    type=_PATH,
    help=say("Folder for temporary files. [default: the system's]"),
)
@observing_options
@protection_options
@result_json_option
@out_option
@name_option(default="replay")
def replay(file: Path, connection: Connection, observing: Observing, **asked: Any) -> int:
    """Replay a log."""
    if not connection.given:
        raise click.UsageError(say("name the server with --target"))
    from loadstone.cli.ending import end
    from loadstone.cli.terminal import Terminal
    from loadstone.runner.replay import ReplayRequest
    from loadstone.runner.replay import replay as send_again
    from loadstone.traffic.replaying import ReplayOptions

    endpoint = connection.endpoint()
    with _spool(asked["spool"]) as folder:
        heard, dealt = _dealt(file, folder, endpoint.target.family, asked)
        _say_dealt(heard, dealt, quiet=asked["as_json"] and not sys.stderr.isatty())
        finished = send_again(
            ReplayRequest(
                how=ReplayOptions(
                    speed=asked["speed"],
                    loop=asked["loop"],
                    writes=asked["writes"],
                    duration_s=asked["duration"],
                    warmup_s=asked["warmup"],
                ),
                observing=observing,
                protection=asked["protection"],
                out=asked["out"],
                name=asked["name"],
                yes=asked["yes"],
            ),
            endpoint,
            dealt,
            folder,
            Terminal(quiet=asked["as_json"]),
        )
    return end(finished, as_json=asked["as_json"])


@contextmanager
def _spool(within: Path | None) -> Iterator[Path]:
    """A folder that nobody else may read, removed afterwards.

    Raises:
        StoreError: it cannot be created.
    """
    from loadstone.runs.errors import StoreError

    place = within or Path(tempfile.gettempdir())
    try:
        folder = Path(tempfile.mkdtemp(prefix="loadstone-replay-", dir=place))
    except OSError as error:
        raise StoreError.from_os("make a folder in", place, error) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _dealt(file: Path, folder: Path, family: str, asked: dict[str, Any]) -> tuple[ReadStats, Dealt]:
    """The log, distributed over connections to a server of a family.

    Raises:
        LogRefused: it is not a log of such servers, or nothing in it can be sent there.
    """
    from loadstone.traffic.by_family import FAMILIES, SENDABLE
    from loadstone.traffic.entries import ReadStats
    from loadstone.traffic.errors import LogRefused
    from loadstone.traffic.read_log import in_schema, kind_of_log, log_entries
    from loadstone.traffic.replay_lanes import Dealer

    kind = kind_of_log(file) if asked["kind"] == "auto" else asked["kind"]
    if FAMILIES[kind] != family:
        said = say("a {kind} log is not of the target's servers", kind=kind)
        raise LogRefused(str(file), 1, said, say("name a server in --target that writes such logs"))
    heard = ReadStats(str(file))
    judge = SENDABLE[family]
    dealer = Dealer(folder, heard, judge, most=asked["connections"], writes=asked["writes"])
    entries = log_entries(file, kind, heard, asked["encoding"])
    if asked["schema"]:
        entries = in_schema(entries, asked["schema"], heard)
    dealt = dealer.deal(entries, asked["encoding"])
    if not dealt.statements:
        why = Joined(starmap(_amount, heard.left_out.most_common(3)), "clauses")
        said = counted(
            "1 entry, and no statement to send",
            "{number} entries, and no statement to send",
            heard.entries,
        )
        hint = say("left out: {what}", what=why) if why.parts else say("give another log")
        raise LogRefused(str(file), 1, said, hint)
    if family == POSTGRESQL and len(dealt.schemas) > 1:
        # A session has one database: those of others cannot be reached from the target's.
        names = Joined(sorted(dealt.schemas))
        said = say("its sessions are in several databases: {names}", names=names)
        raise LogRefused(str(file), 1, said, say("name the one to replay with --schema"))
    return heard, dealt


def _amount(what: str, count: int) -> Message:
    return say_in("amount", "{count} {what}", count=count, what=what)


def _say_dealt(heard: ReadStats, dealt: Dealt, *, quiet: bool) -> None:
    from loadstone.cli.errors import announce

    said = say(
        "{statements} statements of {sessions} sessions on {connections} connections, {time} long",
        statements=dealt.statements,
        sessions=dealt.sessions,
        connections=dealt.lanes,
        time=Seconds(dealt.length_s),
    )
    announce(said, quiet=quiet)
    for what, count in heard.left_out.most_common():
        announce(say("left out: {what}", what=_amount(what, count)), quiet=quiet)
    for what, count in heard.noted.most_common():
        announce(_amount(what, count), quiet=quiet)
    if heard.whole_seconds:
        said = say(
            "the log has times in whole seconds only: the statements of each second are spread"
            " evenly over it"
        )
        announce(said, quiet=quiet)
