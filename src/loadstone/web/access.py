"""Decides who may see the page and who may change something; checked before anything else.

What is refused, and how:

- a page of another site open in a viewer's browser (cross-site requests): a change needs a cookie
  that browsers send only from our own pages (`SameSite=Strict`), our own `Origin`, and a header
  that no form can send;
- another site's name that resolves to this machine (DNS rebinding): `Host` must be an address or a
  name of this machine;
- script in a server's text or a run's name: the policy runs only files of this package, and no
  element is made by parsing text;
- anyone else who reaches the address, over the network or as another user of this machine: nothing
  is served without the token, which is in the printed link, or the cookie that a browser gets in
  exchange for it.

W3C, "Content Security Policy Level 3"; RFC 6265bis, 5.5 "SameSite"; W3C, "Fetch Metadata".
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from loadstone.model.language import Language, named
from loadstone.model.message import say
from loadstone.web.address import fresh_token

POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)

HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}

ASKED_BY_PAGE = "x-loadstone"
"""A header that a page of another site can send only after a preflight request, which is refused.
"""

FEWEST_OF_TOKEN = 16
"""Minimum length of a token in characters: a shorter one could be guessed by trying."""

COOKIE_S = 24 * 3600
"""How many seconds a cookie is valid after the last answer that set it."""

_SAFE = ("GET", "HEAD")
_OWN_SITES = ("none", "same-origin")
"""Accepted values of `Sec-Fetch-Site`: typed or opened by another program, or sent by our own page.
"""


class TokenTooShort(ValueError):
    """The token is so short that it could be guessed by trying."""


@dataclass(frozen=True)
class Keys:
    """The credentials of this process: its token, and the cookies that it issued for it."""

    token: str = field(default_factory=fresh_token)
    """Required of every client; generated for this process unless the user chose one."""
    is_chosen: bool = False
    """The user chose the token and may reuse it, so it is never printed or written down."""
    clock: Callable[[], float] = time.monotonic
    secret: bytes = field(init=False, default_factory=lambda: secrets.token_bytes(32))
    cookie_name: str = field(
        init=False, default_factory=lambda: f"loadstone-{secrets.token_hex(8)}"
    )
    """Cookies belong to a host, not a port, so each process uses a name of its own."""

    def __post_init__(self) -> None:
        if len(self.token) < FEWEST_OF_TOKEN:
            raise TokenTooShort(
                say("a token has at least {fewest} characters", fewest=FEWEST_OF_TOKEN)
            )

    @property
    def shown(self) -> str | None:
        """The token as it may be written down; `None` if the user chose it."""
        return None if self.is_chosen else self.token

    def fresh_cookie(self) -> str:
        """A cookie to use instead of the token: it expires, and only this process accepts it."""
        end = f"{int(self.clock()) + COOKIE_S}"
        return f"{end}.{self._mac(end)}"

    def opens(self, given: str | None) -> bool:
        """Whether `given` is the token."""
        return given is not None and _same(given, self.token)

    def is_cookie(self, given: str | None) -> bool:
        """Whether `given` is a cookie of this process that has not expired."""
        end, _, mac = (given or "").partition(".")
        return _same(mac, self._mac(end)) and self.clock() < int(end)

    def _mac(self, end: str) -> str:
        return hmac.new(self.secret, end.encode(), sha256).hexdigest()


def _same(one: str, other: str) -> bool:
    """Compare in constant time, so that timing does not reveal how much of it is right."""
    return hmac.compare_digest(one.encode(), other.encode())


def own_names(address: str) -> frozenset[str]:
    """The names under which a browser may reach this machine; addresses are always allowed."""
    names = {"localhost", address.lower()}
    if not is_loopback(address):
        names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
    return frozenset(names)


def is_loopback(address: str) -> bool:
    """Whether the address can be reached from this machine only."""
    if address.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


_Refusal = tuple[int, str]
"""The HTTP status and the reason."""


class Guard:
    """The outermost ASGI layer: refuses requests, and adds the security headers to every answer."""

    def __init__(self, app: ASGIApp, keys: Keys, names: frozenset[str]) -> None:
        self._app = app
        self._keys = keys
        self._names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer why it is refused."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        given = self._given(scope, headers)
        refusal = self._refusal(scope, headers, given)
        app: ASGIApp = _past_the_link(headers) if given.link else self._app
        if refusal:
            app = _refused(refusal, named(headers.get("accept-language", "")))
        is_browser = not refusal and (given.cookie or given.link)
        await app(scope, receive, _with_headers(send, self._cookie() if is_browser else None))

    def _cookie(self) -> str:
        keys = self._keys
        return f"{keys.cookie_name}={keys.fresh_cookie()}; Max-Age={COOKIE_S}; {_COOKIE}"

    def _given(self, scope: Scope, headers: Headers) -> _Given:
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        linked = parse_qs(scope["query_string"].decode("latin-1")).get("token", [None])[0]
        return _Given(
            cookie=self._keys.is_cookie(_cookie(headers, self._keys.cookie_name)),
            bearer=kind.lower() == "bearer" and self._keys.opens(bearer.strip()),
            link=scope["path"] == "/" and self._keys.opens(linked),
        )

    def _refusal(self, scope: Scope, headers: Headers, given: _Given) -> _Refusal | None:
        if not self._is_own_host(headers.get("host", "")):
            return 421, say("this server does not go by that name; use its address")
        if not given.any:
            return 401, say("the token is missing or old: open the link with ?token= again")
        if scope["method"] in _SAFE:
            return None if _asked_by_own(scope, headers) else (403, _ANOTHER_SITE)
        return _change_refused(headers, given)

    def _is_own_host(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name in self._names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


@dataclass(frozen=True)
class _Given:
    """The credentials that a request presents."""

    cookie: bool
    bearer: bool
    link: bool

    @property
    def any(self) -> bool:
        return self.cookie or self.bearer or self.link


def _asked_by_own(scope: Scope, headers: Headers) -> bool:
    """Whether a browser requests one of our pages, or one of our pages sent the request.

    Clients that are not browsers send no `Sec-Fetch-Site`, and pass.
    """
    site = headers.get("sec-fetch-site", "none")
    if site in _OWN_SITES:
        return True
    # A link to the page may stand anywhere.
    return scope["path"] == "/" and headers.get("sec-fetch-mode") == "navigate"


def _change_refused(headers: Headers, given: _Given) -> _Refusal | None:
    origin = headers.get("origin")
    if origin is None and not given.bearer:
        return 403, say("a change needs an Origin, or the token as a Bearer")
    if origin is not None and not _is_of(origin, headers.get("host", "")):
        return 403, _ANOTHER_SITE
    if headers.get("sec-fetch-site", "same-origin") != "same-origin":
        return 403, _ANOTHER_SITE
    if not headers.get(ASKED_BY_PAGE):
        return 403, say("a change needs the header {header}", header=ASKED_BY_PAGE)
    if not (given.cookie or given.bearer):
        return 403, say("the cookie of this page is missing or old: load the page again")
    return None


_ANOTHER_SITE = say("the request came from another site")


def _is_of(origin: str, host: str) -> bool:
    # A proxy that adds TLS leaves Host unchanged, so the scheme says nothing here.
    try:
        return urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:  # "http://["
        return False


def _refused(refusal: _Refusal, words: Language) -> PlainTextResponse:
    status, why = refusal
    return PlainTextResponse(f"{words(why)}\n", status)


def _past_the_link(headers: Headers) -> Response:
    """Redirect to the page without the token, to keep it out of the address bar and the history."""
    if headers.get("sec-fetch-site", "none") in _OWN_SITES:
        return RedirectResponse("/", 303)
    # If the link is on another site's page, a browser sends no `Strict` cookie along a redirect; it
    # does send one when our own page makes the next request.
    return HTMLResponse('<a href="/">Loadstone</a>', headers={"refresh": "0; url=/"})


_COOKIE = "Path=/; HttpOnly; SameSite=Strict"


def _cookie(headers: Headers, name: str) -> str | None:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return None
    return found.value if found else None


def _with_headers(send: Send, cookie: str | None) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            if cookie:
                headers.append("set-cookie", cookie)
        await send(message)

    return sending
