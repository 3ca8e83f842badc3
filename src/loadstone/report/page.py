"""One self-contained HTML page of figures and tables; it needs no network."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Part:
    """A heading with a figure, a table or a text below it."""

    title: str
    figure: dict[str, Any] | None = None
    about: str = ""
    """What the figure shows; read aloud in its place as well."""
    heads: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def page(title: str, lead: Sequence[str], parts: Sequence[Part]) -> str:
    """The whole document; whatever is in the texts stays text."""
    body = [f"<h1>{escape(title)}</h1>", *(f"<p>{escape(line)}</p>" for line in lead)]
    figures: list[dict[str, Any]] = []
    for part in parts:
        body.append(_part(part, len(figures)))
        if part.figure is not None:
            figures.append(part.figure)
    # A script ends at the first of these marks, wherever it stands.
    data = json.dumps(figures, ensure_ascii=True, allow_nan=False).replace("<", "\\u003c")
    return _PAGE.format(
        title=escape(title),
        style=_STYLE,
        body="\n".join(body),
        library=_library() if figures else "",
        data=data,
        script=_SCRIPT,
    )


def _part(part: Part, number: int) -> str:
    text = [f"<section><h2>{escape(part.title)}</h2>"]
    if part.about:
        text.append(f"<p>{escape(part.about)}</p>")
    if part.figure is not None:
        said = escape(part.about or part.title, quote=True)
        place = f'class="figure" id="figure-{number}" role="img" aria-label="{said}"'
        text.append(f"<div {place}></div>")
    if part.rows:
        text.append(_table(part))
    text.append("</section>")
    return "\n".join(text)


def _table(part: Part) -> str:
    heads = "".join(f'<th scope="col">{escape(head)}</th>' for head in part.heads)
    rows = "\n".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in part.rows
    )
    return (
        f'<div class="scrolls" tabindex="0"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _library() -> str:
    return files("loadstone.report").joinpath("vendor/echarts.min.js").read_text()


_STYLE = """
:root { color-scheme: light dark; --text: #1b1f24; --quiet: #57606a; --line: #d0d7de;
  --back: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --quiet: #9aa4ae; --line: #3d444d;
  --back: #0d1117; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.5rem 4rem; max-width: 72rem; background: var(--back);
  color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .5rem; } h2 { font-size: 1.15rem; margin: 2.5rem 0 .5rem; }
p { margin: .25rem 0; color: var(--quiet); overflow-wrap: anywhere; }
.figure { width: 100%; height: 26rem; margin: 1rem 0; }
.scrolls { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem;
  font-variant-numeric: tabular-nums; }
th, td { text-align: right; padding: .3rem .75rem; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child, th:last-child, td:last-child { text-align: left; }
th { color: var(--quiet); font-weight: 600; }
@media print { body { max-width: none; padding: 0; } section { break-inside: avoid; } }
"""

_SCRIPT = """
(function () {
  var options = JSON.parse(document.getElementById("figures").textContent);
  if (!options.length) { return; }
  var dark = window.matchMedia("(prefers-color-scheme: dark)");
  var charts = [];
  function draw() {
    charts.forEach(function (chart) { chart.dispose(); });
    charts = options.map(function (option, number) {
      var place = document.getElementById("figure-" + number);
      var chart = echarts.init(place, dark.matches ? "dark" : null, { renderer: "svg" });
      chart.setOption(Object.assign({ backgroundColor: "transparent", animation: false }, option));
      return chart;
    });
  }
  draw();
  dark.addEventListener("change", draw);
  window.addEventListener("resize", function () {
    charts.forEach(function (chart) { chart.resize(); });
  });
})();
"""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
<script>{library}</script>
<script type="application/json" id="figures">{data}</script>
<script>{script}</script>
</body>
</html>
"""
