"""The colours, letters, sizes and distances of the report, the live page and the documentation.

They are in `assets/tokens.css`, where a colour is written `light-dark(LIGHT, DARK)`. Browsers know
that since 2024, and a report has to be readable in older ones, so pages get it written out. The
documentation is built without Loadstone's own packages: this module imports none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

Theme = Literal["light", "dark"]

_FILE = Path(__file__).with_name("assets") / "tokens.css"
_TOKEN = re.compile(r"^\s*--([\w-]+):\s*([^;]+);", re.MULTILINE)
_PAIR = re.compile(r"light-dark\(([^,()]+),\s*([^,()]+)\)")


@cache
def tokens(theme: Theme) -> Mapping[str, str]:
    """The values by name, without the name's hyphens in front: `{"text": "#1b1f24", ...}`."""
    place = 1 if theme == "light" else 2
    return {name: _PAIR.sub(rf"\{place}", value) for name, value in _written().items()}


def colours(theme: Theme) -> Mapping[str, str]:
    """Those that differ between light and dark."""
    paired = [name for name, value in _written().items() if _PAIR.search(value)]
    return {name: tokens(theme)[name] for name in paired}


def stylesheet() -> str:
    """The values as properties of the document.

    They follow the system, or `data-theme` (`light` or `dark`) of the document's root.
    """
    dark = _declared(colours("dark"))
    return "\n".join(
        (
            f":root {{ color-scheme: light dark; {_declared(tokens('light'))} }}",
            "@media (prefers-color-scheme: dark) "
            f'{{ :root:not([data-theme="light"]) {{ {dark} }} }}',
            ':root[data-theme="light"] { color-scheme: light; }',
            f':root[data-theme="dark"] {{ color-scheme: dark; {dark} }}',
            "",
        )
    )


def _declared(values: Mapping[str, str]) -> str:
    return " ".join(f"--{name}: {value};" for name, value in values.items())


@cache
def _written() -> Mapping[str, str]:
    return dict(_TOKEN.findall(_FILE.read_text(encoding="utf-8")))
