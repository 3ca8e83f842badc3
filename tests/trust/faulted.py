"""A `loadstone run` that something happens to, and what must not be left of it."""

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
"""Whether the long forms are wanted: `make nightly`."""

PASSWORD = "of-a-server-that-fails"
PATIENCE_S = 120.0
LAST_LONG_S = 60.0
"""So long a server may take to be rid of a client that was killed."""

LIGHT = ("--warmup", "0s", "--shards", "1", "--think-time", "100ms", "--duration", "300s")
"""Several victims share the machine, and none needs its load to be heavy. All of them are ended
when what was to happen has happened, however long that took."""

FILES = re.compile(
    r"(run|environment|result)\.json|(load|server|host)\.parquet|journal\.jsonl|latency\.hlog"
    r"|wishes|seals"
)
"""All that may be in a run's folder once its process is gone."""


@dataclass(frozen=True)
class Ended:
    """What is known of a victim after its end."""

    code: int
    """As `subprocess` has it: negative for a signal."""
    out: str
    err: str
    result: Result | None
    """`None` where there is no run any more."""
    accounts: tuple[Account, ...] = ()
    """Of its steps."""
    rates: tuple[int, ...] = ()
    """Events in each second of its first step."""
    marks: tuple[int, ...] = ()
    """Seconds that the test looks at."""

    @property
    def run(self) -> Result:
        """Where there must be one."""
        assert self.result, self.err
        return self.result

    def has_lost_nothing(self, at_least: int = 1) -> None:
        """All events came to a known end, and each of so many seconds or more has its record."""
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
    """A folder of a victim's own, whose name nothing else has in its environment."""

    folder: Path

    @property
    def runs(self) -> Path:
        """Where its runs are."""
        return self.folder / "runs"

    @property
    def state(self) -> Path:
        """Where it keeps what outlives a run: old settings, throwaway servers."""
        return self.folder / "state" / "loadstone"

    @property
    def environment(self) -> dict[str, str]:
        """Of whatever is started here. Templates of servers are everybody's."""
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        return kept | {
            "HOME": str(self.folder),
            "XDG_STATE_HOME": str(self.state.parent),
            "XDG_CACHE_HOME": cache,
            "LOADSTONE_PASSWORD": PASSWORD,
            "COLUMNS": "200",
        }

    def processes(self) -> list[str]:
        """Everything that was started from here and is still there."""
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
        """Carry a command out to its end."""
        return Victim(self, words).ended(within_s)


@dataclass
class Victim:
    """A command under way; it lives in a session of its own."""

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
        """Also behind a launcher, which is replaced."""
        return self.process.pid

    @property
    def folder(self) -> Path:
        """Of the only run."""
        (run,) = self.home.found()
        return run

    def until_seconds(self, number: int) -> None:
        """Until the journal has a record of so many seconds of load."""
        self.until('"record":{"kind":"sample"', number)

    def seconds_more(self, number: int) -> int:
        """Until so many seconds more have gone by; how many there are now."""
        wanted = len(self.samples()) + number
        self.until_seconds(wanted)
        return wanted

    def samples(self) -> list[Sample]:
        """Of the step under way, as far as they are written."""
        return list(read_log(self.folder).steps[-1].samples())

    def until_all_are_back(self, users: int) -> None:
        """Until an outage is over, all users are connected, and events succeed again."""
        self.until('"record":{"kind":"outage"')

        def are_back() -> bool:
            last = self.samples()[-1]
            return last.users == users and last.counts.events > 0

        wait_until(are_back, f"{users} users")

    def until(self, text: str, times: int = 1) -> None:
        """Until the journal has a text so many times."""

        def has_it() -> bool:
            runs = self.home.found()
            return bool(runs) and (runs[0] / "journal.jsonl").read_text().count(text) >= times

        wait_until(lambda: has_it() or self.process.poll() is not None, text)
        if not has_it():
            raise AssertionError(f"it ended before: {self.process.communicate()}")

    def signal(self, number: signal.Signals) -> None:
        """As a person or the kernel does."""
        self.process.send_signal(number)

    def stopped(self) -> Ended:
        """End it as a person does who has seen enough."""
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
    """Begin a run against a server; `how`: launcher and program."""
    target = ("--target", server.tcp.target.url)
    given = dict(zip(words[::2], words[1::2], strict=True))
    options = {"--concurrency": "8", **dict(zip(LIGHT[::2], LIGHT[1::2], strict=True)), **given}
    chosen = [word for option in options.items() for word in option]
    return Victim(home, ("run", workload, *target, *chosen), **how)


@contextmanager
def a_server(kind: str = "mariadb", **spec: object) -> Iterator[Sandbox]:
    """A server with two small tables; skips where there is none of that kind."""
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
    """Transactions that are open, and tables that somebody uses or holds."""
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
