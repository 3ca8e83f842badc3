"""A calibration as text."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from loadstone.model.calibration import Calibration, HostCheck
from loadstone.model.numbers import count, digits
from loadstone.report.table import Table, table_of

_STYLES = {"good": "green", "change": "yellow", "not evaluated": "dim"}


def as_renderable(calibration: Calibration) -> RenderableType:
    """The ceilings, then the host."""
    return Group(
        Text(f"{calibration.machine}, loadstone {calibration.loadstone}"),
        Text(),
        _ceilings(calibration),
        Text(),
        _checks(calibration.checks),
        *(_advice(calibration.checks)),
    )


def _ceilings(calibration: Calibration) -> Table:
    heads = ("statements", "over", "users", "CPU µs\na query", "queries/s\na core",
             "driven\nqueries/s")  # fmt: skip
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
    return table_of(heads, rows, text=2, gap=2)


def _checks(checks: tuple[HostCheck, ...]) -> Grid:
    table = Grid.grid(padding=(0, 2, 0, 0))
    for check in checks:
        table.add_row(check.name, Text(check.state, _STYLES[check.state]), Text(check.found))
    return table


def _advice(checks: tuple[HostCheck, ...]) -> list[Text]:
    lines = [Text(f"change  {check.advice}") for check in checks if check.advice]
    return [Text(), *lines] if lines else []
