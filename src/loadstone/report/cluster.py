"""What `loadstone cluster check` found, as text."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Group, RenderableType
from rich.text import Text

from loadstone.model.cluster_nodes import ClusterCheck, Line
from loadstone.model.numbers import NOTHING, count, digits
from loadstone.report.table import Table, table_of


def as_renderable(found: ClusterCheck) -> RenderableType:
    """A line a node, then what they can do together."""
    lines = (*_versions(found), *_together(found))
    return Group(_nodes(found), Text(), *(Text(line) for line in lines))


def _nodes(found: ClusterCheck) -> Table:
    heads = (
        "node", "host", "kernel", "loadstone", "cores", "file\ndescriptors",
        "ports to\none target", "queries/s\na core", "towards the target",
    )  # fmt: skip
    rows = (
        (
            node.node,
            node.host,
            node.kernel,
            node.versions.loadstone,
            count(node.cores),
            "no limit" if node.descriptors is None else count(node.descriptors),
            NOTHING if node.ephemeral_ports is None else count(node.ephemeral_ports),
            NOTHING if node.queries_per_core is None else digits(node.queries_per_core),
            _line(node.line),
        )
        for node in found.nodes
    )
    return table_of(heads, rows, text=(0, 1, 2, 3, 8), gap=2)


def _line(line: Line | None) -> str:
    if line is None:
        return NOTHING
    speed = "speed not told"
    if line.speed_bits_per_s is not None:
        speed = f"{line.speed_bits_per_s / 1e9:g} Gbit/s by its own word"
    source = f" from {line.source}" if line.source else ""
    gateway = f" by way of {line.gateway}" if line.gateway else ""
    return f"{line.interface}{source}{gateway}, {speed}"


def _versions(found: ClusterCheck) -> list[str]:
    """What carries the load on each node, and where nodes differ in it."""
    said = [
        _version("engine", {node.node: node.versions.engine for node in found.nodes}),
        _version("Ray", {node.node: node.ray for node in found.nodes}),
        _version("Python", {node.node: node.machine.get("python") for node in found.nodes}),
    ]
    return [f"versions  {', '.join(filter(None, said))}"]


def _version(name: str, of_nodes: Mapping[str, str | None]) -> str | None:
    """`Ray 2.60.0`, or `Ray 2.60.0 (10.0.0.1) and 2.59.0 (10.0.0.2)`; `None`: no node says it."""
    nodes: dict[str, list[str]] = {}
    for node, version in of_nodes.items():
        if version is not None:
            nodes.setdefault(version, []).append(node)
    if len(nodes) < 2:
        return next((f"{name} {version}" for version in nodes), None)
    return f"{name} " + " and ".join(
        f"{version} ({', '.join(where)})" for version, where in nodes.items()
    )


def _together(found: ClusterCheck) -> list[str]:
    users = "any number of" if found.users is None else count(found.users)
    lines = [f"together  at most {users} virtual users"]
    if found.queries_per_s is None:
        lines.append(
            "load      not evaluated: leave --no-calibrate out, or run loadstone calibrate on each "
            "node"
        )
    else:
        lines.append(
            f"load      at most {digits(found.queries_per_s)} statements a second that say "
            "something of the server, not of the generators"
        )
    if found.bits_per_s is not None:
        lines.append(f"network   at most {found.bits_per_s / 1e9:g} Gbit/s, by their own word")
    return lines
