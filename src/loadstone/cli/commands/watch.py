"""`loadstone watch`: shows a server's counters under a load that others generate."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from loadstone.cli.help.command import command, option
from loadstone.cli.options.connection import Connection, options_of_watched_targets
from loadstone.cli.options.observe import observing_options
from loadstone.cli.options.types import DURATION, name_option, out_option, result_json_option
from loadstone.model.message import Message, say

if TYPE_CHECKING:
    from loadstone.model.observe_request import Observing
    from loadstone.model.observed import Observation
    from loadstone.observe.sampler import Seen


@command(
    help=say(
        "Record the counters of a server and its host every second, without driving any load.\n\n"
        "Ends after --duration or with Ctrl-C. The result is kept as a run."
    ),
    examples=(
        (say("for ten minutes"), "loadstone watch --target mysql://user@host --duration 10m"),
    ),
)
@options_of_watched_targets
@observing_options
@option(
    "--duration",
    type=DURATION,
    default="60s",
    show_default=True,
    help=say("Stop after this time."),
)
@result_json_option
@out_option
@name_option(default="watch")
def watch(
    connection: Connection,
    observing: Observing,
    duration: float,
    as_json: bool,
    out: Path,
    name: str,
) -> int:
    """Record a server's counters."""
    if not connection.given:
        raise click.UsageError(say("name the server with --target"))
    if not observing.on:
        raise click.UsageError(say("--no-observe would record nothing: leave it out"))
    from loadstone.cli.ending import end
    from loadstone.cli.terminal import Terminal
    from loadstone.runner.watch import WatchRequest
    from loadstone.runner.watch import watch as watch_servers

    asked = WatchRequest(name=name, duration_s=duration, observing=observing, out=out)
    lines = _Lines(quiet=as_json and not sys.stderr.isatty())
    view = Terminal(quiet=as_json)
    end(watch_servers(asked, connection.endpoints(), view, lines.take), as_json=as_json)
    return 0


class _Lines:
    """A line per second: time of day, figures of server and host; headings every twenty lines."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._lines = 0
        self._host: Observation | None = None

    def take(self, seen: Seen) -> None:
        """Keep the host's sample until the server's arrives; only the first target's are shown."""
        from loadstone.model.observed import SourceState

        if isinstance(seen, SourceState):
            if seen.source.role == "server-host":
                self._host = None
            what = {"source": str(seen.source), "why": seen.why}
            self._say(
                say("{source} lost: {why}", **what)
                if seen.lost
                else say("{source} back: {why}", **what)
            )
        elif seen.source.target == 0 and seen.source.role == "server-host":
            self._host = seen
        elif seen.source.target == 0 and seen.source.role == "server" and seen.seconds > 0:
            self._show(seen)

    def _say(self, line: Message | str) -> None:
        from loadstone.cli.errors import announce

        announce(line, quiet=self._quiet)

    def _show(self, server: Observation) -> None:
        from loadstone.model.numbers import rate

        by_transactions = "transactions_committed" in server.deltas
        heads, names = _BY_TRANSACTIONS if by_transactions else _BY_STATEMENTS
        if self._lines % 20 == 0:
            self._say(heads)
        self._lines += 1
        seconds = server.seconds

        def by_second(name: str) -> str:
            delta = server.deltas.get(name)
            return rate(None if delta is None else delta / seconds)

        def now(name: str) -> str:
            return rate(server.gauges.get(name))

        # An old sample of the host does not belong to this second.
        fresh = self._host if self._host and server.to_s - self._host.to_s < _STALE_S else None
        self._say(
            f"{time.strftime('%H:%M:%S')}"
            f"  {by_second(names[0]):>11}  {by_second(names[1]):>9}"
            f"  {now('threads_running'):>7}  {now('threads_connected'):>11}  {_host_cells(fresh)}"
        )


_BY_STATEMENTS = (
    say("time      questions/s  commits/s  running  connections  cpu user/sys %  disk w/s"),
    ("questions", "com_commit"),
)
_BY_TRANSACTIONS = (
    say("time      rollbacks/s  commits/s  running  connections  cpu user/sys %  disk w/s"),
    ("transactions_rolled_back", "transactions_committed"),
)
"""Headings, and the two counters: PostgreSQL counts transactions, and no statements."""

_STALE_S = 2.5
_MODES = ("user", "nice", "system", "irq", "softirq", "idle", "iowait", "steal")


def _host_cells(host: Observation | None) -> str:
    nothing = f"{'-':>14}  {'-':>8}"
    if host is None or host.seconds <= 0:
        return nothing
    spent = {mode: host.deltas.get(f"cpu.{mode}_s", 0.0) for mode in _MODES}
    total = sum(spent.values())
    if not total:
        return nothing
    user = 100 * (spent["user"] + spent["nice"]) / total
    system = 100 * (spent["system"] + spent["irq"] + spent["softirq"]) / total
    writes = sum(value for name, value in host.deltas.items() if _is_of_a_disk(name, ".writes"))
    return f"{user:>9.0f} / {system:<2.0f}  {writes / host.seconds:>8,.0f}"


def _is_of_a_disk(name: str, figure: str) -> bool:
    """Whether a figure is a disk's: disks repeat the writes of the LVM and RAID on them."""
    return name.startswith("disk.") and name.endswith(figure) and name[5:7] not in ("dm", "md")
