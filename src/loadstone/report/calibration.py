"""A calibration as text."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from loadstone.model.calibration import Calibration, HostCheck
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import say
from loadstone.model.numbers import count, digits
from loadstone.report.lines import Line
from loadstone.report.table import Table, table_of

_STYLES = {"good": "green", "change": "yellow", "not evaluated": "dim"}
_STATES = {"good": say("good"), "change": say("change"), "not evaluated": say("not evaluated")}


def as_renderable(calibration: Calibration, words: Language = ENGLISH) -> RenderableType:
    """The ceilings, then the host."""
    return Group(
        Line(f"{calibration.machine}, loadstone {calibration.loadstone}"),
        Text(),
        _ceilings(calibration, words),
        Text(),
        _checks(calibration.checks, words),
        *(_advice(calibration.checks, words)),
    )


def _ceilings(calibration: Calibration, words: Language) -> Table:
    heads = (
        say("statements"),
        say("over"),
        say("users"),
        say("CPU µs\nper query"),
        say("queries/s\nper core"),
        say("measured\nqueries/s"),
    )
    rows = (
        (
            each.protocol,
            each.transport,
            count(each.users),
            digits(each.cpu_us_per_query),
            digits(each.queries_per_core),
            digits(each.measured_qps),
        )
        for each in calibration.measured
    )
    return table_of([words(head) for head in heads], rows, text=2, gap=2)


def _checks(checks: tuple[HostCheck, ...], words: Language) -> Grid:
    table = Grid.grid(padding=(0, 2, 0, 0))
    for column in range(3):
        table.add_column(overflow="fold", no_wrap=column < 2)
    for check in checks:
        state = Text(words(_STATES[check.state]), _STYLES[check.state])
        table.add_row(words(check.name), state, Text(words(check.found)))
    return table


def _advice(checks: tuple[HostCheck, ...], words: Language) -> list[RenderableType]:
    head = words(say("change"))
    lines = [Line(f"{head}  {words(check.advice)}") for check in checks if check.advice]
    return [Text(), *lines] if lines else []
