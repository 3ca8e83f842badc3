"""What `loadstone cluster check` found, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import Group, RenderableType
from rich.text import Text

from loadstone.model.cluster_nodes import ClusterCheck, Line
from loadstone.model.figure import Count, General, Rate
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import Joined, Message, say
from loadstone.model.numbers import NOTHING, count, digits
from loadstone.report.lines import lines_of
from loadstone.report.table import Table, table_of


def as_renderable(found: ClusterCheck, words: Language = ENGLISH) -> RenderableType:
    """A line a node, then what they can do together."""
    lines = (_versions(found), *_together(found))
    return Group(_nodes(found, words), Text(), *lines_of(map(words, lines)))


def _nodes(found: ClusterCheck, words: Language) -> Table:
    heads = (
        say("node"), say("host"), say("kernel"), say("loadstone"), say("cores"),
        say("file\ndescriptors"), say("ports to\none target"), say("queries/s\nper core"),
        say("towards the target"),
    )  # fmt: skip
    rows = (
        (
            node.node,
            node.host,
            node.kernel,
            node.versions.loadstone,
            count(node.cores),
            words(say("no limit")) if node.descriptors is None else count(node.descriptors),
            NOTHING if node.ephemeral_ports is None else count(node.ephemeral_ports),
            NOTHING if node.queries_per_core is None else digits(node.queries_per_core),
            NOTHING if node.line is None else words.value(_line(node.line)),
        )
        for node in found.nodes
    )
    return table_of([words(head) for head in heads], rows, text=(0, 1, 2, 3, 8), gap=2)


def _line(line: Line) -> Joined:
    way: str = line.interface
    if line.source:
        way = say("{interface} from {source}", interface=way, source=line.source)
    if line.gateway:
        way = say("{way} via {gateway}", way=way, gateway=line.gateway)
    speed = say("speed not reported")
    if line.speed_bits_per_s is not None:
        speed = say("{speed} Gbit/s as it reports", speed=General(line.speed_bits_per_s / 1e9))
    return Joined((way, speed))


def _versions(found: ClusterCheck) -> Message:
    """The software versions that drive the load on the nodes, and where nodes differ."""
    known = [
        _version("engine", {node.node: node.versions.engine for node in found.nodes}),
        _version("Ray", {node.node: node.ray for node in found.nodes}),
        _version("Python", {node.node: node.machine.get("python") for node in found.nodes}),
    ]
    return say("versions  {versions}", versions=Joined(each for each in known if each))


def _version(name: str, of_nodes: Mapping[str, str | None]) -> str | None:
    """`Ray 2.60.0`, or `Ray 2.60.0 (10.0.0.1), 2.59.0 (10.0.0.2)`; `None`: no node reports it."""
    nodes: dict[str, list[str]] = {}
    for node, version in of_nodes.items():
        if version is not None:
            nodes.setdefault(version, []).append(node)
    if len(nodes) < 2:
        return next((f"{name} {version}" for version in nodes), None)
    each = (f"{version} ({', '.join(where)})" for version, where in nodes.items())
    return f"{name} {', '.join(each)}"


def _together(found: ClusterCheck) -> Iterator[Message]:
    if found.users is None:
        yield say("together  any number of virtual users")
    else:
        yield say("together  at most {users} virtual users", users=Count(found.users))
    if found.queries_per_s is None:
        yield say(
            "load      not evaluated: leave out --no-calibrate, or run loadstone calibrate on "
            "each node"
        )
    else:
        yield say(
            "load      at most {queries} statements a second before the generators, not the "
            "server, are the limit",
            queries=Rate(found.queries_per_s),
        )
    if found.bits_per_s is not None:
        yield say(
            "network   at most {speed} Gbit/s, as the interfaces report",
            speed=General(found.bits_per_s / 1e9),
        )
