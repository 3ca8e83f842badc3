"""A password given in each way, and then searched for in all that was written or shown."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from loadstone.lab.tables.load import layout_for
from loadstone.model.engine_plan import LoadPlan
from loadstone.runner.tables import Filling, fill
from loadstone.runner.view import Quiet
from loadstone.sandbox import Sandbox
from loadstone.servers.guard import Consent
from pooled import KINDS_IN_TURN, Pool
from trust.searching import Watching, files_below, found_in
from trust.summing import execute

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(600)]

# Characters that are special in URLs, option files and shells.
SECRET = "kV9z-Unique&Secret#73é"
WRONG = "qX4w-Wrong:Secret@88"
RUN = ("oltp_read_write", "--concurrency", "2", "--duration", "1s", "--warmup", "0s")
SHORT = ("--tables=1", "--table-size=100", "--threads=2", "--time=1")


@dataclass(frozen=True)
class Place:
    """A server with a user that has the password, and a folder for all that is written."""

    server: Sandbox
    home: Path

    @property
    def target(self) -> str:
        return f"keeper@127.0.0.1:{self.server.port}/shop"

    def url(self, secret: str | None = None) -> str:
        """A URL with the password quoted, as users paste it."""
        user, rest = self.target.split("@")
        return f"mysql://{user}{f':{urllib.parse.quote(secret)}' if secret else ''}@{rest}"

    def environment(self, **more: str) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        where = {"HOME": str(self.home), "XDG_STATE_HOME": str(self.home / "state")}
        return kept | where | {"COLUMNS": "100"} | more


@pytest.fixture(scope="module", params=KINDS_IN_TURN)
def server(request: pytest.FixtureRequest, pool: Pool) -> Iterator[Sandbox]:
    sandbox = pool.server(str(request.param))
    execute(
        sandbox,
        "CREATE DATABASE shop",
        f"CREATE USER keeper@'%' IDENTIFIED BY '{SECRET}'",
        "GRANT ALL ON *.* TO keeper@'%'",
    )
    plan = LoadPlan(layout=layout_for("sbtest", 1, 100))
    target = sandbox.tcp.target.model_copy(update={"database": "shop"})
    where = sandbox.tcp.model_copy(update={"target": target})
    fill(plan, where, Filling(Consent(sandbox=True)), Quiet())
    yield sandbox
    execute(sandbox, "DROP DATABASE shop", "DROP USER keeper@'%'")


@pytest.fixture
def place(server: Sandbox, tmp_path: Path) -> Place:
    return Place(server, tmp_path)


def words(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "loadstone.cli", *arguments]


@dataclass(frozen=True)
class Said:
    """What a program has shown: to the user who started it, and to other users of the machine."""

    code: int
    shown: bytes
    seen: Sequence[tuple[str, bytes]]

    def parts(self) -> Iterator[tuple[str, bytes]]:
        yield "what it printed", self.shown
        yield from self.seen


def carry_out(place: Place, *arguments: str, typed: str | None = None, **more: str) -> Said:
    """Run a command as its own program; `typed` is entered at its terminal."""
    ours, theirs = pty.openpty() if typed is not None else (None, None)
    with subprocess.Popen(
        words(*arguments),
        cwd=place.home,
        env=place.environment(**more),
        stdin=theirs if theirs is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=typed is not None,
    ) as program:
        with Watching(program.pid) as watching:
            assert program.stdout is not None
            shown = b""
            if ours is not None and theirs is not None:
                os.close(theirs)
                # Input before the echo is off would be discarded.
                while b"Password of" not in shown:
                    piece = os.read(program.stdout.fileno(), 4096)
                    assert piece, shown
                    shown += piece
                os.write(ours, f"{typed}\n".encode())
            shown += program.stdout.read()
            if ours is not None:
                os.close(ours)
    return Said(program.returncode, shown, watching.seen)


def option_file(place: Place, secret: str) -> Path:
    path = place.home / "secret.cnf"
    path.write_text(f'[client]\npassword="{secret}"\n')
    return path


def by(place: Place, way: str, secret: str, command: Sequence[str]) -> Said:
    """Run a command with the password given in one way."""
    target = ("--target", place.url())
    match way:
        case "url":
            return carry_out(place, *command, "--target", place.url(secret))
        case "url in one word":
            return carry_out(place, *command, f"--target={place.url(secret)}")
        case "environment":
            return carry_out(place, *command, *target, LOADSTONE_PASSWORD=secret)
        case "file":
            path = str(option_file(place, secret))
            return carry_out(place, *command, *target, "--defaults-file", path)
        case "home":
            option_file(place, secret).rename(place.home / ".my.cnf")
            return carry_out(place, *command, *target)
        case "prompt":
            return carry_out(place, *command, *target, "--password", typed=secret)
    raise AssertionError(way)


def searched(place: Place, *said: Said, secret: str = SECRET) -> list[str]:
    """Where it was found, except in the file in which the user keeps it."""
    parts = [part for each in said for part in each.parts()]
    kept = {str(place.home / name) for name in ("secret.cnf", ".my.cnf")}
    parts += [part for part in files_below(place.home) if part[0] not in kept]
    assert len(parts) >= 2 * len(said)
    return found_in(secret, parts)


WAYS = ("url", "url in one word", "environment", "file", "home", "prompt")
WRONG_WAYS = ("url", "file", "prompt")
WRONG_URLS = (
    "mysql://keeper:{}@no-such-host.invalid:3306/shop",
    "mysql://keeper:{}@127.0.0.1:1/shop",
    "mysql://keeper:{}@127.0.0.1:port/shop",
    "postgres://keeper:{}@127.0.0.1/shop",
    "mysql://keeper:{}@127.0.0.1/shop?tls=maybe",
)
AT_ONCE = 4
"""Programs that run at once: they mostly wait."""

Carried = Mapping[str, tuple[Place, Said]]
"""The output for each way, and the folder in which it ran."""


@pytest.fixture(scope="module")
def carried(server: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Carried:
    """Each way once, with the right password and with a wrong one."""
    asked: dict[str, Callable[[Place], Said]] = {
        **{way: partial(by, way=way, secret=SECRET, command=("run", *RUN)) for way in WAYS},
        **{
            f"wrong {way}": partial(by, way=way, secret=WRONG, command=("run", *RUN))
            for way in WRONG_WAYS
        },
    }
    return side_by_side(server, asked, tmp_path_factory)


@pytest.fixture(scope="module")
def misled(pool: Pool, tmp_path_factory: pytest.TempPathFactory) -> Carried:
    """Each URL that leads to no server, whatever servers are running."""
    asked = {url: partial(run_at, url=url.format(WRONG)) for url in WRONG_URLS}
    return side_by_side(pool.server(), asked, tmp_path_factory)


def side_by_side(
    server: Sandbox,
    asked: Mapping[str, Callable[[Place], Said]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Carried:
    places = {name: Place(server, tmp_path_factory.mktemp("way")) for name in asked}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        done = {name: pool.submit(ask, places[name]) for name, ask in asked.items()}
        return {name: (places[name], each.result()) for name, each in done.items()}


def run_at(place: Place, url: str) -> Said:
    return carry_out(place, "run", *RUN, "--target", url)


@pytest.mark.parametrize("way", WAYS)
def test_a_password_is_found_nowhere_after_a_run(way: str, carried: Carried) -> None:
    place, run = carried[way]
    assert run.code == 0, run.shown
    assert (place.home / "runs").is_dir()
    reports = []
    if way == WAYS[0]:
        reports = [carry_out(place, "report", "last"), carry_out(place, "runs", "show", "last")]
    assert searched(place, run, *reports) == []


def test_the_live_page_and_the_metrics_of_a_run_do_not_have_it(place: Place) -> None:
    """What viewers get during a run, and the arguments of the servers started alongside it."""
    with ThreadPoolExecutor(1) as pool:
        longer = ("run", *RUN[:-3], "20s", *RUN[-2:], "--live", "--metrics", "127.0.0.1:0")
        running = pool.submit(by, place, "url", SECRET, longer)
        mark = wait_for(lambda: json.loads((place.home / "runs" / ".live.json").read_text()))
        run = wait_for(lambda: next((place.home / "runs").glob("*/journal.jsonl")).parent.name)
        paths = ("", "api/runs", f"api/runs/{run}", f"runs/{run}/report", "metrics")
        sent = [(path, fetched(mark, path)) for path in paths]
        sent.append(("stream", fetched(mark, f"api/events?run={run}", 5_000)))
        said = running.result()
    assert said.code == 0, said.shown
    assert all(len(body) > 100 for _, body in sent), sent
    assert any(b"loadstone.web" in shown for name, shown in said.seen if "child" in name)
    assert searched(place, said) == []
    assert found_in(SECRET, sent) == []
    # Only the user who starts the run sees the page's token. The page ends when its last viewer has
    # gone.
    wait_for(lambda: gone(place.home / "runs" / ".live.json"))
    assert mark["token"].encode() in said.shown
    assert found_in(mark["token"], [*said.seen, *files_below(place.home)]) == []


def gone(path: Path) -> None:
    if path.exists():
        raise FileExistsError(path)


Found = TypeVar("Found")


def wait_for(look: Callable[[], Found]) -> Found:
    """Wait until the file exists and is complete."""
    deadline = time.monotonic() + 180
    while True:
        try:
            return look()
        except (OSError, ValueError, StopIteration):
            assert time.monotonic() < deadline, "it did not come"
            time.sleep(0.05)


def fetched(mark: dict[str, str], path: str, most: int = -1) -> bytes:
    asked = urllib.request.Request(f"{mark['url']}{path}")
    asked.add_header("Authorization", f"Bearer {mark['token']}")
    with urllib.request.urlopen(asked, timeout=180) as answer:
        return bytes(answer.read(most))


@pytest.mark.parametrize("way", WRONG_WAYS)
def test_a_wrong_password_is_refused_without_repeating_it(way: str, carried: Carried) -> None:
    place, said = carried[f"wrong {way}"]
    assert said.code == 3, said.shown
    assert b"refused user 'keeper'" in said.shown
    assert searched(place, said, secret=WRONG) == []


SYSBENCH = ("sysbench", "oltp_read_write", "--mysql-host=127.0.0.1", "--mysql-db=shop")


@pytest.mark.parametrize(
    ("way", "secret"), [("option", SECRET), ("underscores", WRONG), ("file", SECRET)]
)
def test_sysbenchs_password_is_found_nowhere(place: Place, way: str, secret: str) -> None:
    who = ("--mysql-user=keeper", f"--mysql-port={place.server.port}")
    match way:
        case "option":
            given = f"--mysql-password={secret}"
        case "underscores":
            given = f"--mysql_password={secret}"
        case _:
            (place.home / "secret.cnf").write_text(f"mysql-password={secret}\n")
            given = f"--config-file={place.home / 'secret.cnf'}"
    out = f"--loadstone-out={place.home / 'kept'}"
    said = carry_out(place, *SYSBENCH, *who, *SHORT, given, out, "run")
    assert said.code == (0 if secret == SECRET else 1), said.shown
    assert searched(place, said, secret=secret) == []


@pytest.mark.parametrize("url", WRONG_URLS)
def test_an_error_never_repeats_the_password_of_a_url(url: str, misled: Carried) -> None:
    place, said = misled[url]
    assert said.code in (2, 3, 4), said.shown
    assert b"error: " in said.shown
    assert searched(place, said, secret=WRONG) == []


def test_programs_that_we_start_do_not_inherit_it(place: Place) -> None:
    """A throwaway server, and the shell that a sysbench script may start."""
    script = place.home / "calls.lua"
    script.write_text("function event() os.execute('env; sleep 0.3') end\n")
    known = {"LOADSTONE_PASSWORD": SECRET}
    kind = ("--server", place.server.flavour)
    sandboxed = carry_out(place, "run", "oltp_point_select", *kind, *RUN[1:], **known)
    assert sandboxed.code == 0, sandboxed.shown
    called = carry_out(place, "sysbench", str(script), "--events=1", "--time=5", "run", **known)
    assert any("child" in name for name, _ in sandboxed.seen), sandboxed.seen
    assert b"PATH=" in called.shown, called.shown
    assert searched(place, sandboxed, called) == []


CRASHING = """
import sys
from loadstone.mysql import family
def crashes(*arguments):
    raise ZeroDivisionError("a bug")
family.describe_server = crashes
from loadstone.cli import main
main()
"""


def test_what_is_written_of_a_crash_does_not_have_it(place: Place) -> None:
    for more in ({}, {"LOADSTONE_PASSWORD": SECRET}):
        url = place.url() if more else place.url(SECRET)
        done = subprocess.run(
            [sys.executable, "-c", CRASHING, "run", *RUN, "--target", url],
            cwd=place.home,
            env=place.environment(**more),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert done.returncode == 1
        assert b"a bug in Loadstone: ZeroDivisionError" in done.stdout
        said = Said(done.returncode, done.stdout, ())
        assert searched(place, said) == []
    assert list(place.home.glob("state/loadstone/bug-*.txt"))


def test_a_run_that_was_killed_has_left_it_nowhere_and_its_settings_to_nobody_else(
    place: Place,
) -> None:
    (place.home / "e.toml").write_text(
        'duration = "2s"\nwarmup = "0s"\nladder = [1]\nrestore = "none"\n'
        f'[target]\nurl = "{place.url()}"\n'
        '[[workload]]\nname = "oltp_read_write"\ntables = 1\ntable_size = 100\n'
        "[factor.flush.a]\n[factor.flush.b]\ndynamic = { innodb_io_capacity = 300 }\n"
    )
    settings = place.home / "state" / "loadstone" / "settings"
    with subprocess.Popen(
        words("experiment", "e.toml", "--yes"),
        cwd=place.home,
        env=place.environment(LOADSTONE_PASSWORD=SECRET),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as program:
        with Watching(program.pid) as watching:
            deadline = time.monotonic() + 180
            while not (any(settings.glob("*.jsonl")) and any(place.home.glob("runs/*/journal*"))):
                assert time.monotonic() < deadline, "nothing was staged"
                assert program.poll() is None, program.stdout and program.stdout.read()
                time.sleep(0.05)
            program.send_signal(signal.SIGKILL)
        shown = program.stdout.read() if program.stdout else b""
    kept = [each for each in settings.rglob("*") if each.is_file()]
    assert kept
    assert {each.stat().st_mode & 0o777 for each in kept} == {0o600}
    restored = carry_out(place, "restore", LOADSTONE_PASSWORD=SECRET)
    assert restored.code == 0, restored.shown
    assert searched(place, Said(-9, shown, watching.seen), restored) == []
