"""What a process's threads do at a moment, and how long they have run and waited for a core.

/proc/PID/task/TID/syscall names the system call that a thread is blocked in, with its arguments
(proc(5)): the number of an open file tells a wait for the redo log from one for a client. Reading
it takes the rights of ptrace(2): root, or the process's own user.
"""

from __future__ import annotations

import contextlib
import os
import platform
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from loadstone.model.message import Message, say
from loadstone.observe import process
from loadstone.observe.latest import Figures

Kind = Literal[
    "running", "reading", "writing", "syncing", "receiving", "polling", "sending", "sleeping",
    "futex", "other",
]  # fmt: skip
"""What a thread is blocked in. `running`: in no wait, so it runs or is ready to; `futex`: a lock or
a condition in memory; `polling`: until a socket is ready to be read or written."""

_File = Literal["syscall", "schedstat", "io", "status"]
"""What is read of a thread, in /proc/PID/task/TID."""

_CALLS: Mapping[Kind, tuple[str, ...]] = {
    "reading": ("read", "readv", "pread64", "preadv"),
    "writing": ("write", "writev", "pwrite64", "pwritev", "fallocate"),
    "syncing": ("fsync", "fdatasync", "sync_file_range"),
    "receiving": ("recvfrom", "recvmsg"),
    "polling": ("poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait"),
    "sending": ("sendto", "sendmsg"),
    "sleeping": ("nanosleep", "clock_nanosleep"),
    "futex": ("futex",),
}

_NUMBERS: Mapping[str, Mapping[str, int]] = {
    "x86_64": {
        "read": 0, "write": 1, "poll": 7, "pread64": 17, "pwrite64": 18, "readv": 19, "writev": 20,
        "select": 23, "nanosleep": 35, "sendto": 44, "recvfrom": 45, "sendmsg": 46, "recvmsg": 47,
        "fsync": 74, "fdatasync": 75, "futex": 202, "clock_nanosleep": 230, "epoll_wait": 232,
        "pselect6": 270, "ppoll": 271, "sync_file_range": 277, "epoll_pwait": 281, "fallocate": 285,
        "preadv": 295, "pwritev": 296,
    },
    "aarch64": {
        "epoll_pwait": 22, "fallocate": 47, "read": 63, "write": 64, "readv": 65, "writev": 66,
        "pread64": 67,
        "pwrite64": 68, "preadv": 69, "pwritev": 70, "pselect6": 72, "ppoll": 73, "fsync": 82,
        "fdatasync": 83, "sync_file_range": 84, "futex": 98, "nanosleep": 101,
        "clock_nanosleep": 115, "sendto": 206, "recvfrom": 207, "sendmsg": 211, "recvmsg": 212,
    },
}  # fmt: skip
"""The numbers of system calls: arch/x86/entry/syscalls/syscall_64.tbl and
include/uapi/asm-generic/unistd.h in Linux."""

_HAS_FILE: frozenset[Kind] = frozenset({"reading", "writing", "syncing"})
_CONDITION = 8
"""Bytes of the two words at one of which a condition variable of glibc waits."""

_SETS = 2**32
"""More than a process has sets of events."""

_TRANSFERRED = ("process.read_bytes", "process.written_bytes")

_SCANNED_FOR_S = 1.0
"""How long the numbers of a container's threads hold: reading them takes a file for each."""

_LONGEST = 4096
"""Bytes of a file of a thread: `status` has some sixty lines."""


class Doing(NamedTuple):
    """What a thread does at a moment."""

    kind: Kind
    file: str = ""
    """The open file that it reads, writes or syncs: a path, or `socket:[INODE]`."""
    address: int = 0
    """The place in memory of the futex that it waits for: it identifies the lock. Of a thread that
    waits for a set of events (epoll), what identifies that set."""


class Scheduled(NamedTuple):
    """The times of a thread since it started, in seconds (sched-stats.rst)."""

    on_core_s: float
    delay_s: float
    """Ready to run, while others had the cores."""


class Transferred(NamedTuple):
    """Bytes that a thread has moved since it started, from and to disks (proc_pid_io(5)).

    What it leaves in the page cache counts as written, although the kernel writes it later.
    """

    read_bytes: float
    written_bytes: float


class OwnMemory(NamedTuple):
    """Bytes of memory that a process of a session has for itself."""

    more: float
    """Of its own, as far as it has more than the process that started it: what both have is mostly
    one page for both, until it changes."""
    page_tables: float
    """By which it finds pages, those of shared memory too."""


class Threads:
    """The threads of one process of this machine; their files are opened once."""

    def __init__(self, pid: int) -> None:
        """Store the process; no file is opened yet."""
        self.pid = pid
        self._folder = f"/proc/{pid}"
        self._calls = _calls_here()
        self._open: dict[int, dict[_File, int]] = {}
        self._names: dict[int, str] = {}
        self._selects = _numbers_of("select", "pselect6")
        self._epolls = _numbers_of("epoll_wait", "epoll_pwait")
        self._outer: dict[int, int] | None = None
        self._scanned_s = -_SCANNED_FOR_S

    def refused(self) -> Message | None:
        """Why what the threads wait for is not known; `None`: it is."""
        if not self._calls:
            return say("the system calls of {machine} have no names", machine=platform.machine())
        try:
            thread = os.listdir(f"{self._folder}/task")[0]
            for name in ("syscall", "schedstat"):
                Path(self._folder, "task", thread, name).read_text()
        except (OSError, IndexError) as error:
            return say(
                "what its threads wait for cannot be read ({why}): it takes root, or the rights "
                "of ptrace",
                why=getattr(error, "strerror", None) or "the process has ended",
            )
        return None

    def doing(self, threads: Iterable[int]) -> dict[int, Doing]:
        """What each thread does now; threads that have ended are left out."""
        raw = [(thread, self._read(thread, "syscall")) for thread in threads]
        # Files are named after all threads were seen: one moment for all of them.
        self._names.clear()
        return {thread: self._parsed(thread, text) for thread, text in raw if text}

    def scheduled(self, threads: Iterable[int]) -> dict[int, Scheduled]:
        """How long each thread has run and waited; threads that have ended are left out."""
        found = {}
        for thread in threads:
            words = (self._read(thread, "schedstat") or "").split()
            if len(words) >= 2:
                found[thread] = Scheduled(int(words[0]) / 1e9, int(words[1]) / 1e9)
        return found

    def transferred(self, threads: Iterable[int]) -> dict[int, Transferred]:
        """What each thread has moved from and to disks; threads that have ended are left out."""
        found = {}
        for thread in threads:
            figures = Figures()
            process.io(self._read(thread, "io") or "", figures)
            counters = figures.counters
            if counters.keys() >= {*_TRANSFERRED}:
                found[thread] = Transferred(*(counters[name] for name in _TRANSFERRED))
        return found

    def memory(self, _threads: Iterable[int]) -> dict[int, OwnMemory]:
        """What each has for itself: none is known, as threads share the memory of their process."""
        return {}

    def keep(self, threads: Iterable[int]) -> None:
        """Close the files of all other threads."""
        for gone in self._open.keys() - set(threads):
            self._shut(gone)

    def close(self) -> None:
        """Close all files."""
        self.keep(())

    def _read(self, thread: int, name: _File) -> str | None:
        try:
            number = self._open.get(thread, {}).get(name) or self._opened(thread, name)
            return os.pread(number, _LONGEST, 0).decode("ascii", "replace")
        except OSError:  # the thread has ended
            self._shut(thread)
            return None

    def _opened(self, thread: int, name: _File) -> int:
        path = f"{self.place(thread)}/{name}"
        number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._open.setdefault(thread, {})[name] = number
        return number

    def _shut(self, thread: int) -> None:
        for number in self._open.pop(thread, {}).values():
            os.close(number)

    def place(self, thread: int) -> str:
        """The folder of a thread."""
        return f"{self._folder}/task/{self.outer(thread)}"

    def outer(self, thread: int) -> int:
        """The thread's number here: a server in a container knows it by another one."""
        if self._outer is None or (self._outer and thread not in self._outer):
            now_s = time.monotonic()
            if now_s - self._scanned_s >= _SCANNED_FOR_S:
                self._outer, self._scanned_s = self.outer_numbers(), now_s
        if self._outer is None:
            return thread
        return self._outer.get(thread, thread)

    def outer_numbers(self) -> dict[int, int]:
        """Numbers of the threads outside of the process's namespace, by those inside."""
        found = {}
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"{self._folder}/task"):
                with contextlib.suppress(OSError, ValueError):
                    status = Path(self._folder, "task", thread, "status").read_text()
                    inside = number_inside(status)
                    if inside is not None:
                        found[inside] = int(thread)
        return found

    def _parsed(self, thread: int, text: str) -> Doing:
        words = text.split()
        if words[0] == "running":
            return Doing("running")
        kind = self._calls.get(words[0], "other")
        first = int(words[1], 16) if len(words) > 1 else 0
        if kind == "futex":
            return Doing(kind, address=first // _CONDITION)
        if words[0] in self._epolls:
            return Doing(kind, address=thread * _SETS + first)
        if words[0] in self._selects and first == 0:
            return Doing("sleeping")  # select(2) of no file, as a sleep
        return Doing(kind, self.file_of(thread, first)) if kind in _HAS_FILE else Doing(kind)

    def file_of(self, thread: int, number: int) -> str:
        """The open file of a thread with that number; empty if it was closed since."""
        return self._file(number)

    def _file(self, number: int) -> str:
        """The file with that number; empty if it was closed since."""
        if number not in self._names:
            try:
                self._names[number] = os.readlink(f"{self._folder}/fd/{number}")
            except OSError:
                self._names[number] = ""
        return self._names[number]


def _calls_here() -> dict[str, Kind]:
    """What kind of wait each system call of this machine is, by its number in decimal."""
    numbers = _NUMBERS.get(platform.machine(), {})
    return {
        str(numbers[call]): kind
        for kind, calls in _CALLS.items()
        for call in calls
        if call in numbers
    }


def _numbers_of(*calls: str) -> frozenset[str]:
    numbers = _NUMBERS.get(platform.machine(), {})
    return frozenset(str(numbers[call]) for call in calls if call in numbers)


def hurry(*, on: bool) -> None:
    """Let the calling thread run before others at once, or as all others, where that is allowed.

    A look that waits for a core is late exactly when the cores are busy, and sees too few sessions
    at work: sched(7).
    """
    policy, priority = (os.SCHED_FIFO, 1) if on else (os.SCHED_OTHER, 0)
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, policy, os.sched_param(priority))


def number_inside(status: str) -> int | None:
    """Parse /proc/PID/status: a thread's number in its own namespace (proc(5), NSpid).

    `None`: it has none other than here.

    Raises:
        ValueError: the text is none of the kernel's.
    """
    inside = status.partition("NSpid:")[2].partition("\n")[0].split()
    return int(inside[-1]) if len(inside) > 1 else None
