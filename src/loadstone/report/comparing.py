"""A comparison in words: first what differs, then the matrix, then what each event costs."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from loadstone.analyse.differences import Difference, Differences, Values
from loadstone.analyse.matrix import Against, Matrix, MatrixCell, Side, SideResult
from loadstone.analyse.metrics import CLASSES, METRICS, Metric
from loadstone.model.numbers import NOTHING, asked, count, digits, number_of, pct, rate, signed
from loadstone.report.table import table_of
from loadstone.report.table_section import Section
from loadstone.report.text import WIDTH

_INDENT = 8
_LONG_NAME = 14
"""Sides with longer names have a letter in the tables."""

_SHOWN_VALUE = 60
SWINGS_MORE = 2.0
"""A side whose seconds vary by so many times as much as another's is said to swing."""

SWINGS = 0.1
"""A side swings only where its seconds vary by at least this share of their mean."""


@dataclass(frozen=True)
class Names:
    """What sides are called in tables."""

    short: Mapping[str, str]

    @classmethod
    def of(cls, sides: Sequence[Side]) -> Names:
        """Their own names, or letters where one of those is long."""
        names = [side.name for side in sides]
        if all(len(name) <= _LONG_NAME for name in names):
            return cls({name: name for name in names})
        return cls({name: _letter(number) for number, name in enumerate(names)})

    def __getitem__(self, name: str) -> str:
        return self.short[name]


def _letter(number: int) -> str:
    """A to Z, then A2 and so on."""
    again = number // 26 + 1
    return chr(ord("A") + number % 26) + (str(again) if again > 1 else "")


def sections(found: Matrix, differing: Differences) -> list[Section]:
    """All of it, in the order in which it should be read."""
    names = Names.of(found.sides)
    made = [
        Section("", tuple(_who(found.sides, names))),
        _differing(differing, names),
        *_unknown(differing, names),
    ]
    for title, cells in tables_of(found):
        made.append(_matrix(title, cells, names))
        made += _if_any(f"{title}: what an event costs", cells, names, COSTS)
        made += _if_any(f"{title}: by class of statement", cells, names, _classes())
        made.append(_swings(f"{title}: swings", cells, names))
    return [*made, Section("", tuple(f"note  {line}" for line in notes(found, names)), apart=True)]


def _who(sides: Sequence[Side], names: Names) -> Iterator[str]:
    for side in sides:
        parts = side.all_parts
        runs = list(dict.fromkeys(part.run.result.run.id for part in parts))
        target = next(
            (
                f"{each.target} {each.server_version or ''}".rstrip()
                for part in parts
                for step in part.run.result.steps
                if step.variant == part.variant
                for each in step.targets
            ),
            "",
        )
        called = "" if names[side.name] == side.name else f" {side.name}"
        of = "" if runs == [side.name] else f", of {', '.join(runs)}"
        yield f"{names[side.name]}{called}{of}" + (f": {target}" if target else "")


def _unfair(found: Differences) -> Iterator[str]:
    """What makes a comparison of the rates misleading."""
    if found.durability:
        settings = ", ".join(row.name for row in found.durability)
        yield (
            f"WARNING: the sides do not promise the same ({settings}): what is faster may only "
            "be less durable."
        )
    if found.other_work:
        work = ", ".join(row.label for row in found.other_work)
        yield f"WARNING: the sides did not do the same work ({work})."


def _differing(found: Differences, names: Names) -> Section:
    lines = []
    if not found.rows:
        lines.append("Nothing that was looked at differs.")
    if found.on_one_side:
        lines.append(
            f"{number_of(len(found.on_one_side), 'setting')} more are known to some of the "
            "servers only; --json names them."
        )
    heads = ("", "what", *(names[side] for side in found.sides), "for speed", "for durability")
    rows = tuple(
        (
            row.weight,
            row.label,
            *(value or NOTHING for value in row.values),
            _speed(row),
            (row.meaning and row.meaning.durability) or "",
        )
        for row in found.rows
    )
    told = [row for row in found.rows if not _is_unexplained(row)]
    text = [line for row in told for line in _paragraph(row, found, names)]
    others = [row for row in found.rows if _is_unexplained(row)]
    if others:
        text += _wrapped(
            "other settings: "
            + "; ".join(f"{row.name} {_beside(row.values, found, names)}" for row in others),
            "note",
        )
    return Section(
        "What differs",
        tuple(lines),
        table_of(heads, rows, text=len(heads)),
        in_text=tuple(text),
        warnings=tuple(_unfair(found)),
    )


def _is_unexplained(row: Difference) -> bool:
    """A setting that the table does not know: all of them share a paragraph."""
    return row.group == "setting" and row.meaning is None and not row.followers


def _speed(row: Difference) -> str:
    said = row.meaning.performance if row.meaning else ""
    if not row.followers:
        return said
    with_it = ", ".join(name for name, _ in row.followers)
    return f"{said}; with it: {with_it}" if said else f"with it: {with_it}"


def _paragraph(row: Difference, found: Differences, names: Names) -> Iterator[str]:
    """The values, then a line for each thing that they mean."""
    yield from _wrapped(f"{row.label}: {_beside(row.values, found, names)}", row.weight)
    if row.meaning:
        yield from _wrapped(f"speed: {row.meaning.performance}")
        if row.meaning.durability:
            yield from _wrapped(f"durability: {row.meaning.durability}")
    if row.followers:
        with_it = "; ".join(
            f"{name} {_beside(values, found, names)}" for name, values in row.followers
        )
        yield from _wrapped(f"with it: {with_it}")


def _wrapped(text: str, weight: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=f"{weight:<{_INDENT}}",
        subsequent_indent=" " * (_INDENT + 2),
        break_on_hyphens=False,
    )


def _beside(values: Values, found: Differences, names: Names) -> str:
    return ", ".join(
        f"{names[side]} {_short(value)}" for side, value in zip(found.sides, values, strict=True)
    )


def _short(value: str | None) -> str:
    if value is None:
        return "not evaluated"
    if value == "":
        return "empty"
    return value if len(value) <= _SHOWN_VALUE else f"{value[:_SHOWN_VALUE]}…"


def _unknown(found: Differences, names: Names) -> Iterator[Section]:
    """One line a reason: a host that could not be seen has the same for all its facts."""
    by_reason: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for label, reasons in found.not_evaluated:
        by_reason.setdefault(reasons, []).append(label)
    lines = []
    for reasons, labels in by_reason.items():
        whys = dict.fromkeys(why for _, why in reasons)
        everywhere = len(reasons) == len(found.sides) and len(whys) == 1
        said = (
            next(iter(whys))
            if everywhere
            else "; ".join(f"{names[side]}: {why}" for side, why in reasons)
        )
        lines.append(f"not evaluated: {', '.join(labels)} ({said})")
    if lines:
        yield Section("", tuple(lines))


def tables_of(found: Matrix) -> Iterator[tuple[str, list[MatrixCell]]]:
    """By context and workload."""
    tables: dict[str, list[MatrixCell]] = {}
    for cell in found.cells:
        workload = cell.place.cell[0]
        title = f"{workload}, {cell.place.context}" if cell.place.context else workload
        tables.setdefault(title, []).append(cell)
    yield from tables.items()


def _matrix(title: str, cells: Sequence[MatrixCell], names: Names) -> Section:
    heads = (*_place_heads(cells), "tps", "±\n95 %", "p95\nms", "p99\nms", "ratio", "95 %", "")
    rows = []
    for cell in cells:
        for side_result in cell.side_results:
            against = next((each for each in cell.against if each.side == side_result.side), None)
            p95, p99 = (rate(side_result.figure(METRICS[name])) for name in ("p95", "p99"))
            rows.append(
                (
                    *_place_cells(cell, cells, names[side_result.side]),
                    _tps(side_result),
                    _half(side_result),
                    p95,
                    p99,
                    *(_ratio(against) if against else ("", "", "")),
                )
            )
    side = len(_place_heads(cells)) - 1
    return Section(title, (), table_of(heads, rows, text=(side, len(heads) - 1)))


def _place_heads(cells: Sequence[MatrixCell]) -> tuple[str, ...]:
    due = ("due\n/s",) if any(cell.place.cell[2] for cell in cells) else ()
    return ("users", *due, "side")


def _place_cells(cell: MatrixCell, cells: Sequence[MatrixCell], side: str) -> tuple[str, ...]:
    _, users, due = cell.place.cell
    rates = any(each.place.cell[2] for each in cells)
    return (count(users), *([asked(due) if due else NOTHING] if rates else []), side)


def _tps(side_result: SideResult) -> str:
    """The mean of what counts; where nothing does, of all, with a mark."""
    if side_result.tps:
        return digits(side_result.tps.value)
    value = side_result.figure(METRICS["tps"])
    return NOTHING if value is None else f"{digits(value)}*"


def _half(side_result: SideResult) -> str:
    interval = side_result.tps.interval if side_result.tps else None
    return NOTHING if interval is None else digits((interval.high - interval.low) / 2)


def _ratio(against: Against) -> tuple[str, str, str]:
    effect = against.verdict.effect
    if effect is None:
        return NOTHING, NOTHING, against.verdict.word
    ratio = f"{1 + effect.relative:.3g}"
    if effect.interval is None:
        few = "one step a side" if effect.units == 1 else f"{count(effect.units)} units"
        return ratio, NOTHING, f"{few}: no interval"
    low, high = signed(effect.interval.low), signed(effect.interval.high)
    word = against.verdict.word
    said = word if word == "not enough evidence" else str(against.verdict)
    return ratio, f"{low} to {high}", said


Cell = Callable[[SideResult], str]


def _figure(metric: Metric, factor: float = 1.0) -> Cell:
    def cell(side_result: SideResult) -> str:
        value = side_result.figure(metric)
        return NOTHING if value is None else digits(factor * value)

    return cell


def _share(metric: Metric) -> Cell:
    return lambda side_result: pct(side_result.figure(metric))


COSTS: tuple[tuple[str, Cell], ...] = (
    ("server\nCPU µs", _figure(METRICS["server_cpu"], 1000)),
    ("in the\nkernel", _share(METRICS["server_system"])),
    ("host\nCPU µs", _figure(METRICS["host_cpu"], 1000)),
    ("disk\nreads", _figure(METRICS["disk_reads"])),
    ("disk\nwrites", _figure(METRICS["disk_writes"])),
    ("KiB\nwritten", _figure(METRICS["disk_write_bytes"], 1 / 1024)),
    ("log\nsyncs", _figure(METRICS["log_syncs"])),
    ("commits\n/sync", _figure(METRICS["transactions_per_sync"])),
    ("network\nbytes", _figure(METRICS["network_bytes"])),
    ("memory\nMiB", _figure(METRICS["server_memory"], 1 / 1024**2)),
)
"""By event, but for the kernel's share, commits by sync, and the memory of the server's process."""


def _classes() -> tuple[tuple[str, Cell], ...]:
    columns: list[tuple[str, Cell]] = []
    for name in CLASSES:
        columns.append((f"{name}\n/s", _figure(METRICS[f"{name}_qps"])))
        for figure in ("p95", "p99"):
            columns.append((f"{name}\n{figure} ms", _figure(METRICS[f"{name}_{figure}"])))
    return tuple(columns)


def _if_any(
    title: str, cells: Sequence[MatrixCell], names: Names, columns: Sequence[tuple[str, Cell]]
) -> Iterator[Section]:
    """A table of the columns that some side has a value in; none where there is no column."""
    side_results = [side_result for cell in cells for side_result in cell.side_results]
    shown = [
        (head, cell)
        for head, cell in columns
        if any(cell(side_result) != NOTHING for side_result in side_results)
    ]
    if not shown:
        return
    place = _place_heads(cells)
    rows = tuple(
        (
            *_place_cells(cell, cells, names[side_result.side]),
            *(column(side_result) for _, column in shown),
        )
        for cell in cells
        for side_result in cell.side_results
    )
    heads = (*place, *(head for head, _ in shown))
    yield Section(title, (), table_of(heads, rows, text=(len(place) - 1,)))


def _swings(title: str, cells: Sequence[MatrixCell], names: Names) -> Section:
    columns: tuple[tuple[str, Cell], ...] = (
        ("CV\nwithin", lambda side_result: pct(side_result.swings.variation.within)),
        ("CV\nbetween", lambda side_result: pct(side_result.swings.variation.between)),
        ("seconds\nin dips", lambda side_result: pct(side_result.swings.dips)),
        ("lowest\nsecond", lambda side_result: pct(side_result.swings.lowest)),
    )
    found = next(_if_any(title, cells, names, columns), Section(title, ("not evaluated",)))
    said = tuple(_swinging(cells, names))
    return replace(found, lines=(*found.lines, *said))


def _swinging(cells: Sequence[MatrixCell], names: Names) -> Iterator[str]:
    """Who swings much more than who, by the median over all levels."""
    by_side: dict[str, list[float]] = {}
    for cell in cells:
        for side_result in cell.side_results:
            if (within := side_result.swings.variation.within) is not None:
                by_side.setdefault(side_result.side, []).append(within)
    typical = {side: median(values) for side, values in by_side.items()}
    if len(typical) < 2:
        return
    even = min(typical, key=lambda side: typical[side])
    for side, value in typical.items():
        if value >= SWINGS and value >= SWINGS_MORE * typical[even]:
            yield (
                f"{names[side]} swings: its seconds vary by {pct(value)} of the mean within a "
                f"step, those of {names[even]} by {pct(typical[even])} (medians over levels)."
            )


def notes(found: Matrix, names: Names) -> Iterator[str]:
    """What the figures stand on."""
    yield f"ratios are to {names[found.sides[0].name]}, of geometric means"
    if found.single:
        yield (
            "some levels have too few steps: an interval cannot be had there, as seconds of one "
            "step are not independent; --repeats or an experiment gives one"
        )
    if not found.interleaved:
        yield (
            "the sides were not measured in turns: whatever else changed between the runs is in "
            "the ratios as well"
        )
    each = f"{number_of(found.comparisons, 'comparison')} by Holm"
    corrected = "all comparisons of the experiment" if found.interleaved else each
    yield f"words are corrected for {corrected}; intervals are of one level"
    verdicts = [against.verdict for cell in found.cells for against in cell.against]
    more = [verdict.more for verdict in verdicts if verdict.more is not None]
    if more:
        units = number_of(max(more), "unit")
        yield f"not enough evidence: up to {units} more a side would tell a difference that matters"
    left_out: dict[str, int] = {}
    for cell in found.cells:
        for against in cell.against:
            for reason, number in against.verdict.left_out.items():
                left_out[reason] = left_out.get(reason, 0) + number
    if left_out:
        why = ", ".join(f"{reason} {count(number)}" for reason, number in sorted(left_out.items()))
        yield f"units left out of words and intervals: {why}"
    if any(side_result.tps is None for cell in found.cells for side_result in cell.side_results):
        yield "* no step of it counts: the figure is that of all its steps"
    missing = [f"{cell.place}" for cell in found.cells if len(cell.side_results) < len(found.sides)]
    if missing:
        yield f"not measured on all sides: {'; '.join(missing)}"
    yield "dips: seconds below half of their step's median; latencies are the middle step's"
