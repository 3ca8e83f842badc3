"""Decides who may see the page and who may change something; checked before anything else.

What is refused, and how:

- a page of another site open in a viewer's browser (cross-site requests): a change needs a cookie
  that browsers send only from our own pages (`SameSite=Strict`), our own `Origin`, and a header
  that no form can send;
- another site's name that resolves to this machine (DNS rebinding): `Host` must be an address or a
  name of this machine;
- script in a server's text or a run's name: the policy runs only files of this package, one of them
  within the page by its hash, and no element is made by parsing text;
- a person who may only watch, or with whom one run is shared: each person has a token, and what its
  rights do not allow is refused (`Person`);
- anyone else who reaches the address, over the network or as another user of this machine: nothing
  is served without the token, which is in the printed link, or the cookie that a browser gets in
  exchange for it.

W3C, "Content Security Policy Level 3"; RFC 6265bis, 5.5 "SameSite"; W3C, "Fetch Metadata".
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import secrets
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from loadstone.model.language import Language, named
from loadstone.model.message import say
from loadstone.web.address import Address, fresh_token
from loadstone.web.people import FEWEST_OF_TOKEN, OWNER, Person, User, digest_of


def policy(scripts: str = "'self'") -> str:
    """What a browser may run and load: files of this package, and these scripts."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {scripts}",
            "style-src 'self'",
            "img-src 'self' data:",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        ]
    )


HEADERS = {
    "content-security-policy": policy(),
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

COOKIE_S = 24 * 3600
"""How many seconds a cookie is valid after the last answer that set it."""

PERSON = "loadstone.person"
"""The key of the request's scope that has the `Person`."""

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
    clock: Callable[[], float] = time.time
    may_run: bool = False
    """Whether the owner of the token may begin runs."""
    users: Mapping[str, User] = field(default_factory=dict)
    """The people with tokens of their own, by name; if there are any, `token` opens nothing."""
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    """Signs cookies and shared links, together with the token: with the same secret they stay valid
    when the page is started again.
    """

    def __post_init__(self) -> None:
        if len(self.token) < FEWEST_OF_TOKEN:
            raise TokenTooShort(
                say("a token has at least {fewest} characters", fewest=FEWEST_OF_TOKEN)
            )

    @property
    def shown(self) -> str | None:
        """The token as it may be written down; `None` if the user chose it."""
        return None if self.is_chosen else self.token

    @property
    def owner(self) -> Person:
        """The person with the token of this process."""
        return Person(OWNER, may_steer=True, may_run=self.may_run)

    def fresh_cookie(self, person: Person | None = None) -> str:
        """A cookie to use instead of the token: it expires, and a new token ends it.

        With the same secret and token, a page that is started again still accepts it.
        """
        holder = person or self.owner
        head = f"{int(self.clock()) + COOKIE_S}.{_packed(holder.name, holder.only)}"
        return f"{head}.{self._mac('cookie', holder.name, head)}"

    def opens(self, given: str | None) -> Person | None:
        """The person whose token `given` is, or with whom somebody shares a run by it."""
        if given is None:
            return None
        if not self.users and _same(given, self.token):
            return self.owner
        # All are compared, so that the time does not say which one is similar.
        same = [name for name, user in self.users.items() if _same(digest_of(given), user.digest)]
        return self._person(same[0]) if same else self._shared(given)

    def holder(self, given: str | None) -> Person | None:
        """The person with this cookie, if it has not expired."""
        head, _, mac = (given or "").rpartition(".")
        end, _, packed = head.partition(".")
        person = self._signed("cookie", head, packed, mac)
        return person if person and self.clock() < int(end) else None

    def share(self, person: Person, run: str) -> str:
        """A token that shows one run, and may change nothing; valid as long as the person's own."""
        packed = _packed(person.name, run)
        return f"{packed}.{self._mac('share', person.name, packed)}"

    def _shared(self, given: str) -> Person | None:
        packed, _, mac = given.partition(".")
        person = self._signed("share", packed, packed, mac)
        return person if person and person.only is not None else None

    def _signed(self, use: str, text: str, packed: str, mac: str) -> Person | None:
        """The packed person, if that person's token signed `text` for this use."""
        known = _unpacked(packed)
        person = self._person(known[0]) if known else None
        if known is None or person is None or not _same(mac, self._mac(use, person.name, text)):
            return None
        return person if known[1] is None else person.limited_to(known[1])

    def _person(self, name: str) -> Person | None:
        if self.users:
            return self.users[name].person(name) if name in self.users else None
        return self.owner if name == OWNER else None

    def _mac(self, use: str, name: str, text: str) -> str:
        """Depends on the person's token: a new token ends what the old one signed."""
        digest = self.users[name].digest if name in self.users else digest_of(self.token)
        key = hmac.digest(self.secret, digest.encode(), "sha256")
        return hmac.new(key, f"{use} {text}".encode(), sha256).hexdigest()

    def cookie_name(self, port: int, *, of_shared: bool = False) -> str:
        """The name of the cookie of the page on a port of its machine.

        Cookies belong to a host and ignore its ports; and two containers may have the same port.
        `of_shared`: of the one that a link to one run sets. It has a name of its own so as not to
        take the place of a person's own: a browser that follows a link of another site does not
        send the own one along.
        """
        own = f"loadstone-{port}-{self._cookie_mark}"
        return f"{own}-shared" if of_shared else own

    @cached_property
    def _cookie_mark(self) -> str:
        return hmac.digest(self.secret, b"cookie", "sha256").hex()[:8]


def _packed(name: str, run: str | None) -> str:
    """A person and a run as letters and digits."""
    return json.dumps([name, run]).encode().hex()


def _unpacked(packed: str) -> tuple[str, str | None] | None:
    """What `_packed` made; `None` if it did not make this."""
    try:
        match json.loads(bytes.fromhex(packed)):
            case [str(name), str() | None as run]:
                return name, run
    except (ValueError, RecursionError):
        pass
    return None


def _same(one: str, other: str) -> bool:
    """Compare in constant time, so that timing does not reveal how much of it is right."""
    return hmac.compare_digest(one.encode(), other.encode())


def own_names(address: Address) -> frozenset[str]:
    """The names under which a browser may reach this machine; addresses are always allowed."""
    names = {"localhost", address.host.lower(), *(name.lower() for name in address.proxied)}
    if not is_loopback(address.host):
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
        scope[PERSON] = given.person
        app: ASGIApp = _past_the_link(headers) if given.link else self._app
        if refusal:
            app = _refused(refusal, named(headers.get("accept-language", "")))
        is_browser = not refusal and (given.cookie or given.link)
        cookie = self._cookie(given.person, scope) if is_browser and given.person else None
        await app(scope, receive, _with_headers(send, cookie))

    def _cookie(self, person: Person, scope: Scope) -> str:
        keys = self._keys
        of_tls = "; Secure" if scope["scheme"] == "https" else ""
        name = keys.cookie_name(_port(scope), of_shared=person.only is not None)
        value = f"{name}={keys.fresh_cookie(person)}"
        return f"{value}; Max-Age={COOKIE_S}; {_COOKIE}{of_tls}"

    def _given(self, scope: Scope, headers: Headers) -> _Given:
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        linked = parse_qs(scope["query_string"].decode("latin-1")).get("token", [None])[0]
        keys, port = self._keys, _port(scope)
        own, shared = (
            keys.holder(_cookie(headers, keys.cookie_name(port, of_shared=of_shared)))
            for of_shared in (False, True)
        )
        return _Given(
            cookie=own or shared,
            bearer=keys.opens(bearer.strip()) if kind.lower() == "bearer" else None,
            link=keys.opens(linked) if scope["path"] == "/" else None,
        )

    def _refusal(self, scope: Scope, headers: Headers, given: _Given) -> _Refusal | None:
        if not self._is_own_host(headers.get("host", "")):
            return 421, say("this server does not go by that name; use its address")
        if given.person is None:
            return 401, say("the token is missing or old: open the link with ?token= again")
        if given.person.only is not None and not _is_of_run(scope, given.person.only):
            return 403, say("this link shows one run, and nothing else")
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

    cookie: Person | None
    bearer: Person | None
    link: Person | None

    @property
    def person(self) -> Person | None:
        """Who it is: a link that was just opened counts more than an earlier cookie.

        But a link to one run does not take the place of a person's own rights.
        """
        if self.link and self.link.only is not None and self.cookie and self.cookie.only is None:
            return self.cookie
        return self.link or self.bearer or self.cookie


def _is_of_run(scope: Scope, run: str) -> bool:
    """Whether a request only reads what somebody may see with whom one run is shared."""
    path: str = scope["path"]
    if scope["method"] not in _SAFE:
        return False
    if path == "/api/events":
        return parse_qs(scope["query_string"].decode("latin-1")).get("run") == [run]
    of_run = (f"/api/runs/{run}", f"/runs/{run}/report", f"/runs/{run}/result.json")
    return path.startswith("/static/") or path in ("/", "/api/me", *of_run)


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


def _port(scope: Scope) -> int:
    """The port of this machine on which the request arrived."""
    port: int = scope["server"][1]
    return port


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
