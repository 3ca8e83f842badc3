"""Identifies processes: an id alone may have been given to another process since."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from loadstone.model.frozen import Frozen
from loadstone.sandbox.programs import PROGRAMS


class ProcessMark(Frozen):
    """A process that cannot be mistaken for a later one with the same id."""

    pid: int
    started: int
    """Start time in clock ticks after the boot, as the kernel reports it."""
    boot: str

    def is_alive(self) -> bool:
        """Whether this very process still runs; a zombie without threads does not."""
        return boot_id() == self.boot and _start_if_running(self.pid) == self.started

    def signal(self, number: signal.Signals) -> bool:
        """Send a signal to this very process; false when it is gone."""
        try:
            handle = os.pidfd_open(self.pid)
        except (ProcessLookupError, OSError):
            return False
        try:
            # The file descriptor pins the process, so the check and the signal mean the same one.
            if not self.is_alive():
                return False
            signal.pidfd_send_signal(handle, number)
            return True
        except ProcessLookupError:
            return False
        finally:
            os.close(handle)

    def wait_until_gone(self, timeout_s: float) -> bool:
        """Wait for the process to end; false if it still runs after that time."""
        deadline = time.monotonic() + timeout_s
        while self.is_alive():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True


def mark_of(pid: int) -> ProcessMark | None:
    """The mark of a running process; `None` when it has ended."""
    started = _start_if_running(pid)
    return None if started is None else ProcessMark(pid=pid, started=started, boot=boot_id())


def mark_of_this() -> ProcessMark:
    """The mark of the current process."""
    mark = mark_of(os.getpid())
    if mark is None:
        raise RuntimeError("/proc does not show this process")
    return mark


def servers_of(datadir: Path) -> list[ProcessMark]:
    """Processes whose command line names exactly this data folder, and those that work in it.

    Only our servers do, so this also finds one whose id was never stored.
    """
    options = {programs.datadir_option(datadir).encode() for programs in PROGRAMS.values()}
    titles = tuple(each.worker_title.encode() for each in PROGRAMS.values() if each.worker_title)

    def is_one(process: Path, arguments: Sequence[bytes]) -> bool:
        is_worker = any(each.startswith(titles) for each in arguments)
        return not options.isdisjoint(arguments) or (is_worker and _is_in(process, datadir))

    return _those(is_one)


def poolers_of(folder: Path) -> list[ProcessMark]:
    """Connection poolers whose command line ends with a file in this folder."""
    start = f"{folder}/".encode()
    names = {name.encode() for programs in PROGRAMS.values() for name in programs.poolers}

    def is_one(process: Path, arguments: Sequence[bytes]) -> bool:
        *words, file = arguments[:-1] or [b""]  # the last one is empty
        return file.startswith(start) and any(each.rpartition(b"/")[2] in names for each in words)

    return _those(is_one)


def _those(is_one: Callable[[Path, Sequence[bytes]], bool]) -> list[ProcessMark]:
    """The processes for whose folder in /proc and arguments this is true."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            arguments = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if is_one(entry, arguments) and (mark := mark_of(int(entry.name))) is not None:
            found.append(mark)
    return found


def _is_in(process: Path, folder: Path) -> bool:
    """Whether a process's working folder is this one, which may have been removed."""
    try:
        return os.readlink(process / "cwd").removesuffix(" (deleted)") == str(folder.resolve())
    except OSError:
        return False


def boot_id() -> str:
    """The boot's id; after another boot, all process ids have other meanings."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _start_if_running(pid: int) -> int | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The second field is the name in parentheses and may itself contain any character.
    fields = text.rpartition(")")[2].split()
    state, started = fields[0], int(fields[19])
    return None if state in "ZX" and not _has_other_threads(pid) else started


def _has_other_threads(pid: int) -> bool:
    """Whether threads are left of a process whose first one has ended: they may still write."""
    try:
        return len(os.listdir(f"/proc/{pid}/task")) > 1
    except OSError:
        return False
