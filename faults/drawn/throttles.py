"""Any resource of the server, throttled: cores, its disk, its line, its memory.

Sizes are drawn log-uniformly between what is hardly and what is strongly felt on a host of some
cores and a disk of some hundred MB/s.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from benches.caps import DiskLimit
from faults import injections, others
from faults.case import Draw, Fault, Inject
from faults.drawn.base import Base, cold_files, draw_base
from faults.drawn.drawn import Drawn, Truth
from faults.injections import nothing

_LEAST_CORES = 0.1
_OPERATIONS = 50, 10_000
_READ_BYTES = 500_000, 300_000_000
_WRITTEN_BYTES = 100_000, 100_000_000
_MBIT = 2, 2000
_MEMORY = 0.1, 0.95

Part = tuple[str, Fault, Truth]
"""The kind, the fault on its base, and what is known of it."""


def draw_throttle(draw: Draw, number: int, release: str) -> Drawn:
    """One of the resources, at a size."""
    make = draw.chance.choice(MAKERS)
    kind, fault, truth = make(draw)
    own = fault.in_memory_group
    always = cold_files if "read" in kind and draw.server == "postgresql" else nothing
    return Drawn(number, "throttle", kind, release, fault, truth, {}, always, own_server=own)


def _cores(draw: Draw) -> Part:
    """A quota of the server's control group."""
    cores = draw.size(_LEAST_CORES, os.cpu_count() or 1)
    fault = _on(draw_base(draw), f"{cores:g} cores", injections.server_cores(cores))
    return "cores", fault, Truth.of("cpu-throttled", ("waiting for a core",), also="cpu-bound")


def _disk(
    kind: Literal["read", "write"], unit: Literal["iops", "bps"], least: int, most: int
) -> Callable[[Draw], Part]:
    truth = Truth.of(
        "disk-cap commit-flush", ("log sync", "binlog sync", "commit", "disk write", "disk read")
    )
    if kind == "read":
        small = "working-set cold-buffer-pool shared-buffers-small cold-caches"
        truth = Truth.of("disk-cap", ("disk read",), also=small)

    def make(draw: Draw) -> Part:
        limit = DiskLimit(kind, unit, draw.between(least, most))
        words = f"{limit.most:,} {kind}s/s" if unit == "iops" else f"{limit.most:,} bytes {kind}/s"
        base = draw_base(draw, reads_disk=kind == "read")
        return f"{kind} {unit}", _on(base, words, injections.disk(limit, least=1)), truth

    return make


def _line(draw: Draw) -> Part:
    """Both ends of the way to the server may send so much."""
    mbit = draw.between(*_MBIT)
    fault = _on(draw_base(draw), f"{mbit} Mbit/s", injections.line(mbit))
    truth = Truth.of("line-full", ("way", "sending"), also="packet-loss")
    return "line", replace(fault, behind_a_line=True), truth


def _memory(draw: Draw) -> Part:
    """A part of the server's memory is in swap; a page that is needed is read from the disk."""
    part = draw.size(*_MEMORY)
    fault = _on(draw_base(draw), f"{part:.0%} of its memory", others.short_of_memory(part))
    truth = Truth.of("swapping", ("disk read", "other"), also="disk-cap disk-neighbour")
    return "memory", replace(fault, in_memory_group=True), truth


def _on(base: Base, size: str, inject: Inject) -> Fault:
    return Fault((), f"{size}; {base.words}", base.load, inject, base.settings)


MAKERS: tuple[Callable[[Draw], Part], ...] = (
    _cores,
    _disk("read", "iops", *_OPERATIONS),
    _disk("read", "bps", *_READ_BYTES),
    _disk("write", "iops", *_OPERATIONS),
    _disk("write", "bps", *_WRITTEN_BYTES),
    _line,
    _memory,
)
