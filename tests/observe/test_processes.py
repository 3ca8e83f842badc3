"""What the processes of a server's sessions wait for: children of this very process."""

from __future__ import annotations

import os
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from loadstone.observe.process import memory_in
from loadstone.observe.processes import Processes
from loadstone.observe.threads import Doing, Threads, number_inside
from observe.test_threads import DEADLINE_S, settled, thread_in
from observe.test_threads import pytestmark as pytestmark


@pytest.fixture
def processes() -> Iterator[Processes]:
    found = Processes(os.getpid())
    yield found
    found.close()


def doing(processes: Processes, pid: int, kind: str) -> Doing | None:
    """What a process does once it does that, or at last."""
    until = time.monotonic() + DEADLINE_S
    while True:
        found = processes.doing([pid]).get(pid)
        if (found and found.kind == kind) or time.monotonic() > until:
            return found
        time.sleep(0.01)


def test_a_child_is_looked_at_by_its_own_number(processes: Processes) -> None:
    with subprocess.Popen(["sleep", "100"]) as sleeps:
        assert doing(processes, sleeps.pid, "sleeping") == Doing("sleeping")
        assert processes.scheduled([sleeps.pid])[sleeps.pid].on_core_s > 0
        sleeps.kill()
    assert processes.doing([sleeps.pid]) == {}


def test_a_file_is_the_process_s_own(processes: Processes) -> None:
    """Its number is another file's in the process that started it."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as reads:
        found = doing(processes, reads.pid, "reading")
        assert found is not None
        assert found.file == os.readlink(f"/proc/{reads.pid}/fd/0")
        assert found.file.startswith("pipe:[")
        reads.kill()


def test_a_set_of_events_is_known_again() -> None:
    ours, theirs = socket.socketpair()
    sets = [select.epoll() for _ in range(2)]
    for each in sets:
        each.register(theirs, select.EPOLLIN)
    with ours, theirs, thread_in(sets[0].poll) as first, thread_in(sets[1].poll) as other:
        seen = [settled(thread, "polling") for thread in (first, first, other)]
        ours.send(b"x")
    assert all(one and one.address for one in seen)
    assert seen[0] == seen[1] != seen[2]


TAKES = "taken = bytearray(b'x') * {size}; import sys; print('taken', flush=True); sys.stdin.read()"


def test_memory_is_what_a_process_has_more_than_its_parent_without_files(
    processes: Processes, tmp_path: Path
) -> None:
    size = (memory_of(os.getpid())[0] // 2**20 + 64) * 2**20
    with ExitStack() as stack:
        pids = []
        for more in (0, 32 * 2**20):
            words = [sys.executable, "-c", TAKES.format(size=int(size + more))]
            taking = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            stack.enter_context(taking)
            stack.callback(taking.kill)
            assert taking.stdout is not None and taking.stdout.readline() == b"taken\n"
            pids.append(taking.pid)
        found = processes.memory([*pids, 2**22 + 1])
    assert list(found) == pids
    less, most = (found[pid] for pid in pids)
    assert most.more - less.more == pytest.approx(32 * 2**20, abs=2**20)
    assert less.more > 32 * 2**20
    # A page of eight bytes for each 512 pages of memory, at least.
    assert most.page_tables - less.page_tables >= 32 * 2**20 // 512 // 2
    assert Threads(os.getpid()).memory([os.getpid()]) == {}


def memory_of(pid: int) -> tuple[float, float]:
    found = memory_in(Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return found


@pytest.mark.parametrize("text", ["", "RssAnon:\t 12 kB\n", "RssAnon:\tx kB\nVmPTE:\t 1 kB\n"])
def test_a_status_without_both_figures_says_nothing_of_memory(text: str) -> None:
    assert memory_in(text) is None
    assert memory_in("Name:\tRssAnon: 7 kB\nVmPTE:\t  8 kB\nRssAnon:\t 12 kB\n") == (
        12 * 1024,
        8 * 1024,
    )


def test_pages_that_are_swapped_out_are_still_the_process_s_own() -> None:
    text = "VmPTE:\t  8 kB\nVmSwap:\t  {} kB\nRssAnon:\t {} kB\n"
    assert memory_in(text.format(0, 12)) == memory_in(text.format(9, 3)) == (12 * 1024, 8 * 1024)


def test_a_number_inside_is_that_of_the_innermost_namespace() -> None:
    assert number_inside("Name:\tpostgres\nNSpid:\t4711\t12\t7\nState:\tS\n") == 7
    assert number_inside(Path("/proc/self/status").read_text()) in (None, os.getpid())
    assert number_inside("NSpid:\t4711\n") is None
