"""The report of a run as one HTML file."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import scripted_engine
from loadstone.model.failover import DrillOutage, Timeline
from loadstone.model.language import ENGLISH, Language, translating
from loadstone.model.message import say
from loadstone.model.result import ServerFigures, StepResult
from loadstone.report.html import as_html
from loadstone.report.opened import Run
from loadstone.report.page import unpacked
from recorded import a_plan, recorded_run
from report.a_day import HOSTILE, LADDER, STEP_S, a_day
from scripted_engine import Script

SECTIONS = ["answer", "ladder", "ceilings", "findings", "steps", "settings", "method"]

STEPS = 2
"""Steps of the day that suffice for what is the same in each step."""


class Seen(HTMLParser):
    """The elements of a page, and its text without scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.said: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "wbr"):  # these have no end
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.said.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.said)

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture
def run(tmp_path: Path, script: Script) -> Run:
    rates = {1: 100, 4: 350, 16: 920, 64: 1002, 256: 850}
    script.tps = lambda users, second: rates[users]
    script.errors = {"1213": 3}
    return Run(recorded_run(tmp_path, a_plan(ladder=tuple(rates), name=f"a {HOSTILE}")))


def page_of(runs: Path, steps: int) -> str:
    """The page of a day's first steps, which have four hours each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "loadstone._engine", scripted_engine)
        return as_html(Run(a_day(runs, steps)))


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a part of a day, made once."""
    return page_of(tmp_path_factory.mktemp("runs"), STEPS)


def test_the_answer_comes_first_then_what_it_stands_on(run: Run) -> None:
    page = Seen(as_html(run))
    assert [one["id"] for one in page.named("section")] == SECTIONS
    assert (
        "The peak is 1,002 tps at 64 users; with 256 users it is 850, which may be noise: only "
        "repeats, or steps of 8 s and more, have an interval."
    ) in page.text
    assert "holds it back is not known: the server or its host was not observed." in page.text
    assert "loadstone run" in page.text


def test_every_element_is_closed_and_no_id_is_used_twice(run: Run) -> None:
    page = Seen(as_html(run))
    assert page.open == []
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [str(one["href"]) for one in page.named("a")]
    assert {link.removeprefix("#") for link in links} <= set(ids)


def test_the_same_run_gives_the_same_bytes(run: Run) -> None:
    assert as_html(run) == as_html(Run(run.path))


TITLES = (
    say("The answer"),
    say("The ladder"),
    say("Findings"),
    say("Settings and environment"),
    say("How it was measured"),
)


@pytest.mark.parametrize("words", (ENGLISH, *translating()), ids=lambda one: one.code)
def test_each_section_is_in_the_language_that_was_asked_for(run: Run, words: Language) -> None:
    page = as_html(run, words.code)
    assert f'<html lang="{words.tag}">' in page
    for title in TITLES:
        assert words.knows(title)
        assert f"{words(title)}</h2>" in page
    names = [series["name"] for series in unpacked(page)["figures"][0]["option"]["series"]]
    assert words(say("p99")) in names


def test_a_chinese_report_leaves_no_sentence_in_english(run: Run) -> None:
    assert 'lang="en"' not in as_html(run, "zh")


def test_nothing_is_fetched_and_only_the_two_scripts_may_run(run: Run) -> None:
    page = as_html(run)
    seen = Seen(page)
    policy = next(str(one["content"]) for one in seen.named("meta") if "http-equiv" in one)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    allowed = re.findall(r"'sha256-([^']+)'", policy)
    own = re.search(r"<script>(.*?)</script>", page, re.S)
    assert own is not None
    library = unpacked_library(page)
    for code in (own[1], library):
        assert base64.b64encode(hashlib.sha256(code.encode()).digest()).decode() in allowed
    assert len(allowed) == 2
    for tag, attributes in seen.elements:
        assert not {"src", "action", "srcdoc"} & attributes.keys(), tag
        assert not [name for name in attributes if name.startswith("on")], tag
        assert (attributes.get("href") or "#").startswith("#")


def unpacked_library(page: str) -> str:
    import gzip

    packed = page.partition('id="library">')[2].partition("<")[0]
    return gzip.decompress(base64.b64decode(packed)).decode()


@pytest.mark.slow
def test_a_day_of_seconds_fits_into_two_megabytes(tmp_path: Path) -> None:
    page = page_of(tmp_path, len(LADDER))
    assert len(page.encode()) < 2_000_000
    assert f"{STEP_S:,} seconds are drawn as 600 columns" in page
    assert len(unpacked(page)["figures"]) >= 3 * len(LADDER)


def test_text_of_server_and_user_is_text(day: str) -> None:
    assert "<script>alert" not in day
    assert day.count("<script") == 3
    seen = Seen(day)
    assert seen.open == []
    # The name, the server's version, the error and the outage, each as it was.
    assert seen.text.count("<script>alert('mine')</script></script>&\"") >= 4


@pytest.mark.slow
def test_of_very_many_steps_some_are_left_out_and_that_is_said(
    tmp_path: Path, script: Script
) -> None:
    ladder = tuple(range(1, 43))
    plan = a_plan(ladder=ladder, duration_s=2.0)
    page = Seen(as_html(Run(recorded_run(tmp_path, plan))))
    assert "2 further steps are not drawn" in page.text
    assert len([one for one in page.named("details") if one.get("class") == "step"]) == 40


def test_outages_and_errors_are_marked_in_the_series(day: str) -> None:
    figures = unpacked(day)["figures"]
    (first, *_) = [one["option"] for one in figures if one["group"] and "title" in one["option"]]
    areas = first["series"][0]["markArea"]["data"]
    assert [(area[0]["xAxis"], area[1]["xAxis"]) for area in areas] == [(0, 600), (7000, 7030)]
    assert any(series["type"] == "bar" for series in first["series"])


def test_a_figure_of_a_group_zooms_with_the_others(day: str) -> None:
    figures = unpacked(day)["figures"]
    groups: dict[str, list[list[str]]] = {}
    for one in figures:
        if one["group"]:
            zooms = [zoom["id"] for zoom in one["option"]["dataZoom"]]
            groups.setdefault(one["group"], []).append(zooms)
    assert list(groups) == [f"step-{number}" for number in range(1, STEPS + 1)]
    for seconds, heat in groups.values():
        assert "inside" in seconds
        assert "inside" in heat


def test_a_disagreement_of_client_and_server_is_said(day: str) -> None:
    text = Seen(day).text
    assert (
        "12 users: client and server disagree by 30 %: the client counts 2,100 TPS, "
        "the server 1,470 Com_commit/s." in text
    )
    assert "QPS, the server" not in text


@pytest.mark.parametrize(
    ("seconds", "ends", "says"),
    [
        (1.0, 2, "client and server disagree by 100 %"),
        # Events without BEGIN and COMMIT are no commits.
        (1.0, 1, "Client and server agree to within 5 %."),
        # The server's rates are of the seconds in which it was up, the client's of all.
        (0.5, 2, "counters could be read in 2.00 of the window's 4.00 s"),
    ],
)
def test_counts_are_compared_where_both_count_the_same(
    run: Run, seconds: float, ends: int, says: str
) -> None:
    def seen(step: StepResult) -> StepResult:
        assert step.tps is not None
        server = ServerFigures(
            seconds=seconds * step.seconds,
            questions_per_s=step.qps,
            rates={"com_commit": 2 * step.tps},
        )
        events = round(step.tps * step.seconds)
        changes = {"server": server, "events": events, "other": ends * events}
        return step.model_copy(update=changes)

    steps = tuple(map(seen, run.result.steps))
    run.result = run.result.model_copy(update={"steps": steps})
    text = Seen(as_html(run)).text
    assert says in text
    assert ("client and server disagree" in text) == says.startswith("client")
    assert ("Com_commit/s" in text) == (ends == 2)


def test_a_drill_and_kinds_of_transactions_are_on_the_page(run: Run) -> None:
    (first, *_) = run.result.steps
    took = first.latency.response.model_copy(update={"count": 100})
    outage = DrillOutage(
        from_s=1.0, to_s=2.0, users=1, users_cut_off=0, last_success_s=1.0, first_success_s=1.75,
        outage_ms=750.0, slowest_user=0, slowest_ms=1000.0, median_ms=1000.0, errors=(),
        seconds=(), seconds_left_out=0,
    )  # fmt: skip
    timeline = Timeline(outages=(outage,), outages_left_out=0)
    changes = {"kinds": {"look": took, "buy": took}, "timeline": timeline}
    run.result = run.result.model_copy(update={"steps": (first.model_copy(update=changes),)})
    text = Seen(as_html(run)).text
    assert text.index("Nobody was served for 750 ms from 1.00 s on.") < text.index(
        "The figures as a table"
    )
    assert "The transactions of the step with 1 user" in text
    assert "What holds it back" not in text, "the outage does, and is what a drill asks for"
    assert "The lowest ceiling" not in text


def test_counts_of_several_repeats_name_theirs(run: Run) -> None:
    (first, *_) = run.result.steps
    server = ServerFigures(seconds=first.seconds, questions_per_s=first.qps)
    step = first.model_copy(update={"server": server})
    repeats = [step.model_copy(update={"step": at, "repeat": at}) for at in (1, 2)]
    run.result = run.result.model_copy(update={"steps": tuple(repeats)})
    assert "1, repeat 2" in Seen(as_html(run)).text


def test_a_rate_that_may_not_be_quoted_has_no_tile(run: Run) -> None:
    (first, *_) = run.result.steps
    cut = first.model_copy(update={"state": "stopped"})
    run.result = run.result.model_copy(update={"steps": (cut,)})
    tiles = as_html(run).partition('class="tiles"')[2].partition("</ul>")[0]
    assert "<span>p99, ms</span><b>" in tiles
    assert "<span>TPS</span>" not in tiles


def test_tables_stand_behind_the_charts(day: str) -> None:
    page = Seen(day)
    assert len(page.named("table")) > 2 * STEPS
    assert len(page.named("details")) == len(page.named("summary"))
    for place in page.named("div"):
        if place.get("class") == "figure":
            assert place["aria-label"]
