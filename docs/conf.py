"""How Sphinx builds the site of the documentation: `make docs`."""

from __future__ import annotations

import re
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_ROOT = Path(__file__).parent.parent


def _module(path: str) -> ModuleType:
    """A module of the program that needs no other: its packages are not installed here."""
    spec = spec_from_file_location(Path(path).stem, _ROOT / path)
    assert spec is not None and spec.loader is not None, path
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


_TOKENS = _module("src/loadstone/report/tokens.py")
_PROJECT = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "Loadstone"
version = tomllib.loads((_ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"][
    "version"
]
html_title = f"Loadstone {version}"
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["docs.css"]
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
extensions = ["myst_parser"]
exclude_patterns = ["*.ipynb"]
myst_heading_anchors = 4
# Pages are also read where they lie, so headings may begin wherever they like.
suppress_warnings = ["myst.header", "misc.highlighting_failure"]

_FROM_TOKENS = {
    "font-stack": "font",
    "font-stack--monospace": "mono",
    "color-foreground-primary": "text",
    "color-foreground-secondary": "quiet",
    "color-foreground-muted": "quiet",
    "color-foreground-border": "edge",
    "color-background-primary": "back",
    "color-background-secondary": "raised",
    "color-background-hover": "raised",
    "color-background-border": "line",
    "color-brand-primary": "accent",
    "color-brand-content": "accent",
    "color-brand-visited": "accent",
    "color-code-background": "raised",
    "color-inline-code-background": "raised",
    "color-sidebar-link-text": "text",
    "color-highlight-on-target": "peak",
    "color-problematic": "bad",
    "font-size--small": "size-small",
}
"""The theme's properties that are the report's and the live page's, by their names there."""

html_theme_options = {
    f"{theme}_css_variables": {
        **_TOKENS.tokens(theme),
        **{name: _TOKENS.tokens(theme)[token] for name, token in _FROM_TOKENS.items()},
    }
    for theme in ("light", "dark")
}

_LINK = re.compile(r"(\]\()([^)#\s:]+)((?:#[^)\s]*)?\))")


def _lead_out(app: Sphinx, name: str, text: list[str]) -> None:
    """A link to a file that is no page leads to where the sources are kept."""
    folder = Path(app.env.doc2path(name)).parent

    def led(found: re.Match[str]) -> str:
        target = (folder / found[2]).resolve()
        is_page = target.is_relative_to(_ROOT / "docs") and target.suffix in (".md", ".png")
        if is_page or not target.exists():
            return found[0]
        return f"{found[1]}{_PROJECT['urls']['Source']}{target.relative_to(_ROOT)}{found[3]}"

    text[0] = _LINK.sub(led, text[0])


_ACCESSIBLE = (
    ('<p class="caption" role="heading">', '<p class="caption" role="heading" aria-level="2">'),
    ("<pre>", '<pre tabindex="0">'),
    ('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper'),
    ('<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="Pages">'),
    ('<aside class="toc-drawer">', '<aside class="toc-drawer" aria-label="On this page">'),
    (
        '</noscript>\n\n<div id="search-results">',
        '</noscript>\n<h1>Search</h1>\n<div id="search-results">',
    ),
    ('<th class="head"><p></p></th>', '<td class="head"></td>'),
    ('<th class="head text-right"><p></p></th>', '<td class="head text-right"></td>'),
)
"""What Sphinx and the theme write, and what axe-core wants of it (tests/shipping/test_site.py)."""


def _make_accessible(app: Sphinx, error: Exception | None) -> None:
    """Complete the marks for readers of screens in all pages."""
    site = Path(app.outdir)
    for page in () if error else site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for written, wanted in _ACCESSIBLE:
            text = text.replace(written, wanted)
        if page.is_relative_to(site / "zh"):
            text = text.replace('<html class="no-js" lang="en"', '<html class="no-js" lang="zh-CN"')
        page.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _lead_out)
    app.connect("build-finished", _make_accessible)
