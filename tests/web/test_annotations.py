"""A run's steps as regions in Grafana."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from loadstone.cli.errors import exit_code_of
from loadstone.web.annotations import NoPlaceForAnnotations, annotating, api_url
from recorded import a_plan, recorded_run
from scripted_engine import Script


@contextmanager
def grafana(status: int = 200) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server that keeps what is posted to it, with path and token."""
    heard: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            token = self.headers.get("Authorization")
            heard.append({"path": self.path, "token": token, "body": body})
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "http://127.0.0.1:1/")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", heard
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_each_step_is_one_region_with_its_times_and_tags(
    tmp_path: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOADSTONE_GRAFANA_TOKEN", "secret")
    run = recorded_run(tmp_path, a_plan(ladder=(1, 4), name="mine"))
    with grafana() as (url, heard), annotating(f"{url}/graph/") as (annotator, begun):
        begun(run)
    assert annotator.failed is None
    assert [each["path"] for each in heard] == ["/graph/api/annotations"] * 2
    assert {each["token"] for each in heard} == {"Bearer secret"}
    first, second = (each["body"] for each in heard)
    assert first["text"].startswith("loadstone mine: ") and "1 user, step 1 of 2" in first["text"]
    assert first["tags"][0] == "loadstone" and run.name in first["tags"]
    # In ms, of which a scripted step need not take one.
    assert first["time"] <= first["timeEnd"] <= second["time"] <= second["timeEnd"]


@pytest.mark.parametrize(("status", "why"), [(401, "401"), (302, "302"), (500, "500")])
def test_a_refusal_is_told_once_and_ends_nothing(
    status: int, why: str, tmp_path: Path, script: Script
) -> None:
    run = recorded_run(tmp_path, a_plan(ladder=(1, 4)))
    with grafana(status) as (url, heard), annotating(url) as (annotator, begun):
        begun(run)
    assert len(heard) == 1
    assert f"{url}/api/annotations: {why}" in str(annotator.failed)


def test_where_nobody_listens_the_run_goes_on(tmp_path: Path, script: Script) -> None:
    run = recorded_run(tmp_path, a_plan(ladder=(1,)))
    with annotating("http://127.0.0.1:1") as (annotator, begun):
        begun(run)
    assert "refused" in str(annotator.failed)


@pytest.mark.parametrize(
    "text", ["grafana", "ftp://a/b", "https://me:pw@grafana", "https://[x", "https://a:port"]
)
def test_what_is_no_url_of_grafana_is_refused_before_anything_is_driven(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(NoPlaceForAnnotations):
        api_url(text)
    assert exit_code_of(["run", "oltp_read_only", "--annotate", text]) == 2
    assert "pw" not in capsys.readouterr().err
