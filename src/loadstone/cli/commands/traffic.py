"""`loadstone workload from-digest`, `from-slowlog`, `from-generallog` and `replay`."""

from __future__ import annotations

import codecs
import re
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from loadstone.cli.options.connection import Connection, connection_options
from loadstone.cli.options.observe import observing_options
from loadstone.cli.options.protection import protection_options
from loadstone.cli.options.types import DURATION, FILE, WORD, Parsed, result_json_option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from loadstone.model.observe_request import Observing
    from loadstone.traffic.entries import ReadStats
    from loadstone.traffic.import_log import ImportOptions, ImportResult, LogKind
    from loadstone.traffic.replay_lanes import Dealt

_MOST_UNKNOWN = 10
_MOST_USERS = 512
_PATH = click.Path(path_type=Path, file_okay=True)


class Encoding(Parsed[str]):
    """A character set by the name that Python or MySQL gives it."""

    name = "name"

    _OF_MYSQL = {"utf8mb4": "utf-8", "utf8mb3": "utf-8", "ujis": "euc-jp", "latin1": "cp1252"}

    def read(self, text: str) -> str:
        """Python's name of it."""
        name = self._OF_MYSQL.get(text.lower(), text)
        try:
            found = codecs.lookup(name)
        except LookupError:
            raise ValueError(
                f"'{text}' is no character set: write utf8mb4, gbk or latin1"
            ) from None
        # Some of Python's codecs are none of texts (`hex`), and a line's end must be one byte.
        try:
            is_text = "\n".encode(found.name) == b"\n"
        except (LookupError, TypeError, UnicodeError):
            is_text = False
        if not is_text:
            raise ValueError(f"'{text}' is nothing that logs are written in")
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
            raise ValueError(f"'{text}' is no speed: write 2x, 0.5x or max")
        return speed


def _making_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Those of all commands that make a template."""
    for option in (
        click.option("-o", "--output", type=FILE, help="Output file. [default: stdout]"),
        click.option("--name", type=WORD, help="Name of the workload. [default: the output's]"),
        click.option(
            "--most",
            type=click.IntRange(1, 1000),
            default=200,
            show_default=True,
            help="Number of transactions to keep, the most frequent first.",
        ),
    ):
        command = option(command)
    return command


def _log_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Those of all commands that read a log."""
    command = click.option(
        "--charset",
        "encoding",
        type=Encoding(),
        default="utf8mb4",
        show_default=True,
        help="Character set of the statements.",
    )(command)
    return click.argument("file", type=FILE)(command)


@click.command(name="from-slowlog")
@_log_options
@click.option("--schema", type=WORD, help="Keep only what sessions did in this schema.")
@_making_options
def from_slowlog(file: Path, **asked: Any) -> None:
    """Make a template from a slow query log (docs/traffic.md).

    FILE is one of MariaDB or MySQL, plain or gzip. With long_query_time=0 it has all statements.
    """
    _from_log(file, "slow", asked)


@click.command(name="from-generallog")
@_log_options
@click.option("--schema", type=WORD, help="Keep only what sessions did in this schema.")
@_making_options
def from_generallog(file: Path, **asked: Any) -> None:
    """Make a template from a general query log (docs/traffic.md).

    FILE is one of MariaDB or MySQL, plain or gzip.
    """
    _from_log(file, "general", asked)


@click.command(name="from-digest")
@connection_options
@click.option("--over", type=DURATION, help="Count for this long, instead of everything so far.")
@_making_options
def from_digest(connection: Connection, over: float | None, **asked: Any) -> None:
    """Make a template from the statements that performance_schema counted in the target's schema.

    Nothing is changed on the server: the counts are read, and both ends of some indexes.
    """
    from loadstone.traffic.import_log import from_digests

    if not connection.given:
        raise click.UsageError("say which server has counted with --target")
    wanted = _wanted(asked)
    _tell(from_digests(connection.endpoint(), wanted, over), asked["output"])


def _from_log(file: Path, kind: LogKind, asked: dict[str, Any]) -> None:
    from loadstone.traffic.import_log import from_log

    _tell(from_log(file, kind, _wanted(asked)), asked["output"])


def _wanted(asked: dict[str, Any]) -> ImportOptions:
    """What is asked of the template; an output that is there already is not written over."""
    from loadstone import engine
    from loadstone.config.values import InvalidValue
    from loadstone.traffic.import_log import ImportOptions
    from loadstone.workloads.templates import values

    output: Path | None = asked["output"]
    if output is not None and output.exists():
        raise click.UsageError(f"{output} is there already: remove it, or give another name")
    if output is not None and output.suffix != ".toml":
        raise click.UsageError(f"{output}: a template's name ends with .toml")
    stem = re.sub(r"\W", "_", output.stem, flags=re.ASCII) if output else "recorded"
    name = asked["name"] or stem
    try:
        values.name(name)
    except InvalidValue as unfit:
        raise click.UsageError(f"--name: {unfit.what}: {unfit.write}") from None
    if name in engine.workloads():
        raise click.UsageError(f"{name} is a workload of the program's own: give another --name")
    more = {each: asked[each] for each in ("schema", "encoding") if asked.get(each)}
    return ImportOptions(name=name, most=asked["most"], **more)


def _tell(made: ImportResult, output: Path | None) -> None:
    """The template to where it belongs, all of it or nothing; what is said of it to stderr."""
    from loadstone.runs.atomic import write_bytes

    if output is None:
        click.echo(made.text, nl=False)
    else:
        write_bytes(output, made.text.encode())
    for note in made.notes:
        click.echo(note, err=True)
    for line in made.unknown[:_MOST_UNKNOWN]:
        click.echo(line, err=True)
    if len(made.unknown) > _MOST_UNKNOWN:
        more = len(made.unknown) - _MOST_UNKNOWN
        click.echo(f"and {more} more: comments in the template name all of them", err=True)
    if output is not None:
        from loadstone.model.numbers import number_of

        written = number_of(made.transactions, "transaction")
        click.echo(f"{written} written to {output}", err=True)


@click.command()
@_log_options
@click.option(
    "--log",
    "kind",
    type=click.Choice(["auto", "slow", "general"]),
    default="auto",
    show_default=True,
    help="Kind of FILE.",
)
@connection_options
@click.option(
    "--speed", type=Speed(), default="1x", show_default=True, help="Speed: 2x, 0.5x or max."
)
@click.option("--loop", is_flag=True, help="Start over at the end, until --duration or Ctrl-C.")
@click.option("--duration", type=DURATION, help="Stop after this time.")
@click.option("--writes", is_flag=True, help="Also send statements that change data.")
@click.option("--yes", is_flag=True, help="Allow this in a schema that holds other tables.")
@click.option(
    "--connections",
    type=click.IntRange(1, 100_000),
    default=_MOST_USERS,
    show_default=True,
    help="Most sessions at once; others take turns.",
)
@click.option(
    "--spool", type=_PATH, help="Temporary folder for the split log. [default: the system's]"
)
@observing_options
@protection_options
@result_json_option
@click.option("--out", type=_PATH, default=Path("runs"), show_default=True)
def replay(file: Path, connection: Connection, observing: Observing, **asked: Any) -> int:
    """Replay the statements of a slow or general log, each session on its own connection.

    With the log's own timing, or --speed. Only what reads is sent, unless --writes says otherwise.
    """
    if not connection.given:
        raise click.UsageError("say where to send it with --target")
    from loadstone.cli.ending import end
    from loadstone.cli.terminal import Terminal
    from loadstone.runner.replay import ReplayRequest
    from loadstone.runner.replay import replay as send_again
    from loadstone.traffic.replaying import ReplayOptions

    endpoint = connection.endpoint()
    with _spool(asked["spool"]) as folder:
        heard, dealt = _dealt(file, folder, asked)
        _say_dealt(heard, dealt, quiet=asked["as_json"] and not sys.stderr.isatty())
        finished = send_again(
            ReplayRequest(
                how=ReplayOptions(
                    speed=asked["speed"],
                    loop=asked["loop"],
                    writes=asked["writes"],
                    duration_s=asked["duration"],
                ),
                observing=observing,
                protection=asked["protection"],
                out=asked["out"],
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
    """A folder that nobody else may read, gone afterwards.

    Raises:
        StoreError: there is no place for it.
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


def _dealt(file: Path, folder: Path, asked: dict[str, Any]) -> tuple[ReadStats, Dealt]:
    """The log, dealt out to connections.

    Raises:
        LogRefused: it is no log, or nothing in it can be sent.
    """
    from loadstone.traffic.entries import ReadStats
    from loadstone.traffic.errors import LogRefused
    from loadstone.traffic.import_log import kind_of_log, log_entries
    from loadstone.traffic.replay_lanes import Dealer

    kind = kind_of_log(file) if asked["kind"] == "auto" else asked["kind"]
    heard = ReadStats(str(file))
    dealer = Dealer(folder, heard, most=asked["connections"], writes=asked["writes"])
    entries = log_entries(file, kind, heard, asked["encoding"])
    dealt = dealer.deal(entries, asked["encoding"])
    if not dealt.statements:
        why = "; ".join(f"{count} {what}" for what, count in heard.left_out.most_common(3))
        said = f"{heard.entries} entries, and no statement that would be sent"
        raise LogRefused(str(file), 1, said, why or "give another log")
    return heard, dealt


def _say_dealt(heard: ReadStats, dealt: Dealt, *, quiet: bool) -> None:
    from loadstone.cli.errors import announce

    said = (
        f"{dealt.statements} statements of {dealt.sessions} sessions on {dealt.lanes} connections,"
        f" {dealt.length_s:.1f} s long"
    )
    announce(said, quiet=quiet)
    for what, count in heard.left_out.most_common():
        announce(f"left out: {count} {what}", quiet=quiet)
    for what, count in heard.noted.most_common():
        announce(f"{count} {what}", quiet=quiet)
    if heard.whole_seconds:
        said = "the log has whole seconds only: the statements of each are spread over it evenly"
        announce(said, quiet=quiet)
