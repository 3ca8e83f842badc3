"""Real exporters compared with our own sources, and servers that are no exporters."""

import http.server
import math
import os
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from loadstone.observe.exporters import NodeExporter, node_figures
from loadstone.observe.exposition import samples
from loadstone.observe.local import LocalHost
from loadstone.observe.mysql.exporter import MysqldExporter, status_figures
from loadstone.observe.scrape import Exporter
from loadstone.observe.source import SourceError
from loadstone.observe.source_spec import PlaceError
from loadstone.sandbox import Sandbox
from observe.other_tools import (
    SERVER,
    SERVER_HOST,
    agree,
    ended,
    environment,
    program,
    wait_for_port,
    writing,
)
from observe.test_exposition import theirs as read_by_the_library
from pooled import KINDS, Pool
from ports import free_port


@contextmanager
def exporter(name: str, *options: str, **variables: str) -> Iterator[str]:
    """Starts one of Debian's exporters on loopback; returns its URL."""
    port = free_port()
    command = [program(name), f"--web.listen-address=127.0.0.1:{port}", *options]
    with ended(
        subprocess.Popen(command, env={**environment(), **variables}, stderr=subprocess.DEVNULL)
    ) as process:
        wait_for_port(port, process)
        yield f"http://127.0.0.1:{port}/metrics"


@pytest.fixture(scope="module")
def node() -> Iterator[str]:
    with exporter("prometheus-node-exporter") as url:
        yield url


def test_a_node_exporter_has_the_names_of_proc_and_their_values(node: str) -> None:
    theirs, ours = NodeExporter(SERVER_HOST, node), LocalHost(SERVER_HOST)
    theirs.read()
    before, exported, after = ours.read(), theirs.read(), ours.read()
    # Debian 12's reads its interfaces over netlink, and leaves loopback out.
    missing = {name for name in before.counters if not name.startswith("nic.lo.")}
    missing -= exported.counters.keys()
    assert not missing, sorted(missing)
    assert not exported.counters.keys() - before.counters.keys()
    outside = {
        name: (before.counters[name], value, after.counters[name])
        for name, value in exported.counters.items()
        # The kernel's own idle times sometimes decrease.
        if "idle" not in name and "iowait" not in name
        if not before.counters[name] - 0.011 <= value <= after.counters[name] + 0.011
    }
    assert not outside
    assert exported.facts["cores_online"] == before.facts["cores_online"]
    for name in ("memory.total_bytes", "memory.swap_used_bytes"):
        assert exported.gauges[name] == before.gauges[name]
    assert before.gauges.keys() <= exported.gauges.keys()
    ours.close()
    theirs.close()


@pytest.mark.slow
def test_a_node_exporter_says_the_same_over_the_same_seconds(node: str, tmp_path: Path) -> None:
    theirs, ours = NodeExporter(SERVER_HOST, node), LocalHost(SERVER_HOST, datadir=tmp_path)
    disk = ours.read().facts.get("data_disk")
    theirs.read()
    with ended(subprocess.Popen(["sh", "-c", "while :; do :; done"])), writing(tmp_path):
        agree(ours, theirs, disk)
    ours.close()
    theirs.close()


def test_a_collector_that_is_switched_off_is_missing_and_the_rest_is_there() -> None:
    with exporter("prometheus-node-exporter", "--no-collector.pressure") as url:
        source = NodeExporter(SERVER_HOST, url, data_disk="vdz")
        reading = source.read()
        again = source.read()
        source.close()
    assert not [name for name in reading.counters if name.startswith("pressure.")]
    assert reading.counters.keys() >= {"cpu.user_s", "context_switches", "forks"}
    assert reading.facts["data_disk"] == "vdz"
    assert again.at_s > reading.at_s


def test_our_reader_and_the_librarys_agree_on_what_a_node_exporter_says(node: str) -> None:
    with closing(Exporter(node)) as asked:
        text = asked.get("").text
    ours = [(one.labels, one.value) for one in samples(text, lambda _: True)]
    finite = [pair for pair in read_by_the_library(text) if math.isfinite(pair[1])]
    assert len(ours) > 100
    assert sorted(map(repr, ours)) == sorted(map(repr, finite))


def test_an_exporter_that_ends_is_lost_and_found_again() -> None:
    port = free_port()
    command = [
        program("prometheus-node-exporter"),
        f"--web.listen-address=127.0.0.1:{port}",
    ]

    def started() -> subprocess.Popen[bytes]:
        process = subprocess.Popen(command, env=environment(), stderr=subprocess.DEVNULL)
        wait_for_port(port, process)
        return process

    source = NodeExporter(SERVER_HOST, f"http://127.0.0.1:{port}")
    with ended(started()):
        source.read()
    with pytest.raises(SourceError, match="Connection refused"):
        source.read()
    with ended(started()):
        assert source.read().counters
    source.close()


@pytest.fixture(params=KINDS)
def sandbox(request: pytest.FixtureRequest, pool: Pool) -> Iterator[Sandbox]:
    """The pool's."""
    with pool.schema(request.param) as running:
        yield running


@contextmanager
def mysqld_exporter(sandbox: Sandbox) -> Iterator[str]:
    login = sandbox.local
    user, password = login.target.user, login.credentials.reveal()
    source = f"{user}:{password}@unix({sandbox.socket})/"
    with exporter("prometheus-mysqld-exporter", DATA_SOURCE_NAME=source) as url:
        yield url


def status(sandbox: Sandbox) -> dict[str, float]:
    """The numeric part of SHOW GLOBAL STATUS."""
    with sandbox.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SHOW GLOBAL STATUS")
        found = {}
        for name, value in cursor.fetchall():
            try:
                found[f"status.{str(name).lower()}"] = float(value)
            except ValueError:
                continue
        return found


def some_work(sandbox: Sandbox) -> None:
    with sandbox.connect() as connection, connection.cursor() as cursor:
        database = sandbox.local.target.database
        cursor.execute(f"CREATE TABLE IF NOT EXISTS {database}.observed (id INT PRIMARY KEY)")
        cursor.execute(f"DELETE FROM {database}.observed")
        for number in range(300):
            cursor.execute("BEGIN")
            cursor.execute(f"INSERT INTO {database}.observed VALUES ({number})")
            cursor.execute("COMMIT")


@pytest.mark.server
def test_a_mysqld_exporter_has_the_servers_own_names_and_values(sandbox: Sandbox) -> None:
    with mysqld_exporter(sandbox) as url:
        source = MysqldExporter(SERVER, url)
        source.read()
        before, reading, after = status(sandbox), source.read(), status(sandbox)
        source.close()
    exported = reading.gauges
    missing = before.keys() - exported.keys() - {"status.innodb_buffer_pool_pages_total"}
    # MySQL 9 counts uses of options under names that Prometheus does not allow.
    missing = {name for name in missing if ":" not in name}
    assert not missing, sorted(missing)
    wrong = {
        name: (before[name], exported[name], after[name])
        for name in before.keys() & exported.keys() & after.keys()
        if before[name] <= after[name] and not before[name] <= exported[name] <= after[name]
    }
    # Values that go up and down with the current connections and what is written at the moment.
    moving = re.compile(r"status\.(threads_|memory_used|open_|innodb_buffer_pool_pages_)|_pending_")
    assert not {name: values for name, values in wrong.items() if not moving.search(name)}


@pytest.mark.server
def test_a_mysqld_exporter_counts_what_was_done(sandbox: Sandbox) -> None:
    with mysqld_exporter(sandbox) as url:
        source = MysqldExporter(SERVER, url)
        before, shown_before = source.read().gauges, status(sandbox)
        some_work(sandbox)
        after, shown_after = source.read().gauges, status(sandbox)
        source.close()
    names = {"com_commit", "com_insert", "com_begin", "handler_write", "innodb_rows_inserted"}
    for name in names:
        if f"status.{name}" not in shown_after:  # MariaDB no longer counts rows here
            assert f"status.{name}" not in after
            continue
        theirs = after[f"status.{name}"] - before[f"status.{name}"]
        shown = shown_after[f"status.{name}"] - shown_before[f"status.{name}"]
        assert theirs == pytest.approx(shown, rel=0.02, abs=2), name
        assert theirs >= 300


@pytest.mark.server
def test_a_server_that_is_gone_is_said_and_not_taken_for_nought(sandbox: Sandbox) -> None:
    wrong = "nobody:nothing@tcp(127.0.0.1:1)/"
    with exporter("prometheus-mysqld-exporter", DATA_SOURCE_NAME=wrong) as url:
        with (
            closing(MysqldExporter(SERVER, url)) as source,
            pytest.raises(SourceError, match="its server does not answer it"),
        ):
            source.read()


def test_the_families_are_taken_apart() -> None:
    text = (
        'mysql_global_status_commands_total{command="commit"} 5\n'
        'mysql_global_status_handlers_total{handler="read_key"} 6\n'
        'mysql_global_status_connection_errors_total{error="max_connections"} 1\n'
        'mysql_global_status_buffer_pool_pages{state="free"} 7\n'
        "mysql_global_status_buffer_pool_dirty_pages 8\n"
        'mysql_global_status_buffer_pool_page_changes_total{operation="flushed"} 9\n'
        'mysql_global_status_innodb_row_ops_total{operation="read"} 10\n'
        'mysql_global_status_performance_schema_lost_total{instrumentation="users_lost"} 2\n'
        "mysql_global_status_questions 11\n"
        'mysql_global_status_questions{odd="x"} 12\n'
        'mysql_global_status_commands_total{other="x"} 13\n'
        "mysql_up 1\n"
    )
    assert status_figures(text) == {
        "status.com_commit": 5,
        "status.handler_read_key": 6,
        "status.connection_errors_max_connections": 1,
        "status.innodb_buffer_pool_pages_free": 7,
        "status.innodb_buffer_pool_pages_dirty": 8,
        "status.innodb_buffer_pool_pages_flushed": 9,
        "status.innodb_rows_read": 10,
        "status.performance_schema_users_lost": 2,
        "status.questions": 11,
    }


def test_partitions_and_strange_cores_are_left_out() -> None:
    figures = node_figures(
        'node_disk_writes_completed_total{device="sda"} 5\n'
        'node_disk_writes_completed_total{device="sda1"} 4\n'
        'node_disk_io_now{device="sda"} 1\n'
        'node_disk_io_now{device="zram0"} 1\n'
        'node_cpu_seconds_total{cpu="0",mode="user"} 2.5\n'
        'node_cpu_seconds_total{cpu="1",mode="user"} 1.5\n'
        'node_cpu_seconds_total{cpu="x",mode="user"} 100\n'
        'node_cpu_seconds_total{cpu="1",mode="guest"} 100\n'
        'node_network_speed_bytes{device="eth0"} 1.25e+08\n'
        'node_network_speed_bytes{device="eth1"} -125000\n'
    )
    assert figures.counters == {
        "disk.sda.writes": 5,
        "cpu.0.user_s": 2.5,
        "cpu.1.user_s": 1.5,
        "cpu.user_s": 4.0,
    }
    assert figures.gauges == {"disk.sda.in_flight": 1}
    assert figures.facts == {"nic.eth0.speed_mbit": "1000"}


Answer = Callable[[http.server.BaseHTTPRequestHandler], None]


@contextmanager
def answering(answer: Answer) -> Iterator[str]:
    """Starts a server that is no exporter; returns its URL."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                answer(self)
            except OSError:  # the client has gone
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/metrics"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def failing(request: http.server.BaseHTTPRequestHandler) -> None:
    request.send_error(500, "broken")


def nonsense(request: http.server.BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.end_headers()
    request.wfile.write(os.urandom(5000))


def endless(request: http.server.BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.end_headers()
    while True:
        request.wfile.write(b"node_load1 1\n" * 5000)


def amounts(request: http.server.BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.end_headers()
    request.wfile.write(
        b"# TYPE node_disk_written_bytes_total gauge\n"
        b'node_disk_written_bytes_total{device="vda"} 524288\n'
    )


def drop_by_drop(request: http.server.BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.end_headers()
    while True:
        request.wfile.write(b"n")
        request.wfile.flush()
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (failing, "it answers 500 broken"),
        (nonsense, "this is no node exporter"),
        (endless, "larger than 16 MiB"),
        (amounts, "node_disk_written_bytes_total is a gauge there, a rate or an amount"),
        (drop_by_drop, "no answer within 0.8 s"),
    ],
)
def test_somebody_who_is_no_exporter(
    answer: Answer, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if answer is drop_by_drop:
        monkeypatch.setattr("loadstone.observe.scrape._TIMEOUT_S", 0.8)
    with answering(answer) as url:
        source = NodeExporter(SERVER_HOST, url.replace("//", "//user:geheim@"))
        began = time.monotonic()
        with pytest.raises(SourceError, match=why) as caught:
            source.read()
        assert time.monotonic() - began < 60
        assert "geheim" not in str(caught.value)
        source.close()


def test_a_login_is_sent() -> None:
    seen: list[str | None] = []

    def remember(request: http.server.BaseHTTPRequestHandler) -> None:
        seen.append(request.headers["Authorization"])
        request.send_response(200)
        request.end_headers()
        request.wfile.write(b"node_forks_total 5\n")

    with answering(remember) as url:
        source = NodeExporter(SERVER_HOST, url.replace("//", "//a%40b:c@"))
        assert source.read().counters == {"forks": 5}
        source.close()
    assert seen == ["Basic YUBiOmM="]


@pytest.mark.parametrize(
    "url", ["", "db1:9100", "ftp://db1/", "http://", "http://db1:x/", "http://db1/a b", "http://:1"]
)
def test_what_is_no_url_of_an_exporter(url: str) -> None:
    with pytest.raises(PlaceError, match="not an exporter's URL"):
        NodeExporter(SERVER_HOST, url)
