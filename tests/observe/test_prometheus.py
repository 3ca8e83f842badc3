"""Debian's Prometheus, which scrapes a real node exporter."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from loadstone.observe.exporters import NodeExporter
from loadstone.observe.mysql.exporter import exporter_source
from loadstone.observe.prometheus import PrometheusHost
from loadstone.observe.source import Source, SourceError
from loadstone.observe.source_spec import PlaceError
from loadstone.sandbox import Sandbox
from observe.other_tools import SERVER, SERVER_HOST, ended, environment, program, wait_for_port
from observe.test_exporters import exporter, mysqld_exporter, some_work
from ports import free_port

# A scrape is waited for, and the first one takes Prometheus some seconds.
pytestmark = pytest.mark.server

EVERY_S = 2


@contextmanager
def scraping(folder: Path, instance: str) -> Iterator[str]:
    """A Prometheus server that scrapes one exporter; its URL with the exporter's label."""
    with serving(folder, scrape_config({"one": (instance, "")})) as url:
        yield f"{url}?instance={instance}"


def scrape_config(jobs: Mapping[str, tuple[str, str]]) -> str:
    """A configuration with these jobs: the exporter of each, and more of its options."""
    lines = (
        f"  - {{job_name: {job}, static_configs: [{{targets: ['{instance}']}}], {more}}}\n"
        for job, (instance, more) in jobs.items()
    )
    every = f"global: {{scrape_interval: {EVERY_S}s, scrape_timeout: {EVERY_S}s}}\n"
    return f"{every}scrape_configs:\n{''.join(lines)}"


@contextmanager
def serving(folder: Path, config: str) -> Iterator[str]:
    """A Prometheus server with this configuration; its URL."""
    port = free_port()
    file = folder / "prometheus.yml"
    file.write_text(config)
    command = [
        program("prometheus"),
        f"--config.file={file}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with ended(subprocess.Popen(command, env=environment(), stderr=subprocess.DEVNULL)) as process:
        wait_for_port(port, process)
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The URLs of Prometheus with the host's label, and of the node exporter that it scrapes."""
    folder: Path = tmp_path_factory.mktemp("prometheus")
    with (
        exporter("prometheus-node-exporter") as node,
        scraping(folder, node.split("/")[2]) as url,
        closing(PrometheusHost(SERVER_HOST, url)) as source,
    ):
        wait_for_a_scrape(source)
        yield url, node


def wait_for_a_scrape(source: Source) -> None:
    """Until it has scraped for the first time."""
    deadline = time.monotonic() + 30
    while True:
        try:
            source.read()
        except SourceError:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        else:
            return


def of_this_machine(counters: Mapping[str, float]) -> set[str]:
    """The counters' names, but for network interfaces: other tests make some and remove them."""
    return {name for name in counters if not name.startswith("nic.") or name.startswith("nic.lo.")}


def test_a_reading_is_of_a_scrape_and_has_its_time(stored: tuple[str, str]) -> None:
    url, node = stored
    with closing(PrometheusHost(SERVER_HOST, url)) as source:
        first = again = source.read()
        deadline = time.monotonic() + 30
        while again.at_s == first.at_s:
            assert again is first, "nothing was scraped since"
            assert time.monotonic() < deadline
            time.sleep(0.1)
            again = source.read()
    # Whole scrapes lie between them, which Prometheus times to the millisecond.
    gone = (again.at_s - first.at_s) / EVERY_S
    assert round(gone) >= 1
    assert again.at_s <= time.monotonic()
    with closing(NodeExporter(SERVER_HOST, node)) as direct:
        now = direct.read()
    assert of_this_machine(again.counters) == of_this_machine(now.counters)
    assert again.facts == now.facts
    total = "cpu.user_s"
    assert first.counters[total] <= again.counters[total] <= now.counters[total]


def test_a_server_s_exporter_may_be_read_there_as_well(own_schema: Sandbox, tmp_path: Path) -> None:
    with (
        mysqld_exporter(own_schema) as direct,
        scraping(tmp_path, direct.split("/")[2].partition("?")[0]) as url,
        closing(exporter_source(SERVER, url)) as source,
        closing(exporter_source(SERVER, direct)) as exported,
    ):
        wait_for_a_scrape(source)
        first = again = source.read()
        some_work(own_schema)
        deadline = time.monotonic() + 30
        while again.gauges["status.com_insert"] < first.gauges["status.com_insert"] + 300:
            assert time.monotonic() < deadline
            time.sleep(0.1)
            again = source.read()
        now = exported.read()
        assert source.read().at_s <= time.monotonic()
    assert again.at_s > first.at_s
    assert not again.gauges.keys() ^ now.gauges.keys()
    assert again.gauges["status.com_insert"] == now.gauges["status.com_insert"]


def test_an_unknown_host_is_answered_with_those_there_are(stored: tuple[str, str]) -> None:
    url, node = stored
    place = url.partition("?")[0]
    with closing(PrometheusHost(SERVER_HOST, f"{place}?instance=db9:9100")) as source:
        with pytest.raises(SourceError, match=rf"db9:9100.*instance={node.split('/')[2]}"):
            source.read()


def test_another_server_is_no_prometheus(stored: tuple[str, str]) -> None:
    _, node = stored
    place = node.removesuffix("/metrics")
    with closing(PrometheusHost(SERVER_HOST, f"{place}?instance=a")) as source:
        with pytest.raises(SourceError, match=place):
            source.read()


@pytest.mark.parametrize(
    "url",
    ["nonsense", "http://prometheus:9090", "http://prometheus:9090?up{}=1", "ftp://x?instance=a"],
)
def test_a_url_without_a_host_is_refused(url: str) -> None:
    with pytest.raises(PlaceError):
        PrometheusHost(SERVER_HOST, url)
