"""A fault in the middle of a run: counts balance, the run's folder shows it, nothing is left.

Each fault has its own real server and `loadstone run`. Several are under way at a time, since they
mostly wait; each test then judges one.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import cast

import pytest

pytest.importorskip("loadstone._engine", reason="the engine is not built")

from engine.servers import asked, loaders, variables
from loadstone.model.exit_codes import ExitCode
from loadstone.model.experiment import CgroupLimit, NetworkLimit
from loadstone.sandbox import Sandbox
from loadstone.sandbox.instance import Instance, make_instance
from loadstone.sandbox.instance import why_not as why_no_group
from loadstone.sandbox.network import Namespace, limit_line, namespace
from loadstone.sandbox.network import why_not as why_no_line
from observe.namespace import cut
from trust.faulted import (
    NIGHTLY,
    Ended,
    Home,
    Victim,
    a_server,
    drive,
    nothing_is_left,
    wait_until,
)

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(600)]

Scenario = Callable[[Home], Ended]

AT_ONCE = 4
STOPPED_S = 20 if NIGHTLY else 3
DEADLOCK = "1213"
SLOW = NetworkLimit(bits_per_s=400_000)
AS_ROOT = "only root may do that"


@pytest.fixture(scope="module")
def under_way(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[Scenario], Ended]]:
    """Starts the scenario of each selected test; returns a function that waits for one of them."""
    wanted = [
        cast(Scenario, item.callspec.params["ended"])
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.module is request.module
    ]
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(AT_ONCE) as pool:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("servers")))
        under_way = {
            each: pool.submit(each, Home(tmp_path_factory.mktemp(name_of(each)))) for each in wanted
        }
        yield lambda scenario: under_way[scenario].result()


@pytest.fixture
def ended(request: pytest.FixtureRequest, under_way: Callable[[Scenario], Ended]) -> Ended:
    """The outcome of the run."""
    return under_way(request.param)


def after(scenario: Scenario) -> pytest.MarkDecorator:
    """Let the test judge what this scenario leaves."""
    return pytest.mark.parametrize("ended", [scenario], indirect=True, ids=[name_of(scenario)])


def name_of(scenario: Scenario) -> str:
    return str(getattr(scenario, "__name__", scenario))


def end(victim: Victim, server: Sandbox, *, stop: bool = True) -> Ended:
    """Stop it, or wait for its end, and check that nothing of it is left on the running server."""
    ended = victim.stopped() if stop else victim.ended()
    nothing_is_left(victim.home, server)
    return ended


def was_stopped(ended: Ended) -> bool:
    """Whether the test has stopped it, and nothing else has."""
    return ended.code == ExitCode.INTERRUPTED and ended.run.run.state == "stopped"


def a_line() -> AbstractContextManager[Namespace]:
    """A line to a server in its own network namespace."""
    if os.geteuid() != 0:
        pytest.skip(f"not evaluated: networks are made, and {AS_ROOT}")
    if refused := why_no_line(SLOW):
        pytest.skip(f"not evaluated: {refused[1]}")
    return namespace()


def network_gone(home: Home) -> Ended:
    with a_line() as line, a_server(namespace=line) as server:
        victim = drive(home, server, workload="oltp_read_only")
        victim.until_seconds(1)
        with cut(line):
            victim.seconds_more(2)
            return victim.stopped()


@after(network_gone)
def test_a_network_that_is_gone_for_good_keeps_no_run_from_ending(ended: Ended) -> None:
    assert was_stopped(ended), ended.err
    ended.has_lost_nothing(at_least=3)
    (step,) = ended.run.steps
    assert step.tally and step.tally.in_flight == 8
    assert [
        note for note in step.notes if note.startswith("the server's counters could not be read")
    ], step.notes


def network_cut_and_slowed(home: Home) -> Ended:
    with a_line() as line, a_server(namespace=line) as server:
        victim = drive(home, server, workload="oltp_read_only")
        victim.until_seconds(2)
        with cut(line):
            cut_off = victim.seconds_more(3)
        wait_until(lambda: victim.samples()[-1].counts.events > 0, "events again")
        victim.seconds_more(2)
        limit_line(line, SLOW)
        slowed = victim.seconds_more(4)
        limit_line(line, None)
        return replace(end(victim, server), marks=(cut_off - 1, slowed - 1))


@after(network_cut_and_slowed)
def test_a_network_that_is_cut_and_slowed_costs_rate_and_no_event(ended: Ended) -> None:
    assert was_stopped(ended), ended.err
    ended.has_lost_nothing(at_least=11)
    (step,) = ended.run.steps
    assert (step.errors, step.connect_failures, step.reconnects) == ({}, {}, 0)
    assert step.latency.response.max and step.latency.response.max > 1500
    cut_off, slowed = (ended.rates[second] for second in ended.marks)
    assert cut_off == 0
    assert slowed < ended.rates[1] / 2


def server_killed(home: Home) -> Ended:
    with a_server() as server:
        victim = drive(home, server)
        victim.until_seconds(1)
        server.kill()
        time.sleep(0.5)
        server.start_again()
        victim.until_all_are_back(8)
        return end(victim, server)


@after(server_killed)
def test_a_server_that_is_killed_and_comes_back_is_one_outage(ended: Ended) -> None:
    assert was_stopped(ended), ended.err
    ended.has_lost_nothing(at_least=2)
    (step,) = ended.run.steps
    (outage,) = step.outages
    assert (outage.users, outage.to_s is not None) == (8, True)
    assert outage.reason.startswith("2013 ")
    assert (step.users, step.reconnects) == (8, 8)
    assert step.tally and step.tally.failed == step.errors.get("2013", 0) <= 8
    assert "outage from" in ended.out


def server_stopped(home: Home) -> Ended:
    with a_server() as server:
        victim = drive(home, server)
        victim.until_seconds(1)
        os.kill(server.pid, signal.SIGSTOP)
        time.sleep(STOPPED_S)
        os.kill(server.pid, signal.SIGCONT)
        victim.seconds_more(2)
        return end(victim, server)


@after(server_stopped)
def test_a_server_that_is_stopped_for_a_while_is_latency_and_no_outage(ended: Ended) -> None:
    assert was_stopped(ended), ended.err
    ended.has_lost_nothing(at_least=STOPPED_S)
    (step,) = ended.run.steps
    assert (step.outages, step.connect_failures, step.reconnects) == ((), {}, 0)
    assert step.errors.keys() <= {DEADLOCK}
    assert step.latency.response.max and step.latency.response.max > 900 * STOPPED_S


def server_replaced(home: Home) -> Ended:
    with a_server() as first, a_server("mysql") as second:
        second.halt()
        victim = drive(home, first)
        victim.until_seconds(1)
        first.kill()
        # A second server with its own data, in the place of the first.
        command = (*second.state.command, f"--port={first.port}")
        update = {"port": first.port, "command": command}
        second.state = second.state.model_copy(update=update)
        second.start_again()
        victim.until_all_are_back(8)
        return end(victim, second)


@pytest.mark.mysql
@after(server_replaced)
def test_a_server_that_comes_back_as_another_one_is_told(ended: Ended) -> None:
    assert was_stopped(ended), ended.err
    ended.has_lost_nothing(at_least=2)
    (step,) = ended.run.steps
    (outage,) = step.outages
    assert (outage.users, outage.to_s is not None, step.users) == (8, True, 8)
    (told,) = [note for note in step.notes if "when the step started" in note]
    was, now = told.split("when the step started")
    assert "MariaDB" in was
    assert "MariaDB" not in now
    assert "its figures are of both" in now


def sessions_killed(home: Home) -> Ended:
    with a_server() as server:
        victim = drive(home, server, "--concurrency", "16")
        victim.until_seconds(1)
        numbers = [number for number, _ in loaders(server)]
        with variables(server, max_connections=10) as connection:
            for number in numbers:
                asked(connection, f"KILL CONNECTION {number}")
            victim.until('"1040":')
        victim.until_all_are_back(16)
        return end(victim, server)


@after(sessions_killed)
def test_sessions_that_are_killed_come_back_as_soon_as_there_is_room(ended: Ended) -> None:
    assert was_stopped(ended), ended.err
    ended.has_lost_nothing(at_least=2)
    (step,) = ended.run.steps
    assert step.connect_failures["1040"] > 0
    assert (step.users, step.reconnects) == (16, 16)
    assert step.outages[0].to_s is not None
    assert step.errors.keys() <= {"1053", "1317", "1927", "2013", DEADLOCK}
    assert "too many connections" in ended.out


def no_descriptors(home: Home) -> Ended:
    with a_server() as server:
        victim = drive(home, server, "--concurrency", "16")
        victim.until_seconds(1)
        numbers = [number for number, _ in loaders(server)]
        before = resource.prlimit(victim.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(victim.pid, resource.RLIMIT_NOFILE, (8, before[1]))
        with server.connect() as connection:
            for number in numbers:
                asked(connection, f"KILL CONNECTION {number}")
        victim.until('"2004":')
        resource.prlimit(victim.pid, resource.RLIMIT_NOFILE, before)
        victim.until_all_are_back(16)
        return end(victim, server)


@after(no_descriptors)
def test_a_run_without_descriptors_waits_until_it_may_have_some(ended: Ended) -> None:
    assert was_stopped(ended), ended.err
    ended.has_lost_nothing(at_least=2)
    (step,) = ended.run.steps
    assert step.connect_failures["2004"] > 0
    assert (step.users, step.reconnects) == (16, 16)
    assert "2004 no file descriptor left" in ended.out


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """A file system of two megabytes that nothing else uses."""
    if os.geteuid() != 0:
        pytest.skip(f"not evaluated: a disk of its own is mounted, and {AS_ROOT}")
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"not evaluated: no disk of its own can be mounted ({done.stderr.strip()})")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Fill the file system to the last byte."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4096)):
            pass
    return ballast


def disk_full(home: Home) -> Ended:
    with small_disk(home.runs) as disk, a_server() as server:
        victim = drive(home, server)
        victim.until_seconds(2)
        ballast = fill(disk)
        ended = victim.ended()
        shown = home.loadstone("runs", "show", "last")
        assert shown.code == 0, shown.err
        assert "ended early: cannot write" in shown.out
        ballast.unlink()
        nothing_is_left(home, server)
        return ended


@after(disk_full)
def test_a_run_whose_disk_is_full_ends_and_its_journal_says_why(ended: Ended) -> None:
    assert ended.code == ExitCode.STORE
    *_, error, hint = ended.err.splitlines()
    assert error.startswith("error: cannot write ") and error.endswith(": no space left on device")
    assert hint.startswith("hint:  free some space")
    ended.has_lost_nothing(at_least=2)
    assert ended.run.run.state == "failed"
    assert ended.run.run.notes[-1].startswith("ended early: cannot write ")
    assert ended.run.run.notes[-1].endswith("no space left on device")


# Root may write everywhere, but not here.
_AS_OTHERS = ("setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override", "--")


def folder_read_only(home: Home) -> Ended:
    launcher = _AS_OTHERS if os.geteuid() == 0 else ()
    if launcher and shutil.which(launcher[0]) is None:
        pytest.skip("not evaluated: setpriv is not installed, and root writes everywhere")
    with a_server() as server:
        victim = drive(home, server, launcher=launcher)
        victim.until_seconds(1)
        run = victim.folder
        run.chmod(0o555)
        try:
            return end(victim, server)
        finally:
            run.chmod(0o755)


@after(folder_read_only)
def test_a_folder_that_became_read_only_still_has_the_whole_run(ended: Ended) -> None:
    assert ended.code == ExitCode.STORE
    *_, error, hint = ended.err.splitlines()
    assert error.endswith("result.json: permission denied")
    assert hint == "hint:  choose a folder that you may write to with --out"
    ended.has_lost_nothing()
    assert ended.run.run.state == "stopped"


def folder_removed(home: Home) -> Ended:
    with a_server() as server:
        victim = drive(home, server)
        victim.until_seconds(2)
        run = victim.folder
        shutil.rmtree(run)
        ended = end(victim, server, stop=False)
        assert not run.exists()
        listed = home.loadstone("runs", "list")
        assert (listed.code, listed.err) == (0, "no runs in runs\n")
        return ended


@after(folder_removed)
def test_a_run_whose_folder_is_removed_is_not_driven_on_for_nothing(ended: Ended) -> None:
    assert ended.code == ExitCode.STORE
    assert "journal.jsonl was removed or moved during the run" in ended.err
    assert ended.result is None


# The program, except that the wall clock is an hour behind as soon as the file exists.
CLOCK_SET_BACK = """
import os, sys, time
true = time.time
time.time = lambda: true() - 3600 * os.path.exists("set-back")
from loadstone.cli.errors import exit_code_of
sys.exit(exit_code_of(sys.argv[1:]))
"""


def clock_set_back(home: Home) -> Ended:
    with a_server() as server:
        program = ("-c", CLOCK_SET_BACK)
        victim = drive(home, server, program=program)
        victim.until_seconds(1)
        (home.folder / "set-back").touch()
        victim.seconds_more(1)
        ended = end(victim, server)
        begins = [
            float(line.split(",")[1])
            for line in (victim.folder / "latency.hlog").read_text().splitlines()
            if line.startswith("Tag=")
        ]
        assert begins == sorted(begins)
        return ended


@after(clock_set_back)
def test_a_clock_that_is_set_back_moves_no_second_of_a_run(ended: Ended) -> None:
    assert was_stopped(ended), ended.err
    ended.has_lost_nothing(at_least=2)
    info = ended.run.run
    assert info.started_at and info.ended_at
    took = datetime.fromisoformat(info.ended_at) - datetime.fromisoformat(info.started_at)
    assert 2 <= took.total_seconds() < 600


def out_of_memory(home: Home) -> Ended:
    limit = CgroupLimit(memory_bytes=1 << 30)
    if os.geteuid() != 0:
        pytest.skip(f"not evaluated: memory is limited by a control group, and {AS_ROOT}")
    if refused := why_no_group(limit, home.folder):
        pytest.skip(f"not evaluated: {refused}")
    with a_server() as server:
        group = make_instance("victim", limit, home.folder)
        try:
            victim = drive(home, server)
            for each in group.groups:
                (each / "cgroup.procs").write_text(str(victim.pid))
            victim.until_seconds(2)
            squeeze(group)
            return end(victim, server)
        finally:
            group.remove()


def squeeze(group: Instance) -> None:
    """Leave no room beyond what is in use: the next allocation fails."""
    (folder,) = group.groups
    v2 = folder / "memory.max"
    if v2.exists():
        v2.write_text(str(1 << 20))
        return
    used = int((folder / "memory.usage_in_bytes").read_text())
    with contextlib.suppress(OSError):  # the kernel refuses the part that it cannot free
        for limit in range(used, 0, -(1 << 20)):
            (folder / "memory.limit_in_bytes").write_text(str(limit))


@after(out_of_memory)
def test_a_run_that_the_kernel_kills_for_memory_is_read_like_any_other(ended: Ended) -> None:
    assert ended.code == -signal.SIGKILL, ended.err
    ended.has_lost_nothing(at_least=2)
    # It may have been written completely: the last part takes most memory.
    assert ended.run.run.state in ("interrupted", "stopped")


def interrupted_twice(home: Home) -> Ended:
    with a_server() as server:
        victim = drive(home, server)
        victim.until_seconds(1)
        os.kill(server.pid, signal.SIGSTOP)
        try:
            victim.signal(signal.SIGINT)
            time.sleep(1)
            victim.signal(signal.SIGINT)
            ended = victim.ended_soon(25)
        finally:
            os.kill(server.pid, signal.SIGCONT)
        nothing_is_left(home, server)
        return ended


@after(interrupted_twice)
def test_a_second_ctrl_c_waits_for_no_server(ended: Ended) -> None:
    assert ended.code == ExitCode.INTERRUPTED, ended.err
    ended.has_lost_nothing(at_least=1)
    assert ended.run.run.state == "stopped"
    assert "saved  " in ended.out


def terminated(home: Home) -> Ended:
    with a_server() as server:
        victim = drive(home, server)
        victim.until_seconds(1)
        assert home.processes(), "what is to be gone later is seen while it is there"
        victim.signal(signal.SIGTERM)
        return end(victim, server, stop=False)


@after(terminated)
def test_a_run_that_is_terminated_finishes_what_is_in_flight(ended: Ended) -> None:
    assert ended.code == ExitCode.INTERRUPTED, ended.err
    ended.has_lost_nothing(at_least=1)
    (step,) = ended.run.steps
    assert ended.run.run.state == step.state == "stopped"
    assert step.tally and (step.tally.in_flight, step.tally.waiting) == (0, 0)
