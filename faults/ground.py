"""The servers of the bench: data made once, and put back for each case."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from benches.caps import THERE, MemoryGroup, Network, memory_group, network
from benches.place import LOADSTONE
from benches.processes import run
from faults.case import Data, Fault, Server, maker_of
from faults.dialects import DIALECTS
from faults.long_way import long_way
from faults.scene import Scene, Watch
from loadstone.sandbox import Sandbox, SandboxSpec, start_sandbox
from loadstone.sandbox.kept_data import keep_data, put_data_back
from loadstone.sandbox.pooling import end_pooler

TABLES, ROWS = 4, 25_000
LARGE_ROWS = 800_000
"""So many pages that reading them all takes seconds."""

RELAXED = {"innodb_flush_log_at_trx_commit": "0", "sync_binlog": "0"}
"""For cases not about syncs of the log, which would hide the cause on a slow disk."""


def relaxed(server: Server) -> Mapping[str, str]:
    """The same for any server."""
    return {"synchronous_commit": "off"} if server == "postgresql" else RELAXED


_LOG_BYTES = 512 << 20
"""More redo than a case writes."""

_USUAL: Mapping[Server, Mapping[str, str]] = {
    "mariadb": {
        "innodb_buffer_pool_dump_pct": "100",
        "innodb_log_file_size": str(_LOG_BYTES),
    },
    "mysql": {
        "innodb_buffer_pool_dump_pct": "100",
        "loose_innodb_redo_log_capacity": str(_LOG_BYTES),
        # Two files, before there was a capacity.
        "loose_innodb_log_file_size": str(_LOG_BYTES // 2),
    },
    "postgresql": {},
}
"""Settings of all cases that do not set them otherwise. A start brings back all pages that the pool
had; PostgreSQL finds them in the kernel's page cache. The redo log is no cause of its own: MySQL's
default of 100 MB costs `oltp_update_index` a tenth of its rate (docs/decisions/0046)."""

_HERE = "127.0.0.1"
_USERS_MOST = 2000


@dataclass(frozen=True)
class ReadyServer:
    """A server that is up for one case."""

    sandbox: Sandbox
    server: Server
    host: str
    port: int
    network: Network | None = None
    memory: MemoryGroup | None = None

    def url(self, *, tls: bool) -> str:
        """As `--target` takes it; the password is in `environment`."""
        state, mode = self.sandbox.state, "required" if tls else "disabled"
        place = f"{self.host}:{self.port}/{state.database}"
        return f"{DIALECTS[self.server].scheme}://{state.accounts[0].user}@{place}?tls={mode}"

    def scene(self, watch: Watch) -> Scene:
        """For an injection, while `watch` follows the load."""
        return Scene(self.sandbox, self.server, watch, self.port, self.network, self.memory)

    @property
    def environment(self) -> dict[str, str]:
        """Never a password on the command line."""
        return {"LOADSTONE_PASSWORD": self.sandbox.tcp.credentials.reveal()}


class Ground:
    """All of them; at the end of the block none is left."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, Data], Sandbox] = {}
        self._password = secrets.token_hex(12)
        self._closing = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._closing.close()

    @contextmanager
    def standing(self, release: str, fault: Fault) -> Iterator[ReadyServer]:
        """A server of the release as the fault wants it, with data that nobody has touched.

        Raises:
            SandboxError: it does not start, with its own words for why.
            ProgramFailed: the machine lets us make no network, or no tables.
        """
        if fault.data == "replicated":
            with self._replicated(release, fault.settings) as standing:
                yield standing
            return
        sandbox = self._sandbox(release, fault.data)
        with ExitStack() as stack:
            there = stack.enter_context(network()) if fault.behind_a_line else None
            memory = stack.enter_context(memory_group()) if fault.in_memory_group else None
            stack.callback(sandbox.kill)
            host, maker = THERE if there else _HERE, maker_of(release)
            self._start(sandbox, maker, fault.settings, there, memory)
            port = sandbox.port
            if fault.pooler is not None:
                port = stack.enter_context(_pooled(sandbox, fault.pooler))
            if fault.each_way_ms:
                port = stack.enter_context(long_way(port, fault.each_way_ms))
            yield ReadyServer(sandbox, maker, host, port, there, memory)

    def _start(
        self,
        sandbox: Sandbox,
        maker: Server,
        settings: Mapping[str, str],
        there: Network | None,
        memory: MemoryGroup | None,
    ) -> None:
        """On its kept data, with these settings in addition to its own."""
        put_data_back(sandbox)
        usual = sandbox.state
        options = DIALECTS[maker].options(settings)
        if there:
            options += DIALECTS[maker].from_afar
        changed = {
            "command": (*usual.command, *options),
            "namespace": there.namespace if there else None,
        }
        sandbox.state = usual.model_copy(update=changed)
        try:
            sandbox.start_again(within=[memory.folder] if memory else ())
        finally:
            as_before = {name: getattr(usual, name) for name in changed}
            sandbox.state = sandbox.state.model_copy(update=as_before)

    def _sandbox(self, release: str, data: Data) -> Sandbox:
        """One that does not run, with tables that were made and kept."""
        found = self._kept.get((release, data))
        if found is None:
            found = self._closing.enter_context(start_sandbox(self._spec(release)))
            tables = (TABLES, ROWS) if data == "small" else (1, LARGE_ROWS)
            _load(ReadyServer(found, maker_of(release), _HERE, found.port), *tables)
            found.halt()
            keep_data(found)
            self._kept[release, data] = found
        return found

    @contextmanager
    def _replicated(self, release: str, settings: Mapping[str, str]) -> Iterator[ReadyServer]:
        """Two servers of their own: what a replica has applied cannot be put back."""
        usual = self._spec(release)
        together = {**usual.settings, **settings}
        spec = usual.model_copy(update={"replica": True, "semi_sync": True, "settings": together})
        with start_sandbox(spec) as sandbox:
            standing = ReadyServer(sandbox, maker_of(release), _HERE, sandbox.port)
            _load(standing, TABLES, ROWS)
            yield standing

    def _spec(self, release: str) -> SandboxSpec:
        return SandboxSpec(
            server=release,
            password=self._password,
            max_connections=_USERS_MOST,
            settings=dict(_USUAL[maker_of(release)]),
        )


@contextmanager
def _pooled(sandbox: Sandbox, settings: Mapping[str, str]) -> Iterator[int]:
    """The port of a pooler in front of the server, which the next case has none of."""
    sandbox.start_pooler("pgbouncer", settings)
    pooler = sandbox.state.pooler
    assert pooler is not None, "it was started"
    try:
        yield pooler.port
    finally:
        end_pooler(pooler)
        sandbox.state = sandbox.state.model_copy(update={"pooler": None})


def _load(standing: ReadyServer, tables: int, rows: int) -> None:
    words = ["--tables", str(tables), "--table-size", str(rows), "--distribution", "uniform"]
    run(
        [LOADSTONE, "prepare", "--target", standing.url(tls=False), *words],
        environment=standing.environment,
    )
