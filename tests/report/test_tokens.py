"""The report, the live page and the documentation have their colours and sizes from one file."""

from __future__ import annotations

import itertools
import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from loadstone.model.language import ENGLISH
from loadstone.report.figures.palette import themes
from loadstone.report.markup import Markup
from loadstone.report.page import Figures, document
from loadstone.report.tokens import Theme, colours, stylesheet, tokens
from loadstone.web.pages import TOKENS, pages

ROOT = Path(__file__).parents[2]
REPORT, LIVE = ROOT / "src/loadstone/report/assets", ROOT / "src/loadstone/web/static"
SHEETS = {
    one.name: one.read_text()
    for one in (
        *(REPORT / name for name in ("parts.css", "page.css", "print.css")),
        LIVE / "live.css",
        ROOT / "docs/_static/docs.css",
    )
}
THEMES: tuple[Theme, Theme] = ("light", "dark")
COLOUR = re.compile(r"#[0-9a-f]{3,8}\b|\b(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch|color)\(", re.I)
NAMED = re.compile(r"(?<![\w-])(?:black|white|red|green|blue|gr[ae]y|orange|yellow)(?![\w-])", re.I)


def rules(sheet: str) -> str:
    """Without comments and selectors, in which `#fee` is an element."""
    bare = re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL)
    return "\n".join(re.findall(r"\{([^{}]*)\}", bare))


@pytest.mark.parametrize("name", SHEETS)
def test_no_other_sheet_has_a_colour_of_its_own(name: str) -> None:
    inside = rules(SHEETS[name])
    assert inside.count(":") > 5
    assert COLOUR.findall(inside) + NAMED.findall(inside) == []


@pytest.mark.parametrize("name", SHEETS)
def test_each_property_that_is_used_is_there(name: str) -> None:
    used = set(re.findall(r"var\(--([\w-]+)", SHEETS[name]))
    assert used - tokens("light").keys() == set()


def test_each_property_is_used() -> None:
    used = {one for sheet in SHEETS.values() for one in re.findall(r"var\(--([\w-]+)", sheet)}
    of_figures = {"float"}
    assert tokens("light").keys() - used == of_figures


def test_the_report_and_the_page_become_narrow_at_the_same_width() -> None:
    widths = {
        name: set(re.findall(r"max-width: (\d+rem)\) *\{", SHEETS[name]))
        for name in ("page.css", "live.css")
    }
    assert widths == {"page.css": {"50rem"}, "live.css": {"50rem"}}


def luminance(colour: str) -> float:
    channels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels)
    return sum(one * share for one, share in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", THEMES)
def test_texts_have_the_contrast_of_level_aa_and_edges_can_be_seen(theme: Theme) -> None:
    found = tokens(theme)
    inks, grounds = ("text", "quiet", "accent", "good", "bad"), ("back", "raised", "peak")
    pairs = [*itertools.product(inks, grounds), ("on-accent", "accent"), ("back", "bad")]
    wanted = dict.fromkeys(pairs, 4.5) | {("edge", one): 3.0 for one in ("back", "raised")}
    faint = {
        pair: contrast(*(found[one] for one in pair))
        for pair, least in wanted.items()
        if contrast(*(found[one] for one in pair)) < least
    }
    assert faint == {}


def test_a_value_is_written_out_for_browsers_that_know_no_pairs() -> None:
    written = stylesheet()
    assert "light-dark" not in written
    light, dark = (colours(theme)["back"] for theme in THEMES)
    assert written.count(f"--back: {light};") == 1
    assert written.count(f"--back: {dark};") == 2, "the system's, and the reader's choice"
    assert written.count("--radius:") == 1


def test_the_report_and_the_page_have_the_same_values() -> None:
    assert pages()[TOKENS].content.decode() == stylesheet()
    assert stylesheet() in document("title", Markup(""), Figures(ENGLISH))


@pytest.mark.parametrize("theme", THEMES)
def test_what_was_measured_has_the_accent_of_the_page(theme: Theme) -> None:
    figures = themes()[theme]
    assert figures["color"][0] == tokens(theme)["accent"]
    assert figures["textStyle"] == {
        "color": tokens(theme)["text"],
        "fontFamily": tokens(theme)["font"],
    }


def configuration() -> dict[str, Any]:
    """What Sphinx reads."""
    spec = spec_from_file_location("conf", ROOT / "docs/conf.py")
    assert spec is not None and spec.loader is not None
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return vars(made)


@pytest.mark.parametrize("theme", THEMES)
def test_the_documentation_has_its_colours_and_letters_from_there(theme: Theme) -> None:
    conf = configuration()
    given = conf["html_theme_options"][f"{theme}_css_variables"]
    assert given["color-brand-primary"] == tokens(theme)["accent"]
    assert given["color-background-primary"] == tokens(theme)["back"]
    assert given["font-stack"] == tokens(theme)["font"]
    assert set(given.values()) <= set(tokens(theme).values())
    assert tokens(theme).items() <= given.items()
    assert conf["html_css_files"] == ["docs.css"]
    assert not COLOUR.search((ROOT / "docs/conf.py").read_text())
