"""A comparison as text: first what differs, then the matrix, then what each event costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from loadstone.analyse.differences import Difference, Differences, Values
from loadstone.analyse.effects import Effect, says_nothing
from loadstone.analyse.matrix import Against, Matrix, MatrixCell, Side, SideResult
from loadstone.analyse.meaning import Weight
from loadstone.analyse.metrics import CLASSES, METRICS, Metric
from loadstone.analyse.verdict import Spoiled, Word
from loadstone.model.asked_rate import asked
from loadstone.model.figure import Change, Percent
from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import Joined, Message, counted, plain, say, say_in
from loadstone.model.numbers import NOTHING, count, digits, pct, rate
from loadstone.report.experiment import left_out
from loadstone.report.lines import Line
from loadstone.report.marks import NO_INTERVAL
from loadstone.report.names import ADVICE_WEIGHTS, VERDICT_WORDS, comparison_count, unit_count
from loadstone.report.names import CLASSES as CLASS_NAMES
from loadstone.report.step_table import ASKED, INTERVAL
from loadstone.report.table import table_of, visible
from loadstone.report.table_section import Section
from loadstone.report.wrapping import filled_to

_INDENT = 8
_LONG_NAME = 14
"""Sides with longer names have a letter in the tables."""

_SHOWN_VALUE = 60
_EXPLAINED = 8
"""[P] The most differences with a paragraph in a terminal, without the unfair ones: with more, the
rates would be off the screen."""

SWINGS_MORE = 2.0
"""A side swings if its seconds vary this many times as much as another's."""

SWINGS = 0.1
"""A side swings only if its seconds vary by at least this share of their mean."""


@dataclass(frozen=True)
class Names:
    """What sides are called in tables."""

    short: Mapping[str, str]

    @classmethod
    def of(cls, sides: Sequence[Side]) -> Names:
        """The sides' own names, or letters where a name is long."""
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


def sections(found: Matrix, differing: Differences, words: Language = ENGLISH) -> list[Section]:
    """All sections of the comparison, in reading order."""
    names = Names.of(found.sides)
    made = [
        Section("", tuple(words(line) for line in _who(found.sides, names))),
        _differing(differing, names, words),
        *_unknown(differing, names, words),
    ]
    for title, cells in tables_of(found):
        costs = words(say("{title}: cost of an event", title=title))
        classes = words(say("{title}: by class of statement", title=title))
        swings = words(say("{title}: swings", title=title))
        made.append(_matrix(title, cells, names, words))
        made += _if_any(costs, _Shown(cells, names, words), COSTS)
        made += _if_any(classes, _Shown(cells, names, words), _classes())
        made.append(_swings(swings, _Shown(cells, names, words)))
    lines = tuple(words(say("note  {note}", note=line)) for line in notes(found, names))
    answer = tuple(_answer(found, differing, names, words))
    return [*made, Section("", lines, apart=True), Section(words(say("Answer")), answer)]


def _answer(found: Matrix, differing: Differences, names: Names, words: Language) -> Iterator[str]:
    """A line a side, last: at how many levels it has which verdict, and by how much."""
    for side in found.sides[1:]:
        contests = [each for cell in found.cells for each in cell.against if each.side == side.name]
        told = [
            _at_levels(
                word, [each.verdict.effect for each in contests if each.verdict.word == word]
            )
            for word in dict.fromkeys(VERDICT_WORDS)
            if any(each.verdict.word == word for each in contests)
        ]
        against = words(say("{b} against {a}", b=names[side.name], a=names[found.sides[0].name]))
        told = told or [say("no level was measured on both sides")]
        yield words.pair(against, words.value(Joined(told, "clauses")))
    if differing.durability or differing.other_work:
        yield words(say("The sides are not equal: read the warning at the top first."))


def _at_levels(word: Word, effects: Sequence[Effect | None]) -> Message:
    """`faster at 2 levels (tps +9.0 % to +12.0 %)`."""
    levels = counted("1 level", "{number} levels", len(effects))
    said = say("{verdict} at {levels}", verdict=VERDICT_WORDS[word], levels=levels)
    changes = sorted(effect.relative for effect in effects if effect)
    if not changes:
        return said
    change: Message | Change = Change(changes[0])
    if len(changes) > 1:
        change = say("{low} to {high}", low=change, high=Change(changes[-1]))
    return say("{verdict} (tps {change})", verdict=said, change=change)


def _who(sides: Sequence[Side], names: Names) -> Iterator[Message]:
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
        short = names[side.name]
        said: str = short if short == side.name else f"{short} {side.name}"
        if runs != [side.name]:
            said = say("{side}, of {runs}", side=said, runs=Joined(runs))
        if target:
            said = say_in("joined", "{first}: {second}", first=said, second=target)
        yield plain(said)


def _unfair(found: Differences) -> Iterator[Message]:
    """What makes a comparison of the rates misleading."""
    if found.durability:
        yield say(
            "WARNING: the sides do not promise the same ({settings}): what is faster may only be "
            "less durable.",
            settings=Joined(row.label for row in found.durability),
        )
    if found.other_work:
        yield say(
            "WARNING: the sides did not do the same work ({work}).",
            work=Joined(row.label for row in found.other_work),
        )


def _differing(found: Differences, names: Names, words: Language) -> Section:
    lines = []
    if not found.rows:
        lines.append(words(say("No difference was found.")))
    if found.on_one_side:
        said = counted(
            "1 more setting exists only on some of the servers; --json names it.",
            "{number} more settings exist only on some of the servers; --json names them.",
            len(found.on_one_side),
        )
        lines.append(words(said))
    heads = (
        "", words(say("what")), *(names[side] for side in found.sides),
        words(say("for speed")), words(say("for durability")),
    )  # fmt: skip
    rows = tuple(
        (
            words(ADVICE_WEIGHTS[row.weight]),
            words(row.label),
            *(words(value) if value else NOTHING for value in row.values),
            words(_speed(row)),
            words((row.meaning and row.meaning.durability) or ""),
        )
        for row in found.rows
    )
    paragraphs = _Paragraphs(found.sides, names, words)
    return Section(
        words(say("What differs")),
        tuple(lines),
        table_of(heads, rows, text=len(heads)),
        in_text=tuple(paragraphs.of(found.rows)),
        warnings=tuple(words(line) for line in _unfair(found)),
    )


def _is_unexplained(row: Difference) -> bool:
    """Whether the setting has no explanation in the table: all of these share a paragraph."""
    return row.group == "setting" and row.meaning is None and not row.followers


def _speed(row: Difference) -> str:
    said = row.meaning.performance if row.meaning else ""
    if not row.followers:
        return said
    with_it = say("with it: {settings}", settings=Joined(name for name, _ in row.followers))
    return say_in("joined", "{first}; {second}", first=said, second=with_it) if said else with_it


@dataclass(frozen=True)
class _Paragraphs:
    """What differs, for a terminal."""

    sides: Sequence[str]
    names: Names
    words: Language

    def of(self, rows: Sequence[Difference]) -> Iterator[Line]:
        """A paragraph for each difference; unexplained settings share one."""
        explained = [row for row in rows if not _is_unexplained(row)]
        unfair = [row for row in explained if row.weight == "unfair"]
        others = [row for row in explained if row.weight != "unfair"]
        for row in (*unfair, *others[:_EXPLAINED]):
            yield from self._paragraph(row)
        if rest := others[_EXPLAINED:]:
            named = Joined(row.label for row in rest)
            more = counted(
                "1 more: {named} (--html and --markdown have its values)",
                "{number} more: {named} (--html and --markdown have their values)",
                len(rest),
                named=named,
            )
            yield self._line(more, rest[0].weight)
        unexplained = [row for row in rows if _is_unexplained(row)]
        named = Joined(
            (self._named(plain(row.name), row.values) for row in unexplained[:_EXPLAINED]),
            "clauses",
        )
        if rest := unexplained[_EXPLAINED:]:
            more = counted(
                "other settings: {settings}, and 1 more (--html and --markdown have it)",
                "other settings: {settings}, and {number} more (--html and --markdown have them)",
                len(rest),
                settings=named,
            )
            yield self._line(more, "note")
        elif unexplained:
            yield self._line(say("other settings: {settings}", settings=named), "note")

    def _paragraph(self, row: Difference) -> Iterator[Line]:
        """The values, then a line for each consequence."""
        values = self._values(row.values)
        label = say_in("joined", "{first}: {second}", first=row.label, second=values)
        yield self._line(label, row.weight)
        if row.meaning:
            yield self._line(say("speed: {meaning}", meaning=row.meaning.performance))
            if row.meaning.durability:
                meaning = row.meaning.durability
                yield self._line(say("durability: {meaning}", meaning=meaning))
        if row.followers:
            followers = (self._named(plain(name), values) for name, values in row.followers)
            yield self._line(say("with it: {settings}", settings=Joined(followers, "clauses")))

    def _line(self, text: Message, weight: Weight | None = None) -> Line:
        head = self.words(ADVICE_WEIGHTS[weight]) if weight else ""
        return Line(visible(f"{filled_to(head, _INDENT)}{self.words(text)}"))

    def _named(self, name: Message, values: Values) -> Message:
        return say("{name} {values}", name=name, values=self._values(values))

    def _values(self, values: Values) -> Joined:
        return Joined(
            say("{side} {value}", side=self.names[side], value=_short(value))
            for side, value in zip(self.sides, values, strict=True)
        )


def _short(value: str | None) -> str:
    if value is None:
        return say("not evaluated")
    if value == "":
        return say("empty")
    return value if len(value) <= _SHOWN_VALUE else f"{value[:_SHOWN_VALUE]}…"


def _unknown(found: Differences, names: Names, words: Language) -> Iterator[Section]:
    """A line for each reason: a host that was not visible has one reason for all its facts."""
    by_reason: dict[tuple[tuple[str, Message], ...], list[Message]] = {}
    for label, reasons in found.not_evaluated:
        by_reason.setdefault(reasons, []).append(label)
    lines = []
    for reasons, labels in by_reason.items():
        whys = dict.fromkeys(why for _, why in reasons)
        everywhere = len(reasons) == len(found.sides) and len(whys) == 1
        said: Message | Joined = next(iter(whys))
        if not everywhere:
            said = Joined(
                (
                    say_in("joined", "{first}: {second}", first=names[side], second=why)
                    for side, why in reasons
                ),
                "clauses",
            )
        line = say("not evaluated: {facts} ({why})", facts=Joined(labels), why=said)
        lines.append(words(line))
    if lines:
        yield Section("", tuple(lines))


def tables_of(found: Matrix) -> Iterator[tuple[str, list[MatrixCell]]]:
    """The cells of each table, by context and workload."""
    tables: dict[str, list[MatrixCell]] = {}
    for cell in found.cells:
        workload = cell.place.cell[0]
        title = f"{workload}, {cell.place.context}" if cell.place.context else workload
        tables.setdefault(title, []).append(cell)
    yield from tables.items()


@dataclass(frozen=True)
class _Shown:
    """The cells of a table, and how they are shown."""

    cells: Sequence[MatrixCell]
    names: Names
    words: Language


def _matrix(title: str, cells: Sequence[MatrixCell], names: Names, words: Language) -> Section:
    heads = [
        *_place_heads(cells), say("tps"), INTERVAL, say("p95\nms"), say("p99\nms"), say("ratio"),
        say("95 %"), plain(""),
    ]  # fmt: skip
    rows = []
    for cell in cells:
        for side_result in cell.side_results:
            against = next((each for each in cell.against if each.side == side_result.side), None)
            p95, p99 = (rate(side_result.figure(METRICS[name])) for name in ("p95", "p99"))
            rows.append(
                (
                    *_place_cells(cell, cells, names[side_result.side], words),
                    _tps(side_result),
                    _half(side_result),
                    p95,
                    p99,
                    *(_ratio(against, words) if against else ("", "", "")),
                )
            )
    side = len(_place_heads(cells)) - 1
    shown = [words(head) for head in heads]
    return Section(title, (), table_of(shown, rows, text=(side, len(heads) - 1)))


def _place_heads(cells: Sequence[MatrixCell]) -> tuple[Message, ...]:
    due = (ASKED,) if any(cell.place.cell[2] for cell in cells) else ()
    return (say("users"), *due, say("side"))


def _place_cells(
    cell: MatrixCell, cells: Sequence[MatrixCell], side: str, words: Language
) -> tuple[str, ...]:
    _, users, due = cell.place.cell
    rates = any(each.place.cell[2] for each in cells)
    return (count(users), *([words(asked(due)) if due else NOTHING] if rates else []), side)


def _tps(side_result: SideResult) -> str:
    """The mean of the valid steps; without any, that of all steps, with a mark."""
    if side_result.tps:
        return digits(side_result.tps.value)
    value = side_result.figure(METRICS["tps"])
    return NOTHING if value is None else f"{digits(value)}*"


def _half(side_result: SideResult) -> str:
    interval = side_result.tps.of_a_rate if side_result.tps else None
    return NOTHING if interval is None else digits((interval.high - interval.low) / 2)


def _ratio(against: Against, words: Language) -> tuple[str, str, str]:
    verdict = against.verdict
    short, effect = words(VERDICT_WORDS[verdict.word]), verdict.effect
    if effect is None:
        return NOTHING, NOTHING, short
    ratio = f"{1 + effect.relative:.3g}"
    if effect.interval is None:
        said = say("one step a side: no interval")
        if effect.units > 1:
            said = say("{units}: no interval", units=unit_count(effect.units))
        return ratio, NOTHING, words(said)
    low, high = Change(effect.interval.low), Change(effect.interval.high)
    between = words(say("{low} to {high}", low=low, high=high))
    if says_nothing(effect.interval):
        between = words(say("no usable interval"))
    return ratio, between, short if verdict.word == "not enough evidence" else words(verdict.said)


Cell = Callable[[SideResult], str]


def _figure(metric: Metric, factor: float = 1.0) -> Cell:
    def cell(side_result: SideResult) -> str:
        value = side_result.figure(metric)
        return NOTHING if value is None else digits(factor * value)

    return cell


def _share(metric: Metric) -> Cell:
    return lambda side_result: pct(side_result.figure(metric))


_Columns = Sequence[tuple[Message, Cell]]
"""Heads, each with the function that gives its cells."""

COSTS: _Columns = (
    (say("server\nCPU µs"), _figure(METRICS["server_cpu"], 1000)),
    (say("in the\nkernel"), _share(METRICS["server_system"])),
    (say("host\nCPU µs"), _figure(METRICS["host_cpu"], 1000)),
    (say("disk\nreads"), _figure(METRICS["disk_reads"])),
    (say("disk\nwrites"), _figure(METRICS["disk_writes"])),
    (say("KiB\nwritten"), _figure(METRICS["disk_write_bytes"], 1 / 1024)),
    (say("log\nsyncs"), _figure(METRICS["log_syncs"])),
    (say("commits\n/sync"), _figure(METRICS["transactions_per_sync"])),
    (say("network\nbytes"), _figure(METRICS["network_bytes"])),
    (say("memory\nMiB"), _figure(METRICS["server_memory"], 1 / 1024**2)),
)
"""Costs per event, except the kernel's share, commits per sync and the server's memory."""


def _classes() -> _Columns:
    columns: list[tuple[Message, Cell]] = []
    for name in CLASSES:
        shown = CLASS_NAMES[name]
        columns.append((say("{name}\n/s", name=shown), _figure(METRICS[f"{name}_qps"])))
        for figure in ("p95", "p99"):
            head = say("{name}\n{figure} ms", name=shown, figure=figure)
            columns.append((head, _figure(METRICS[f"{name}_{figure}"])))
    return columns


def _if_any(title: str, shown: _Shown, columns: _Columns) -> Iterator[Section]:
    """A table of the columns in which some side has a value; nothing without such columns."""
    cells, words = shown.cells, shown.words
    side_results = [side_result for cell in cells for side_result in cell.side_results]
    known = [
        (head, cell)
        for head, cell in columns
        if any(cell(side_result) != NOTHING for side_result in side_results)
    ]
    if not known:
        return
    place = _place_heads(cells)
    rows = tuple(
        (
            *_place_cells(cell, cells, shown.names[side_result.side], shown.words),
            *(column(side_result) for _, column in known),
        )
        for cell in cells
        for side_result in cell.side_results
    )
    heads = [words(head) for head in (*place, *(head for head, _ in known))]
    yield Section(title, (), table_of(heads, rows, text=(len(place) - 1,)))


def _swings(title: str, shown: _Shown) -> Section:
    columns: _Columns = (
        (say("CV\nwithin"), lambda side_result: pct(side_result.swings.variation.within)),
        (say("CV\nbetween"), lambda side_result: pct(side_result.swings.variation.between)),
        (say("seconds\nin dips"), lambda side_result: pct(side_result.swings.dips)),
        (say("lowest\nsecond"), lambda side_result: pct(side_result.swings.lowest)),
    )
    nothing = Section(title, (shown.words(say("not evaluated")),))
    found = next(_if_any(title, shown, columns), nothing)
    said = tuple(shown.words(line) for line in _swinging(shown.cells, shown.names))
    return replace(found, lines=(*found.lines, *said))


def _swinging(cells: Sequence[MatrixCell], names: Names) -> Iterator[Message]:
    """Sentences on sides that swing much more than another, by the median over all levels."""
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
            yield say(
                "{side} swings: its seconds vary by {own} of the mean within a step, those of "
                "{even} by {least} (medians over levels).",
                side=names[side],
                own=Percent(value),
                even=names[even],
                least=Percent(typical[even]),
            )


def notes(found: Matrix, names: Names) -> Iterator[Message]:
    """Notes on what the figures are based on."""
    yield say("ratios are to {side}, of geometric means", side=names[found.sides[0].name])
    if found.single:
        yield say(
            "some levels have too few steps for an interval, as seconds of one step are not "
            "independent; --repeats or an experiment gives one"
        )
    if not found.interleaved:
        yield say(
            "the sides were not measured in turns: whatever else changed between the runs is in "
            "the ratios as well"
        )
    yield from _corrected(found)
    verdicts = [against.verdict for cell in found.cells for against in cell.against]
    open_ones = [
        (cell.place.said, against.verdict)
        for cell in found.cells
        for against in cell.against
        if against.verdict.more is not None
    ]
    if open_ones:
        place, worst = max(open_ones, key=lambda one: one[1].more or 0)
        yield say_in("joined", "{first}: {second}", first=place, second=worst.said)
    if provisional := [verdict for verdict in verdicts if verdict.provisional is not None]:
        yield provisional[0].said
    reasons: Counter[Spoiled] = Counter()
    for verdict in verdicts:
        reasons.update(verdict.left_out)
    if reasons:
        named = left_out(reasons)
        yield say("units left out of verdicts and intervals: {reasons}", reasons=named)
    if any(side_result.tps is None for cell in found.cells for side_result in cell.side_results):
        yield say("* none of its steps counts: the figure is that of all its steps")
    if any(map(_lacks_interval, found.cells)):
        yield NO_INTERVAL
    missing = [cell.place.said for cell in found.cells if len(cell.side_results) < len(found.sides)]
    if missing:
        yield say("not measured on all sides: {places}", places=Joined(missing, "clauses"))
    yield say("dips: seconds below half of their step's median; latencies are the middle step's")


def _lacks_interval(cell: MatrixCell) -> bool:
    means = [side_result.tps for side_result in cell.side_results if side_result.tps]
    return any(mean.interval and not mean.of_a_rate for mean in means)


def _corrected(found: Matrix) -> Iterator[Message]:
    if found.interleaved:
        yield say(
            "verdicts and intervals of tps are corrected for all comparisons of the experiment"
        )
    elif found.comparisons:
        yield say(
            "verdicts and intervals of tps are corrected for {each} by Holm's method",
            each=comparison_count(found.comparisons),
        )
