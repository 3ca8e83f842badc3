"""The machines of a cluster, as text and as part of the page."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from analyse.made import a_step
from loadstone.model.language import Language, translating
from loadstone.model.result import GeneratorShare
from loadstone.report.generators import figures_of, generators_table, name_of
from loadstone.report.names import GENERATORS_HEADS
from loadstone.report.text import as_plain


def a_share(number: int, **changes: object) -> GeneratorShare:
    made: dict[str, object] = {
        "number": number,
        "node": f"10.0.0.{number + 1}",
        "users": 32,
        "events": 4000,
        "seconds": 10.0,
        "seconds_lost": 0.0,
        "lost": None,
        "cpu_share": 0.25,
        "dispatch_p99_us": 40.0,
        "host_cpu_share": 0.5,
        "net_bytes_in_per_s": 2e6,
        "net_bytes_out_per_s": 1e6,
        "net_line_share": 0.016,
        "clock_offset_us": 1234.0,
        "clock_bound_us": 450.0,
        "saturated": False,
    }
    return GeneratorShare.model_validate(made | changes)


def test_one_machine_has_no_table() -> None:
    assert generators_table([a_step()]) is None


def test_each_machine_has_its_worst_of_all_steps_and_its_latest_clock() -> None:
    quiet = a_step(generators=(a_share(0), a_share(1)))
    busy = a_step(
        generators=(
            a_share(0, clock_offset_us=-20.0),
            a_share(1, cpu_share=0.93, saturated=True, seconds_lost=2.0, net_bytes_in_per_s=None),
        )
    )
    table = generators_table([quiet, busy])
    assert table is not None
    rows = [line.split() for line in as_plain(table).splitlines()[-2:]]
    first = "0 10.0.0.1 32 8,000 25 % 40.0 50 % 2.00 1.00 1.6 % -20 ± 450 0 0 of 2"
    second = "1 10.0.0.2 32 8,000 93 % 40.0 50 % 2.00 1.00 1.6 % +1,234 ± 450 2.00 1 of 2"
    assert rows == [first.split(), second.split()]


def test_a_machine_whose_clock_nobody_knows_has_a_dash() -> None:
    table = generators_table([a_step(generators=(a_share(0, clock_bound_us=None),))])
    assert table is not None
    assert as_plain(table).splitlines()[-1].split()[-5] == "-"


@pytest.mark.parametrize("width", range(50, 110))
def test_a_machine_s_number_and_address_stay_on_one_line(width: int) -> None:
    table = generators_table([a_step(generators=(a_share(0), a_share(1)))])
    assert table is not None
    console = Console(width=width, file=StringIO(), color_system=None)
    with console.capture() as printed:
        console.print(table)
    assert "0 10.0.0.1" in printed.get() and "1 10.0.0.2" in printed.get()


def test_a_saturated_machine_is_marked_in_the_page() -> None:
    assert name_of(a_share(1, saturated=True)) == "1 10.0.0.2 !"
    # The machine itself, and ten figures of it.
    assert len(GENERATORS_HEADS) == 1 + len(list(figures_of([a_share(1)])))


@pytest.mark.parametrize("words", translating(), ids=lambda one: one.code)
def test_its_table_has_heads_in_each_language(words: Language) -> None:
    table = generators_table([a_step(generators=(a_share(0),))], words)
    assert table is not None
    heads = "".join(column.head for column in table.columns)
    assert "压测端" in heads and "generator" not in heads
    assert table.rows[0][-1] == "0 / 1"
