"""A calibration as text."""

from __future__ import annotations

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from loadstone.model.calibration import Calibration, HostCheck
from loadstone.report.numbers import count, digits

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
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    for head in ("statements", "over"):
        table.add_column(head, vertical="bottom")
    for head in ("users", "CPU µs\na query", "queries/s\na core", "driven\nqueries/s"):
        table.add_column(head, justify="right", vertical="bottom")
    for each in calibration.measured:
        table.add_row(
            each.protocol,
            each.transport,
            count(each.users),
            digits(each.cpu_us_per_query),
            digits(each.queries_per_core),
            digits(each.measured_qps),
        )
    return table


def _checks(checks: tuple[HostCheck, ...]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for check in checks:
        table.add_row(check.name, Text(check.state, _STYLES[check.state]), Text(check.found))
    return table


def _advice(checks: tuple[HostCheck, ...]) -> list[Text]:
    lines = [Text(f"change  {check.advice}") for check in checks if check.advice]
    return [Text(), *lines] if lines else []
