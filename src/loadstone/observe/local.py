"""This machine's own figures, read from files that stay open."""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from loadstone.model.host_environment import HostSurroundings
from loadstone.model.message import say
from loadstone.model.observed import Reading, SourceName
from loadstone.observe.host import HOST, NIC_PATTERNS, Host, Subject, address_of_peer
from loadstone.observe.host_environment import (
    MITIGATIONS,
    Seen,
    libc_of_process,
    paths_of,
    surroundings,
)
from loadstone.observe.latest import Scale, space
from loadstone.observe.source import SourceError

_CHUNK = 65536
_SEARCH_AGAIN_S = 2.0


class LocalHost:
    """A source over this machine's /proc and cgroups, and one process on it.

    A process that ends takes its figures along; the host's stay. One that runs in a network
    namespace of its own is given the interfaces of that namespace.
    """

    def __init__(
        self,
        name: SourceName,
        pid: int | None = None,
        datadir: str | Path | None = None,
        peer: str | None = None,
        find: Callable[[], int | None] | None = None,
    ) -> None:
        """Nothing is opened yet.

        Args:
            name: whose it is.
            pid: the server's process, where there is one on this machine.
            datadir: its data folder, as the process sees it.
            peer: the name or address at the other end of the load; none for a unix socket.
            find: looks for the process again once it has ended, as a server may be started again.
        """
        self.name = name
        self._pid = pid
        self._datadir = datadir
        self._peer = peer
        self._find = find
        self._searched_s = 0.0
        self._files = OpenFiles()
        self._host: Host | None = None

    def read(self) -> Reading:
        """All figures of this moment.

        Raises:
            SourceError: there is no /proc.
        """
        host = self._host or self._learn()
        began = time.monotonic()
        texts = self._files.texts(host.paths)
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
            counters=figures.counters,
            gauges=figures.gauges | data_space(self._datadir, self._pid),
            facts=figures.facts,
        )

    def surroundings(self) -> HostSurroundings:
        """What hardly changes: see `model.surroundings`."""
        host = self._host or self._learn()
        device = data_device(self._datadir, self._pid)
        with OpenFiles() as files:
            texts = files.texts([*paths_of(self._pid, device), *glob.glob(MITIGATIONS)])
            figures = host.figures(files.texts(host.paths))
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

    def _search_again(self, now_s: float) -> None:
        """The next reading is of the process that is there then."""
        if self._find is None or now_s < self._searched_s + _SEARCH_AGAIN_S:
            return
        self._searched_s = now_s
        pid = self._find()
        if pid is not None and pid != self._pid:
            self._pid, self._host = pid, None

    def close(self) -> None:
        """Close the files."""
        self._files.close()
        self._host = None

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
    """Files of the kernel that are opened once and read again and again.

    One that cannot be opened is not tried again, and is missing among the texts.
    """

    def __init__(self) -> None:
        self._open: dict[str, int | None] = {}

    def __enter__(self) -> OpenFiles:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def texts(self, paths: Iterable[str]) -> dict[str, str]:
        """What they say now, by path."""
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
        except OSError:  # the process has ended, or it may not be read
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
    """All of the file: the kernel makes it up again for who reads from its beginning."""
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
    """`MAJOR:MINOR` of the device that the folder is on, as the process sees the folder."""
    found = _of_folder(datadir, pid, os.stat)
    return f"{os.major(found.st_dev)}:{os.minor(found.st_dev)}" if found else None


def data_space(datadir: str | Path | None, pid: int | None) -> dict[str, float]:
    """Bytes of the file system that the folder is on, as gauges: those free, and all of it.

    Free are those that a program may take which is not root's.
    """
    found = _of_folder(datadir, pid, os.statvfs)
    if found is None:
        return {}
    return space(found.f_bavail, found.f_blocks, found.f_frsize)


_Found = TypeVar("_Found")


def _of_folder(
    datadir: str | Path | None, pid: int | None, ask: Callable[[str], _Found]
) -> _Found | None:
    """What the system says of a folder, as the process sees it where there is one."""
    if datadir is None:
        return None
    places = [str(datadir)] if pid is None else [f"/proc/{pid}/root{datadir}", str(datadir)]
    for place in places:
        try:
            return ask(place)
        except FileNotFoundError:
            return None  # the process has no such folder, so ours is another one
        except OSError:
            continue
    return None
