"""Who may begin what: each route, each person, and that nothing changes for others."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import scripted_engine
from loadstone.model.control import StopRun
from loadstone.recipes.offered import recipes_offered
from loadstone.runs import control_requests
from loadstone.runs.errors import StoreError
from loadstone.web.access import Keys
from loadstone.web.audit import FILE
from loadstone.web.begin import routes
from loadstone.web.begin.begun import ASKED, FOLDER, Asked, Begun
from loadstone.web.begin.dry_run import Said
from loadstone.web.begin.offers import Offers
from loadstone.web.people import UsersRefused, users_in
from recorded import a_plan, recorder_for
from web.served import Served, served

ALLOWED = "mysql://bench@db1:3306/shop"
OTHER = "mysql://bench@db2:3306/shop"
TOKENS = {name: f"the-secret-token-of-{name}" for name in ("watcher", "runner", "other")}
USERS = f"""
[user.watcher]
token = "{TOKENS["watcher"]}"

[user.runner]
token = "{TOKENS["runner"]}"
may = "run"
targets = ["throwaway", "{ALLOWED}"]

[user.other]
token_sha256 = "%s"
may = "run"
"""
RUN = {"kind": "run", "workload": "oltp_point_select"}
BEGINNING: list[tuple[str, dict[str, Any]]] = [
    ("/api/begin/check", {"target": ALLOWED}),
    ("/api/begin/look", {"form": RUN}),
    ("/api/begin/start", {"form": RUN, "ticket": "0" * 64}),
]


def users_file(folder: Path) -> Path:
    from hashlib import sha256

    path = folder / "users.toml"
    path.write_text(USERS % sha256(TOKENS["other"].encode()).hexdigest())
    path.chmod(0o600)
    return path


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of a run that is under way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "loadstone._engine", scripted_engine)
        recorder = recorder_for(tmp_path_factory.mktemp("rights") / "runs", a_plan())
        yield recorder.folder
        recorder.close()


@pytest.fixture(scope="module")
def team(running: Path) -> Iterator[Served]:
    """A page with three users."""
    keys = Keys(is_chosen=True, users=users_in(users_file(running.parent.parent)))
    with served(running.parent, keys, offers=Offers(recipes_offered())) as found:
        yield found


def audit(runs: Path) -> list[dict[str, Any]]:
    path = runs / FILE
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def acts(runs: Path) -> list[Path]:
    return list((runs / FOLDER).glob("*/asked.json"))


def test_a_page_without_may_run_begins_nothing(running: Path) -> None:
    with served(running.parent) as page:
        assert page.get("/api/me").json["may_run"] is False
        assert page.get("/api/begin").status == 403
        for path, body in BEGINNING:
            answer = page.post(path, body)
            assert (answer.status, "may-run" in answer.text) == (403, True), path
    assert acts(running.parent) == []


@pytest.mark.parametrize(("path", "body"), BEGINNING)
def test_who_may_only_watch_begins_nothing_and_the_try_is_noted(
    team: Served, running: Path, path: str, body: dict[str, Any]
) -> None:
    before = len(audit(running.parent))
    answer = team.post(path, body, Cookie=team.cookie_of("watcher"))
    assert answer.status == 403
    assert acts(running.parent) == []
    (line,) = audit(running.parent)[before:]
    assert (line["who"], line["outcome"]) == ("watcher", "refused")


def test_who_may_only_watch_changes_no_run(team: Served, running: Path) -> None:
    cookie = team.cookie_of("watcher")
    assert team.get("/api/runs", Cookie=cookie).status == 200
    for wish, body in (
        ("stop", {}),
        ("users", {"step": 1, "users": 2}),
        ("rate", {"step": 1, "rate": 5}),
    ):
        answer = team.post(f"/api/runs/{running.name}/{wish}", body, Cookie=cookie)
        assert answer.status == 403
    assert control_requests.take(running) == []


def test_who_may_only_watch_proves_nothing_and_stops_no_proof(team: Served, running: Path) -> None:
    """One click asks for the same command as any: its list, its start, and its stop."""
    folder = running.parent / FOLDER / "20260101000000-0123abcd"
    folder.mkdir(parents=True)
    asked = Asked(
        id=folder.name, kind="prove", words=("diagnose", running.name, "--prove"), who="runner",
        targets=("throwaway",), unix_s=1.0, run=running.name,
    )  # fmt: skip
    (folder / ASKED).write_text(asked.model_dump_json())
    form = {"kind": "prove", "run": running.name, "yes": True}
    before = len(audit(running.parent))
    for name in ("watcher", "other"):
        cookie = team.cookie_of(name)
        for path, body in (
            ("begin/look", {"form": form}),
            ("begin/start", {"form": form, "ticket": "0" * 64}),
            (f"begun/{folder.name}/stop", {}),
        ):
            assert team.post(f"/api/{path}", body, Cookie=cookie).status == 403, (name, path)
    assert acts(running.parent) == [folder / ASKED]
    assert {path.name for path in folder.iterdir()} == {ASKED}
    assert not (running / "proofs").exists()
    assert {line["outcome"] for line in audit(running.parent)[before:]} == {"refused"}
    (folder / ASKED).unlink()
    folder.rmdir()


def test_who_may_only_watch_reads_trends_of_all_runs(team: Served) -> None:
    """The folder has one run: that is no trend, and it is said as to everybody."""
    assert team.get("/api/trend", Cookie="").status == 401
    answer = team.get("/api/trend?workload=oltp", Cookie=team.cookie_of("watcher"))
    assert (answer.status, "several runs" in answer.json["error"]) == (422, True)


def test_who_may_run_stops_only_what_the_person_began(team: Served, running: Path) -> None:
    place = f"/api/runs/{running.name}/stop"
    assert team.post(place, {}, Cookie=team.cookie_of("runner")).status == 403
    assert control_requests.take(running) == []
    folder = running.parent / FOLDER / "20260101000000-0123abcd"
    folder.mkdir(parents=True)
    asked = Asked(
        id=folder.name, kind="run", words=("run", "x"), targets=(ALLOWED,), who="runner", unix_s=1.0
    )
    (folder / ASKED).write_text(asked.model_dump_json())
    (folder / "folder").write_text(f"{running}\n")
    assert team.post(place, {}, Cookie=team.cookie_of("other")).status == 403
    assert team.post(place, {}, Cookie=team.cookie_of("runner")).status == 202
    assert control_requests.take(running) == [StopRun()]
    # What is over is not stopped, and nobody stops what another person began.
    stop = f"/api/begun/{folder.name}/stop"
    assert team.post(stop, {}, Cookie=team.cookie_of("other")).status == 403
    assert team.post(stop, {}, Cookie=team.cookie_of("runner")).status == 409
    for path in sorted(folder.iterdir()):
        path.unlink()
    folder.rmdir()


@pytest.mark.parametrize(
    "form",
    [
        RUN | {"target": OTHER},
        RUN | {"target": f"{ALLOWED}?tls=disabled"},
        {"kind": "recipe", "recipe": "tls", "given": {"target": OTHER}},
    ],
)
def test_who_may_run_uses_only_the_targets_of_that_person(
    team: Served, running: Path, form: dict[str, Any]
) -> None:
    cookie = team.cookie_of("runner")
    for path, more in (("look", {}), ("start", {"ticket": "0" * 64})):
        answer = team.post(f"/api/begin/{path}", {"form": form, **more}, Cookie=cookie)
        assert (answer.status, "this target" in answer.text) == (403, True)
    assert team.post("/api/begin/check", {"target": OTHER}, Cookie=cookie).status == 403
    assert acts(running.parent) == []


def test_the_choices_of_a_person_are_the_allowed_targets(team: Served) -> None:
    found = team.get("/api/begin", Cookie=team.cookie_of("runner")).json
    assert [one["url"] for one in found["targets"]] == ["throwaway", ALLOWED]
    assert found["any_target"] is False
    assert team.get("/api/begin", Cookie=team.cookie_of("watcher")).status == 403


def test_nothing_starts_that_was_not_looked_at(team: Served, running: Path) -> None:
    cookie = team.cookie_of("runner")
    answer = team.post("/api/begin/start", {"form": RUN, "ticket": "0" * 64}, Cookie=cookie)
    assert answer.status == 409
    assert acts(running.parent) == []


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("look", {"form": RUN | {"workload": "/etc/passwd"}}, 400),
        ("look", {"form": RUN | {"workload": "mine.toml"}}, 400),
        ("look", {"form": RUN | {"target": "mysql://me:secret@db1/x"}}, 400),
        ("look", {"form": {"kind": "recipe", "recipe": "no-such"}}, 404),
        (
            "look",
            {"form": {"kind": "recipe", "recipe": "tls", "given": {"server": "/bin/sh"}}},
            400,
        ),
        ("look", {"form": {"kind": "recipe", "recipe": "tls", "given": {"server": "d/1"}}}, 400),
        ("look", {"form": {"kind": "prove", "run": "no-such"}}, 404),
        ("look", {"form": RUN, "more": 1}, 400),
        ("start", {"form": RUN}, 400),
        ("start", {"form": RUN, "ticket": "é" * 64}, 409),
        ("check", {"target": "throwaway://"}, 400),
        ("check", [], 400),
        ("check", {"target": "x" * 9000}, 413),
    ],
)
def test_what_cannot_be_begun_is_refused(
    team: Served, running: Path, path: str, body: Any, status: int
) -> None:
    answer = team.post(f"/api/begin/{path}", body, Cookie=team.cookie_of("runner"))
    assert answer.status == status, answer.text
    assert b"secret" not in answer.body
    assert acts(running.parent) == []


LEFT_OUT = "not tried  flush: it would set x for all on db1:3306, which is no sandbox: --yes"
ON_OWN = RUN | {"target": ALLOWED}
TLS = {"kind": "recipe", "recipe": "tls", "given": {"target": ALLOWED}}


@pytest.mark.parametrize(
    ("form", "said", "asks"),
    [
        # Some trials are left out without consent: it is offered, and the rest may start.
        ({"kind": "prove"}, Said(f"io: a trial\n{LEFT_OUT}", 0), (False, True, True)),
        ({"kind": "prove", "yes": True}, Said("io: a trial", 0), (False, False, True)),
        ({"kind": "prove"}, Said("io: a trial", 0), (False, False, True)),
        # All of them need it.
        ({"kind": "prove"}, Said(f"error: {LEFT_OUT}", 7), (True, False, False)),
        # Proofs after a run, whose load itself needs none.
        (ON_OWN | {"prove": True}, Said(LEFT_OUT, 0), (False, True, True)),
        (ON_OWN | {"prove": True, "yes": True}, Said("", 0), (False, False, True)),
        (ON_OWN, Said("note: a table is called --yes", 0), (False, False, True)),
        (ON_OWN, Said("error: orders is there: --yes", 7), (True, False, False)),
        # An experiment lists what it changes on a target, and asks for no consent.
        (TLS, Said("sets x", 0), (True, False, False)),
        (TLS | {"yes": True}, Said("sets x", 0), (True, False, True)),
    ],
)
def test_consent_is_asked_for_where_the_command_would_ask(
    running: Path,
    monkeypatch: pytest.MonkeyPatch,
    form: dict[str, Any],
    said: Said,
    asks: tuple[bool, bool, bool],
) -> None:
    """`asks`: whether it needs consent, offers more with it, and may be started."""
    noted: list[dict[str, Any]] = []

    async def say(words: tuple[str, ...], language: str) -> Said:
        noted.append(audit(running.parent)[-1])
        return said

    monkeypatch.setattr(routes, "said_by", say)
    asked = {"run": running.name} | form if form["kind"] == "prove" else form
    with served(running.parent, Keys(may_run=True), offers=Offers(recipes_offered())) as page:
        found = page.post("/api/begin/look", {"form": asked}).json
    assert (found["needs_yes"], found["more_with_yes"], found["ticket"] is not None) == asks
    # Looking logs in to servers: it is noted before it is done.
    (line,) = noted
    assert (line["act"], line["outcome"]) == (f"look at {form['kind']}", "asked")
    assert line["command"] == f"{found['command']} --dry-run"


def test_a_start_that_fails_is_noted_and_answered(
    running: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async def say(words: tuple[str, ...], language: str) -> Said:
        return Said("starts a throwaway server", 0)

    monkeypatch.setattr(routes, "said_by", say)
    runs = tmp_path / "runs"
    runs.mkdir()
    with served(runs, Keys(may_run=True), offers=Offers(recipes_offered())) as page:
        ticket = page.post("/api/begin/look", {"form": RUN}).json["ticket"]
        (runs / FOLDER).symlink_to(tmp_path)
        answer = page.post("/api/begin/start", {"form": RUN, "ticket": ticket})
    assert (answer.status, "it is a link" in answer.json["error"]) == (500, True)
    lines = [(line["act"], line["outcome"]) for line in audit(runs)]
    assert lines == [("look at run", "asked"), ("begin run", "started"), ("begin run", "failed")]
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


@pytest.mark.parametrize(
    ("path", "body", "why"),
    [
        ("begin/look", {"form": RUN | {"target": "mysql://me:secret@db1/x"}}, "密码"),
        ("begin/look", {"form": RUN | {"more": 1}}, "没有这个键"),
        ("begin/look", {"form": TLS | {"given": {"server": "d/1"}}}, "命令行"),
        ("runs/{run}/users", {"step": 1, "users": 0}, "1"),
    ],
)
def test_why_a_form_is_refused_is_said_in_chinese(
    running: Path, path: str, body: dict[str, Any], why: str
) -> None:
    with served(running.parent, Keys(may_run=True), offers=Offers(recipes_offered())) as page:
        answer = page.post(f"/api/{path.format(run=running.name)}", body)
    assert answer.status == 400
    chinese = answer.json["told"][answer.json["error"]]["zh"]
    assert why in chinese and chinese.isprintable() and "：" in chinese


def test_the_command_for_a_change_is_shown_to_copy(team: Served, running: Path) -> None:
    found = team.get(f"/api/runs/{running.name}/ask", Cookie=team.cookie_of("runner"))
    assert found.json["command"] == f"loadstone runs ask {running.name} --out={running.parent}"
    assert team.get("/api/runs/no-such/ask", Cookie=team.cookie_of("runner")).status == 404
    assert team.get(f"/api/runs/{running.name}/ask", Cookie="").status == 401


def test_another_site_begins_nothing(team: Served, running: Path) -> None:
    cookie = team.cookie_of("runner")
    for headers in (
        {"Origin": "http://evil.example"},
        {"X-Loadstone": ""},
        {"Sec-Fetch-Site": "cross-site"},
    ):
        for path, body in (*BEGINNING, (f"/api/runs/{running.name}/share", {})):
            assert team.post(path, body, **{"Cookie": cookie} | headers).status == 403
    assert acts(running.parent) == []


def test_nobody_opens_the_page_of_users_with_another_token(team: Served) -> None:
    for token in (team.keys.token, "wrong-secret-of-many-characters", ""):
        assert team.get("/api/runs", Cookie="", Authorization=f"Bearer {token}").status == 401
    for name, token in TOKENS.items():
        answer = team.get("/api/me", Cookie="", Authorization=f"Bearer {token}")
        assert answer.json["name"] == name
    assert team.get("/api/me", Cookie=team.cookie_of("runner")).json["may_run"] is True


def test_a_shared_run_is_read_and_nothing_else(team: Served, running: Path) -> None:
    shared = team.post(f"/api/runs/{running.name}/share", {}, Cookie=team.cookie_of("watcher"))
    token = shared.json["token"]
    opened = team.get(f"/?token={token}", Cookie="")
    assert opened.status == 303
    cookie = opened.headers["set-cookie"].partition(";")[0]
    me = team.get("/api/me", Cookie=cookie).json
    assert me == {"name": "watcher", "may_run": False, "may_steer": False, "only": running.name}
    for path in (f"/api/runs/{running.name}", f"/runs/{running.name}/result.json"):
        assert team.get(path, Cookie=cookie).status == 200
    stream = team.stream(running.name, Cookie=cookie)
    assert [one["name"] for one in stream.until("runs").data["runs"]] == [running.name]
    stream.close()
    for path in (
        "/api/runs", "/api/events", "/api/begun", "/api/begin", "/metrics", "/api/runs/other",
        f"/api/runs/{running.name}/ask",
        f"/api/compare?run={running.name}&run={running.name}", "/api/events?run=other",
        f"/compare?run={running.name}&run=other", "/api/trend", f"/api/trend?name={running.name}",
        f"/api/events?run={running.name}&run=other",
    ):  # fmt: skip
        assert team.get(path, Cookie=cookie).status == 403, path
    for path in ("stop", "share"):
        assert team.post(f"/api/runs/{running.name}/{path}", {}, Cookie=cookie).status == 403
    assert control_requests.take(running) == []
    # The name of another run under the same signature is no token.
    packed, _, mac = token.partition(".")
    forged = json.dumps(["watcher", "other"]).encode().hex()
    assert team.get(f"/?token={forged}.{mac}", Cookie="").status == 401
    assert team.get(f"/?token={packed}.{'0' * 64}", Cookie="").status == 401


def test_a_shared_run_outlives_the_page_but_not_the_persons_token(running: Path) -> None:
    token = "a-secret-of-many-characters"
    keys = Keys(token, is_chosen=True)
    shared = keys.share(keys.owner, running.name)
    again = Keys(token, is_chosen=True, secret=keys.secret).opens(shared)
    assert again is not None and again.only == running.name
    other = Keys("another-secret-of-many-chars", is_chosen=True, secret=keys.secret)
    assert other.opens(shared) is None
    assert Keys(token, is_chosen=True).opens(shared) is None


def test_a_shared_run_does_not_take_the_place_of_ones_own_rights(
    team: Served, running: Path
) -> None:
    share = f"/api/runs/{running.name}/share"
    token = team.post(share, {}, Cookie=team.cookie_of("watcher")).json["token"]
    own = team.cookie_of("runner")
    opened = team.get(f"/?token={token}", Cookie=own)
    kept = opened.headers["set-cookie"].partition(";")[0]
    # From another site's page a browser sends no cookie along.
    followed = team.get(f"/?token={token}", Cookie="")
    shared = followed.headers["set-cookie"].partition(";")[0]
    assert team.get("/api/me", Cookie=shared).json["only"] == running.name
    for cookies in (kept, f"{own}; {shared}", f"{shared}; {own}"):
        me = team.get("/api/me", Cookie=cookies).json
        assert (me["name"], me["may_run"], me["only"]) == ("runner", True, None)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('[user.li]\ntoken = "short"', "at least 16"),
        ("[user.li]\nmay = 'run'", "token or token_sha256"),
        ('[user.li]\ntoken = "a-secret-of-many-characters"\nmay = "all"', "may"),
        ('[user."../li"]\ntoken = "a-secret-of-many-characters"', "user"),
        ('[user.li]\ntoken = "a-secret-of-many-characters"\ntargets = ["/x"]', "targets"),
        ("[user.li", "not valid TOML"),
        ("", "user"),
        (
            '[user.a]\ntoken = "a-secret-of-many-characters"\n'
            '[user.b]\ntoken = "a-secret-of-many-characters"',
            "same token",
        ),
    ],
)
def test_a_file_of_users_that_is_wrong_is_refused(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "users.toml"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(UsersRefused, match=why) as refused:
        users_in(path)
    assert "secret" not in str(refused.value)


def test_a_file_of_users_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = users_file(tmp_path)
    path.chmod(0o640)
    with pytest.raises(UsersRefused, match="others can read"):
        users_in(path)


def test_who_cannot_be_noted_or_kept_begins_nothing(running: Path, tmp_path: Path) -> None:
    """A link stands where the page writes: it is not followed, and the act is not done."""
    runs, outside = tmp_path / "runs", tmp_path / "outside"
    runs.mkdir()
    outside.mkdir()
    (outside / "file").write_text("somebody else's\n")
    with served(runs, Keys(may_run=True), offers=Offers(recipes_offered())) as page:
        (runs / FILE).symlink_to(outside / "file")
        assert page.post("/api/begin/check", {"target": ALLOWED}).status == 500
        (runs / FILE).unlink()
        (runs / FOLDER).symlink_to(outside)
        asked = Asked(
            id="20260101000000-0123abcd", kind="run", words=("run", "x"), targets=(), who="",
            unix_s=1.0,
        )  # fmt: skip
        with pytest.raises(StoreError, match="it is a link"):
            Begun(runs).start(asked, "en")
        assert page.get("/api/begun").json["begun"] == []
    assert [path.name for path in outside.iterdir()] == ["file"]
    assert (outside / "file").read_text() == "somebody else's\n"


def test_a_command_that_cannot_be_started_is_not_in_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = Begun(tmp_path)
    asked = Asked(
        id="20260101000000-0123abcd", kind="run", words=("run", "x"), targets=(), who="", unix_s=1.0
    )
    monkeypatch.setattr("sys.executable", str(tmp_path / "nothing"))
    with pytest.raises(StoreError, match="cannot start the command"):
        begun.start(asked, "en")
    assert begun.lines() == []
    assert list((tmp_path / FOLDER).iterdir()) == []
