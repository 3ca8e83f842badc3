"""One generator: drives its part of a step or a load, and reports on it as long as it is polled."""

from __future__ import annotations

import resource
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from threading import Lock

from loadstone import __version__, engine, own_process
from loadstone.cluster.messages import Changed, HostUse, NumberedRecord
from loadstone.cluster.passwords import put_back
from loadstone.cluster.scripts import unpacked
from loadstone.engine import PartJob, PartLoad, PlanRefused
from loadstone.lab.machine.calibrate import USERS as CALIBRATION_USERS
from loadstone.lab.machine.calibrate import measure
from loadstone.lab.step.interrupts import Interrupts
from loadstone.lab.step.shards import cores
from loadstone.model.calibration import Protocol, Transport
from loadstone.model.cluster_nodes import Line, NodeFacts, Versions
from loadstone.model.errors import LoadstoneError
from loadstone.model.observed import Reading, SourceName, line_bytes_per_s
from loadstone.observe import routes
from loadstone.observe.host import address_of_peer
from loadstone.observe.local import LocalHost
from loadstone.observe.source import SourceError
from loadstone.runs import calibration
from loadstone.runs.environment import of_this_machine

_SAMPLE = '{"kind":"sample"'
"""The start of a sample record in the engine's JSON."""
_END = '{"kind":"end"'
"""The start of a step's last record."""

_DESCRIPTORS_BESIDE_USERS = 100
_WAY: tuple[Protocol, Transport] = ("prepared", "tcp")
"""Statements and transport with which this node is calibrated."""
_PROC = Path("/proc")
_PORTS = _PROC / "sys/net/ipv4/ip_local_port_range"
_ANY_PORT = 9


class Generator:
    """Runs on one node. Methods may be called while another of them waits.

    Only text and plain tuples go over the network; a refusal is returned and not raised, because
    Ray would wrap an exception.
    """

    def __init__(self, node: str, peer: str | None = None) -> None:
        """Create it; `peer`: the first target's host, whose network interface is counted."""
        own_process.prepare()
        self._node = node
        self._peer = peer
        self._host = _HostWatch(peer)
        self._step = 0
        self._job: PartJob | PartLoad | None = None
        self._kept: list[NumberedRecord] = []
        self._told = 0
        self._taking = Lock()
        self._scripts: Path | None = None
        """Folder of the current step's script."""
        _raise_descriptors()

    def versions(self) -> dict[str, str]:
        """The versions that must be equal on all nodes, in a form that each version understands."""
        return own_versions().model_dump()

    def facts(self) -> NodeFacts:
        """The node's properties and limits."""
        kept = calibration.kept()
        ceilings = kept.ceilings(*_WAY) if kept else None
        return NodeFacts(
            node=self._node,
            versions=own_versions(),
            ray=_version_of_ray(),
            machine=of_this_machine({}),
            cores=cores(),
            descriptors=_descriptors(),
            ephemeral_ports=_ephemeral_ports(),
            line=self._host.line(),
            queries_per_core=ceilings.queries_per_core(encrypted=False) if ceilings else None,
        )

    def calibrate(self, seconds: float) -> float | str:
        """Statements per second that one event loop can do here, or why that is not known.

        Each call measures again, for that many seconds, against a server in this process.
        """
        try:
            return measure(_WAY, CALIBRATION_USERS, seconds, Interrupts()).queries_per_core
        except LoadstoneError as error:
            return error.message

    def clock(self) -> int:
        """CLOCK_MONOTONIC of this machine in nanoseconds, which is the engine's clock."""
        return time.monotonic_ns()

    def begin(self, step: int, document: str, *passwords: str) -> str | None:
        """Connect the users of this part of a step; returns at once, with the reason if it cannot.

        `passwords`: those of the document, which comes without them. A part that is still running
        was given up by the head, and is ended.
        """
        # From here on each sample covers the time since the one before it.
        self._host.use()
        return self._begin(step, engine.start_part, put_back(document, *passwords))

    def _script_folder(self) -> Path:
        """Create an empty folder for the scripts of the step that starts."""
        self._scripts = Path(tempfile.mkdtemp(prefix="loadstone-"))
        return self._scripts

    def _remove_scripts(self) -> None:
        if self._scripts:
            shutil.rmtree(self._scripts)
        self._scripts = None

    def begin_load(self, step: int, document: str, *passwords: str) -> str | None:
        """Start filling this part of the tables; takes and returns what `begin` does."""
        return self._begin(step, engine.load_part, put_back(document, *passwords))

    def _begin(
        self, step: int, start: Callable[[str], PartJob | PartLoad], document: str
    ) -> str | None:
        with self._taking:
            if self._job:
                self._job.stop()
            self._step, self._job, self._kept, self._told = step, None, [], 0
            # Within the lock: otherwise the end of the previous part could remove the new one's
            # files.
            self._remove_scripts()
            try:
                self._job = start(unpacked(document, self._script_folder))
            except LoadstoneError as error:
                self._remove_scripts()
                return error.message
            return None

    def begin_at(self, step: int, monotonic_ns: int) -> None:
        """Start this step's load at that time of this machine's clock."""
        if isinstance(self._job, PartJob) and step == self._step:
            self._job.begin_at(monotonic_ns)

    def take(self, step: int, has: int, wait_s: float) -> list[NumberedRecord]:
        """The records after the last one that the head has; waits at most `wait_s` for one.

        The call also renews the part's lease.
        """
        with self._taking:
            if self._job is None or step != self._step:
                return []
            self._job.renew()
            self._kept = [told for told in self._kept if told.number > has]
            self._hear(self._job, 0.0 if self._kept else wait_s)
            return list(self._kept)

    def change(self, step: int, what: Changed, value: float) -> str | None:
        """Change the rate of the whole step or the number of this part's users, or hold the load.

        Returns the reason if it cannot be changed; `None` on success, or if this step is over.
        """
        if not isinstance(self._job, PartJob) or step != self._step:
            return None
        try:
            if what == "rate":
                self._job.set_rate(value)
            elif what == "users":
                self._job.set_users(int(value))
            else:
                self._job.hold(bool(value))
        except PlanRefused as refused:
            return refused.message
        return None

    def stop(self, step: int) -> None:
        """Ask for a clean end of this step; its records still follow."""
        if self._job and step == self._step:
            self._job.stop()

    def _hear(self, job: PartJob | PartLoad, wait_s: float) -> None:
        record = job.next(wait_s)
        while record is not None:
            self._told += 1
            host = self._host.use() if record.startswith(_SAMPLE) else None
            self._kept.append(NumberedRecord(self._told, record, host))
            if record.startswith(_END):
                self._remove_scripts()
            record = job.next(0.0)


def own_versions() -> Versions:
    """The versions of this process."""
    return Versions(loadstone=__version__, engine=engine.build_info()["version"])


def _version_of_ray() -> str | None:
    with suppress(metadata.PackageNotFoundError):
        return metadata.version("ray")
    return None


def _raise_descriptors() -> None:
    """Raise the limit on descriptors as far as allowed; the node's facts have the result."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _descriptors() -> int | None:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else max(soft - _DESCRIPTORS_BESIDE_USERS, 0)


def _ephemeral_ports() -> int | None:
    try:
        first, last = map(int, _PORTS.read_text().split())
    except (OSError, ValueError):
        return None
    return last - first + 1


class _HostWatch:
    """Measures this machine between two samples; values that cannot be read are left out."""

    def __init__(self, peer: str | None) -> None:
        self._peer = peer
        self._source = LocalHost(SourceName(role="generator-host"), peer=peer)
        self._before: Reading | None = None

    def use(self) -> HostUse:
        """The use since the last call; empty the first time."""
        now = self._read()
        before, self._before = self._before, now
        if now is None or before is None:
            return HostUse(None, None, None)
        return host_use(before, now)

    def line(self) -> Line | None:
        """The network interface towards the target."""
        now = self._read()
        nic = now.facts.get("traffic_nic") if now else None
        if now is None or nic is None:
            return None
        mbits = now.facts.get(f"nic.{nic}.speed_mbit")
        speed = int(float(mbits) * 1e6) if mbits else None
        peer = address_of_peer(self._peer) if self._peer else None
        return Line(
            interface=nic,
            speed_bits_per_s=speed,
            source=_source_towards(peer) if peer else None,
            gateway=routes.gateway_towards(peer, _tables()) if peer else None,
        )

    def _read(self) -> Reading | None:
        try:
            return self._source.read()
        except (SourceError, OSError):
            return None


def _tables() -> dict[str, str]:
    """The kernel's routing tables; one that cannot be read is missing."""
    found = {}
    for name in routes.FILES:
        with suppress(OSError):
            found[name] = (_PROC / name).read_text()
    return found


def _source_towards(peer: str) -> str | None:
    """Our source address for packets to that host; no packet is sent to find it."""
    family = socket.AF_INET6 if ":" in peer else socket.AF_INET
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as asked:
        asked.connect((peer, _ANY_PORT))
        return str(asked.getsockname()[0])
    return None


def host_use(before: Reading, now: Reading) -> HostUse:
    """A host's activity between two readings; `None` where there is no counter."""
    nic = now.facts.get("traffic_nic")

    def growth(name: str) -> float | None:
        if name not in before.counters or name not in now.counters:
            return None
        return now.counters[name] - before.counters[name]

    into, out = growth(f"nic.{nic}.bytes_in"), growth(f"nic.{nic}.bytes_out")
    return HostUse(
        cpu_share=_cpu_share(growth, now.counters),
        net_bytes_in=None if into is None else int(into),
        net_bytes_out=None if out is None else int(out),
        line_bytes_per_s=line_bytes_per_s(now.facts, nic),
    )


_IDLE = ("cpu.idle_s", "cpu.iowait_s")


def _cpu_share(growth: Callable[[str], float | None], names: Mapping[str, float]) -> float | None:
    """The busy share of all cores; a core's number is in the middle of its counters' names."""
    modes = [name for name in names if name.startswith("cpu.") and name.count(".") == 1]
    total = sum(growth(name) or 0.0 for name in modes)
    idle = sum(growth(name) or 0.0 for name in _IDLE)
    return 1.0 - idle / total if total > 0 else None
