"""The only place where an exception becomes text and an exit code (docs/exit-codes.md)."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import signal
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

import click

from loadstone.cli.commanded import take_time
from loadstone.cli.language import in_words, spoken_for
from loadstone.lab.step.interrupts import ending_signals
from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.figure import General
from loadstone.model.message import Message, plain, say
from loadstone.model.nearest import nearest

_OUTPUT_FAULTS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE)
_GIVEN = frozenset(
    "Closed ConnectPolicy CpuTest Drive Experiment FileioTest Gaussian HostStop HostTestPlan "
    "Layout LoadPlan MemoryTest MutexTest Pareto Plan Request SandboxSpec Session Special Target "
    "ThreadsTest Tls Uniform WarmupAuto WarmupSeconds WorkloadSpec Zipfian".split()
)
"""Types whose values come from the user; for any other type an invalid value is a bug."""


def exit_code_of(arguments: Sequence[str]) -> int:
    """Run the command line; an error is printed as one line and has its own exit code."""
    take_time()
    with spoken_for(arguments):
        return _exit_code_of(arguments)


def _exit_code_of(arguments: Sequence[str]) -> int:
    from loadstone.cli.app import app

    # Also if a shell started us in the background with SIGINT ignored.
    before = {number: signal.signal(number, _as_ctrl_c) for number in ending_signals()}
    streams, code, error = (sys.stdout, sys.stderr), int(ExitCode.OK), None
    to_terminal = sys.stdout.isatty()
    try:
        outcome = app.main(list(arguments), prog_name="loadstone", standalone_mode=False)
        code = outcome if isinstance(outcome, int) else code
    except BaseException as raised:
        error = raised
    for number, handler in before.items():
        signal.signal(number, handler)
    if isinstance(error, SystemExit) and sys.stdout is not streams[0]:
        # Click has replaced the streams, which means that the reader of a pipe has gone.
        error = BrokenPipeError(errno.EPIPE, "broken pipe")
        sys.stdout, sys.stderr = streams
    fault = _unwritten(sys.stdout) or _output_fault(error)
    if error is not None and not (fault and isinstance(error, OSError)):
        code = _tell(error)
    # The terminal has gone, so there is nowhere to print an error.
    if fault and to_terminal and fault.errno == errno.EIO:
        code = code or ExitCode.INTERRUPTED
    elif fault and not isinstance(fault, BrokenPipeError):
        tell(say("cannot write to stdout: {why}", why=fault.strerror))
        code = code or ExitCode.STORE
    _unwritten(sys.stderr)
    return code


def tell(message: str, hint: str | None = None) -> None:
    """Print `error: …` and, if there is something to do, `hint: …` on stderr."""
    with contextlib.suppress(OSError):  # there is nowhere else to report it
        print(in_words(say("error: {what}", what=_line_of(message))), file=sys.stderr)
        if hint:
            print(in_words(say("hint:  {what}", what=_line_of(hint))), file=sys.stderr)


def announce(line: str, *, quiet: bool = False) -> None:
    """Print a line of progress."""
    if quiet:
        return
    with contextlib.suppress(OSError):  # a full or broken stderr ends no run
        print(in_words(line), file=sys.stderr, flush=True)


def tell_left(left: Sequence[str]) -> int:
    """Report the server variables that were not restored; returns the exit code, 0 if none."""
    if left:
        from loadstone.families import in_words

        shows = in_words(lambda words: words.variables)
    for said in left:
        tell(said, say("{command} shows their current values", command=shows))
    return ExitCode.LEFT_CHANGED if left else ExitCode.OK


def _line_of(message: str) -> str:
    return _one_line(_blanked(in_words(message)))


def _blanked(text: str) -> str:
    """Blank passwords: a message may repeat a URL that was put in the wrong place."""
    if "://" not in text:
        return text
    from loadstone.model.target_url import without_passwords_in

    return without_passwords_in(text)


def _unwritten(stream: TextIO) -> OSError | None:
    """Why the output cannot be written, if so; the output is then discarded."""
    try:
        stream.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return error
    return None


def _output_fault(error: BaseException | None) -> OSError | None:
    """The error of printing that caused this one; run folders report their own."""
    if isinstance(error, OSError) and error.filename is None and error.errno in _OUTPUT_FAULTS:
        return error
    return None


def _tell(error: BaseException) -> int:
    if _was_ctrl_c(error):
        error = KeyboardInterrupt()
    match error:
        case click.exceptions.Exit():
            return error.exit_code
        case KeyboardInterrupt() | click.Abort():
            tell(say("interrupted"))
            return ExitCode.INTERRUPTED
        case click.UsageError():
            _tell_usage(error)
            return ExitCode.USAGE
        case click.ClickException():
            tell(_of_click(error))
            return ExitCode.USAGE
        case LoadstoneError():
            _tell_own(error)
            return int(error.exit_code)
        case MemoryError():
            tell(
                say("out of memory"),
                say("lower --concurrency, or give this process more memory"),
            )
            return ExitCode.BUG
        case SystemExit():
            return error.code if isinstance(error.code, int) else ExitCode.BUG
    if told := _validation(error):
        tell(told)
        return ExitCode.PLAN
    return _tell_bug(error)


def _tell_own(error: LoadstoneError) -> None:
    *each, last = error.lines or (error.message,)
    for line in each:
        announce(_line_of(line))
    tell(last, None if each else error.hint)


def _tell_usage(error: click.UsageError) -> None:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.message, err=True)
    else:
        tell(_of_click(error), _usage_hint(error))


def _was_ctrl_c(error: BaseException) -> bool:
    """Whether Ctrl-C is the cause.

    Until 3.12 Python turns a Ctrl-C during the creation of a class, as while loading modules, into
    a RuntimeError (https://docs.python.org/3.12/whatsnew/3.12.html, `__set_name__`).
    """
    cause: BaseException | None = error
    while isinstance(cause, RuntimeError):
        cause = cause.__cause__
    return isinstance(cause, KeyboardInterrupt)


def _of_click(error: click.ClickException) -> str:
    """The message of an error that click raised, or that we raised as one of click's."""
    said = in_words(error.message)
    if isinstance(error, click.NoSuchOption | click.exceptions.NoSuchCommand):
        # Click's suggestion is repeated in the hint, so it is left out here.
        return _first_small(said)
    if isinstance(error, click.BadParameter):
        if isinstance(error.message, Message):
            # Click would put the message into an English sentence.
            error = click.BadParameter(said, error.ctx, error.param, error.param_hint)
        return _range_in_words(_first_small(error.format_message()))
    return _first_small(said if isinstance(error.message, Message) else error.format_message())


def _range_in_words(text: str) -> str:
    """The text with click's `1<=x<=1000` as `1 to 1,000`."""

    def written(found: re.Match[str]) -> str:
        low, high = (f"{int(number):,}" for number in found.groups())
        return in_words(say("{low} to {high}", low=low, high=high))

    return re.sub(r"(-?\d+)<=x<=(-?\d+)", written, text)


def _usage_hint(error: click.UsageError) -> str:
    from loadstone.cli.defaults.in_effect import origin_of
    from loadstone.cli.help.option_hints import option_hint

    if (origin := origin_of(error)) is not None:
        return origin
    path = error.ctx.command_path if error.ctx else "loadstone"
    if isinstance(error, click.NoSuchOption):
        return option_hint(error, path)
    if isinstance(error, click.MissingParameter) and _is_of_workloads(error):
        example = f"{path} oltp_read_write"
        lists = "loadstone workload list"
        return say("{command} lists them; for example {example}", command=lists, example=example)
    if isinstance(error, click.exceptions.NoSuchCommand):
        known = error.possibilities or _commands_of(error.ctx)
        near = nearest(error.command_name, known)
        return near or say("{command} shows the commands", command=f"{path} --help")
    shows = say("{command} shows how it is used", command=f"{path} --help")
    return _of_surplus_word(error) or shows


def _of_surplus_word(error: click.UsageError) -> Message | None:
    """Which option a surplus word was meant for: it is a server's URL, a kind of server, a file."""
    surplus = re.search(r"\((\S+)\)$", error.message)
    if surplus is None or error.ctx is None:
        return None
    word, known = surplus[1], {name for one in error.ctx.command.params for name in one.opts}
    if "--target" in known and "://" in word:
        return say("{option} names a server", option=f"--target {word}")
    if "--server" in known and re.fullmatch(r"(mysql|mariadb|percona|postgresql)[-.\w]*", word):
        return say("{option} chooses the server that is started", option=f"--server {word}")
    if "--output" in known and re.fullmatch(r"\S+\.\w+", word):
        return say("{option} writes to that file", option=f"-o {word}")
    return None


def _is_of_workloads(error: click.MissingParameter) -> bool:
    return error.param is not None and error.param.name == "workloads"


def _commands_of(context: click.Context | None) -> list[str]:
    if context is None or not isinstance(context.command, click.Group):
        return []
    return context.command.list_commands(context)


def _validation(error: BaseException) -> Message | None:
    """Which value from the user was refused by a frozen type, and why; `None` if none was."""
    pydantic = sys.modules.get("pydantic")
    if pydantic is None or not isinstance(error, pydantic.ValidationError):
        return None
    if error.title not in _GIVEN:
        return None
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    why = _why_refused(first)
    given = first["input"]
    # Texts may be secrets.
    if isinstance(given, int | float):
        why = say("{why}, not {given}", why=why, given=General(given))
    if not place:
        return say("invalid value: {why}", why=why)
    return say("invalid value for {option}: {why}", option=place, why=why)


def _why_refused(first: Mapping[str, Any]) -> Message:
    """Our own reason, which may be a message, or pydantic's."""
    raised = first.get("ctx", {}).get("error")
    if isinstance(raised, ValueError) and raised.args and isinstance(raised.args[0], Message):
        return raised.args[0]
    why = str(first["msg"]).removeprefix("Value error, ")
    return plain(f"{why[:1].lower()}{why[1:]}")


def _tell_bug(error: BaseException) -> int:
    """Report a bug: the traceback goes to a file for the developers, never to the terminal."""
    text = "".join(traceback.format_exception(error))
    where = _keep(text)
    tell(
        say("a bug in Loadstone: {what}", what=f"{type(error).__name__}: {error}"),
        say("please report it with {file}", file=str(where)) if where else say("please report it"),
    )
    return ExitCode.BUG


def _keep(text: str) -> Path | None:
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    path = state / "loadstone" / f"bug-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.txt"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
    except OSError:
        return None
    return path


def _one_line(text: str) -> str:
    """Replace control characters: texts of servers and file names must not control the terminal."""
    line = " ".join(text.split())
    return line if line.isprintable() else "".join(map(_shown, line))


def _shown(character: str) -> str:
    return character if character.isprintable() else "\ufffd"


def _first_small(text: str) -> str:
    """Click writes sentences; our lines start in lower case and end without a full stop."""
    text = text.strip().removesuffix(".")
    return text[:1].lower() + text[1:]


def _as_ctrl_c(number: int, frame: FrameType | None) -> None:
    if number == signal.SIGHUP:
        # Ctrl-C may arrive twice, from the shell and the kernel: the second must not interrupt
        # cleanup.
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
