"""`loadstone host-test`: five tests without a database, with sysbench's options and defaults."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from loadstone.cli.help.command import group, option
from loadstone.cli.language import current
from loadstone.cli.options.types import (
    BYTES,
    DURATION,
    SIZE,
    DistributionSpec,
    json_option,
    with_options,
)
from loadstone.model.message import say

if TYPE_CHECKING:
    from loadstone.model.frozen import Frozen
    from loadstone.model.host_test import HostBegun, HostSample

_Command = TypeVar("_Command", bound=Callable[..., Any])
_NUMBER = click.IntRange(min=1)
_FROM_ZERO = click.IntRange(min=0)
_COMMANDS = click.Choice(["run", "prepare", "cleanup"])

_COMMON = (
    click.argument("command", type=_COMMANDS, default="run"),
    option("--threads", type=_NUMBER, default=1, show_default=True, help=say("Number of threads.")),
    option("--events", type=SIZE, help=say("Stop after this many events, over all threads.")),
    option(
        "--duration",
        type=DURATION,
        default="10s",
        show_default=True,
        help=say("Stop after this time."),
    ),
    option(
        "--rate",
        own=True,
        type=click.FloatRange(min=0, min_open=True),
        help=say("Limit the rate to this many events per second. [default: no limit]"),
    ),
    option(
        "--seed",
        type=_FROM_ZERO,
        default=0,
        show_default=True,
        help=say("Seed of the random numbers."),
    ),
    json_option,
)


def _common(command: _Command) -> _Command:
    """The options that all tests have."""
    return with_options(command, _COMMON)  # type: ignore[no-any-return]


@group(
    help=say(
        "Benchmark this host without a database: the tests of sysbench, built in.\n\n"
        "Options and defaults are those of sysbench, so results are comparable. They are ceilings"
        " too: no server can commit more often than fileio can fsync."
    )
)
def host_test() -> None:
    """Tests of the host."""


@host_test.command(help=say("Benchmark the CPU: each event finds the primes up to a number."))
@_common
@option(
    "--cpu-max-prime",
    "max_prime",
    type=_NUMBER,
    default=10_000,
    show_default=True,
    help=say("Upper limit of the primes."),
)
def cpu(command: str, **asked: Any) -> int:
    """Test the CPU."""
    from loadstone.model.host_test import CpuTest

    return _run_test(command, CpuTest, asked)


@host_test.command(help=say("Benchmark memory: each event reads or writes a block."))
@_common
@option(
    "--memory-block-size",
    "block_size",
    type=BYTES,
    default="1K",
    show_default=True,
    help=say("Size of a block, in bytes."),
)
@option(
    "--memory-total-size",
    "total_size",
    type=BYTES,
    default="100G",
    show_default=True,
    help=say("Stop after this many bytes, over all threads."),
)
@option(
    "--memory-scope",
    "scope",
    type=click.Choice(["global", "local"]),
    default="global",
    show_default=True,
    help=say("One memory block for all threads, or one per thread."),
)
@option("--memory-hugetlb", "hugetlb", is_flag=True, help=say("Allocate from huge pages."))
@option(
    "--memory-oper",
    "operation",
    type=click.Choice(["read", "write", "none"]),
    default="write",
    show_default=True,
    help=say("What an event does with the block."),
)
@option(
    "--memory-access-mode",
    "access",
    type=click.Choice(["seq", "rnd"]),
    default="seq",
    show_default=True,
    help=say("Sequential or random access."),
)
def memory(command: str, **asked: Any) -> int:
    """Test memory."""
    from loadstone.model.host_test import MemoryTest

    return _run_test(command, MemoryTest, asked)


@host_test.command(
    help=say("Benchmark the scheduler: each event locks, yields the CPU and unlocks.")
)
@_common
@option(
    "--thread-yields",
    "yields",
    type=_NUMBER,
    default=1000,
    show_default=True,
    help=say("Number of yields per event."),
)
@option(
    "--thread-locks",
    "locks",
    type=_NUMBER,
    default=8,
    show_default=True,
    help=say("Number of locks that the threads share."),
)
def threads(command: str, **asked: Any) -> int:
    """Test the scheduler."""
    from loadstone.model.host_test import ThreadsTest

    return _run_test(command, ThreadsTest, asked)


@host_test.command(help=say("Benchmark mutexes: each thread has one event, which locks many."))
@_common
@option(
    "--mutex-num",
    "num",
    type=_NUMBER,
    default=4096,
    show_default=True,
    help=say("Number of mutexes."),
)
@option(
    "--mutex-locks",
    "locks",
    type=_NUMBER,
    default=50_000,
    show_default=True,
    help=say("Number of locks per thread."),
)
@option(
    "--mutex-loops",
    "loops",
    type=_FROM_ZERO,
    default=10_000,
    show_default=True,
    help=say("Empty loop iterations before each lock."),
)
def mutex(command: str, **asked: Any) -> int:
    """Test mutexes."""
    from loadstone.model.host_test import MutexTest

    return _run_test(command, MutexTest, asked)


@host_test.command(
    help=say(
        "Benchmark files: events read, write and fsync.\n\n"
        "prepare creates the files, run tests them, cleanup removes them."
    ),
    examples=(
        (
            say("random writes"),
            "loadstone host-test fileio prepare\n"
            "  loadstone host-test fileio run --file-test-mode rndwr\n"
            "  loadstone host-test fileio cleanup",
        ),
    ),
)
@_common
@option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=".",
    help=say("Folder of the test files. [default: the current one]"),
)
@option(
    "--file-num",
    "num",
    type=_NUMBER,
    default=128,
    show_default=True,
    help=say("Number of files."),
)
@option(
    "--file-block-size",
    "block_size",
    type=BYTES,
    default="16K",
    show_default=True,
    help=say("Bytes per read or write."),
)
@option(
    "--file-total-size",
    "total_size",
    type=BYTES,
    default="2G",
    show_default=True,
    help=say("Size of all files together, in bytes."),
)
@option(
    "--file-test-mode",
    "mode",
    type=click.Choice(["seqwr", "seqrewr", "seqrd", "rndrd", "rndwr", "rndrw"]),
    help=say(
        "Sequential or random (seq, rnd) writes, rewrites, reads or both (wr, rewr, rd, rw)."
        " Required for run."
    ),
)
@option(
    "--file-io-mode",
    "io_mode",
    type=click.Choice(["sync", "async", "mmap"]),
    default="sync",
    show_default=True,
    help=say("How files are accessed."),
)
@option(
    "--file-async-backlog",
    "async_backlog",
    type=_NUMBER,
    default=128,
    show_default=True,
    help=say("Operations in flight per thread, with --file-io-mode async."),
)
@option(
    "--file-extra-flags",
    "extra_flags",
    type=click.Choice(["sync", "dsync", "direct"]),
    multiple=True,
    help=say("Extra flag for opening files. May be repeated."),
)
@option(
    "--file-fsync-freq",
    "fsync_freq",
    type=_FROM_ZERO,
    default=100,
    show_default=True,
    help=say("Call fsync after this many operations; 0: never."),
)
@option("--file-fsync-all", "fsync_all", is_flag=True, help=say("Call fsync after each write."))
@option(
    "--file-fsync-end/--no-file-fsync-end",
    "fsync_end",
    default=True,
    show_default=True,
    help=say("Call fsync at the end of the test."),
)
@option(
    "--file-fsync-mode",
    "fsync_mode",
    type=click.Choice(["fsync", "fdatasync"]),
    default="fsync",
    show_default=True,
    help=say("The call that synchronizes a file."),
)
@option(
    "--file-merged-requests",
    "merged_requests",
    type=_FROM_ZERO,
    default=0,
    help=say("Merge up to this many requests into one; 0: none. [default: 0]"),
)
@option(
    "--file-rw-ratio",
    "rw_ratio",
    type=click.FloatRange(min=0),
    default=1.5,
    show_default=True,
    help=say("Reads per write in rndrw."),
)
@option(
    "--distribution",
    own=True,
    type=DistributionSpec(),
    default="special",
    show_default=True,
    help=say("Distribution of the random positions."),
)
def fileio(command: str, **asked: Any) -> int:
    """Test files."""
    from loadstone.model.host_test import FileioTest

    if command == "run" and asked["mode"] is None:
        raise click.UsageError(say("name a test with --file-test-mode, such as rndrw"))
    return _run_test(command, FileioTest, asked)


def _run_test(command: str, kind: type[Frozen], asked: dict[str, Any]) -> int:
    from loadstone.cli.screen import show
    from loadstone.lab.machine.hosttests import run_host_test
    from loadstone.lab.step.interrupts import Interrupts
    from loadstone.model.exit_codes import ExitCode
    from loadstone.model.host_test import HostStop, HostTestPlan
    from loadstone.report.host_test import as_renderable

    plan = HostTestPlan.model_validate(
        {
            "command": command,
            "test": kind(**{name: asked[name] for name in asked if name in kind.model_fields}),
            "threads": asked["threads"],
            "stop": HostStop(events=asked["events"], duration_s=asked["duration"]),
            "rate": asked["rate"],
            "seed": asked["seed"],
        }
    )
    with Interrupts() as interrupts:
        end = run_host_test(plan, _Quiet(), interrupts)
    if asked["as_json"]:
        click.echo(end.model_dump_json(indent=2))
    else:
        show(as_renderable(plan, end, current()))
    return ExitCode.INTERRUPTED if end.reason == "stopped" else ExitCode.OK


class _Quiet:
    """Shows nothing each second, as such a test is short."""

    def on_begun(self, begun: HostBegun) -> None:
        """Show nothing."""

    def on_sample(self, sample: HostSample) -> None:
        """Show nothing."""
