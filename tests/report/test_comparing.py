"""The text of a comparison; names stay text in each of its forms."""

from __future__ import annotations

import json
from dataclasses import replace

from analyse.runs import a_run, environment, repeats
from loadstone.analyse.differences import Differences, differences
from loadstone.analyse.environment_diff import surroundings_of
from loadstone.analyse.intervals import Interval
from loadstone.analyse.matrix import Matrix, matrix
from loadstone.analyse.mysql.setting_effects import MEANINGS
from loadstone.analyse.paired_sides import Run
from loadstone.report.comparing import sections
from loadstone.report.comparison_document import comparison_document
from loadstone.report.comparison_page import as_page
from loadstone.report.table_section import as_markdown, as_text
from loadstone.report.trend import figure

EVEN, UNEVEN = [100.0, 101.0, 99.0, 100.0], [100.0, 20.0, 130.0, 110.0]


def compared(*runs: Run) -> tuple[Matrix, Differences]:
    found = matrix(runs)
    around = {side.name: [surroundings_of(part) for part in side.all_parts] for side in found.sides}
    return found, differences(around)


def two(relaxed: dict[str, str]) -> tuple[Run, Run]:
    a = a_run("full", repeats(100, 101, 99))
    b = a_run("relaxed", repeats(150, 151, 149), around=environment(relaxed))
    return (
        replace(a, seconds=dict.fromkeys((1, 2, 3), EVEN)),
        replace(b, seconds=dict.fromkeys((1, 2, 3), UNEVEN)),
    )


def test_the_warning_stands_before_any_figure() -> None:
    relaxed = {"innodb_flush_log_at_trx_commit": "2", "innodb_buffer_pool_size": "10"}
    text = as_text(sections(*compared(*two(relaxed))))
    lines = text.splitlines()
    warned = next(at for at, line in enumerate(lines) if line.startswith("WARNING"))
    unfair = next(at for at, line in enumerate(lines) if line.startswith("unfair"))
    matrix_at = lines.index("oltp_read_write")
    assert warned < unfair < matrix_at
    flat = " ".join(text.split())
    assert "innodb_flush_log_at_trx_commit: full 1, relaxed 2 speed: with 1 each" in flat
    assert "2 loses up to a second of commits with a power cut" in flat
    assert "innodb_buffer_pool_size: full 134217728, relaxed 10" in flat


def test_each_form_warns_before_its_first_table() -> None:
    found, differing = compared(*two({"sync_binlog": "0"}))
    markdown = as_markdown("x", sections(found, differing))
    assert 0 < markdown.index("**WARNING: the sides") < markdown.index("| --- |")
    page = as_page("x", found, differing)
    assert page.index('<p class="bad">WARNING: the sides') < page.index("<table>")
    figures = page.partition("<h2>oltp_read_write</h2>")[2]
    assert '<td class="number">100</td>' in figures, "figures are set right, words left"
    assert "<td>relaxed</td>" in figures


def test_equal_surroundings_are_said_to_be_equal() -> None:
    text = as_text(sections(*compared(*two({}))))
    assert "No difference was found." in text
    assert "WARNING" not in text


def test_who_swings_is_named() -> None:
    text = " ".join(as_text(sections(*compared(*two({})))).split())
    assert "relaxed swings: its seconds vary by" in text
    assert "full swings" not in text


def test_a_ratio_is_told_with_its_interval_and_word() -> None:
    (row,) = (
        line
        for line in as_text(sections(*compared(*two({})))).splitlines()
        if "relaxed" in line and "faster" in line and "against" not in line
    )
    assert "1.5" in row
    assert "% to +" in row


def test_what_could_not_be_decided_is_said_of_its_row() -> None:
    found, differing = compared(*two({}))
    (cell,) = found.cells
    (against,) = cell.against
    wide = Interval(-0.9, 4.0, 0.95, "Welch's t")
    assert against.verdict.effect is not None
    effect = replace(against.verdict.effect, interval=wide)
    verdict = replace(
        against.verdict, word="not enough evidence", effect=effect, more=900, more_s=1e6
    )
    cell = replace(cell, against=(replace(against, verdict=verdict),))
    text = " ".join(as_text(sections(replace(found, cells=(cell,)), differing)).split())
    assert "users: cannot be decided on this machine in reasonable time" in text
    assert "no usable interval" in text


def test_sides_with_long_names_have_letters() -> None:
    a, b = two({})
    long = [replace(run, label=f"{run.label}-20260101T000000Z") for run in (a, b)]
    text = as_text(sections(*compared(*long)))
    assert "A full-20260101T000000Z" in text
    assert max(map(len, text.splitlines())) <= 100


def test_hostile_names_stay_text() -> None:
    name = "<script>alert(1)</script>|`x`\n# head"
    a, b = two({"version": name, "sync_binlog": name})
    found, differing = compared(replace(a, label=name), b)
    page = as_page(name, found, differing)
    assert "<script>alert" not in page
    markdown = as_markdown(name, sections(found, differing))
    assert "<script>" not in markdown.replace("\\<script\\>", "")
    assert "\n# head" not in markdown
    table = [line for line in markdown.splitlines() if line.startswith("| unfair")]
    assert table[0].replace("\\|", "").count("|") == 7
    steering, others = compared(a, replace(b, label="\x1b[2J\x07"))
    assert "\x1b" not in as_text(sections(steering, others))
    json.loads(json.dumps(comparison_document(found, differing, []), allow_nan=False))


def test_a_figure_shows_levels_and_where_they_change() -> None:
    drawn = list(figure([10.0] * 5 + [20.0] * 5, [5]))
    assert len(drawn) == 8
    assert drawn[0].strip() == "20      •••••"
    assert drawn[-1].strip() == "10 •••••│"
    assert len(list(figure([1.0] * 1000, []))) == 8
    assert max(map(len, figure([float(at) for at in range(1000)], [500]))) <= 100


def test_the_last_lines_answer_which_side_is_faster() -> None:
    *_, head, line = as_text(sections(*compared(*two({})))).splitlines()
    assert (head, line) == ("Answer", "relaxed against full: faster at 1 level (tps +50.0 %)")
    text = as_text(sections(*compared(*two({"sync_binlog": "0"}))))
    assert text.splitlines()[-1] == "The sides are not equal: read the warning at the top first."


def test_runs_without_a_common_level_are_told_so() -> None:
    sides = compared(a_run("few", repeats(100, 101)), a_run("many", repeats(150, users=16)))
    assert (
        as_text(sections(*sides))
        .splitlines()[-1]
        .startswith("many against few: no level was measured on both sides")
    )


def test_many_differences_do_not_push_the_rates_off_the_screen() -> None:
    slow = [name for name in sorted(MEANINGS) if MEANINGS[name].weight == "slow"][:20]
    own = [f"aria_setting_{number:02}" for number in range(20)]
    changed = {name: "8" for name in (*slow, *own, "sync_binlog")}
    a = a_run("a", repeats(100), around=environment({name: "4" for name in changed}))
    b = a_run("b", repeats(100), around=environment(changed))
    found, differing = compared(a, b)
    text = as_text(sections(found, differing))
    assert "sync_binlog: a 4, b 8" in text, "what is unfair is shown in full"
    assert " more: " in text
    assert text.count("speed:") <= 10
    assert "and 12 more (--html and --markdown have them)" in " ".join(text.split())
    assert own[-1] in as_markdown("x", sections(found, differing)).replace("\\", "")
