"""A table as a value, and its three renderers: terminal, HTML and Markdown."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table as Grid
from rich.text import Text

from loadstone.report.markup import Markup, element, joined
from loadstone.report.markup import text as escaped
from loadstone.report.wrapping import UNLIMITED

_MARKDOWN = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_|<>[]#&"})


_FOLDED = 24
"""Words longer than this are broken or cut off rather than given a column of their width."""

_HYPHENATED = "-\n"
"""Where a word of a head is broken, if the terminal is too narrow for the whole word."""

_INDENT = re.compile(r"\A +")

_MOST_KEYS = 3
"""The most columns that each part of a table begins with."""


@dataclass(frozen=True)
class Column:
    """A head, and how the cells below it are aligned: numbers to the right, text to the left."""

    head: str
    """The head with its unit; only a terminal keeps its line breaks, and hyphens if it must."""
    is_text: bool = False
    narrow: str = ""
    """The head for a terminal, where it differs."""
    least: int | None = None
    """The fewest characters that a terminal gives it."""
    most: int | None = None
    """The most characters that a terminal gives it."""
    folds: bool = True
    """Whether text that is too long for a terminal is wrapped rather than cut off."""


@dataclass(frozen=True)
class FirstThatFits:
    """Tables of the same rows, the widest first; a console prints the first that it can in one."""

    tables: tuple[Table, ...]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The first table that fits; the last one if none does."""
        fitting = (each for each in self.tables[:-1] if each.fits(options.max_width))
        yield next(fitting, self.tables[-1])


@dataclass(frozen=True)
class Table:
    """Columns and rows. A console prints it as it is; `html` and `markdown` are the other forms."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    """The rows' cells; a cell of `Markup` is only for HTML."""
    title: str = ""
    styles: Mapping[int, Literal["bold", "dim"]] = field(default_factory=dict)
    """Rows that are emphasized or dimmed, by index."""
    gap: int = 1
    """How far a terminal sets columns apart, beyond the one character that there always is."""
    top: bool = False
    """Whether heads align with the first line of the tallest one rather than its last."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table for a terminal; where that is too narrow, more tables follow below.

        Numbers are moved together if that saves a table. A part that needs more
        than the terminal has is too wide rather than cut.
        """
        shown = self._with_whole_words(options.max_width)._closer(options.max_width)
        unlimited = options.max_width >= UNLIMITED
        for number, places in enumerate(shown._parts(options.max_width)):
            if number:
                yield Text()
            room = max(options.max_width, shown._needed(places))
            grid = shown._grid(places, None if unlimited else room)
            yield from console.render(grid, options.update(width=room))

    def fits(self, width: int) -> bool:
        """Whether a terminal of this width shows all columns next to each other."""
        return self._needed(range(len(self.columns))) <= width

    def _with_whole_words(self, width: int) -> Table:
        """The table without hyphens in its heads, if it takes no more parts so."""
        whole = replace(self, columns=tuple(map(_unhyphenated, self.columns)))
        parts = len(self._closer(width)._parts(width))
        return whole if len(whole._parts(width)) <= parts else self

    def _closer(self, width: int) -> Table:
        """The table with the least gaps, if it fits only so; texts would run into each other."""
        closer = replace(self, gap=0)
        places = range(len(self.columns))
        if any(column.is_text for column in self.columns[1:]):
            return self
        return closer if closer._needed(places) <= width < self._needed(places) else self

    def _needed(self, places: Sequence[int]) -> int:
        """The least width of some columns next to each other; no gap follows the last one."""
        return sum(self._least(at) + 1 + self.gap for at in places) - 1 - self.gap

    def _parts(self, width: int) -> list[list[int]]:
        """The places of the columns of each part, which all begin with the keys.

        As few parts as there can be, and none much wider than the others.
        """
        apart = 1 + self.gap
        widths = [self._least(at) + apart for at in range(len(self.columns))]
        keys = self._keys() if sum(widths[: self._keys()]) <= width / 2 else 1
        # There is no gap after the last column.
        room, wanted = width + apart - sum(widths[:keys]), sum(widths[keys:])
        if wanted <= room or len(widths) < keys + 2 or room < 1:
            return [list(range(len(widths)))]
        fewest = len(_filled(widths, keys, room))
        limit = next(
            limit for limit in range(1, room + 1) if len(_filled(widths, keys, limit)) == fewest
        )
        return _filled(widths, keys, limit)

    def _keys(self) -> int:
        """How many columns at the left tell the rows apart; 1 where no few of them do."""
        for most in range(1, min(_MOST_KEYS, len(self.columns)) + 1):
            if len({row[:most] for row in self.rows}) == len(self.rows):
                return most
        return 1

    def _texts(self, at: int) -> list[str]:
        """The head and the cells of a column as a terminal shows them."""
        column = self.columns[at]
        cells = (visible(row[at], keep="\n") for row in self.rows)
        return [column.narrow or column.head, *cells]

    def _least(self, at: int) -> int:
        """How many characters a terminal has to give a column; text that folds needs its words."""
        column = self.columns[at]
        texts = self._texts(at)
        folds = column.is_text and column.folds
        parts = [part for text in texts for part in (text.split() if folds else text.split("\n"))]
        widest = max(map(cell_len, parts), default=0)
        if folds or column.most is not None:
            widest = min(widest, _FOLDED)
        if column.most is not None:
            widest = min(widest, column.most)
        return max(widest, column.least or 0)

    def _widths(self, places: Sequence[int], room: int) -> list[int]:
        """The width of each of some columns.

        What the longest words and the numbers leave goes to the texts that
        fold or are cut off: those that want little get it, the others share the rest.
        """
        widths = {at: self._least(at) for at in places}
        spare = room - self._needed(places)
        wanting = sorted((self._whole(at) - widths[at], at) for at in places)
        for number, (want, at) in enumerate(wanting):
            given = min(want, max(spare, 0) // (len(wanting) - number))
            widths[at] += given
            spare -= given
        return [widths[at] for at in places]

    def _whole(self, at: int) -> int:
        """The width that a column can use: its longest line, or the most that it may have."""
        column = self.columns[at]
        texts = self._texts(at)
        widest = max(cell_len(part) for text in texts for part in text.split("\n"))
        most = widest if column.most is None else min(widest, column.most)
        return max(most, self._least(at))

    def _grid(self, places: Sequence[int], room: int | None) -> Grid:
        """A grid of some columns, with control characters made visible and markup shown as text.

        Where `room` is `None`, no text is folded or cut off.
        """
        padding = (0, self.gap, 0, 0)
        grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=padding)
        widths = [None] * len(places) if room is None else self._widths(places, room)
        for at, width in zip(places, widths, strict=True):
            column = self.columns[at]
            grid.add_column(
                Text(column.narrow or column.head),
                justify="left" if column.is_text else "right",
                vertical="top" if self.top else "bottom",
                overflow="fold" if column.folds else "ellipsis",
                no_wrap=not (column.is_text and column.folds),
                min_width=column.least,
                width=width,
            )
        for number, row in enumerate(self.rows):
            cells = (_Cell(visible(row[at], keep="\n")) for at in places)
            grid.add_row(*cells, style=self.styles.get(number))
        return grid

    def html(self) -> Markup:
        """A table that scrolls by itself."""
        heads = (
            element("th", in_one_line(each.head), scope="col", class_=_class(each))
            for each in self.columns
        )
        body = joined(element("tr", *self._cells(place)) for place in range(len(self.rows)))
        inside = element("table", element("thead", element("tr", *heads)), element("tbody", body))
        return element("div", inside, class_="scrolls", tabindex="0")

    def _cells(self, place: int) -> Iterator[Markup]:
        for at, (column, cell) in enumerate(zip(self.columns, self.rows[place], strict=True)):
            stands_out = at == 0 and self.styles.get(place) == "bold"
            # A page would drop the spaces that indent a part of the row above.
            indented = cell if isinstance(cell, Markup) else _INDENT.sub(_kept, cell)
            shown = _breakable(indented) if column.is_text else indented
            inside = element("span", shown, class_="peak") if stands_out else shown
            yield element("td", inside, class_=_class(column))

    def markdown(self) -> Iterator[str]:
        """The lines in GitHub's flavour, one for each row; the cells are escaped."""
        yield _markdown_row(in_one_line(column.head) for column in self.columns)
        yield f"| {' | '.join('---' if each.is_text else '---:' for each in self.columns)} |"
        yield from map(_markdown_row, self.rows)


def _kept(indent: re.Match[str]) -> str:
    return "\N{NO-BREAK SPACE}" * (2 * len(indent[0]))


class _Cell(Text):
    """A cell that begins on the first line of its row, also where another one is folded."""

    __slots__ = ()
    vertical = "top"


def table_of(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    text: int | Collection[int] = 1,
    least: int | None = None,
    gap: int = 1,
) -> Table:
    """A table of heads and rows.

    `text`: so many columns at the left hold text, or those at these places; all others numbers,
    each at least `least` characters wide in a terminal.
    """
    places = range(text) if isinstance(text, int) else text
    columns = (
        Column(head, is_text=True) if at in places else Column(head, least=least)
        for at, head in enumerate(heads)
    )
    return Table(tuple(columns), tuple(map(tuple, rows)), gap=gap)


def in_one_line(head: str) -> str:
    """A head without its line breaks, and without the hyphens that stand before some of them."""
    return " ".join(head.replace(_HYPHENATED, "").split())


def _unhyphenated(column: Column) -> Column:
    head, narrow = (each.replace(_HYPHENATED, "") for each in (column.head, column.narrow))
    return replace(column, head=head, narrow=narrow)


def visible(text: str, keep: str = "") -> str:
    """Untrusted text for a terminal, with control characters shown as marks."""
    shown = (
        mark if mark.isprintable() or mark in keep else "\N{REPLACEMENT CHARACTER}" for mark in text
    )
    return "".join(shown)


def markdown_text(text: str) -> str:
    """The text in one line, with Markdown and HTML markup escaped."""
    return " ".join(text.translate(_MARKDOWN).split())


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(markdown_text, cells))} |"


def _breakable(text: str) -> str:
    """A list such as `optimizer_switch`, which a browser may break after each comma."""
    if isinstance(text, Markup) or max(map(cell_len, text.split()), default=0) <= _FOLDED:
        return text
    return Markup(",<wbr>".join(map(escaped, text.split(","))))


def _class(column: Column) -> str | None:
    return None if column.is_text else "number"


def _filled(widths: Sequence[int], keys: int, limit: int) -> list[list[int]]:
    """The places of columns, filled up to the limit part by part; the keys are in each."""
    parts, filled = [[*range(keys)]], 0
    for at in range(keys, len(widths)):
        if filled + widths[at] > limit and len(parts[-1]) > keys:
            parts, filled = [*parts, [*range(keys)]], 0
        parts[-1].append(at)
        filled += widths[at]
    return parts
