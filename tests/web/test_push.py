"""Pushed metrics: a real Prometheus takes them, and so does a receiver of OTLP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from called import called
from loadstone.model.control import WISH, Remark
from loadstone.model.exit_codes import ExitCode
from loadstone.model.message import say
from loadstone.runs import control_requests
from loadstone.web.extras import ExtraMissing
from loadstone.web.push import places
from loadstone.web.push.following import EVERY_S, Push
from loadstone.web.push.places import PushPlace, place
from loadstone.web.push.sender import PushFailed
from loadstone.web.series import Point, RunCounts, points
from observe.other_tools import ended, environment, program, wait_for_port
from ports import free_port
from web.test_dashboard import queries

pytest.importorskip("loadstone._engine", reason="the engine is not built: make build")

from loadstone import engine
from loadstone.model.null_server import NullServerSettings

PATIENCE_S = 120.0
"""A machine may be busy with other tests; what takes longer hangs."""

RUN = ("oltp_point_select", "--concurrency", "2", "--duration", "2s", "--warmup", "0s")
SERIES = Point("loadstone_events_total", {"run": "r", "workload": ""}, 7.0, is_counter=True)


@pytest.fixture
def target() -> Iterator[str]:
    """A server that answers everything at once."""
    server = engine.null_server(NullServerSettings(host="127.0.0.1", port=0))
    yield f"mysql://u@127.0.0.1:{server.port}/sbtest"
    server.stop()


def run_with(target: str, folder: Path, *words: str, token: str = "") -> tuple[Path, str]:
    """Make a run with these options; returns its folder and what it said."""
    process = subprocess.run(
        [sys.executable, "-m", "loadstone.cli", "run", *RUN, "--target", target, *words],
        cwd=folder,
        env=os.environ | {"XDG_STATE_HOME": str(folder / "state"), places.TOKEN: token},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert process.returncode == 0, process.stderr
    (made,) = (folder / "runs").iterdir()
    log = folder / "state" / "loadstone" / "live.log"
    assert log.read_text() == ""
    return made, process.stderr


def until(look: Callable[[], object]) -> None:
    """Wait until it is so."""
    deadline = time.monotonic() + PATIENCE_S
    while not look():
        assert time.monotonic() < deadline, "nothing came in time"
        time.sleep(0.1)


@contextmanager
def prometheus(folder: Path) -> Iterator[str]:
    """Debian's Prometheus, which takes what is written to it."""
    port = free_port()
    (folder / "prometheus.yml").write_text("global: {}\n")
    command = [
        program("prometheus"),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--web.enable-remote-write-receiver",
    ]
    with ExitStack() as stack:
        process = subprocess.Popen(command, env=environment(), stderr=subprocess.DEVNULL)
        stack.enter_context(ended(process))
        wait_for_port(port, process)
        yield f"http://127.0.0.1:{port}"


def found(url: str, query: str, at: float | None = None) -> list[dict[str, Any]]:
    """The answer of Prometheus to a query."""
    words = {"query": query} | ({} if at is None else {"time": str(at)})
    with urlopen(f"{url}/api/v1/query?{urlencode(words)}") as answer:
        document: dict[str, Any] = json.load(answer)
    assert document["status"] == "success"
    result: list[dict[str, Any]] = document["data"]["result"]
    return result


@pytest.mark.server
def test_prometheus_has_what_was_written_to_it(target: str, tmp_path: Path) -> None:
    with prometheus(tmp_path) as url:
        folder, _ = run_with(target, tmp_path, "--remote-write", url)
        (step,) = json.loads((folder / "result.json").read_text())["steps"]
        over = 'max_over_time(%s{run="%s"}[1h])'
        # The process that pushes may end after the run, on a busy machine.
        until(lambda: found(url, over % ("loadstone_level_tps", folder.name)))
        # The run is over: its series have ended, and are not drawn on as lines.
        until(lambda: not found(url, f'loadstone_users_asked{{run="{folder.name}"}}'))
        (events,) = found(url, over % ("loadstone_events_total", folder.name))
        assert float(events["value"][1]) >= step["events"]
        (level,) = found(url, over % ("loadstone_level_tps", folder.name))
        assert float(level["value"][1]) == pytest.approx(step["tps"])
        assert level["metric"]["users"] == "2" and "rate" not in level["metric"]
        # The dashboard's own queries, as Grafana fills them.
        for query in queries():
            filled = query.replace("$__rate_interval", "20s").replace("$__range", "15m")
            answer = found(url, filled.replace("$run", folder.name))
            assert answer or "loadstone_level" not in query, query
        (info,) = found(url, over % ("loadstone_run_info", folder.name))
        assert info["metric"]["workload"] == "oltp_point_select"


@dataclass
class Received:
    """What a receiver of OTLP got."""

    url: str
    tokens: set[str] = field(default_factory=set)
    values: dict[str, list[float]] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    service: str = ""


@pytest.fixture
def receiver() -> Iterator[Received]:
    """A receiver of OTLP, on the messages of opentelemetry-proto."""
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
        ExportMetricsServiceRequest,
        ExportMetricsServiceResponse,
    )

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.headers["Content-Type"] == "application/x-protobuf"
            assert self.path == "/v1/metrics"
            got.tokens.add(self.headers["Authorization"])
            for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
                named = {one.key: one.value.string_value for one in resource.resource.attributes}
                got.service = named["service.name"]
                for metric in resource.scope_metrics[0].metrics:
                    kind = metric.WhichOneof("data")
                    got.kinds[metric.name] = kind
                    values = [
                        one.as_double if one.HasField("as_double") else float(one.as_int)
                        for one in getattr(metric, kind).data_points
                    ]
                    got.values.setdefault(metric.name, []).extend(values)
            answer = ExportMetricsServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    got = Received(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield got
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.slow
def test_a_receiver_of_otlp_gets_the_same_series(
    target: str, tmp_path: Path, receiver: Received
) -> None:
    folder, _ = run_with(target, tmp_path, "--otlp", receiver.url, token="geheim")
    (step,) = json.loads((folder / "result.json").read_text())["steps"]
    until(lambda: "loadstone_level_tps" in receiver.values)
    assert receiver.tokens == {"Bearer geheim"}
    assert receiver.service == "loadstone"
    assert receiver.kinds["loadstone_events_total"] == "sum"
    assert receiver.kinds["loadstone_step"] == "gauge"
    assert receiver.values["loadstone_events_total"][-1] >= step["events"]
    assert receiver.values["loadstone_level_tps"][-1] == pytest.approx(step["tps"])
    assert "geheim" not in "".join(
        path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file()
    )


@pytest.mark.slow
def test_a_receiver_that_is_not_there_is_recorded_once_and_disturbs_nothing(
    target: str, tmp_path: Path
) -> None:
    url = f"http://127.0.0.1:{free_port()}/api/v1/write"
    command = [sys.executable, "-m", "loadstone.cli", "run", *RUN, "--target", target]
    process = subprocess.Popen(
        [*command, "--duration", "600s", "--remote-write", url],
        cwd=tmp_path,
        env=os.environ | {"XDG_STATE_HOME": str(tmp_path / "state")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        until(lambda: [*tmp_path.glob("runs/*/journal.jsonl")])
        (journal,) = tmp_path.glob("runs/*/journal.jsonl")
        until(lambda: "figures are not pushed" in journal.read_text())
        at = len(journal.read_text())
        until(lambda: journal.read_text().count('"phase":"window"', at) > EVERY_S + 2)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=PATIENCE_S)[1]
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == ExitCode.INTERRUPTED
    (step,) = json.loads((journal.parent / "result.json").read_text())["steps"]
    assert step["events"] > 0
    start = f"figures are not pushed to {url}: "
    assert [note.startswith(start) for note in step["notes"] if "pushed" in note] == [True]
    assert said.count("figures are not pushed") == 1


class Refusing:
    """A receiver that takes nothing."""

    def send(self, values: object, unix_ms: int) -> None:
        raise PushFailed("503 Service Unavailable")

    def end(self, unix_ms: int) -> None:
        raise PushFailed("503 Service Unavailable")


def test_a_failure_is_told_once(tmp_path: Path) -> None:
    told: list[str] = []
    push = Push(PushPlace(kind="otlp", url="http://h/v1/metrics"), Refusing(), told.append)
    for at in range(3):
        push.send(RunCounts(tmp_path), at)
    push.end(4)
    assert told == ["figures are not pushed to http://h/v1/metrics: 503 Service Unavailable"]


def test_a_remark_keeps_its_words_on_the_way(tmp_path: Path) -> None:
    said = say("figures are not pushed to {url}: {why}", url="u", why="w")
    control_requests.ask(tmp_path, Remark(text=said))
    (left,) = control_requests.take(tmp_path)
    assert isinstance(left, Remark) and left.text.values["url"] == "u"
    assert WISH.validate_json(WISH.dump_json(left)) == left


def test_series_are_written_as_remote_write_wants_them() -> None:
    from loadstone.web.push.remote_write import series_of

    assert series_of(SERIES) == (("__name__", "loadstone_events_total"), ("run", "r"))
    assert [*points(RunCounts(Path("x")))][0].labels["run"] == "x"


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://h:9090", "http://h:9090/api/v1/write"),
        ("https://mimir.example/api/v1/push", "https://mimir.example/api/v1/push"),
        ("http://h/", "http://h/api/v1/write"),
    ],
)
def test_a_receiver_without_a_path_has_the_usual_one(text: str, url: str) -> None:
    assert place("remote-write", text).url == url


@pytest.mark.parametrize("option", ["--otlp", "--remote-write"])
@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("collector:4317", "is not the URL of a receiver"),
        ("grpc://collector:4317", "is not the URL of a receiver"),
        ("http://h:99999", "is not the URL of a receiver"),
        ("http://me:secret@h/", "takes no user or password"),
    ],
)
def test_a_url_that_is_none_is_refused_in_a_line(
    option: str, url: str, said: str, tmp_path: Path
) -> None:
    words = ("run", "oltp_point_select", "--target", "mysql://u@127.0.0.1:1/x", option, url)
    done = called(*words, folder=tmp_path, code=ExitCode.USAGE)
    assert said in done.stderr and option in done.stderr
    assert "secret" not in done.stderr
    assert [*tmp_path.glob("runs/*")] == []


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(places._NEEDS, "otlp", ("no_such_package.of_ours",))
    said = "--otlp needs the Python package no_such_package"
    with pytest.raises(ExtraMissing, match=said) as refused:
        place("otlp", "http://h")
    assert refused.value.hint == "pip install 'loadstone[push]'"
