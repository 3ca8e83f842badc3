"""The text of `loadstone cluster check`."""

from __future__ import annotations

from loadstone.model.cluster_nodes import ClusterCheck, NodeFacts, Versions
from loadstone.report.cluster import as_renderable
from loadstone.report.text import as_plain


def a_node(number: int, ray: str | None = "2.60.0", python: str = "3.11.7") -> NodeFacts:
    return NodeFacts(
        node=f"10.0.0.{number}",
        versions=Versions(loadstone="0.1.0", engine="0.1.0"),
        ray=ray,
        machine={"host": f"gen{number}", "kernel": {"release": "6.1"}, "python": python},
        cores=4,
        descriptors=1000,
        ephemeral_ports=28_232,
        queries_per_core=50_000.0,
    )


def said(*nodes: NodeFacts) -> str:
    return as_plain(as_renderable(ClusterCheck(cpus_per_generator=1, nodes=nodes)))


def test_the_nodes_fit_80_columns_with_whole_addresses() -> None:
    nodes = (a_node(1), a_node(2).model_copy(update={"node": "generator-2.bench.example"}))
    check = ClusterCheck(cpus_per_generator=1, nodes=nodes)
    lines = as_plain(as_renderable(check), width=80).splitlines()
    assert max(map(len, lines)) <= 80
    assert "generator-2.bench.example" in " ".join(lines)


def test_versions_that_all_nodes_have_are_told_once() -> None:
    text = said(a_node(1), a_node(2))
    assert "versions  engine 0.1.0, Ray 2.60.0, Python 3.11.7" in text
    assert "load      at most 80,000 statements a second" in text
    assert "together  at most 2,000 virtual users" in text


def test_versions_that_differ_are_told_with_their_nodes() -> None:
    text = said(a_node(1), a_node(2, python="3.12.1"), a_node(3, ray=None))
    assert "Python 3.11.7 (10.0.0.1, 10.0.0.3), 3.12.1 (10.0.0.2)" in text
    assert "Ray 2.60.0," in text
