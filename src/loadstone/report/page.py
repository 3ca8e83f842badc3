"""One self-contained HTML document of text, tables and figures; it needs no network.

The chart library and the figures' data are embedded compressed, and the reader's browser unpacks
them. The document may do nothing else: its policy allows two scripts by their hashes (W3C, "Content
Security Policy Level 3") and no requests, so even text that was mistaken for markup could not run.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import say
from loadstone.report.figures.palette import themes
from loadstone.report.markup import Markup, element, joined, text
from loadstone.report.tokens import stylesheet, tokens

if TYPE_CHECKING:  # a figure in a notebook places itself
    from loadstone.report.figures.figure import Figure


_CAPTION_PX = 48
"""Room for the caption of a figure in a notebook: two lines."""


@dataclass
class Figures:
    """The figures of one document, in the order in which they are placed."""

    words: Language
    placed: list[Figure] = field(default_factory=list)

    def place(self, figure: Figure) -> Markup:
        """Add a figure, and return the element in which it will be drawn."""
        number = len(self.placed)
        self.placed.append(figure)
        zooms = "dataZoom" in figure.option
        keys = self.words(say("Arrow keys move, plus and minus zoom, 0 shows all."))
        said = f"{figure.about} {keys}" if zooms else figure.about
        drawn = element(
            "div",
            class_="figure",
            id=f"figure-{number}",
            role="img",
            aria_label=said,
            tabindex="0" if zooms else None,
            style=f"height:{figure.height_px}px",
        )
        if not figure.captioned:
            return drawn
        return element("figure", element("figcaption", figure.title), drawn)


def document(title: str, body: Markup, figures: Figures) -> str:
    """The whole file."""
    words = figures.words
    bar = element(
        "header",
        element("a", words(say("Skip to the report")), href="#main", class_="skip"),
        _switch(words),
        class_="bar",
    )
    main = element("main", element("h1", title), body, id="main")
    return _framed(title, joined([bar, main]), figures)


def _switch(words: Language) -> Markup:
    """The choice of colours, as the live page has it; shown by the script that reads it."""
    choices = (
        element("option", words(said), value=value)
        for value, said in (
            ("auto", say("as the system")),
            ("light", say("light")),
            ("dark", say("dark")),
        )
    )
    name = element("span", words(say("Colours")))
    label = element("label", name, element("select", *choices, id="theme"))
    return element("div", label, class_="switches", hidden=True)


def embedded(figure: Figure) -> str:
    """A figure as a frame with a document of its own, for a notebook."""
    figures = Figures(ENGLISH)
    inside = _framed(figure.title, figures.place(figure), figures, kind="bare")
    height = figure.height_px + 16 + (_CAPTION_PX if figure.captioned else 0)
    style = f"width:100%;height:{height}px;border:0"
    return element("iframe", srcdoc=inside, title=figure.title, style=style)


def _framed(title: str, body: Markup, figures: Figures, kind: str | None = None) -> str:
    words = figures.words
    no_charts = words(
        say(
            "The charts could not be drawn: they need a browser with JavaScript and "
            "DecompressionStream (all of them since 2023). The tables hold the same figures."
        )
    )
    style = "".join((stylesheet(), _text_of("assets/parts.css"), _text_of("assets/page.css")))
    script = _text_of("assets/page.js")
    parts, allowed = [body], [script]
    if figures.placed:
        allowed.append(_library())
        parts += [
            element("p", no_charts, class_="no-charts", hidden=True),
            element("noscript", element("p", no_charts)),
            _block("library", _packed_library()),
            _block("figures", _packed(_data(figures.placed))),
        ]
    parts.append(element("script", Markup(script)))
    policy = _policy(allowed)
    head = joined(
        [
            Markup('<meta charset="utf-8">'),
            Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
            Markup(f'<meta http-equiv="Content-Security-Policy" content="{text(policy)}">'),
            element("title", title),
            element("style", Markup(style)),
            element("style", Markup(_text_of("assets/print.css")), id="print", media="print"),
            element("style", _running_lines(title), media="print"),
        ]
    )
    language = words.tag
    html = element("html", element("head", head), element("body", *parts, class_=kind),
                   lang=language)  # fmt: skip
    return f"<!doctype html>\n{html}\n"


def _running_lines(title: str) -> Markup:
    """Rules that print the title at the top of each page after the first, and its number below.

    The margins of a page know no properties of the document, so the colour is written out. A name
    may contain anything: each character other than a letter, a digit or a space is written as its
    code (W3C, "CSS Syntax Module Level 3", escaping).
    """
    written = "".join(
        mark if mark == " " or (mark.isascii() and mark.isalnum()) else f"\\{ord(mark):x} "
        for mark in title
        if mark.isprintable()
    )
    letters = f"font: 8pt sans-serif; color: {tokens('light')['quiet']};"
    top = f'@top-left {{ content: "{written}"; {letters} }}'
    bottom = f'@bottom-right {{ content: counter(page) " / " counter(pages); {letters} }}'
    first = "@page :first { @top-left { content: none } }"
    return Markup(f"@page {{ {top} {bottom} }} {first}")


def _policy(scripts: Sequence[str]) -> str:
    """The security policy: no requests; inline styles are allowed for the library's tooltips."""
    hashes = " ".join(f"'sha256-{_base64(sha256(one.encode()).digest())}'" for one in scripts)
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )


def _block(name: str, packed: str) -> Markup:
    """A block of data that no browser parses as a script: base64 has no `<`."""
    return element("script", Markup(packed), type="application/gzip+base64", id=name)


def _data(figures: Sequence[Figure]) -> bytes:
    drawn: list[dict[str, Any]] = [
        {"option": one.option, "group": one.group, "renderer": one.renderer}
        | ({"narrow": asdict(one.narrow), "height_px": one.height_px} if one.narrow else {})
        for one in figures
    ]
    document = {"themes": themes(), "figures": drawn}
    return json.dumps(document, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()


def unpacked(page: str) -> dict[str, Any]:
    """The figures' data of a document that `document` made, as the reader's browser has it."""
    _, _, rest = page.partition('id="figures">')
    packed, _, _ = rest.partition("<")
    found: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(packed)))
    return found


def _packed(data: bytes) -> str:
    """The data compressed without a timestamp, so that the same data gives the same text."""
    return _base64(gzip.compress(data, compresslevel=9, mtime=0))


@lru_cache(maxsize=1)
def _packed_library() -> str:
    return _packed(_library().encode())


def _library() -> str:
    return _text_of("vendor/echarts.min.js")


@lru_cache(maxsize=5)
def _text_of(name: str) -> str:
    # Read as bytes, because the hash covers the exact text, line endings included.
    return files("loadstone.report").joinpath(name).read_bytes().decode()


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
