"""A table as a value, and its three renderers: terminal, HTML and Markdown."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.table import Table as Grid
from rich.text import Text

from loadstone.report.markup import Markup, element, joined

_MARKDOWN = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_|<>[]#&"})


_FOLDED = 24
"""Words longer than this are broken rather than given a column of their width."""


@dataclass(frozen=True)
class Column:
    """A head, and how the cells below it are aligned: numbers to the right, text to the left."""

    head: str
    """The head with its unit; only a terminal keeps its line breaks."""
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
    """Whether cells next to a folded one align with its first line rather than its last."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Grid | Text]:
        """The table for a terminal; where that is too narrow, more tables follow below."""
        for number, places in enumerate(self._parts(options.max_width)):
            if number:
                yield Text()
            yield self._grid(places)

    def _parts(self, width: int) -> list[list[int]]:
        """The places of the columns of each part, which all begin with the first column.

        As few parts as there can be, and none much wider than the others.
        """
        apart = 1 + self.gap
        widths = [self._least(at) + apart for at in range(len(self.columns))]
        # There is no gap after the last column.
        room, wanted = width + apart - widths[0], sum(widths[1:])
        if wanted <= room or len(widths) < 3:
            return [list(range(len(widths)))]
        even = max(wanted / -(-wanted // max(room, 1)), max(widths[1:]))
        parts, filled = [[0]], 0
        for at in range(1, len(widths)):
            if len(parts[-1]) > 1 and filled + widths[at] / 2 > even or filled + widths[at] > room:
                parts, filled = [*parts, [0]], 0
            parts[-1].append(at)
            filled += widths[at]
        return parts

    def _least(self, at: int) -> int:
        """How many characters a terminal has to give a column; text that folds needs its words."""
        column = self.columns[at]
        texts = [column.narrow or column.head, *(row[at] for row in self.rows)]
        folds = column.is_text and column.folds
        parts = [part for text in texts for part in (text.split() if folds else text.split("\n"))]
        widest = max(map(cell_len, parts), default=0)
        if folds:
            widest = min(widest, _FOLDED)
        if column.most is not None:
            widest = min(widest, column.most)
        return max(widest, column.least or 0)

    def _grid(self, places: Sequence[int]) -> Grid:
        """A grid of some columns, with control characters made visible and markup shown as text."""
        padding = (0, self.gap, 0, 0)
        grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=padding)
        for column in (self.columns[at] for at in places):
            grid.add_column(
                Text(column.narrow or column.head),
                justify="left" if column.is_text else "right",
                vertical="top" if self.top else "bottom",
                overflow="fold" if column.folds else "ellipsis",
                no_wrap=not (column.is_text and column.folds),
                min_width=column.least,
                max_width=column.most,
            )
        for number, row in enumerate(self.rows):
            cells = (Text(visible(row[at], keep="\n")) for at in places)
            grid.add_row(*cells, style=self.styles.get(number))
        return grid

    def html(self) -> Markup:
        """A table that scrolls by itself."""
        heads = (
            element("th", " ".join(each.head.split()), scope="col", class_=_class(each))
            for each in self.columns
        )
        body = joined(element("tr", *self._cells(place)) for place in range(len(self.rows)))
        inside = element("table", element("thead", element("tr", *heads)), element("tbody", body))
        return element("div", inside, class_="scrolls", tabindex="0", role="region")

    def _cells(self, place: int) -> Iterator[Markup]:
        for at, (column, cell) in enumerate(zip(self.columns, self.rows[place], strict=True)):
            stands_out = at == 0 and self.styles.get(place) == "bold"
            inside = element("span", cell, class_="peak") if stands_out else cell
            yield element("td", inside, class_=_class(column))

    def markdown(self) -> Iterator[str]:
        """The lines in GitHub's flavour, one for each row; the cells are escaped."""
        yield _markdown_row(column.head for column in self.columns)
        yield f"| {' | '.join('---' if each.is_text else '---:' for each in self.columns)} |"
        yield from map(_markdown_row, self.rows)


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


def _class(column: Column) -> str | None:
    return None if column.is_text else "number"
