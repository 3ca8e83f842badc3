"""rds_exporter has amounts under the names of a node exporter's totals, and calls them counters.

It needs an account of Amazon's, so small servers have pages of its form; Prometheus and the node
exporter are Debian's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial

import pytest

from loadstone.observe.exporters import Falls, NodeExporter
from loadstone.observe.prometheus import PrometheusHost
from loadstone.observe.source import SourceError
from observe.other_tools import SERVER_HOST
from observe.rds_exporter import DECLINING, basic, declining, enhanced
from observe.test_exporters import answering, exporter
from observe.test_prometheus import EVERY_S, scrape_config, serving, wait_for_a_scrape

BY_NAME = (
    r"this is rds_exporter, where node_disk_read_bytes_total, node_disk_written_bytes_total are of "
    r"its latest interval only .* loadstone runs attach last URL"
)


@pytest.mark.parametrize("kind", ["counter", "gauge", "untyped"])
def test_amounts_are_refused_by_name_whatever_they_are_declared(kind: str) -> None:
    with (
        answering(declining(partial(enhanced, kind=kind))) as url,
        closing(NodeExporter(SERVER_HOST, url)) as source,
    ):
        for _ in range(2):  # and again when it is tried again
            with pytest.raises(SourceError, match=BY_NAME):
                source.read()


def test_the_page_with_means_of_cloudwatch_is_recognised_too() -> None:
    with (
        answering(declining(lambda _: basic())) as url,
        closing(NodeExporter(SERVER_HOST, url)) as source,
        pytest.raises(SourceError, match="this is rds_exporter, where node_cpu_average are of"),
    ):
        source.read()


def test_totals_that_fall_again_and_again_are_not_differenced() -> None:
    page = partial(enhanced, marks=False)
    with (
        answering(declining(page)) as url,
        closing(NodeExporter(SERVER_HOST, url)) as source,
    ):
        source.read()
        source.read()
        for _ in DECLINING:
            with pytest.raises(SourceError, match=r"node_disk_\w+_total falls again and again"):
                source.read()


def test_a_counter_that_starts_again_is_one() -> None:
    falls = Falls()
    name = "disk.vda.written_bytes"
    for value in (7.0, 9.0, 0.0, 0.0, 3.0, 1.0, 1.0, 2.0, 0.0):
        falls.check({name: value, "cpu.idle_s": -value}, "place")
    with pytest.raises(SourceError, match="node_disk_written_bytes_total falls"):
        falls.check({name: -1.0}, "place")


def test_idle_times_that_the_kernel_sets_back_are_times() -> None:
    falls = Falls()
    for value in (9.0, 8.0, 7.0):
        falls.check({"cpu.0.idle_s": value, "cpu.idle_s": value}, "place")


def host(url: str, labels: str) -> PrometheusHost:
    return PrometheusHost(SERVER_HOST, f"{url}?{labels}")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One Prometheus server with a node exporter and pages of rds_exporter, as PMM has it."""
    with ExitStack() as stack:
        node = stack.enter_context(exporter("prometheus-node-exporter")).split("/")[2]

        def served(page: Callable[[float], str]) -> str:
            return stack.enter_context(answering(declining(page))).split("/")[2]

        renamed = "metric_relabel_configs: [{target_label: instance, replacement: db2}]"
        kept = "honor_labels: true"
        jobs = {
            "node": (node, ""),
            "node-renamed": (node, renamed),
            "rds": (served(enhanced), kept),
            "rds-by-address": (served(enhanced), ""),
            "unknown": (served(partial(enhanced, marks=False)), kept),
            "declared": (served(partial(enhanced, marks=False, kind="gauge")), ""),
            "cloud": (served(lambda _: basic()), kept),
        }
        config = scrape_config(jobs)
        url = stack.enter_context(serving(tmp_path_factory.mktemp("shared"), config))
        for labels in ("job=node", "instance=db2"):
            with closing(host(url, labels)) as source:
                wait_for_a_scrape(source)
        time.sleep(len(DECLINING) * EVERY_S)  # until amounts have fallen twice in a row
        yield url


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.parametrize(
    "labels",
    [
        "job=node",
        # Prometheus knows no target with this label, as Thanos knows none at all.
        "instance=db2",
    ],
)
def test_a_node_exporter_beside_it_is_read(shared: str, labels: str) -> None:
    with closing(host(shared, labels)) as source:
        first = again = source.read()
        deadline = time.monotonic() + 30
        while again.at_s == first.at_s:
            assert time.monotonic() < deadline
            time.sleep(0.1)
            again = source.read()
    assert again.counters["cpu.user_s"] >= first.counters["cpu.user_s"]
    assert again.counters["context_switches"] > first.counters["context_switches"]
    assert not [name for name in again.counters if "rdsdev" in name]


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.parametrize(
    ("labels", "why"),
    [
        ("instance=db1&job=rds", BY_NAME),
        ("exported_instance=db1&job=rds-by-address", BY_NAME),
        ("instance=db1&job=unknown", r"node_disk_\w+_total falls again and again"),
        ("job=declared", r"node_disk_\w+_total is a gauge there"),
        (
            "job=cloud",
            r"another exporter's \(\w+\).*instance=.*runs attach last URL adds a cloud exporter's",
        ),
    ],
)
def test_amounts_that_prometheus_stored_are_refused_at_once(
    shared: str, labels: str, why: str
) -> None:
    with closing(host(shared, labels)) as source:
        with pytest.raises(SourceError, match=why) as error:
            source.read()
    assert "\n" not in str(error.value.message)
