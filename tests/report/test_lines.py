"""Sentences on a console: wrapped at its width, with what continues them indented."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from rich.console import Group, RenderableType

from loadstone.analyse.advice import Advice, Machine
from loadstone.model.calibration import Calibration, Ceiling, HostCheck
from loadstone.model.message import plain
from loadstone.report import calibration, settings
from loadstone.report.lines import Line, lines_of
from loadstone.report.text import as_plain
from loadstone.report.wrapping import UNLIMITED, wrapped


def shown(part: RenderableType, width: int) -> list[str]:
    return as_plain(part, width).splitlines()


def test_a_line_continues_below_the_text_that_follows_its_label() -> None:
    line = Line("note  the generator waited for a core for up to 62 % of the time")
    assert shown(line, 30) == [
        "note  the generator waited for",
        "      a core for up to 62 % of",
        "      the time",
    ]
    assert shown(line, UNLIMITED) == [line.text]


def test_a_line_without_a_label_continues_two_columns_further_right() -> None:
    assert shown(Line("  one two three"), 10) == ["  one two", "    three"]


def test_a_number_stays_with_its_unit() -> None:
    said = "it waited for up to 62 % of the time, 5 s a step, with 16 users, p99 3 ms"
    for width in range(10, 80):
        lines = wrapped(said, width)
        assert " ".join(lines) == said
        assert not [line for line in lines if line.startswith(("%", "s ", "users", "ms"))]


def test_chinese_breaks_between_characters_and_is_two_columns_wide() -> None:
    lines = shown(Line("说明  发生器等待 CPU 的时间最多占 62 % 的时间，其他程序占 66 %"), 30)
    assert len(lines) > 1
    assert max(map(cell_len, lines)) <= 30
    assert all(line.startswith(" " * 6) for line in lines[1:])


@pytest.mark.parametrize("width", [40, 80])
def test_a_word_that_is_wider_than_the_console_is_whole(width: int) -> None:
    url = "mysql://loadstone@localhost/sbtest?socket=" + "/a-folder" * 10
    assert url in as_plain(Group(*lines_of([f"saved  {url}"])), width)


LONG = plain(
    "with thousands of active connections a thread pool sustains the rate; MariaDB has one"
)


def test_advice_on_settings_is_wrapped_and_what_to_copy_is_not() -> None:
    found = [Advice("slow", "thread_handling", "one-thread-per-connection", LONG)]
    fragment = f"[mysqld]\nplugin_load_add = {'a_plugin;' * 12}\n"
    lines = shown(settings.as_renderable(settings.Reviewed(found, fragment, Machine())), 80)
    assert lines[0].startswith("slow    thread_handling = one-thread-per-connection: ")
    assert lines[1].startswith(" " * 8 + "connections a thread pool")
    assert fragment.splitlines()[1] in lines


@pytest.mark.parametrize("width", [60, 80])
def test_a_calibration_fits_a_narrow_console(width: int) -> None:
    checks = tuple(
        HostCheck(name=plain(name), state="change", found=LONG, advice=LONG)
        for name in ("CPU governor", "ephemeral ports")
    )
    ceiling = Ceiling(
        protocol="text", transport="tls", users=16, cpu_us_per_query=12.5, measured_qps=1_234_567.0
    )
    made = Calibration(
        made_at="2026-01-02T03:04:05+00:00",
        loadstone="0.1.0",
        machine="a processor with a rather long name, 64 cores, Linux 6.1.0-32-amd64 (x86_64)",
        measured=(ceiling,),
        checks=checks,
    )
    lines = shown(calibration.as_renderable(made), width)
    assert max(map(len, lines)) <= width
    assert "1,234,567" in " ".join(lines)
    assert "…" not in " ".join(lines)
