"""`loadstone host-test`: five tests without a database, with sysbench's options and defaults."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from loadstone.cli.options.types import BYTES, DURATION, SIZE, DistributionSpec, with_options

if TYPE_CHECKING:
    from loadstone.model.frozen import Frozen
    from loadstone.model.host_test import HostBegun, HostSample

_Command = TypeVar("_Command", bound=Callable[..., Any])
_NUMBER = click.IntRange(min=1)
_FROM_NOUGHT = click.IntRange(min=0)
_COMMANDS = click.Choice(["run", "prepare", "cleanup"])

_COMMON = (
    click.argument("command", type=_COMMANDS, default="run"),
    click.option(
        "--threads", type=_NUMBER, default=1, show_default=True, help="Number of threads."
    ),
    click.option("--events", type=SIZE, help="Stop after this many events, over all threads."),
    click.option(
        "--duration", type=DURATION, default="10s", show_default=True, help="Stop after this time."
    ),
    click.option(
        "--rate",
        type=click.FloatRange(min=0, min_open=True),
        help="Limit to this many events per second.",
    ),
    click.option(
        "--seed",
        type=_FROM_NOUGHT,
        default=0,
        show_default=True,
        help="Seed of the random numbers.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print the final record as JSON only."),
)


def _common(command: _Command) -> _Command:
    """The options that all tests have."""
    return with_options(command, _COMMON)  # type: ignore[no-any-return]


@click.group()
def host_test() -> None:
    """What this host can do without a database: the tests that sysbench has, natively.

    Options and defaults are sysbench's, so figures of hosts can be set side by side. They are
    ceilings too: no server commits more often than the files' fsyncs a second allow.
    """


@host_test.command()
@_common
@click.option("--cpu-max-prime", "max_prime", type=_NUMBER, default=10_000, show_default=True)
def cpu(command: str, **asked: Any) -> int:
    """Events find the primes up to a number."""
    from loadstone.model.host_test import CpuTest

    return _run_test(command, CpuTest, asked)


@host_test.command()
@_common
@click.option("--memory-block-size", "block_size", type=BYTES, default="1K", show_default=True)
@click.option("--memory-total-size", "total_size", type=BYTES, default="100G", show_default=True)
@click.option(
    "--memory-scope",
    "scope",
    type=click.Choice(["global", "local"]),
    default="global",
    show_default=True,
    help="One memory block for all threads, or one per thread.",
)
@click.option("--memory-hugetlb", "hugetlb", is_flag=True, help="Allocate from huge pages.")
@click.option(
    "--memory-oper",
    "operation",
    type=click.Choice(["read", "write", "none"]),
    default="write",
    show_default=True,
)
@click.option(
    "--memory-access-mode",
    "access",
    type=click.Choice(["seq", "rnd"]),
    default="seq",
    show_default=True,
)
def memory(command: str, **asked: Any) -> int:
    """Events read or write a block of memory."""
    from loadstone.model.host_test import MemoryTest

    return _run_test(command, MemoryTest, asked)


@host_test.command()
@_common
@click.option("--thread-yields", "yields", type=_NUMBER, default=1000, show_default=True)
@click.option("--thread-locks", "locks", type=_NUMBER, default=8, show_default=True)
def threads(command: str, **asked: Any) -> int:
    """Events take locks and give way while they hold them."""
    from loadstone.model.host_test import ThreadsTest

    return _run_test(command, ThreadsTest, asked)


@host_test.command()
@_common
@click.option("--mutex-num", "num", type=_NUMBER, default=4096, show_default=True)
@click.option("--mutex-locks", "locks", type=_NUMBER, default=50_000, show_default=True)
@click.option("--mutex-loops", "loops", type=_FROM_NOUGHT, default=10_000, show_default=True)
def mutex(command: str, **asked: Any) -> int:
    """Each thread has one event: it takes many mutexes."""
    from loadstone.model.host_test import MutexTest

    return _run_test(command, MutexTest, asked)


@host_test.command()
@_common
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=".",
    help="Folder of the test files. [default: the current one]",
)
@click.option("--file-num", "num", type=_NUMBER, default=128, show_default=True)
@click.option("--file-block-size", "block_size", type=BYTES, default="16K", show_default=True)
@click.option("--file-total-size", "total_size", type=BYTES, default="2G", show_default=True)
@click.option(
    "--file-test-mode",
    "mode",
    type=click.Choice(["seqwr", "seqrewr", "seqrd", "rndrd", "rndwr", "rndrw"]),
    help="Test mode; required for run.",
)
@click.option(
    "--file-io-mode",
    "io_mode",
    type=click.Choice(["sync", "async", "mmap"]),
    default="sync",
    show_default=True,
)
@click.option("--file-async-backlog", "async_backlog", type=_NUMBER, default=128, show_default=True)
@click.option(
    "--file-extra-flags",
    "extra_flags",
    type=click.Choice(["sync", "dsync", "direct"]),
    multiple=True,
    help="Flags for opening files; may be repeated.",
)
@click.option("--file-fsync-freq", "fsync_freq", type=_FROM_NOUGHT, default=100, show_default=True)
@click.option("--file-fsync-all", "fsync_all", is_flag=True, help="Call fsync after each write.")
@click.option("--file-fsync-end/--no-file-fsync-end", "fsync_end", default=True, show_default=True)
@click.option(
    "--file-fsync-mode",
    "fsync_mode",
    type=click.Choice(["fsync", "fdatasync"]),
    default="fsync",
    show_default=True,
)
@click.option("--file-merged-requests", "merged_requests", type=_FROM_NOUGHT, default=0)
@click.option(
    "--file-rw-ratio",
    "rw_ratio",
    type=click.FloatRange(min=0),
    default=1.5,
    show_default=True,
    help="Ratio of reads to writes in rndrw.",
)
@click.option("--distribution", type=DistributionSpec(), default="special", show_default=True)
def fileio(command: str, **asked: Any) -> int:
    """Events read, write and synchronise files, which prepare makes and cleanup removes."""
    from loadstone.model.host_test import FileioTest

    if command == "run" and asked["mode"] is None:
        raise click.UsageError("say what to do: --file-test-mode rndrw, for one")
    return _run_test(command, FileioTest, asked)


def _run_test(command: str, kind: type[Frozen], asked: dict[str, Any]) -> int:
    from rich.console import Console

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
        Console(highlight=False).print(as_renderable(plan, end))
    return ExitCode.INTERRUPTED if end.reason == "stopped" else ExitCode.OK


class _Quiet:
    """Nobody watches the seconds of such a test: it is over soon."""

    def on_begun(self, begun: HostBegun) -> None:
        """Nothing is shown."""

    def on_sample(self, sample: HostSample) -> None:
        """Nothing is shown."""
