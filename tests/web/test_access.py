"""Who is let in, and what nobody may do, tested on a loopback server header by header."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import scripted_engine
from loadstone.model.control import SetRate, SetUsers, StopRun
from loadstone.runs import control_requests
from loadstone.web.access import COOKIE_S, Keys, TokenTooShort, is_loopback, own_names
from loadstone.web.address import Address
from recorded import a_plan, recorded_run, recorder_for
from scripted_engine import Script
from web.served import Served, served


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a run that is under way, as its lock shows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "loadstone._engine", scripted_engine)
        recorder = recorder_for(tmp_path_factory.mktemp("access") / "runs", a_plan())
        yield recorder.folder
        recorder.close()


@pytest.fixture(scope="module")
def page(running: Path) -> Iterator[Served]:
    with served(running.parent) as found:
        yield found


EVERYWHERE = ["/", "/static/live.js", "/api/runs", "/api/events", "/metrics", "/nowhere"]


@pytest.mark.parametrize("path", EVERYWHERE)
def test_every_answer_carries_the_policy(page: Served, path: str) -> None:
    if path == "/api/events":
        stream = page.stream()
        headers = {name.lower(): value for name, value in stream.response.getheaders()}
        stream.close()
    else:
        headers = dict(page.get(path).headers)
    policy = headers["content-security-policy"]
    assert "script-src 'self'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8321", "127.0.0.1.evil.example", "@"]
)
def test_a_name_that_is_not_ours_is_not_answered(page: Served, host: str) -> None:
    """DNS rebinding: the browser believes that it asks evil.example, which leads to loopback."""
    for path in ("/", "/api/runs"):
        answer = page.get(path, Host=host)
        assert answer.status == 421
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("name", ["localhost", "LOCALHOST", "127.0.0.1", "[::1]"])
def test_our_own_names_are_answered_through_any_port(page: Served, name: str) -> None:
    assert page.get("/", Host=f"{name}:9999").status == 200


@pytest.mark.parametrize("address", ["localhost", "LOCALHOST", "127.0.0.1", "127.8.9.10", "::1"])
def test_an_address_of_this_machine_alone_has_no_other_names(address: str) -> None:
    assert is_loopback(address)
    assert own_names(Address(address, 0)) == {"localhost", address.lower()}


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.0.2.7", "2001:db8::7", "Bench.Example"])
def test_an_address_that_others_reach_has_the_hosts_names_too(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "Bench7")
    monkeypatch.setattr(socket, "getfqdn", lambda: "bench7.Example")
    assert not is_loopback(address)
    assert own_names(Address(address, 0)) == {
        "localhost",
        address.lower(),
        "bench7",
        "bench7.example",
    }


def test_a_proxys_name_is_a_name_of_ours() -> None:
    assert own_names(Address("127.0.0.1", 0, proxied=("Bench.example",))) == {
        "localhost",
        "127.0.0.1",
        "bench.example",
    }


WRONG = "wrong-secret-of-many-characters"


@pytest.mark.parametrize("path", EVERYWHERE)
def test_without_the_token_nothing_is_served(page: Served, path: str) -> None:
    """No address is trusted: another user of this machine reaches loopback as well."""
    name, _, cookie = page.cookie.partition("=")
    end, _, mac = cookie.partition(".")
    wrong = [
        {},
        {"Authorization": f"Bearer {WRONG}"},
        {"Authorization": f"Basic {page.keys.token}"},
        {"Cookie": f"{name}={page.keys.token}"},
        {"Cookie": f"{name}="},
        {"Cookie": f"{name}={int(end) + 1}.{mac}"},
        {"Cookie": f"{name}=.{mac}"},
        {"Cookie": f"{name}={end}.{'0' * len(mac)}"},
    ]
    for headers in wrong:
        answer = page.get(path, **{"Cookie": ""} | headers)
        assert answer.status == 401
        assert "set-cookie" not in answer.headers
        assert b"loadstone" not in answer.body.lower().replace(b"the token", b"")
    assert page.get(f"{path}?token={WRONG}", Cookie="").status == 401


def test_without_the_token_nothing_is_steered(page: Served, running: Path) -> None:
    for headers in ({}, {"Authorization": f"Bearer {WRONG}"}):
        answer = page.post(f"/api/runs/{running.name}/stop", {}, **{"Cookie": ""} | headers)
        assert answer.status == 401
    assert control_requests.take(running) == []


def test_the_link_gives_a_cookie_and_goes_on_without_the_token(page: Served) -> None:
    link = page.link.removeprefix(page.url.rstrip("/"))
    answer = page.get(link, Cookie="")
    assert (answer.status, answer.headers["location"]) == (303, "/")
    cookie, *more = answer.headers["set-cookie"].split("; ")
    assert page.keys.token not in cookie
    assert {"HttpOnly", "SameSite=Strict", f"Max-Age={COOKIE_S}"} <= set(more)
    assert page.get("/api/runs", Cookie=cookie).status == 200
    assert page.get("/api/runs", Cookie="", Authorization=f"Bearer {page.keys.token}").status == 200
    # The link is only for the page: elsewhere it would remain in logs and histories.
    assert page.get(f"/api/runs{link[1:]}", Cookie="").status == 401


def test_a_cookie_outlives_the_page_but_not_its_time_nor_the_secret(running: Path) -> None:
    now = 1000.0
    keys = Keys("a-secret-of-many-characters", is_chosen=True, clock=lambda: now)
    with served(running.parent, keys) as first:
        cookie, port = first.cookie, first.address.port
        now += COOKIE_S - 1
        renewed = first.get("/api/runs", Cookie=cookie)
        assert renewed.status == 200
        now += 2
        assert first.get("/api/runs", Cookie=cookie).status == 401
        fresh = renewed.headers["set-cookie"].partition(";")[0]
        assert first.get("/api/runs", Cookie=fresh).status == 200
    again = Keys(keys.token, is_chosen=True, clock=lambda: now, secret=keys.secret)
    with served(running.parent, again, port) as second:
        assert second.get("/api/runs", Cookie=fresh).status == 200
    other_token = Keys(f"{keys.token}x", is_chosen=True, clock=lambda: now, secret=keys.secret)
    other_secret = Keys(keys.token, is_chosen=True, clock=lambda: now)
    assert other_secret.cookie_name(port) != keys.cookie_name(port)
    for other in (other_token, other_secret):
        with served(running.parent, other, port) as second:
            assert second.get("/api/runs", Cookie=fresh).status == 401
            renamed = fresh.replace(keys.cookie_name(port), second.cookie_name)
            assert second.get("/api/runs", Cookie=renamed).status == 401


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ({"Origin": "http://evil.example"}, "another site"),
        ({"Origin": "null"}, "another site"),
        ({"Origin": ""}, "Origin"),
        ({"Sec-Fetch-Site": "cross-site"}, "another site"),
        ({"Sec-Fetch-Site": "same-site"}, "another site"),
        ({"X-Loadstone": ""}, "x-loadstone"),
    ],
)
def test_another_site_changes_nothing(
    page: Served, running: Path, headers: dict[str, str], why: str
) -> None:
    answer = page.post(f"/api/runs/{running.name}/stop", {}, **headers)
    assert answer.status == 403
    assert why in answer.text
    assert control_requests.take(running) == []


def test_another_site_reads_nothing_but_may_link_to_the_page(page: Served) -> None:
    asked = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}
    assert page.get("/api/runs", **asked).status == 403
    linked = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert page.get("/", **linked).status == 200
    assert page.get("/api/runs", **linked).status == 403


def test_the_pages_own_requests_become_wishes(page: Served, running: Path) -> None:
    place = f"/api/runs/{running.name}"
    assert page.post(f"{place}/users", {"step": 2, "users": 8}).status == 202
    assert page.post(f"{place}/rate", {"step": 2, "rate": 12.5}).status == 202
    assert page.post(f"{place}/stop", {}).status == 202
    assert control_requests.take(running) == [
        SetUsers(step=2, users=8),
        SetRate(step=2, rate=12.5),
        StopRun(),
    ]


def test_a_script_may_ask_with_the_token_and_without_a_browser(page: Served, running: Path) -> None:
    headers = {"Origin": "", "Cookie": "", "Authorization": f"Bearer {page.keys.token}"}
    assert page.post(f"/api/runs/{running.name}/stop", {}, **headers).status == 202
    assert control_requests.take(running) == [StopRun()]


@pytest.mark.parametrize(
    ("wish", "body", "status"),
    [
        ("users", {"step": 1, "users": 0}, 400),
        ("users", {"step": 1, "users": "many"}, 400),
        ("users", {"step": 1, "users": 3, "more": 1}, 400),
        ("rate", {"step": 1, "rate": -1}, 400),
        ("rate", {"step": 1, "rate": float("inf")}, 400),
        ("stop", [], 400),
        ("stop", {"x": "y" * 10_000}, 413),
        ("kill", {}, 404),
    ],
)
def test_what_is_no_wish_is_refused(
    page: Served, running: Path, wish: str, body: object, status: int
) -> None:
    assert page.post(f"/api/runs/{running.name}/{wish}", body).status == status
    assert control_requests.take(running) == []


def test_a_run_that_is_over_is_not_asked(tmp_path: Path, script: Script) -> None:
    run = recorded_run(tmp_path)
    with served(tmp_path) as page:
        answer = page.post(f"/api/runs/{run.name}/stop", {})
    told = {"the run is over": {"zh": "测试已结束"}}
    assert (answer.status, answer.json) == (409, {"error": "the run is over", "told": told})
    assert not (run / control_requests.FOLDER).exists()


@pytest.mark.parametrize(
    "name",
    ["..", "%2e%2e", "..%2f..", "%2fetc", ".", ".hidden", "no-such", "a%00b", "x" * 400, "%ff%fe"],
)
def test_a_runs_name_is_no_path(page: Served, running: Path, name: str) -> None:
    # The parent of the folder of runs has something that looks like a run.
    above = running.parent.parent / "journal.jsonl"
    above.write_text("secret\n")
    for path in (f"/api/runs/{name}", f"/runs/{name}/report", f"/api/events?run={name}"):
        answer = page.get(path)
        assert answer.status in (404, 405), path
        assert b"secret" not in answer.body
    assert page.post(f"/api/runs/{name}/stop", {}).status == 404
    above.unlink()


@pytest.mark.parametrize("path", ["/static/../access.py", "/static/%2e%2e/access.py", "/static/"])
def test_only_the_pages_files_are_served(page: Served, path: str) -> None:
    assert page.get(path).status == 404


def test_a_token_that_could_be_tried_out_is_refused() -> None:
    with pytest.raises(TokenTooShort, match="at least 16"):
        Keys("short", is_chosen=True)
    assert Keys().token != Keys().token
