"""This machine's own figures, read from files that are kept open."""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from loadstone.model.host_environment import HostSurroundings
from loadstone.model.message import say
from loadstone.model.observed import BETWEEN_CPU, BETWEEN_DELAY, BETWEEN_RUN, Reading, SourceName
from loadstone.observe.cgroups import freezer_file
from loadstone.observe.host import HOST, NIC_PATTERNS, Host, Subject, address_of_peer
from loadstone.observe.host_environment import (
    MITIGATIONS,
    Seen,
    libc_of_process,
    paths_of,
    surroundings,
)
from loadstone.observe.latest import Scale, space
from loadstone.observe.mounts import mounts_of
from loadstone.observe.process import ticks_in, times_in
from loadstone.observe.source import SourceError
from loadstone.observe.stops import Stops

_CHUNK = 65536
_SEARCH_AGAIN_S = 2.0


class LocalHost:
    """A source over this machine's /proc and cgroups, and over one process.

    When the process ends, its figures end too; the host's continue. For a process in its own
    network namespace, that namespace's interfaces are reported.
    """

    def __init__(
        self,
        name: SourceName,
        pid: int | None = None,
        datadir: str | Path | None = None,
        peer: str | None = None,
        find: Callable[[], int | None] | None = None,
    ) -> None:
        """Store what to observe; nothing is opened yet.

        Args:
            name: the source's name.
            pid: the server's process, if it runs on this machine.
            datadir: its data folder, as the process sees it.
            peer: the name or address at the other end of the load; `None` for a unix socket.
            find: looks for the process again after it has ended, since a server may be restarted.
        """
        self.name = name
        self._pid = pid
        self._datadir = datadir
        self._peer = peer
        self._find = find
        self.between: int | None = None
        """The process of a pooler or proxy on this machine that leads to the server."""
        self._searched_s = 0.0
        self._files = OpenFiles()
        self._host: Host | None = None
        self._stops: Stops | None = None

    def read(self) -> Reading:
        """Read all current figures.

        Raises:
            SourceError: there is no /proc.
        """
        host = self._host or self._learn()
        began = time.monotonic()
        texts = self._texts(host)
        ended = time.monotonic()
        if HOST not in texts:
            raise SourceError(
                say("{source}: {file} cannot be read", source=str(self.name), file=HOST),
                say("Linux's /proc is needed"),
            )
        figures = host.figures(texts)
        if host.is_gone(texts):
            self._search_again(ended)
        return Reading(
            at_s=(began + ended) / 2,
            counters=figures.counters | self._of_between(),
            gauges=figures.gauges | self._stopped() | data_space(self._datadir, self._pid),
            facts=figures.facts,
        )

    def surroundings(self) -> HostSurroundings:
        """The facts that hardly ever change: see `model.surroundings`."""
        host = self._host or self._learn()
        device = data_device(self._datadir, self._pid)
        with OpenFiles() as files:
            texts = files.texts([*paths_of(self._pid, device), *glob.glob(MITIGATIONS)])
            figures = host.figures(self._texts(host))
        libc = libc_of_process(texts.get(f"/proc/{self._pid}/maps", ""), self._pid, _bytes_of)
        return surroundings(
            Seen(
                texts=texts,
                figures=figures,
                pid=self._pid,
                device=device,
                datadir=None if self._datadir is None else str(self._datadir),
                libc=libc,
                on_socket=self._peer is None,
            )
        )

    def _stopped(self) -> dict[str, float]:
        """For which part of the time since the last reading the process was stopped."""
        if self._pid is None:
            return {}
        self._stops = self._stops or Stops(self._pid, _freezer_of(self._pid))
        share = self._stops.share()
        return {} if share is None else {"process.stopped": share}

    def _texts(self, host: Host) -> dict[str, str]:
        texts = self._files.texts(host.paths)
        if further := host.further_paths(texts):
            with OpenFiles() as files:  # these processes come and go
                texts |= files.texts(further)
        return texts

    def _of_between(self) -> dict[str, float]:
        if self.between is None:
            return {}
        whole = f"/proc/{self.between}/stat"
        thread = f"/proc/{self.between}/task/{self.between}/schedstat"
        texts = self._files.texts([whole, thread])
        ticks, times = ticks_in(texts.get(whole, "")), times_in(texts.get(thread, ""))
        found = {BETWEEN_CPU: sum(ticks) / os.sysconf("SC_CLK_TCK")} if ticks else {}
        if times:
            found |= {BETWEEN_RUN: times[0], BETWEEN_DELAY: times[1]}
        return found

    def _search_again(self, now_s: float) -> None:
        """Look for the process again, for the next reading."""
        if self._find is None or now_s < self._searched_s + _SEARCH_AGAIN_S:
            return
        self._searched_s = now_s
        pid = self._find()
        if pid is not None and pid != self._pid:
            self._pid, self._host = pid, None
            self._end_stops()

    def close(self) -> None:
        """Close the files."""
        self._files.close()
        self._host = None
        self._end_stops()

    def _end_stops(self) -> None:
        stops, self._stops = self._stops, None
        if stops:
            stops.close()

    def _learn(self) -> Host:
        peer = None if self._peer is None else address_of_peer(self._peer)
        subject = Subject(self._pid, data_device(self._datadir, self._pid), peer)
        scale = Scale(os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE"))
        host = Host(subject, scale)
        nics = (path for pattern in NIC_PATTERNS for path in glob.glob(pattern))
        with OpenFiles() as files:
            host.learn(files.texts([*host.rare_paths, *nics]))
        self._host = host
        return host


class OpenFiles:
    """Kernel files that are opened once and read repeatedly.

    A file that cannot be opened is not tried again, and is missing from the texts.
    """

    def __init__(self) -> None:
        self._open: dict[str, int | None] = {}

    def __enter__(self) -> OpenFiles:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def texts(self, paths: Iterable[str]) -> dict[str, str]:
        """The current contents by path."""
        found = {}
        for path in paths:
            text = self._text(path)
            if text is not None:
                found[path] = text
        return found

    def close(self) -> None:
        """Close all of them."""
        for handle in self._open.values():
            if handle is not None:
                os.close(handle)
        self._open = {}

    def _text(self, path: str) -> str | None:
        handle = self._handle(path)
        if handle is None:
            return None
        try:
            return _whole(handle)
        except OSError:  # the process has ended, or the file may not be read
            os.close(handle)
            self._open[path] = None
            return None

    def _handle(self, path: str) -> int | None:
        if path not in self._open:
            try:
                self._open[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                self._open[path] = None
        return self._open[path]


def _whole(handle: int) -> str:
    """Read the whole file: the kernel generates it again for each read from its start."""
    pieces = []
    at = 0
    while piece := os.pread(handle, _CHUNK, at):
        pieces.append(piece)
        at += len(piece)
    return b"".join(pieces).decode("ascii", "replace")


def _bytes_of(path: str) -> bytes | None:
    try:
        return Path(path).read_bytes()
    except OSError:
        return None


def data_device(datadir: str | Path | None, pid: int | None) -> str | None:
    """`MAJOR:MINOR` of the device that holds the folder, as the process sees it."""
    found = _of_folder(datadir, pid, os.stat)
    return f"{os.major(found.st_dev)}:{os.minor(found.st_dev)}" if found else None


def data_space(datadir: str | Path | None, pid: int | None) -> dict[str, float]:
    """Free and total bytes of the file system that holds the folder, as gauges.

    Free means available to programs that do not run as root.
    """
    found = _of_folder(datadir, pid, os.statvfs)
    if found is None:
        return {}
    return space(found.f_bavail, found.f_blocks, found.f_frsize)


_Found = TypeVar("_Found")


def _of_folder(
    datadir: str | Path | None, pid: int | None, ask: Callable[[str], _Found]
) -> _Found | None:
    """Call a function of the system on a folder, as the process sees it if there is one."""
    if datadir is None:
        return None
    places = [str(datadir)] if pid is None else [f"/proc/{pid}/root{datadir}", str(datadir)]
    for place in places:
        try:
            return ask(place)
        except FileNotFoundError:
            return None  # the process has no such folder, so ours would be a different one
        except OSError:
            continue
    return None


def _freezer_of(pid: int) -> Path | None:
    """The file that says whether a process's group is frozen, if it can be read."""
    try:
        groups = Path(f"/proc/{pid}/cgroup").read_text()
        mounts = mounts_of(Path("/proc/self/mountinfo").read_text())
    except OSError:
        return None
    found = freezer_file(groups, mounts)
    return Path(found) if found else None
