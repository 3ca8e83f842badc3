"""Runs the engine as the null server's client."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kept import stolen_s, waits
from loadstone import engine
from loadstone.model.records import Connected, End, LatencyNs, Sample
from null_server.running import Running

PATIENCE_S = 150.0
"""Seconds to wait: ten thousand handshakes take long on a busy machine; what takes longer hangs."""


def tcp_paces() -> bool:
    """Whether TCP paces its packets by timers (BBR), which wait for a core as threads do.

    On a busy machine a request then leaves milliseconds after it was written, and the server's
    stamps start when it arrives.
    """
    chosen = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text()
    return chosen.startswith("bbr")


@dataclass
class Driven:
    """What the engine reported of a step."""

    end: End
    samples: list[Sample] = field(default_factory=list)
    connected: Connected | None = None
    server_waited: float = 0.0
    """The share of the time in which the server needed a core and had none."""
    server_waited_s: float = 0.0
    """The same in seconds."""
    stolen_s: float = 0.0
    """CPU time that the hypervisor took meanwhile, which nobody's waits hold."""

    @property
    def kept_ns(self) -> float:
        """How long the generator had to wait for a core, in total."""
        delays = [sample.generator.run_delay_us for sample in self.samples]
        return 1e3 * sum(delay or 0 for delay in delays)

    @property
    def held_up_s(self) -> float:
        """How long the generator or the server had to do without a core, in total."""
        return self.kept_ns / 1e9 + self.server_waited_s + self.stolen_s

    def latency(self, tag: str = "service") -> LatencyNs:
        """A latency of the whole step, merged from its intervals."""
        lines = [line for sample in self.samples for line in sample.hlog]
        return engine.merge_hlog(lines)[f"test/{tag}"]

    def errors(self) -> Counter[str]:
        """The number of errors by code."""
        counted: Counter[str] = Counter()
        for sample in self.samples:
            counted.update(sample.errors)
        return counted

    def total(self, name: str) -> int:
        """One of the counts, summed over all intervals."""
        return sum(int(getattr(sample.counts, name)) for sample in self.samples)


def drive(
    server: Running, users: int, seconds: float, *, judged: bool = False, **changes: Any
) -> Driven:
    """Run a step of point selects; `changes` are of the plan, `tls` of its target.

    `judged`: the latencies are compared with the server's stamps, so nothing may delay a packet:
    the step uses the unix socket if TCP would not send at once.
    """
    socket = str(server.socket) if judged and tcp_paces() else None
    target = {
        **{"host": "127.0.0.1", "port": server.port, "socket": socket, "user": "u"},
        **{"password": "", "database": "sbtest", "server_public_key": None},
        "tls": {"mode": "disabled", "ca": None, "cert": None, "key": None} | changes.pop("tls", {}),
    }
    workload = {"name": "oltp_point_select", "tables": 1, "table_size": 1000, "options": {}}
    plan = {
        "targets": [target],
        "workload": {**workload, "distribution": {"kind": "uniform"}},
        "protocol": "prepared",
        "users": users,
        "arrival": {"kind": "closed", "think_s": 0.0},
        "stop": {"kind": "time", "warmup_s": 0.0, "duration_s": seconds},
        "connect": {"at_once": 64, "timeout_s": 10.0, "retries": 5, "backoff_s": 0.02},
        "session": {"init_sql": [], "isolation": None, "charset": "utf8mb4"},
        **{"on_error": "restart", "shards": 1, "seed": 1, "tag": "test"},
    }
    waited_before, began = sum(waits(server.process.pid).values()), time.monotonic()
    stolen_before = stolen_s()
    job = engine.start(json.dumps({**plan, **changes}))
    samples: list[Sample] = []
    connected = None
    give_up = time.monotonic() + seconds + PATIENCE_S
    while time.monotonic() < give_up:
        record = job.next(1.0)
        if isinstance(record, Connected):
            connected = record
        if isinstance(record, Sample):
            samples.append(record)
        if isinstance(record, End):
            waited = sum(waits(server.process.pid).values()) - waited_before
            part = waited / (time.monotonic() - began)
            return Driven(record, samples, connected, part, waited, stolen_s() - stolen_before)
    raise AssertionError("the engine does not end")
