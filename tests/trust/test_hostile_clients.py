"""Hostile HTTP clients: whatever they send, and however slowly, others can still use the page."""

from __future__ import annotations

import fcntl
import inspect
import json
import os
import re
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import scripted_engine
from loadstone.runs import control_requests
from loadstone.web import address, app, limits
from loadstone.web.access import HEADERS, Keys
from loadstone.web.begin import routes as begin_routes
from recorded import a_plan, recorder_for
from scripted_engine import Script
from trust.tally import COUNTS
from web.served import PATIENCE_S, Served, served

TOKEN = "a-secret-of-many-characters"
KEYS = Keys(TOKEN, may_run=True)
OUTSIDE = "what lies outside"

NO_ANSWER_S = 3.0
"""Seconds to wait while the server itself waits for the end of a request."""

ROUTES = (
    "/", "/static/live.js", "/static/{}", "/api/events?run={}", "/api/runs", "/api/runs/{}",
    "/api/runs/{}/stop", "/api/runs/{}/ask", "/api/runs/{}/share",
    "/api/runs/{}/{}", "/api/compare?run={}&run={}",
    "/api/trend?name={}&workload={}&target={}",
    "/runs/{}/report?lang={}", "/runs/{}/result.json", "/compare?run={}&run={}", "/metrics",
    "/api/me", "/api/begin",
    "/api/begin/check", "/api/begin/look", "/api/begin/start", "/api/begun", "/api/begun/{}/stop",
    "/{}", "{}", "//{}", "http://{}/", "/api/../{}",
)  # fmt: skip


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A run under way; next to its folder lies another one that looks similar."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "loadstone._engine", scripted_engine)
        place = tmp_path_factory.mktemp("hostile")
        for name in ("journal.jsonl", "report.html"):
            (place / name).write_text(OUTSIDE)
        recorder = recorder_for(place / "runs", a_plan())
        yield recorder.folder
        recorder.close()


@pytest.fixture(scope="module")
def page(running: Path) -> Iterator[Served]:
    with pytest.MonkeyPatch.context() as patch, served(running.parent, KEYS) as found:
        patch.setattr(app, "BODY_S", 0.3)
        yield found


def connected(page: Served) -> socket.socket:
    return socket.create_connection(("127.0.0.1", page.address.port), PATIENCE_S)


def answer_to(page: Served, request: bytes) -> bytes:
    """The start of the answer: headers and some of the body; empty if the connection was cut."""
    found = b""
    COUNTS["inputs tried"] += 1
    with connected(page) as client, suppress(OSError):
        client.settimeout(NO_ANSWER_S)
        client.sendall(request)
        while len(found) < 4096 and (piece := client.recv(4096)):
            found += piece
            if b"text/event-stream" in found:
                break
    return found


def request(method: str, path: bytes, headers: dict[str, bytes], body: bytes = b"") -> bytes:
    lines = [method.encode() + b" " + path + b" HTTP/1.1", b"Connection: close"]
    lines += [name.encode() + b": " + value for name, value in headers.items()]
    return b"\r\n".join([*lines, b"", body])


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0


METHODS = st.sampled_from(("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "X" * 40))
NAMES = st.one_of(
    st.sampled_from(
        ("..", ".", "%2e%2e", "..%2f..", "%252e%252e%252f", "..%5c", "%00", "a%00b", "%ff%fe",
         "%c0%ae%c0%ae/", "/etc/passwd", "%2fetc%2fpasswd", "....//", "..;/",
         "%2e%2e%2fjournal.jsonl", ".live.json", "~root", "%F0%9F%98%80" * 80, "x" * 9000,
         "journal.jsonl", "wishes", "\x7f")
    ),
    st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=30),
)  # fmt: skip
PATHS = st.builds(
    lambda route, names: route.format(*names).encode(),
    st.sampled_from(ROUTES),
    st.lists(NAMES, min_size=3, max_size=3),
)
VALUES = st.binary(max_size=60).map(lambda value: value.replace(b"\r", b"").replace(b"\n", b""))
ODD_HEADERS = st.dictionaries(
    st.sampled_from(
        ("Origin", "Cookie", "Authorization", "X-Loadstone", "Sec-Fetch-Site", "Last-Event-ID",
         "Content-Length", "Transfer-Encoding", "Expect", "Upgrade", "Range",
         "If-None-Match", "X-Forwarded-Host", "Forwarded")
    ),
    st.one_of(
        VALUES,
        st.sampled_from(
            (b"http://[", b"null", b"Bearer ", b"chunked", b"-1", b"9" * 30, b"websocket",
             b"100-continue", b'a="\\', b"=;=;", b"same-origin", b"1" * 5000)
        ),
    ),
    max_size=4,
)  # fmt: skip
BODIES = st.one_of(
    st.binary(max_size=80),
    st.sampled_from((b"[" * 4000, b"1" * 4000, b'{"step":1e999,"users":NaN}', b'"\\ud800"')),
)


def test_no_route_of_the_page_is_left_out() -> None:
    sources = inspect.getsource(app) + inspect.getsource(begin_routes)
    routes = re.findall(r'Route\("([^"]+)"', sources)
    tried = {route.partition("?")[0] for route in ROUTES}
    assert len(routes) > 10
    assert {re.sub(r"{\w+}", "{}", route) for route in routes} <= tried


@pytest.mark.slow
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(METHODS, PATHS, ODD_HEADERS, BODIES)
@example("POST", b"/api/runs/x/stop", {"Origin": b"http://["}, b"")
@example("GET", b"/api/runs/" + b"%C3%A9" * 200, {}, b"")
def test_no_request_breaks_anything(
    page: Served, method: str, path: bytes, headers: dict[str, bytes], body: bytes
) -> None:
    own = {"Host": page.host.encode(), "Cookie": page.cookie.encode(), "X-Loadstone": b"1"}
    answer = answer_to(page, request(method, path, own | headers, body))
    status = status_of(answer)
    assert status < 500, answer
    assert OUTSIDE.encode() not in answer
    assert b"Traceback" not in answer
    assert page.get("/api/begun").json["begun"] == [], "nothing was begun"
    # A request that is not HTTP is refused before it is examined.
    if status not in (0, 400):
        for name in HEADERS:
            assert name.encode() in answer.lower(), answer


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(METHODS, PATHS, ODD_HEADERS, VALUES)
@example("GET", b"/", {}, TOKEN[:-1].encode())
@example("GET", b"/api/runs", {}, TOKEN.upper().encode())
def test_nothing_is_served_with_a_wrong_token(
    page: Served, method: str, path: bytes, headers: dict[str, bytes], token: bytes
) -> None:
    own = {"Host": page.host.encode(), "Authorization": b"Bearer " + token}
    asked = path + b"?token=wrong-token-of-many-characters"
    answer = answer_to(page, request(method, asked, headers | own))
    assert status_of(answer) in (0, 400, 401), answer
    assert b"set-cookie" not in answer.lower()


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=40))
@example("127.0.0.1.evil.example")
@example("localhost.evil.example")
@example("127.0.0.1:80@evil.example")
@example("evil.example#127.0.0.1")
@example("0x7f.0.0.1")
def test_no_other_host_is_answered(page: Served, host: str) -> None:
    """DNS rebinding: a browser sends the host name that it believes in."""
    answer = answer_to(page, request("GET", b"/", {"Host": host.encode()}))
    if status_of(answer) == 200:
        name = host.rpartition(":")[0] if ":" in host else host
        assert set(name) <= set("0123456789abcdefABCDEF.:[]") or "localhost" in name.lower()


def test_two_hosts_are_none(page: Served) -> None:
    lines = b"GET / HTTP/1.1\r\nHost: " + page.host.encode() + b"\r\nHost: evil.example\r\n\r\n"
    assert status_of(answer_to(page, lines)) == 400


@pytest.mark.parametrize(
    "head",
    [b"GET / HTTP/1.1\r\n" + b"X: " + b"a" * 2_000_000, b"GET /" + b"a" * 2_000_000],
    ids=["a header", "an address"],
)
def test_a_head_without_end_is_refused_before_it_has_come(page: Served, head: bytes) -> None:
    assert status_of(answer_to(page, head)) in (0, 400)
    assert page.get("/").status == 200


def test_a_body_without_end_is_refused_before_it_has_come(page: Served, running: Path) -> None:
    own = {
        "Host": page.host.encode(),
        "Origin": page.url.rstrip("/").encode(),
        "Cookie": page.cookie.encode(),
        "X-Loadstone": b"1",
        "Content-Length": b"10000000000",
    }
    path = f"/api/runs/{running.name}/stop".encode()
    answer = answer_to(page, request("POST", path, own, b"x" * 100_000))
    assert status_of(answer) in (0, 413)
    assert control_requests.take(running) == []


def closed_within_patience(client: socket.socket) -> bool:
    client.settimeout(PATIENCE_S)
    try:
        while client.recv(65536):
            continue
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


@pytest.mark.parametrize("sent", [b"", b"GET /", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"])
def test_who_never_ends_a_request_is_let_go(
    running: Path, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(limits, "IDLE_S", 0.2)
    with served(running.parent) as page, connected(page) as client:
        client.sendall(sent)
        assert closed_within_patience(client)


def test_who_sends_a_request_drop_by_drop_is_let_go(
    running: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "IDLE_S", 0.2)
    with served(running.parent) as page, connected(page) as client:
        client.setblocking(False)
        ends = time.monotonic() + PATIENCE_S
        while time.monotonic() < ends:
            try:
                client.send(b"G")
                assert client.recv(1) == b""
            except BlockingIOError:
                time.sleep(0.02)
                continue
            except OSError:
                pass
            return
        pytest.fail("it may go on for ever")


def test_who_never_ends_a_body_is_told_so(running: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "BODY_S", 0.2)
    with served(running.parent) as page, connected(page) as client:
        own = {
            "Host": page.host.encode(),
            "Origin": page.url.rstrip("/").encode(),
            "Cookie": page.cookie.encode(),
            "X-Loadstone": b"1",
            "Content-Length": b"10",
        }
        client.sendall(request("POST", f"/api/runs/{running.name}/stop".encode(), own, b"{"))
        assert status_of(client.recv(4096)) == 408


def test_viewers_keep_their_place_however_many_others_connect(
    running: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MOST_CONNECTIONS", 8)
    with served(running.parent) as page:
        stream = page.stream(running.name)
        stream.until("snapshot")
        others = [connected(page) for _ in range(40)]
        assert page.get("/api/runs").status == 200
        gone = sum(closed_within_patience(client) for client in others[:32])
        for client in others:
            client.close()
        assert gone == 32
        write_something(running)
        stream.until("note")
        stream.close()


def write_something(run: Path) -> None:
    with (run / "journal.jsonl").open("ab") as journal:
        journal.write(b'{"kind":"note","at_s":1.0,"text":"still here"}\n')


def test_one_bad_folder_hides_no_other(tmp_path: Path, script: Script) -> None:
    from recorded import recorded_run

    run = recorded_run(tmp_path)
    for name in ("fifo", "link", "folder", "far", "\udcff", "esc\x1b[2J", "x" * 200):
        (tmp_path / name).mkdir()
    os.mkfifo(tmp_path / "fifo" / "journal.jsonl")
    (tmp_path / "link" / "journal.jsonl").symlink_to("/etc/passwd")
    (tmp_path / "folder" / "journal.jsonl").mkdir()
    (tmp_path / "far" / "journal.jsonl").write_text('{"kind":"run_begin","at_s":1e300}\n')
    for name in ("\udcff", "esc\x1b[2J", "x" * 200):
        (tmp_path / name / "journal.jsonl").write_bytes(b"\xff\n")
    with served(tmp_path) as page:
        listed = {line["name"]: line["state"] for line in page.get("/api/runs").json["runs"]}
        assert listed[run.name] == "finished"
        assert listed["link"] == listed["fifo"] == "damaged"
        assert "esc\x1b[2J" not in listed
        for name in ("fifo", "link", "folder"):
            answer = page.get(f"/api/runs/{name}")
            assert (answer.status, b"root:" in answer.body) == (404, False)
        stream = page.stream()
        assert run.name in json.dumps(stream.until("runs").data)
        stream.close()


def test_a_wish_is_not_written_through_a_link(running: Path, page: Served, tmp_path: Path) -> None:
    (running / control_requests.FOLDER).symlink_to(tmp_path)
    try:
        answer = page.post(f"/api/runs/{running.name}/stop", {})
        assert answer.status == 500
        assert "it is a link" in answer.json["error"]
        assert list(tmp_path.iterdir()) == []
        (tmp_path / "1.json").write_text('{"kind":"stop"}')
        assert control_requests.take(running) == []
        assert (tmp_path / "1.json").exists()
    finally:
        (running / control_requests.FOLDER).unlink()


@pytest.mark.parametrize("how", ["a link", "a FIFO"])
def test_what_stands_in_the_place_of_the_servers_mark_is_left_alone(
    how: str, tmp_path: Path
) -> None:
    runs, other = tmp_path / "runs", tmp_path / "other"
    runs.mkdir()
    other.write_text("somebody else's\n")
    if how == "a link":
        (runs / address.MARK).symlink_to(other)
    else:
        os.mkfifo(runs / address.MARK)
    assert address.found(runs) is None
    with served(runs) as page:
        assert page.get("/api/runs").json["runs"] == []
    assert other.read_text() == "somebody else's\n"


def test_only_the_address_of_a_page_is_told(tmp_path: Path) -> None:
    with (tmp_path / address.MARK).open("w") as mark:
        mark.write('{"url": "http://evil.example/\\u001b[2J", "pid": 1}')
        mark.flush()
        fcntl.flock(mark, fcntl.LOCK_EX)
        assert address.found(tmp_path) is None
