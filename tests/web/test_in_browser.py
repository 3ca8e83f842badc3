"""The page in a real browser: drawn, updated in time, back after a restart, in two languages."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest

from in_browser import FAINT
from loadstone import engine
from loadstone.experiments.trials import CHANGED, FACTOR
from loadstone.model.control import SetUsers, StopRun
from loadstone.model.engine_plan import step_document
from loadstone.model.message import plain, say
from loadstone.model.plan import WATCHED, Step, WorkloadSpec
from loadstone.model.records import Sample
from loadstone.model.target import Credentials, Endpoint, Target
from loadstone.runs import control_requests
from loadstone.runs.preparing import Preparation
from loadstone.runs.proofs import STEPS, write_proofs
from loadstone.runs.recorder import Recorder
from loadstone.web.access import COOKIE_S
from recorded import a_plan, record_step, recorded_run, recorder_for, steps_of
from scripted_engine import Script
from web.proved import a_proof, with_a_trial
from web.served import served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("not evaluated: there is no Chromium", allow_module_level=True)
sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect

HOSTILE = "<img src=x onerror=document.title='owned'>"
PATIENCE_MS = 130_000
"""A machine may be busy with other tests; what takes longer hangs."""

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_api.sync_playwright() as playwright:
        # As root Chromium does not start with its sandbox; the page is our own.
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page in a new browser; any error in its console fails the test."""
    context = browser.new_context(locale="en-US", viewport={"width": 1280, "height": 900})
    found = context.new_page()
    found.set_default_timeout(PATIENCE_MS)
    complaints: list[str] = []
    found.on("pageerror", lambda error: complaints.append(str(error)))
    found.on(
        "console",
        lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None,
    )
    yield found
    context.close()
    # The browser reports a server that was ended on purpose, and the next one requires its link.
    missed = ("ERR_CONNECTION", "ERR_INCOMPLETE", "status of 401")
    assert [one for one in complaints if not any(word in one for word in missed)] == []


def pixels(page: Page, figure: str) -> int:
    """How many different colours its canvas has, once it has one: an empty one has one."""
    page.wait_for_selector(f"#{figure} canvas")
    counted: int = page.evaluate(
        """(id) => {
          const canvas = document.querySelector(`#${id} canvas`);
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          return new Set(new Uint32Array(data.buffer)).size;
        }""",
        figure,
    )
    return counted


def begun(recorder: Recorder, users: int = 8) -> None:
    """A step under way: connected, and two seconds old."""
    plan = a_plan(ladder=(users,), duration_s=30.0)
    (step,) = steps_of(plan)
    endpoint = Endpoint(target=plan.targets[0], credentials=Credentials())
    job = engine.start(step_document(plan, step, [endpoint]))
    recorder.begin_step(step)
    samples = 0
    while samples < 2:
        record = job.next(0.0)
        assert record is not None
        recorder.record(step, record)
        samples += isinstance(record, Sample)


def test_a_figure_is_drawn_in_each_frame_so_that_the_first_is_seen_at_once(
    page: Page, tmp_path: Path, script: Script
) -> None:
    recorded_run(tmp_path)
    with served(tmp_path) as server:
        page.goto(server.link)
        page.wait_for_selector("#timeline-rates canvas")
        drawn = page.evaluate(
            """async () => {
              const { Charts } = await import("/static/charts.js");
              const charts = new Charts();
              const figures = [1, 2, 3].map((number) => `figure-${number}`);
              for (const id of figures) {
                const place = Object.assign(document.createElement("div"), { id });
                place.className = "figure";
                document.body.append(place);
                charts.draw(id, { xAxis: { name: "" }, yAxis: { name: "" }, series: [] }, "");
              }
              const made = () => figures.filter((id) => charts.drawn.get(id).chart).length;
              const found = [made()];
              while (found.at(-1) < 3 && found.length < 100) {
                await new Promise((shown) => requestAnimationFrame(shown));
                found.push(made());
              }
              return found;
            }"""
        )
    assert drawn[0] == 1
    assert all(later - before <= 1 for before, later in pairwise(drawn))
    assert drawn[-1] == 3


def test_the_page_works_where_a_proxy_allows_no_script_within_it(
    browser: Browser, tmp_path: Path, script: Script
) -> None:
    def narrow(route: Route) -> None:
        answer = route.fetch()
        policy = re.sub(
            "script-src [^;]*", "script-src 'self'", answer.headers["content-security-policy"]
        )
        headers = {**answer.headers, "content-security-policy": policy}
        route.fulfill(response=answer, headers=headers)

    run = recorded_run(tmp_path)
    page = browser.new_page()
    said: list[str] = []
    page.on("console", lambda one: said.append(one.text))
    with served(tmp_path) as server:
        page.goto(server.link)
        page.route(server.url, narrow)
        page.goto(f"{server.url}#run={run.name}")
        page.reload()
        expect(page.locator("#run-name")).to_have_text(run.name)
        assert pixels(page, "timeline-rates") > 10
    page.close()
    assert any("Content Security Policy" in one for one in said), "the script was refused"


def test_a_run_is_drawn_with_its_ladder_findings_and_seconds(
    page: Page, tmp_path: Path, script: Script
) -> None:
    run = recorded_run(tmp_path)
    with served(tmp_path) as server:
        page.goto(server.link)
        expect(page.locator("#run-name")).to_have_text(run.name)
        expect(page.locator("#state")).to_have_text("finished")
        expect(page.locator("#rows tbody tr")).to_have_count(2)
        expect(page.locator("#findings article").first).to_be_visible()
        figures = ("ladder", "timeline-rates", "timeline-latency", "timeline-connections", "heat")
        for figure in figures:
            assert pixels(page, figure) > 10, figure
        expect(page.locator("#controls")).to_be_hidden()


def test_a_run_that_begins_is_shown_and_told_each_second(
    page: Page, tmp_path: Path, script: Script
) -> None:
    with served(tmp_path) as server:
        page.goto(server.link)
        expect(page.locator("#no-runs")).to_be_visible()
        recorder = recorder_for(tmp_path, a_plan(ladder=(8,)))
        begun(recorder)
        expect(page.locator("#numbers")).to_contain_text("TPS80")
        expect(page.locator("#step")).to_contain_text("8 users")
        expect(page.locator("#progress")).to_contain_text("about 3 s left of the whole")
        expect(page.locator("#state")).to_have_text("running")
        expect(page.locator("#about")).not_to_contain_text("null")
        recorder.close()
        expect(page.locator("#state")).to_have_text("interrupted")


def test_a_server_that_is_only_watched_has_no_users_and_no_rates(
    page: Page, tmp_path: Path, script: Script
) -> None:
    workload = WorkloadSpec(name=WATCHED, tables=1, table_size=1)
    plan = a_plan(name=WATCHED, workload=workload, ladder=(1,))
    with served(tmp_path) as server:
        recorder = recorder_for(tmp_path, plan)
        page.goto(server.link)
        said = "The server is watched, without load of ours."
        expect(page.locator("#ladder-wait")).to_have_text(said)
        recorder.begin_step(steps_of(plan)[0])
        expect(page.locator("#step")).to_have_text(said)
        for hidden in ("#ladder", "#rows", "#set-users"):
            expect(page.locator(hidden)).to_be_hidden()
        expect(page.locator("#numbers")).to_be_empty()
        recorder.close()


@pytest.mark.slow  # the page waits for seconds
def test_the_page_comes_back_after_its_server_was_started_anew(
    page: Page, tmp_path: Path, script: Script
) -> None:
    plan = a_plan()
    recorder = recorder_for(tmp_path, plan)
    with ExitStack() as first:
        server = first.enter_context(served(tmp_path))
        page.goto(server.link)
        expect(page.locator("#state")).to_have_text("running")
        first.close()
        expect(page.locator("#link")).to_contain_text("trying again")
    record_step(recorder, plan, steps_of(plan)[0])
    with served(tmp_path, port=server.address.port) as again:
        # The old server's cookie is gone with it.
        expect(page.locator("#link")).to_contain_text("needs its link again")
        page.context.new_page().goto(again.link)
        expect(page.locator("#rows tbody tr")).to_have_count(1)
        expect(page.locator("#link")).to_have_text("")
        page.locator("#stop").click()
        page.locator("#stop").click()
        expect(page.locator("#answer")).to_contain_text("Requested")
    assert control_requests.take(recorder.folder) == [StopRun()]
    recorder.close()


def test_users_are_changed_with_the_keyboard_alone(
    page: Page, tmp_path: Path, script: Script
) -> None:
    recorder = recorder_for(tmp_path, a_plan(ladder=(8,)))
    begun(recorder)
    with served(tmp_path) as server:
        page.goto(server.link)
        expect(page.locator("#set-users")).to_be_visible()
        expect(page.locator("#set-rate")).to_be_hidden()
        page.locator("#users").focus()
        page.keyboard.press("Control+a")
        page.keyboard.type("3")
        page.keyboard.press("Enter")
        expect(page.locator("#answer")).to_contain_text("Requested")
    assert control_requests.take(recorder.folder) == [SetUsers(step=1, users=3)]
    recorder.close()


def test_names_and_errors_of_others_stay_text(page: Page, tmp_path: Path, script: Script) -> None:
    script.outages = [
        {"kind": "outage", "from_s": 1.0, "to_s": 2.0, "users": 1, "reason": f"2013 {HOSTILE}"}
    ]
    # Every JavaScript object has a property of that name.
    plan = a_plan(workload=WorkloadSpec(name="constructor", tables=1, table_size=100))
    recorder = recorder_for(tmp_path, plan, version=HOSTILE)
    record_step(recorder, plan, steps_of(plan)[0])
    recorder.note(plain(HOSTILE))
    recorder.end_run("finished")
    hostile = tmp_path / "<b>bold<script>document.title='owned'<script>"
    recorder.folder.rename(hostile)
    with served(tmp_path) as server:
        page.goto(server.link)
        expect(page.locator("#run-name")).to_have_text(hostile.name)
        expect(page.locator("#notes")).to_contain_text(HOSTILE)
        expect(page.locator("#about")).to_contain_text(HOSTILE)
        assert pixels(page, "ladder") > 10
        assert page.locator("main img, main b:has-text('bold'), nav b").count() == 0
        assert "owned" not in page.title().replace(hostile.name, "")


def test_language_and_colours_are_switched_and_kept(
    page: Page, tmp_path: Path, script: Script
) -> None:
    recorded_run(tmp_path)
    with served(tmp_path) as server:
        page.goto(server.link)
        expect(page.locator("#state")).to_have_text("finished")
        light = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.locator("#language").select_option("zh")
        page.locator("#theme").select_option("dark")
        expect(page.locator("#state")).to_have_text("完成")
        expect(page.locator("#ladder-title")).to_have_text("并发阶梯")
        # Including the rules' messages, which the run's folder keeps in English.
        expect(page.locator("#findings article p").first).to_contain_text(
            re.compile("[\u4e00-\u9fff]")
        )
        assert page.locator("#findings article p[lang=en]").count() == 0
        page.reload()
        expect(page.locator("#state")).to_have_text("完成")
        assert page.locator("html").get_attribute("lang") == "zh-CN"
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light


def test_two_runs_are_picked_and_compared(page: Page, tmp_path: Path, script: Script) -> None:
    recorded_run(tmp_path, a_plan(name="one"))
    script.tps = lambda users, second: 20 * users
    recorded_run(tmp_path, a_plan(name="other"))
    with served(tmp_path) as server:
        page.goto(server.link)
        boxes = page.locator("nav input[type=checkbox]")
        expect(boxes).to_have_count(2)
        expect(page.locator("#compare")).to_be_disabled()
        boxes.nth(0).check()
        boxes.nth(1).check()
        page.locator("#compare").click()
        rows = page.locator("#comparison tbody").last.locator("tr")
        expect(rows).to_have_count(2)
        expect(page.locator("#comparison")).to_contain_text("No difference was found.")
        # One step of each is no evidence, however far they are apart.
        expect(rows.first).to_contain_text("not enough evidence")
        assert pixels(page, "compared-ladders") > 10


def test_runs_of_two_workloads_have_no_picture_and_an_ended_run_says_its_level(
    page: Page, tmp_path: Path, script: Script
) -> None:
    recorded_run(tmp_path, a_plan(name="one"))
    reads = WorkloadSpec(name="oltp_read_only", tables=2, table_size=100)
    recorded_run(tmp_path, a_plan(name="other", workload=reads))
    with served(tmp_path) as server:
        page.goto(server.link)
        expect(page.locator("#numbers")).to_contain_text("level4 users")
        behind = "getComputedStyle(document.querySelector('#rows').parentNode).backgroundImage"
        assert "linear-gradient" in page.evaluate(behind)
        for box in page.locator("nav input[type=checkbox]").all():
            box.check()
        page.locator("#compare").click()
        expect(page.locator("#comparison")).to_contain_text(
            "No level was measured with the same workload"
        )
        expect(page.locator("#compared-ladders")).to_have_count(0)
        expect(page.locator("#comparison")).not_to_contain_text("what it means")
        expect(page.locator("#comparison")).to_contain_text("workload")


@pytest.mark.slow  # the page waits for seconds
def test_a_proof_shows_what_is_changed_now_and_the_prediction_next_to_what_was_measured(
    page: Page, tmp_path: Path, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("loadstone.web.diagnosis.findings_of", with_a_trial)
    run = recorded_run(tmp_path)
    trial = recorder_for(run / STEPS, a_plan(name="not-observed", ladder=(4, 4)))
    changed = Step(
        number=2, workload="oltp_read_write", concurrency=4, variant=f"{FACTOR}={CHANGED}"
    )
    with served(tmp_path) as server:
        page.goto(server.link)
        expect(page.locator("#proof-trial")).to_contain_text("Between two steps")
        trial.begin_step(changed)
        expect(page.locator("#proof-trial .changed")).to_have_text("Changed now: x=2 in place of 1")
        expect(page.locator("#proof-trial progress")).to_have_attribute("max", "2")
        trial.end_step(changed, "stopped")
        expect(page.locator("#proof-trial")).to_contain_text("1 of 2 steps")
        trial.end_run("finished")
        trial.close()
        write_proofs(run, [a_proof("not-observed")])
        result = page.locator("#proof-rows article")
        expect(result).to_contain_text("proven")
        for text in ("400", "500 .. 700", "600", "+50 % (+40 % .. +60 %)"):
            expect(result).to_contain_text(text)
        expect(page.locator("#proof-trial")).to_be_hidden()
        expect(page.locator("#proof-report")).to_have_attribute(
            "href", f"/runs/{run.name}/report?lang=en"
        )
        # Who may not run anything sees all of it, and no button.
        expect(page.locator("#prove")).to_be_hidden()


def at_rate(rate: int) -> Callable[[int, int], int]:
    return lambda users, second: rate * users


@pytest.mark.slow  # nine runs are recorded
def test_runs_are_filtered_followed_over_time_and_more_than_two_compared(
    page: Page, tmp_path: Path, script: Script
) -> None:
    for night in range(8):
        rate = 500 - night % 2 if night < 4 else 300 + night % 2
        script.tps = at_rate(rate)
        recorded_run(tmp_path, a_plan(name="nightly", ladder=(2,), duration_s=2.0))
    recorded_run(tmp_path, a_plan(name="other", ladder=(2,), duration_s=2.0))
    with served(tmp_path) as server:
        page.goto(server.link)
        listed = page.locator("#runs li")
        expect(listed).to_have_count(9)
        page.locator("#filters summary").click()
        page.locator("#filter-name").fill("night")
        expect(listed).to_have_count(8)
        expect(page.locator("#filtered")).to_have_text("8 of 9 runs")
        page.locator("#trend-of").click()
        expect(page.locator("#trend-title")).to_have_text("Trend of 8 runs")
        expect(page.locator("#trend code")).to_contain_text(
            "loadstone runs trend --named=night --metric=tps"
        )
        turns = page.locator("#trend-changes article")
        expect(turns.first).to_contain_text("-39.8 % (worse) from nightly")
        for figure in ("trend-rates", "trend-response"):
            assert pixels(page, figure) > 10, figure
        # The address alone shows the same, with its filter.
        page.reload()
        expect(page.locator("#filter-name")).to_have_value("night")
        expect(turns.first).to_contain_text("worse")
        page.locator("#language").select_option("zh")
        expect(page.locator("#trend-title")).to_have_text("8 次测试的趋势")
        page.locator("#language").select_option("en")
        expect(page.locator("#trend-title")).to_have_text("Trend of 8 runs")
        for box in page.locator("nav input[type=checkbox]").all()[:3]:
            box.check()
        page.locator("#compare").click()
        expect(page.locator("#comparison h2")).to_contain_text("2 runs against nightly")
        expect(page.locator("#comparison tbody").last.locator("tr")).to_have_count(1)
        expect(page.locator("#comparison thead").last).to_contain_text("change C")
        assert pixels(page, "compared-ladders") > 10


def test_the_report_opens_behind_its_link(page: Page, tmp_path: Path, script: Script) -> None:
    run = recorded_run(tmp_path)
    with served(tmp_path) as server:
        page.goto(server.link)
        answer = page.goto(f"{server.url}runs/{run.name}/report?lang=zh")
        assert answer is not None
        assert answer.status == 200
        assert "sandbox" in answer.headers["content-security-policy"]
        expect(page.locator("h1")).to_be_visible()
        assert page.locator("html").get_attribute("lang") == "zh-CN"
        # It has its own origin: it cannot ask this server for anything.
        assert page.evaluate("window.origin") == "null"


def test_with_a_wrong_token_a_browser_is_given_nothing(
    browser: Browser, tmp_path: Path, script: Script
) -> None:
    run = recorded_run(tmp_path)
    context = browser.new_context()
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    with served(tmp_path) as server:
        url = f"{server.url}?token=another-secret-of-many-characters"
        answer = page.goto(url)
        assert answer is not None
        assert answer.status == 401
        assert run.name not in page.content()
        assert page.locator("script, link, h1").count() == 0
        # Neither a cookie, nor any other request.
        assert context.cookies() == []
        assert [one for one in asked if not one.endswith("/favicon.ico")] == [url]
    context.close()


def test_the_token_leaves_the_address_once_it_was_given(
    page: Page, tmp_path: Path, script: Script
) -> None:
    run = recorded_run(tmp_path)
    with served(tmp_path) as server:
        page.goto(f"{server.link}#run={run.name}")
        expect(page.locator("#state")).to_have_text("finished")
        assert page.url == f"{server.url}#run={run.name}"
        page.go_back()
        assert server.keys.token not in page.url
        (cookie,) = page.context.cookies()
        assert server.keys.token not in cookie["value"]
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        assert 0 < cookie["expires"] - time.time() <= COOKIE_S


def test_the_link_works_from_a_page_of_another_site(
    page: Page, tmp_path: Path, script: Script
) -> None:
    """A link in a web terminal or a chat: no `Strict` cookie survives a redirect from there."""
    recorded_run(tmp_path)
    with served(tmp_path) as server:
        other = f'<a href="{server.link}">the page</a>'
        page.route("http://chat.example/", lambda route: route.fulfill(body=other))
        page.goto("http://chat.example/")
        page.locator("a").click()
        expect(page.locator("#state")).to_have_text("finished")
        assert page.url == server.url


@pytest.mark.slow  # the page waits for seconds
def test_the_first_seconds_say_what_comes_in_place_of_an_empty_ladder(
    page: Page, tmp_path: Path, script: Script
) -> None:
    coming, rows = page.locator("#ladder-wait"), page.locator("#rows")
    plan = a_plan(ladder=(8,), duration_s=30.0)
    with served(tmp_path) as server:
        page.goto(server.link)
        preparation = Preparation(tmp_path)
        preparation.tell(say("{server} is up, loading its tables", server="MariaDB"))
        expect(page.locator("#preparing")).to_have_text(
            "A run is being prepared: MariaDB is up, loading its tables"
        )
        expect(page.locator("#no-runs")).to_be_hidden()
        expect(page.locator("#empty")).to_be_hidden()
        page.locator("#language").select_option("zh")
        expect(page.locator("#preparing")).to_contain_text("MariaDB 已启动")
        page.locator("#language").select_option("en")
        preparation.done()
        recorder = recorder_for(tmp_path, plan)
        expect(coming).to_contain_text("The tables are checked or loaded")
        expect(page.locator("#preparing")).to_be_hidden()
        begun(recorder)
        expect(coming).to_have_text(
            "Step 1 runs with 8 users: its figures appear here when it has ended"
            " (measuring, 29 s left)."
        )
        expect(rows).to_be_hidden()
        (step,) = steps_of(plan)
        recorder.end_step(step, "finished")
        expect(rows).to_be_visible()
        expect(coming).to_be_hidden()
        recorder.close()


def test_a_run_that_gives_up_has_one_state(page: Page, tmp_path: Path, script: Script) -> None:
    recorder = recorder_for(tmp_path, a_plan(ladder=(8,)))
    begun(recorder)
    with served(tmp_path) as server:
        page.goto(server.link)
        expect(page.locator("nav .chosen .state")).to_contain_text("running")
        recorder.give_up(plain("the server is gone"))
        # Its process still cleans up.
        expect(page.locator("#state")).to_have_text("failed")
        expect(page.locator("nav .chosen .state")).to_contain_text("failed")
        expect(page.locator("#controls")).to_be_hidden()
        page.reload()
        expect(page.locator("nav .chosen .state")).to_contain_text("failed")
    recorder.close()


def test_a_chart_without_figures_says_why(page: Page, tmp_path: Path, script: Script) -> None:
    socket = Target(socket=Path("/run/mysqld.sock"), user="bench", database="sbtest")
    recorded_run(tmp_path, a_plan(targets=(socket,)))
    with served(tmp_path) as server:
        page.goto(server.link)
        expect(page.locator("#empty-network")).to_have_text(
            "The load comes by unix socket: no network carries it."
        )
        expect(page.locator("#empty-cpu")).to_have_text("No figures were recorded.")
        expect(page.locator("#empty-rates")).to_be_hidden()
        page.locator("#language").select_option("zh")
        expect(page.locator("#empty-network")).to_contain_text("unix 套接字")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_no_text_is_faint_and_nothing_is_wider_than_the_screen(
    page: Page, tmp_path: Path, script: Script, width: int, theme: Literal["light", "dark"]
) -> None:
    recorded_run(tmp_path, a_plan(name="one"))
    recorded_run(tmp_path, a_plan(name="other"))
    page.emulate_media(color_scheme=theme)
    page.set_viewport_size({"width": width, "height": 900})
    with served(tmp_path) as server:
        page.goto(server.link)
        expect(page.locator("#findings article").first).to_be_visible()
        assert page.evaluate(FAINT) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for box in page.locator("nav input[type=checkbox]").all():
            box.check()
        page.locator("#compare").click()
        expect(page.locator("#comparison tbody").last).to_be_visible()
        assert page.evaluate(FAINT) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
