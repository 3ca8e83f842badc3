"""A throwaway database server: `with start_sandbox(SandboxSpec()) as sandbox: ...`."""

from __future__ import annotations

import signal
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from loadstone.families import connect
from loadstone.model.figure import General
from loadstone.model.message import Joined, say
from loadstone.model.target import Credentials, Endpoint, Target, Tls
from loadstone.sandbox import server
from loadstone.sandbox.account import Account
from loadstone.sandbox.certificates import Certificates, fingerprint_of
from loadstone.sandbox.disk import Disk, disk_of
from loadstone.sandbox.errors import SandboxError
from loadstone.sandbox.place import Place
from loadstone.sandbox.pooling import end_pooler, start_pooler, start_pooler_again
from loadstone.sandbox.processes import servers_of
from loadstone.sandbox.programs import (
    PROGRAMS,
    ServerPrograms,
    canonical_methods,
)
from loadstone.sandbox.shared_memory import SharedMemory
from loadstone.sandbox.state import (
    SandboxState,
    clear_stale,
    locked,
    read_states,
    remove,
    sandboxes_folder,
    write_state,
)
from loadstone.servers.connection import DEFAULT_TIMEOUTS, Connection, Timeouts

_GRACE_S = 0.5  # short: a clean shutdown is useless, because the data is removed
_KILL_S = 10.0
_PLAIN, _PREFERRED = Tls(mode="disabled"), Tls()


class Sandbox:
    """A running throwaway server. As a context manager it is removed at the end of the block."""

    def __init__(
        self,
        folder: Path,
        state: SandboxState,
        replica: Sandbox | None = None,
    ) -> None:
        self.folder = folder
        self.state = state
        self.replica = replica
        self._port_keeper: weakref.finalize[[], Sandbox] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def name(self) -> str:
        """Its name in `loadstone sandbox list`."""
        return self.state.name

    @property
    def flavour(self) -> str:
        """The server's maker, within its family."""
        return self.state.flavour

    @property
    def version(self) -> str:
        """The server's version: three numbers."""
        return self.state.version

    @property
    def pid(self) -> int:
        """The server's process id; 0 after `kill`."""
        return self.state.server.pid if self.state.server is not None else 0

    @property
    def port(self) -> int:
        """The TCP port."""
        return self.state.port

    @property
    def socket(self) -> Path:
        """The unix socket."""
        return self.state.socket

    @property
    def datadir(self) -> Path:
        """The server's data folder."""
        return self.folder / "data"

    @property
    def error_log(self) -> Path:
        """The server's error log."""
        return self.folder / "error.log"

    @property
    def client_file(self) -> Path:
        """A file with the login for other clients."""
        return self.folder / self._programs.client_file

    @property
    def login_words(self) -> str:
        """What a person types after a client's name to log in."""
        return self._programs.login_words(self.place, self.state.database)

    @property
    def place(self) -> Place:
        """The server's files and address."""
        return place_of(self.folder, self.state)

    @property
    def settings(self) -> dict[str, str]:
        """The settings of the command line, with the values that the server then had."""
        return dict(self.state.settings)

    @property
    def accounts(self) -> tuple[Account, ...]:
        """The main user first, then one for each authentication method."""
        return self.state.accounts

    @property
    def certificates(self) -> Certificates:
        """The sandbox's own certificate authority, and certificates for both ends."""
        return Certificates(self.folder / "tls")

    @property
    def disk(self) -> Disk:
        """The file system with the server's data."""
        return disk_of(self.folder)

    @property
    def tcp(self) -> Endpoint:
        """The main user's login over TCP."""
        return self.endpoint()

    @property
    def local(self) -> Endpoint:
        """The main user's login over the unix socket."""
        return self.endpoint(over="socket")

    def endpoint(
        self, method: str | None = None, over: str = "tcp", tls: Tls | None = None
    ) -> Endpoint:
        """The login of the main user, or of the user for a requested authentication method.

        `tls`: by default none on loopback, where sysbench uses none either.
        """
        endpoint = endpoint_of(self.state, self._account(method), over, tls)
        target = endpoint.target.model_copy(update={"tls": self.pinned(endpoint.target)})
        return endpoint.model_copy(update={"target": target})

    @property
    def pooled(self) -> Endpoint | None:
        """The main user's login over TCP through the pooler; `None`: there is no pooler."""
        pooler = self.state.pooler
        if pooler is None:
            return None
        target = self.tcp.target.model_copy(update={"port": pooler.port})
        return self.tcp.model_copy(update={"target": target})

    def start_pooler(self, name: str, settings: Mapping[str, str]) -> None:
        """Start a connection pooler in front of the server; it ends with the sandbox.

        Raises:
            SandboxError: it does not start; quotes its log.
        """
        pooler = start_pooler(name, settings, self.folder, self.state)
        self._keep(self.state.model_copy(update={"pooler": pooler}))

    def pinned(self, target: Target) -> Tls:
        """The TLS for a login; outside of loopback, with this server's certificate pinned.

        There a password must not go to an unknown server.
        """
        tls, cert = target.tls, self.certificates.cert("server")
        of_its_own = cert.exists() and self._programs.certificate_setting not in self.settings
        if target.is_local or tls.fingerprint is not None or not of_its_own:
            return tls
        return tls.model_copy(update={"fingerprint": fingerprint_of(cert)})

    def reached(self, target: Target) -> Target:
        """A target at this server's address, with the TLS that it gets if none is named.

        It is the one of `endpoint`, so that an address typed by hand is reached as the printed URL.
        """
        tls = target.tls
        if tls == Tls() and "mode" not in tls.model_fields_set:
            target = target.model_copy(update={"tls": tls_of(target)})
        return target.model_copy(update={"tls": self.pinned(target)})

    def connect(self, timeouts: Timeouts = DEFAULT_TIMEOUTS) -> Connection:
        """Connect as the main user over the unix socket.

        Raises:
            TargetError: the server refused it.
        """
        return connect(self.local, timeouts)

    def is_running(self) -> bool:
        """Whether the server's process runs."""
        return self.state.is_running

    def restart(self, timeout_s: float = 60) -> None:
        """Start the server again on its data: after a clean shutdown if it runs.

        Raises:
            SandboxError: it does not end or start in time; quotes the end of its error log.
        """
        if self.is_running():
            self.halt(timeout_s)
        self.start_again(timeout_s)

    def kill(self) -> None:
        """End the server as a crash would (SIGKILL); `start_again` brings it back."""
        self._keep(self.state.model_copy(update={"phase": "killed"}))
        self._end(signal.SIGKILL)
        self._has_ended()

    def halt(self, timeout_s: float = 300) -> None:
        """Shut the server down cleanly, so that its data is whole; `start_again` brings it back.

        Raises:
            SandboxError: it takes longer than that.
        """
        mark = self.state.server
        if mark is None:
            return
        self._keep(self.state.model_copy(update={"phase": "killed"}))
        mark.signal(self._programs.clean_end)
        if not mark.wait_until_gone(timeout_s):
            raise SandboxError(
                say(
                    "sandbox {name} did not end within {seconds} s",
                    name=self.name,
                    seconds=General(timeout_s),
                )
            )
        server.reap(mark.pid)
        self._has_ended()

    def start_again(self, timeout_s: float = 60, within: Sequence[Path] = ()) -> None:
        """Start the server on the same data, port and socket, in these control groups.

        Raises:
            SandboxError: it does not start; quotes the end of its error log.
        """
        if self.is_running():
            raise SandboxError(say("sandbox {name} is running already", name=self.name))
        if self.state.server is not None:
            server.reap(self.state.server.pid)
        place = self.place
        self._clear_locks()
        place.error_log.rename(self.folder / "error.log.before")
        namespace = self.state.namespace
        launch = server.Launch(
            self.state.command,
            self.state.open_files,
            self._is_owned,
            tuple(within),
            namespace.launcher if namespace else (),
            self._programs.refuses_root,
        )
        process = server.start(launch, place)
        try:
            mark = server.wait_until_ready(
                process, place, lambda: answers(self.folder, self.state), timeout_s
            )
        except server.PortTaken:
            raise SandboxError(
                say("port {port} was taken in the meantime", port=self.port)
            ) from None
        finally:
            self._give_up_port()
        self._keep(self.state.model_copy(update={"phase": "running", "server": mark}))
        pooler = self.state.pooler
        if pooler is not None and not pooler.is_running:
            again = start_pooler_again(pooler, self.folder, self.state)
            self._keep(self.state.model_copy(update={"pooler": again}))

    def stop(self) -> None:
        """End the server and its replica, and remove all their files. Safe to repeat."""
        if self.replica is not None:
            self.replica.stop()  # first: MySQL waits long for a replica that is still connected
        if self.state.pooler is not None:
            end_pooler(self.state.pooler)
        self._end(self._programs.quick_end)
        self._give_up_port()
        with locked(self.folder.parent / ".lock"):
            remove(self.folder, self.state)

    def _has_ended(self) -> None:
        """Note that the server is gone; until it is started again its port is kept for it."""
        self._keep(self.state.model_copy(update={"server": None}))
        if self.state.namespace is None and self._port_keeper is None:
            keeper = server.kept_port(self.port)
            # Who forgets a sandbox gives up its port.
            self._port_keeper = None if keeper is None else weakref.finalize(self, keeper.close)

    def _give_up_port(self) -> None:
        if self._port_keeper is not None:
            self._port_keeper()
            self._port_keeper = None

    @property
    def _programs(self) -> ServerPrograms:
        return PROGRAMS[self.state.family]

    @property
    def _is_owned(self) -> bool:
        return self.state.owner is not None

    def _account(self, method: str | None) -> Account:
        if method is None:
            return self.state.accounts[0]
        (name,) = canonical_methods((method,))
        for account in self.state.accounts[1:]:
            if account.method == name:
                return account
        said = say("sandbox {name} has no user for {method}", name=self.name, method=method)
        raise SandboxError(said, say("start it with --auth {method}", method=method))

    def _keep(self, state: SandboxState) -> None:
        self.state = state
        write_state(self.folder, state)

    def _end(self, number: signal.Signals) -> None:
        mark = self.state.server
        if mark is None:
            return
        memory = SharedMemory(servers_of(self.datadir))
        mark.signal(number)
        if not mark.wait_until_gone(_GRACE_S):
            mark.signal(signal.SIGKILL)
            mark.wait_until_gone(_KILL_S)
        server.reap(mark.pid)
        # Some servers have more processes, which may still write for a moment.
        for left in servers_of(self.datadir):
            left.signal(signal.SIGKILL)
            left.wait_until_gone(_KILL_S)
        memory.free()

    def _clear_locks(self) -> None:
        """Remove what a crash leaves: locks with process ids, which may be others' by now."""
        for left in servers_of(self.datadir):
            if not left.wait_until_gone(_KILL_S):
                raise SandboxError(
                    say(
                        "process {pid} still uses the data of sandbox {name}",
                        pid=left.pid,
                        name=self.name,
                    ),
                    say("`loadstone sandbox stop {name}` ends it", name=self.name),
                )
        self.socket.with_name(f"{self.socket.name}.lock").unlink(missing_ok=True)
        self._programs.clear_locks(self.datadir)


def list_sandboxes() -> list[Sandbox]:
    """The running sandboxes of this user; nothing is removed."""
    return [sandbox for sandbox in kept_sandboxes() if sandbox.is_running()]


def kept_sandboxes() -> list[Sandbox]:
    """The same with those whose server crashed or was killed, which keep their data."""
    root = sandboxes_folder()
    states = (state for state in read_states(root) if not state.is_stale)
    known = {
        state.name: Sandbox(root / state.name, state) for state in states if state.phase != "making"
    }
    for sandbox in known.values():
        if sandbox.state.role == "primary" and sandbox.state.partner in known:
            sandbox.replica = known[sandbox.state.partner]
    return list(known.values())


def clear_leftovers() -> list[str]:
    """Remove what killed programs have left of their sandboxes; returns the names."""
    root = sandboxes_folder()
    with locked(root / ".lock"):
        return clear_stale(root)


def sandbox_at(target: Target) -> Sandbox | None:
    """The running sandbox that a target refers to, if any; nothing is removed."""
    root = sandboxes_folder()
    for state in read_states(root):
        doors = [(state.port, state.socket)]
        if state.pooler is not None:
            doors.append((state.pooler.port, state.pooler.socket))
        same_socket = any(target.socket == socket for _, socket in doors)
        hosts = (state.address,) if state.namespace else ("127.0.0.1", "localhost")
        at_port = any(target.port == port for port, _ in doors)
        same_port = target.socket is None and at_port and target.host in hosts
        if state.is_running and not state.is_stale and (same_socket or same_port):
            return Sandbox(root / state.name, state)
    return None


def find_sandbox(name: str | None = None, *, running: bool = True) -> Sandbox:
    """The sandbox of that name; without a name, the only one there is.

    `running`: only one whose server runs; else also one whose server crashed or was killed.

    Raises:
        SandboxError: there is none, or more than one to choose from.
    """
    known = list_sandboxes() if running else kept_sandboxes()
    if name is not None:
        chosen = [sandbox for sandbox in known if sandbox.name == name]
    else:
        chosen = [sandbox for sandbox in known if sandbox.state.role == "primary"]
    if len(chosen) == 1:
        return chosen[0]
    names = Joined(sandbox.name for sandbox in known)
    if running and name is not None and any(each.name == name for each in kept_sandboxes()):
        raise SandboxError(
            say("the server of sandbox {name} does not run", name=name),
            say("`loadstone sandbox restart {name}` starts it on its data", name=name),
        )
    if not known:
        raise SandboxError(
            say("no sandbox is running"), say("`loadstone sandbox start` starts one")
        )
    if name is not None:
        raise SandboxError(
            say("no sandbox is named {name}", name=name), say("running: {names}", names=names)
        )
    raise SandboxError(
        say("more than one sandbox is running"), say("name one of {names}", names=names)
    )


def place_of(folder: Path, state: SandboxState) -> Place:
    """The files of a sandbox's server."""
    return Place(folder, state.socket, state.port, state.address, state.family)


def endpoint_of(
    state: SandboxState, account: Account, over: str = "socket", tls: Tls | None = None
) -> Endpoint:
    """An account's login to a sandbox's server, over `tcp` or `socket`; `tls_of` is the default."""
    target = Target(
        host="localhost" if over == "socket" else state.address,
        port=None if over == "socket" else state.port,
        socket=state.socket if over == "socket" else None,
        user=account.user,
        database=state.database,
        family=state.family,
    )
    target = target.model_copy(update={"tls": tls or tls_of(target)})
    source = say("sandbox {name}", name=state.name)
    return Endpoint(
        target=target,
        credentials=Credentials(password=account.password, source=source),
        # It listens there as long as it runs; elsewhere its certificate is pinned.
        server_is_here=target.is_local,
    )


def answers(folder: Path, state: SandboxState) -> bool:
    """Whether the server takes statements.

    Raises:
        SandboxError: the server is up, and will never accept the login.
    """
    login = endpoint_of(state, state.accounts[0])
    return PROGRAMS[state.family].answers(place_of(folder, state), state.command, login)


def tls_of(target: Target) -> Tls:
    """The TLS of a login that names none: on loopback nothing is encrypted, as by sysbench."""
    return _PLAIN if target.is_local and target.socket is None else _PREFERRED
