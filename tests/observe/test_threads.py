"""What threads wait for, as the kernel tells: threads of this very process."""

from __future__ import annotations

import os
import platform
import select
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from loadstone.observe.threads import Doing, Threads

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "aarch64"), reason="not evaluated: another machine"
)

DEADLINE_S = 20.0


@contextmanager
def thread_in(waits: Callable[[], object]) -> Iterator[int]:
    """The kernel's number of a thread that waits."""
    numbers: list[int] = []
    known = threading.Event()

    def work() -> None:
        numbers.append(threading.get_native_id())
        known.set()
        waits()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert known.wait(DEADLINE_S)
    yield numbers[0]


def settled(thread: int, kind: str) -> Doing | None:
    """What the thread does once it does that, or at last."""
    watched = Threads(os.getpid())
    until = time.monotonic() + DEADLINE_S
    while True:
        doing = watched.doing([thread]).get(thread)
        if (doing and doing.kind == kind) or time.monotonic() > until:
            watched.close()
            return doing
        time.sleep(0.01)


def test_a_sleep() -> None:
    with thread_in(lambda: time.sleep(1.0)) as thread:
        assert settled(thread, "sleeping") == Doing("sleeping")


def test_a_select_of_no_file_is_a_sleep() -> None:
    with thread_in(lambda: select.select([], [], [], 1.0)) as thread:
        assert settled(thread, "sleeping") == Doing("sleeping")


def test_a_lock_has_an_address() -> None:
    lock = threading.Lock()

    def waits_for_it() -> None:
        with lock:
            pass

    with lock, thread_in(waits_for_it) as first, thread_in(waits_for_it) as second:
        waits = settled(first, "futex"), settled(second, "futex")
        assert waits[0] and waits[0].address
        assert waits[0] == waits[1]


def test_a_socket_that_has_nothing_to_read() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, thread_in(lambda: theirs.recv(1)) as thread:
        assert settled(thread, "receiving") == Doing("receiving")
        ours.send(b"x")


def test_a_poll() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        waits = select.poll()
        waits.register(theirs, select.POLLIN)
        with thread_in(waits.poll) as thread:
            assert settled(thread, "polling") == Doing("polling")
            ours.send(b"x")


def test_a_file_has_its_name() -> None:
    read, write = os.pipe()
    with thread_in(lambda: os.read(read, 1)) as thread:
        doing = settled(thread, "reading")
        assert doing is not None
        assert doing.kind == "reading"
        assert doing.file.startswith("pipe:[")
        os.write(write, b"x")
    os.close(write)
    os.close(read)


def test_who_computes_is_running() -> None:
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as computes:
        threads = Threads(computes.pid)
        until = time.monotonic() + DEADLINE_S
        while threads.doing([computes.pid]) != {computes.pid: Doing("running")}:
            assert time.monotonic() < until
            time.sleep(0.01)
        threads.close()
        computes.kill()


def test_times_on_a_core_grow_and_a_thread_that_has_ended_has_none() -> None:
    threads = Threads(os.getpid())
    own = threading.get_native_id()
    before = threads.scheduled([own])[own]
    while time.thread_time() < before.on_core_s + 0.02:
        pass
    assert threads.scheduled([own])[own].on_core_s > before.on_core_s
    with thread_in(lambda: None) as gone:
        until = time.monotonic() + DEADLINE_S
        while Path(f"/proc/self/task/{gone}").exists() and time.monotonic() < until:
            time.sleep(0.01)
    assert threads.scheduled([gone]) == {}
    assert threads.doing([gone]) == {}
    threads.close()


def test_bytes_from_and_to_disks_are_the_kernel_s_of_each_thread(tmp_path: Path) -> None:
    threads = Threads(os.getpid())
    own = threading.get_native_id()
    before = threads.transferred([own])[own]
    (tmp_path / "written").write_bytes(b"x" * 2**20)
    after = threads.transferred([own])[own]
    told = Path(f"/proc/self/task/{own}/io").read_text().split()
    assert after.written_bytes == float(told[told.index("write_bytes:") + 1])
    # A file in memory is on no disk; on a disk there is the folder as well.
    written = after.written_bytes - before.written_bytes
    assert written == 0.0 or written >= 2**20
    threads.close()


def test_files_are_closed_of_threads_that_are_not_kept() -> None:
    threads = Threads(os.getpid())
    own = threading.get_native_id()
    threads.doing([own])
    files = len(os.listdir("/proc/self/fd"))
    threads.keep([])
    assert len(os.listdir("/proc/self/fd")) == files - 1


def test_why_threads_cannot_be_read() -> None:
    assert Threads(os.getpid()).refused() is None
    refused = Threads(2**22 + 1).refused()
    assert refused is not None
    assert "cannot be read" in refused
