"""The page's static files: those of this package, by name, and nothing else."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from loadstone.report.tokens import stylesheet
from loadstone.web.access import policy
from loadstone.web.theme_export import shared

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
}
PAGE = "index.html"
_OURS = (
    PAGE,
    "live.css",
    "live.js",
    "acts.js",
    "asking.js",
    "begin.js",
    "charts.js",
    "compare.js",
    "copying.js",
    "elements.js",
    "filters.js",
    "findings.js",
    "heat.js",
    "list.js",
    "plan.js",
    "prove.js",
    "shared.js",
    "state.js",
    "step.js",
    "streams.js",
    "theme.js",
    "trend.js",
    "words.js",
    "icon.svg",
)
EARLY = "early.js"
"""A script that is within the page: what it asks for comes while the other files are loaded."""
_PLACE_OF_EARLY = b'<script data-file="early.js"></script>'
ECHARTS = "echarts.min.js"
PARTS = "parts.css"
"""The forms that the page has in common with the report."""
TOKENS = "tokens.css"
"""Their colours, letters and distances, written out for browsers that do not know all of CSS."""
SHARED = "shared.json"
"""The data that the page shares with the report."""


@dataclass(frozen=True)
class Page:
    """A static file as it is sent."""

    content: bytes
    media_type: str
    tag: str
    """Changes with the content."""
    policy: str | None = None
    """What the browser may run and load, where that is more than files."""

    def response(self, request: Request) -> Response:
        """The file, or 304 if the browser already has it."""
        # Revalidated each time: a newer Loadstone has newer files under the same names.
        headers = {"etag": self.tag, "cache-control": "no-cache"}
        if self.policy is not None:
            headers["content-security-policy"] = self.policy
        if request.headers.get("if-none-match") == self.tag:
            return Response(status_code=304, headers=headers)
        return Response(self.content, media_type=self.media_type, headers=headers)


def pages() -> Mapping[str, Page]:
    """All static files by name."""
    found = {name: _read("loadstone.web", f"static/{name}") for name in _OURS}
    found[PAGE] = _with_early(found[PAGE])
    found[ECHARTS] = _read("loadstone.report", f"vendor/{ECHARTS}")
    found[PARTS] = _read("loadstone.report", f"assets/{PARTS}")
    found[TOKENS] = _page(TOKENS, stylesheet().encode())
    return found | {SHARED: _page(SHARED, json.dumps(shared(), ensure_ascii=False).encode())}


def _with_early(page: Page) -> Page:
    script = _bytes_of("loadstone.web", f"static/{EARLY}")
    content = page.content.replace(_PLACE_OF_EARLY, b"<script>%b</script>" % script)
    hashed = b64encode(sha256(script).digest()).decode()
    return replace(_page(PAGE, content), policy=policy(f"'self' 'sha256-{hashed}'"))


def _read(package: str, path: str) -> Page:
    return _page(path, _bytes_of(package, path))


def _bytes_of(package: str, path: str) -> bytes:
    return files(package).joinpath(path).read_bytes()


def _page(name: str, content: bytes) -> Page:
    kind = name.rpartition(".")[2]
    return Page(content, _TYPES[kind], f'"{sha256(content).hexdigest()[:32]}"')
