"""The files of the page: from this package, each by its name, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
PAGE = "index.html"
_OURS = (
    PAGE,
    "live.css",
    "live.js",
    "charts.js",
    "compare.js",
    "elements.js",
    "words.js",
    "theme.js",
    "icon.svg",
)
ECHARTS = "echarts.min.js"


@dataclass(frozen=True)
class Page:
    """A file as it is sent."""

    content: bytes
    media_type: str
    tag: str
    """Another one when the content is another one."""

    def response(self, request: Request) -> Response:
        """The file, or that the browser has it already."""
        # Asked for again each time: a newer Loadstone has newer files under the same names.
        headers = {"etag": self.tag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == self.tag:
            return Response(status_code=304, headers=headers)
        return Response(self.content, media_type=self.media_type, headers=headers)


def pages() -> Mapping[str, Page]:
    """All files by name."""
    found = {name: _page("loadstone.web", f"static/{name}") for name in _OURS}
    return found | {ECHARTS: _page("loadstone.report", f"vendor/{ECHARTS}")}


def _page(package: str, path: str) -> Page:
    content = files(package).joinpath(path).read_bytes()
    kind = path.rpartition(".")[2]
    return Page(content, _TYPES[kind], f'"{sha256(content).hexdigest()[:32]}"')
