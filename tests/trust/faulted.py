"""A `loadstone run` with an injected fault, and checks that it leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from benches.accounting import Account, account_of
from engine.driving import a_load, load, local
from engine.servers import QUICK, asked, counters, wait_until_nobody
from kept import Stopwatch
from loadstone.model.records import Sample
from loadstone.model.result import Result
from loadstone.runs import run_folder
from loadstone.runs.rebuild import read_log
from loadstone.sandbox import Sandbox, SandboxError, SandboxSpec, find_server, start_sandbox
from trust.tally import COUNTS

NIGHTLY = os.environ.get("LOADSTONE_NIGHTLY") == "1"
"""Whether to run the long forms: `make nightly`."""

PASSWORD = "of-a-server-that-fails"
PATIENCE_S = 120.0
LAST_LONG_S = 60.0
"""How long a server may take to notice that a client was killed."""

LIGHT = ("--warmup", "0s", "--shards", "1", "--think-time", "100ms", "--duration", "300s")
"""Several victims share the machine, and none needs a heavy load. Each is ended once its fault has
happened, however long that takes."""

FILES = re.compile(
    r"(run|environment|result)\.json|(load|server|host)\.parquet|journal\.jsonl|latency\.hlog"
    r"|wishes|seals"
)
"""The only files that may be in a run's folder once its process is gone."""


@dataclass(frozen=True)
class Ended:
    """What is known of a victim after its end."""

    code: int
    """The exit code as `subprocess` has it: negative for a signal."""
    out: str
    err: str
    result: Result | None
    """`None` if there is no run any more."""
    accounts: tuple[Account, ...] = ()
    """The accounts of its steps."""
    rates: tuple[int, ...] = ()
    """Events in each second of its first step."""
    marks: tuple[int, ...] = ()
    """Seconds that the test noted."""

    @property
    def run(self) -> Result:
        """The run, which must exist."""
        assert self.result, self.err
        return self.result

    def has_lost_nothing(self, at_least: int = 1) -> None:
        """Check that all events have a known outcome, and that enough seconds were recorded."""
        (account,) = self.accounts
        (step,) = self.run.steps
        COUNTS["faults injected"] += 1
        COUNTS["events accounted for"] += account.due
        COUNTS["events unaccounted"] += account.unaccounted
        assert step.tally_balances is True
        assert (account.unaccounted, account.missing_s) == (0, 0.0)
        assert account.due > 0
        assert account.seconds >= at_least


@dataclass(frozen=True)
class Home:
    """A victim's own folder; no other process has its name in the environment."""

    folder: Path

    @property
    def runs(self) -> Path:
        """The folder of its runs."""
        return self.folder / "runs"

    @property
    def state(self) -> Path:
        """The folder of what outlives a run: old settings, throwaway servers."""
        return self.folder / "state" / "loadstone"

    @property
    def environment(self) -> dict[str, str]:
        """The environment of processes started here. Templates of servers are shared."""
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        return kept | {
            "HOME": str(self.folder),
            "XDG_STATE_HOME": str(self.state.parent),
            "XDG_CACHE_HOME": cache,
            "LOADSTONE_KEPT_GIB": "0",
            "LOADSTONE_PASSWORD": PASSWORD,
            "COLUMNS": "200",
        }

    def processes(self) -> list[str]:
        """All processes that were started from here and still exist."""
        found = []
        for process in psutil.process_iter(["pid", "cmdline", "environ", "status"]):
            said = process.info
            ours = (said["environ"] or {}).get("HOME") == str(self.folder)
            if ours and said["status"] != psutil.STATUS_ZOMBIE:
                found.append(f"{said['pid']} {' '.join(said['cmdline'] or ())}")
        return found

    def found(self) -> list[Path]:
        """The folders of its runs, oldest first."""
        return [journal.parent for journal in run_folder.journals(self.runs)]

    def loadstone(self, *words: str, within_s: float = PATIENCE_S) -> Ended:
        """Run a command up to its end."""
        return Victim(self, words).ended(within_s)


@dataclass
class Victim:
    """A running command, in a session of its own."""

    home: Home
    words: Sequence[str]
    launcher: Sequence[str] = ()
    program: Sequence[str] = ("-m", "loadstone.cli")
    process: subprocess.Popen[str] = field(init=False)

    def __post_init__(self) -> None:
        self.process = subprocess.Popen(
            [*self.launcher, sys.executable, *self.program, *self.words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.home.folder,
            env=self.home.environment,
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """The process id, also of a command whose launcher was replaced by it."""
        return self.process.pid

    @property
    def folder(self) -> Path:
        """The folder of its only run."""
        (run,) = self.home.found()
        return run

    def until_seconds(self, number: int) -> None:
        """Wait until the journal has records of this many seconds of load."""
        self.until('"record":{"kind":"sample"', number)

    def seconds_more(self, number: int) -> int:
        """Wait for this many more seconds; returns how many there are then."""
        wanted = len(self.samples()) + number
        self.until_seconds(wanted)
        return wanted

    def samples(self) -> list[Sample]:
        """The recorded samples of the current step."""
        return list(read_log(self.folder).steps[-1].samples())

    def until_all_are_back(self, users: int) -> None:
        """Wait until an outage is over: all users are connected, and events succeed again."""
        self.until('"record":{"kind":"outage"')

        def are_back() -> bool:
            last = self.samples()[-1]
            return last.users == users and last.counts.events > 0

        wait_until(are_back, f"{users} users")

    def until(self, text: str, times: int = 1) -> None:
        """Wait until the journal contains a text this many times."""

        def has_it() -> bool:
            runs = self.home.found()
            return bool(runs) and (runs[0] / "journal.jsonl").read_text().count(text) >= times

        wait_until(lambda: has_it() or self.process.poll() is not None, text)
        if not has_it():
            raise AssertionError(f"it ended before: {self.process.communicate()}")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, as a user or the kernel does."""
        self.process.send_signal(number)

    def stopped(self) -> Ended:
        """Stop it with Ctrl-C, as a user does."""
        self.signal(signal.SIGINT)
        return self.ended()

    def ended_soon(self, judged_s: float) -> Ended:
        """Wait for its end, for at most `judged_s` plus the time that it waits for a core."""
        since = Stopwatch(self.pid)
        wait_until(lambda: self.process.poll() is not None or since.judged_s > judged_s, "its end")
        took = f"{since.passed_s:.1f} s, of which {since.kept_s:.1f} s without a core"
        if self.process.poll() is None:
            self.process.kill()
            raise AssertionError(f"it does not end: {took}, {self.process.communicate()}")
        return self.ended()

    def ended(self, within_s: float = PATIENCE_S) -> Ended:
        """Wait for its end; `nothing_is_left` would report anything that it left running."""
        try:
            out, err = self.process.communicate(timeout=within_s)
        except BaseException:
            self.process.kill()
            self.process.communicate()
            raise
        assert "Traceback" not in err, err
        runs = self.home.found()
        if not runs:
            return Ended(self.process.returncode, out, err, None)
        steps = read_log(runs[0]).steps
        accounts = tuple(account_of(step) for step in steps)
        rates = tuple(each.counts.events for step in steps[:1] for each in step.samples())
        return Ended(self.process.returncode, out, err, run_folder.load(runs[0]), accounts, rates)


def drive(
    home: Home,
    server: Sandbox,
    *words: str,
    workload: str = "oltp_read_write",
    **how: Sequence[str],
) -> Victim:
    """Start a run against a server; `how`: launcher and program."""
    target = ("--target", server.tcp.target.url)
    given = dict(zip(words[::2], words[1::2], strict=True))
    options = {"--concurrency": "8", **dict(zip(LIGHT[::2], LIGHT[1::2], strict=True)), **given}
    chosen = [word for option in options.items() for word in option]
    return Victim(home, ("run", workload, *target, *chosen), **how)


@contextmanager
def a_server(kind: str = "mariadb", **spec: object) -> Iterator[Sandbox]:
    """A server with two small tables; skips if there is none of that kind."""
    try:
        find_server(kind)
    except SandboxError as error:
        pytest.skip(f"{error.message}: {error.hint}")
    wanted = {"server": kind, "settings": QUICK, "password": PASSWORD} | spec
    with start_sandbox(SandboxSpec.model_validate(wanted)) as sandbox:
        load(a_load(local(sandbox))).finished()
        yield sandbox


def nothing_is_left(home: Home, server: Sandbox | None = None, *, was_killed: bool = False) -> None:
    """No process, connection, lock, transaction, temporary table or file of a victim's is left.

    `was_killed`: the file that was being written may then remain in the folder, under its own name.
    """
    wait_until(lambda: not home.processes(), "no process of it")
    expected = re.compile(rf"{FILES.pattern}|\..+\.[0-9a-f]+" if was_killed else FILES.pattern)
    for run in home.runs.glob("*/"):
        assert not [each.name for each in run.iterdir() if not expected.fullmatch(each.name)]
    assert not list(home.state.glob("settings/*"))
    assert not [each for each in home.state.glob("sandboxes/*") if each.is_dir()]
    if server is None:
        return
    wait_until_nobody(server, LAST_LONG_S)
    wait_until(lambda: held_at(server) == (0, 0), "no transaction and no locked table")
    assert counters(server)["Prepared_stmt_count"] == 0
    assert not list((server.datadir / "sbtest").glob("#sql*"))


def held_at(server: Sandbox) -> tuple[int, int]:
    """Open transactions, and tables that are in use or locked."""
    with server.connect() as connection:
        ((open_ones,),) = asked(connection, "SELECT COUNT(*) FROM information_schema.innodb_trx")
        used = asked(connection, "SHOW OPEN TABLES FROM sbtest WHERE In_use > 0")
    return int(open_ones), len(used)


def wait_until(holds: Callable[[], bool], what: str, within_s: float = PATIENCE_S) -> None:
    """Look again and again."""
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, f"waited for: {what}"
        time.sleep(0.05)
