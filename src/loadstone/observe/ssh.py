"""Another host's figures over ssh: the same files, read there by one `grep` per reading."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from loadstone.model.host_environment import HostSurroundings
from loadstone.model.message import say
from loadstone.model.observed import Reading, SourceName
from loadstone.observe.host import HOST, NIC_PATTERNS, Host, Subject, address_of_peer
from loadstone.observe.host_environment import (
    BANNER_PATTERN,
    MITIGATIONS,
    Seen,
    libc_of_process,
    paths_of,
    surroundings,
)
from loadstone.observe.latest import Scale, count, space
from loadstone.observe.listeners import listening_inodes
from loadstone.observe.programs import BEGINNINGS, is_server
from loadstone.observe.remote_shell import Destination, RemoteShell
from loadstone.observe.source import SourceError

_CONNECT_S = 12.0
_ANSWER_S = 5.0
_SEARCH_AGAIN_S = 10.0
_SPACE_EVERY_S = 5.0


@dataclass(frozen=True)
class RemoteServer:
    """What is known about the server whose process is to be found on the host."""

    pid_file: str | None = None
    datadir: str | None = None
    port: int | None = None

    @classmethod
    def of(cls, variables: Mapping[str, str]) -> RemoteServer:
        """Take it from the server's variables, as SHOW GLOBAL VARIABLES has them."""
        datadir = variables.get("datadir") or None
        pid_file = variables.get("pid_file") or None
        if pid_file and datadir and not pid_file.startswith("/"):
            pid_file = f"{datadir.rstrip('/')}/{pid_file}"
        port = count(variables.get("port", ""))
        return cls(pid_file, datadir, int(port) if port else None)


class SshHost:
    """A source over another host's /proc and cgroups, and over its server's process.

    The process is the one in the server's pid file, otherwise the one that listens on its port; if
    nothing is known about the server, the only server process there. Without a process, only the
    host is observed.
    """

    def __init__(
        self,
        name: SourceName,
        destination: str,
        variables: Mapping[str, str] | None = None,
        peer: str | None = None,
        options: Sequence[str] = (),
    ) -> None:
        """Store the destination; nothing is started before the first reading.

        Args:
            name: the source's name.
            destination: `user@host` or `user@host:port`.
            variables: those of the server there.
            peer: the address that the load comes from, as the server sees it; or the server's own
                name or address, as the load knows it. None for a unix socket.
            options: further ssh options, such as `-i FILE` as two words.

        Raises:
            PlaceError: the destination is invalid.
        """
        self.name = name
        self._server = RemoteServer.of(variables or {})
        self._peer = peer
        self._shell = RemoteShell(Destination.parse(destination), options)
        self._host: Host | None = None
        self._searched_s = 0.0
        self._net: str | None = None
        self._space: dict[str, float] = {}
        self._space_s = 0.0

    def read(self) -> Reading:
        """Read all current figures; connects first if there is no connection.

        Raises:
            SourceError: the host does not answer. The next call connects again.
        """
        if not self._shell.is_open:
            self._host = self._net = None
            self._shell.open()
        host = self._host or self._learn(_CONNECT_S)
        before, self._net = self._net, host.net
        if before not in (None, host.net):
            # Counters of other interfaces would look like traffic; after an error, none are
            # compared.
            raise SourceError(
                say(
                    "{source}: the server was restarted in another namespace",
                    source=str(self.name),
                )
            )
        began = time.monotonic()
        texts = self._all_texts(host)
        ended = time.monotonic()
        if HOST not in texts:
            self._shell.close()
            raise SourceError(
                say("{source}: that host has no {file}", source=str(self.name), file=HOST),
                say("Linux is needed"),
            )
        figures = host.figures(texts)
        if host.pid is None or host.is_gone(texts):
            self._search_again()
        return Reading(
            at_s=(began + ended) / 2,
            counters=figures.counters,
            gauges=figures.gauges | self._data_space(host.pid, ended),
            facts=figures.facts,
        )

    def _data_space(self, pid: int | None, now_s: float) -> dict[str, float]:
        """Space of the data's file system; read rarely, as it starts another program there."""
        if now_s < self._space_s + _SPACE_EVERY_S:
            return self._space
        self._space_s = now_s
        words = self._ask_of_datadir(pid, 'stat -L -f -c "%a %b %S"').split()
        numbers = [count(word) for word in words]
        free, blocks, size = numbers if len(numbers) == 3 else (None, None, None)
        known = free is not None and blocks is not None and size is not None
        self._space = space(free or 0.0, blocks or 0.0, size or 0.0) if known else {}
        return self._space

    def surroundings(self) -> HostSurroundings:
        """The facts that hardly ever change: see `model.surroundings`.

        Raises:
            SourceError: the host does not answer.
        """
        if not self._shell.is_open:
            self._host = self._net = None
            self._shell.open()
        host = self._host or self._learn(_CONNECT_S)
        device = self._data_device(host.pid)
        texts = self._texts(paths_of(host.pid, device), [MITIGATIONS])
        libc = libc_of_process(texts.get(f"/proc/{host.pid}/maps", ""), host.pid, self._banner)
        return surroundings(
            Seen(
                texts=texts,
                figures=host.figures(self._all_texts(host)),
                pid=host.pid,
                device=device,
                datadir=self._server.datadir,
                libc=libc or self._libc_of_host(),
                on_socket=self._peer is None,
            )
        )

    def _banner(self, path: str) -> bytes:
        """The banner in glibc's file; the file itself is not copied."""
        return self._shell.ask(
            f"LC_ALL=C grep -aom 1 {shlex.quote(BANNER_PATTERN)} {shlex.quote(path)}", _ANSWER_S
        ).encode()

    def _libc_of_host(self) -> str | None:
        """The host's libc, for processes that may not be read; it is nearly always the same."""
        return self._shell.ask("getconf GNU_LIBC_VERSION", _ANSWER_S).strip() or None

    def close(self) -> None:
        """End ssh."""
        self._shell.close()
        self._host = None

    def _all_texts(self, host: Host) -> dict[str, str]:
        texts = self._texts(host.paths)
        further = host.further_paths(texts)
        return {**texts, **self._texts(further)} if further else dict(texts)

    def _search_again(self) -> None:
        """Let a later reading look for the process again, since the server may be restarted."""
        if time.monotonic() - self._searched_s > _SEARCH_AGAIN_S:
            self._host = None

    def _learn(self, within_s: float) -> Host:
        self._searched_s = time.monotonic()
        # The first answer includes the time to connect, later ones do not.
        words = self._shell.ask("echo $(getconf CLK_TCK) x $(getconf PAGESIZE)", within_s)
        ticks, _, page = words.strip().partition("x")
        scale = Scale(count(ticks.strip()) or 100, int(count(page.strip()) or 4096))
        pid = self._find_process()
        peer = None if self._peer is None else address_of_peer(self._peer)
        subject = Subject(pid, self._data_device(pid), peer, from_outside=True)
        host = Host(subject, scale)
        host.learn(self._texts(host.rare_paths, NIC_PATTERNS))
        self._host = host
        return host

    def _texts(self, paths: Sequence[str], patterns: Iterable[str] = ()) -> dict[str, str]:
        """Contents of the files by path; `grep` prefixes each line with the file's name."""
        words = [*(shlex.quote(path) for path in paths), *patterns]
        said = self._shell.ask(f'LC_ALL=C grep -s "" {" ".join(words)} /dev/null', _ANSWER_S)
        return texts_of(said, paths)

    def _find_process(self) -> int | None:
        names = " ".join(f"-e ^{name}" for name in BEGINNINGS)
        found = self._shell.ask(f"LC_ALL=C grep -s {names} /proc/[0-9]*/comm", _ANSWER_S)
        running = {
            int(line[1])
            for line in re.finditer(r"^/proc/([0-9]{1,9})/comm:(.*)$", found, re.MULTILINE)
            if is_server(line[2])
        }
        noted = self._noted_process()
        if noted is not None and (noted in running or self._runs_a_server(noted)):
            return noted
        if self._server.port is not None:
            running = self._listeners(running, self._server.port)
        return running.pop() if len(running) == 1 else None

    def _noted_process(self) -> int | None:
        """The process in the server's pid file."""
        if self._server.pid_file is None:
            return None
        # The server chose the name: it may be a FIFO, whose read never ends, or a disk.
        file = shlex.quote(self._server.pid_file)
        noted = count(self._shell.ask(f"[ -f {file} ] && head -c 32 {file}", 5).strip())
        return int(noted) if noted else None

    def _runs_a_server(self, pid: int) -> bool:
        """Whether that process was started as a server, possibly by a loader."""
        said = self._shell.ask(f'tr "\\0" "\\n" </proc/{pid}/cmdline | head -n 8', _ANSWER_S)
        return any(is_server(word.rpartition("/")[2]) for word in said.splitlines())

    def _listeners(self, running: set[int], port: int) -> set[int]:
        """Processes that may be the listener on the port, as far as the ssh user may see.

        Everybody may read which sockets listen in a process's network namespace; only the process's
        own user and root see which process holds a socket.
        """
        found: set[int] = set()
        sure: set[int] = set()
        for pid in running:
            texts = self._texts((f"/proc/{pid}/net/tcp", f"/proc/{pid}/net/tcp6"))
            inodes = listening_inodes(texts.values(), port)
            if not inodes:
                continue
            found.add(pid)
            held = self._shell.ask(f"ls -l /proc/{pid}/fd", _ANSWER_S)
            if any(f"socket:[{inode}]" in held for inode in inodes):
                sure.add(pid)
        return sure or found

    def _data_device(self, pid: int | None) -> str | None:
        number = count(self._ask_of_datadir(pid, "stat -L -c %d").strip())
        if number is None:
            return None
        return f"{os.major(int(number))}:{os.minor(int(number))}"

    def _ask_of_datadir(self, pid: int | None, command: str) -> str:
        """The output of a command on the data folder, seen as the process sees it if possible."""
        if self._server.datadir is None:
            return ""
        paths = [self._server.datadir]
        if pid is not None:
            paths.insert(0, f"/proc/{pid}/root{self._server.datadir}")
        asked = " || ".join(f"{command} {shlex.quote(path)}" for path in paths)
        return self._shell.ask(asked, _ANSWER_S)


def texts_of(said: str, paths: Iterable[str]) -> dict[str, str]:
    """Group lines of `PATH:LINE` by path; a path that contains a colon must be in `paths`."""
    odd = sorted((path for path in paths if ":" in path), key=len, reverse=True)
    lines: dict[str, list[str]] = {}
    for line in said.split("\n"):
        path = next((path for path in odd if line.startswith(f"{path}:")), None)
        if path is None:
            path, colon, _ = line.partition(":")
            if not colon or not path.startswith("/"):
                continue
        lines.setdefault(path, []).append(line[len(path) + 1 :])
    return {path: "\n".join(those) + "\n" for path, those in lines.items()}
