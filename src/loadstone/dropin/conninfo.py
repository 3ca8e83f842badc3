"""The parameters of a connection to PostgreSQL, as its client library libpq writes them.

Where a program takes a database's name it also takes all parameters: as a URL, or as
`name=value name='value'`.

Source: https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNSTRING
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import quote, unquote, urlencode

from loadstone.model import libpq
from loadstone.model.errors import LoadstoneError
from loadstone.model.target_url import split_url
from loadstone.postgresql.hosts import take_apart

_SCHEMES = ("postgresql://", "postgres://")
PASSWORD = "password"

_PAIR = re.compile(r"\s*(\w+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s'\\]|\\.)*))(?=\s|$)")
_PLACE = re.compile(r"(\[[^\]]*\]|[^:]*)(?::(.*))?")
_ESCAPED = re.compile(r"\\(.)")


class BadConninfo(LoadstoneError):
    """The text is no list of `name=value`, or a URL's place is no host with a port."""


def parameters_of(text: str) -> dict[str, str]:
    """The parameters that stand for a database: a text without any is the database's name.

    Those without a value, and those that change nothing here, are left out.

    Raises:
        BadConninfo: they are not written as `name=value`.
        TargetUrlError: a URL cannot be read.
    """
    if text.startswith(_SCHEMES):
        return _in_url(text)
    if "=" not in text:
        return {"dbname": text} if text else {}
    return _with_effect(_in_pairs(text))


def _in_pairs(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    at = 0
    while at < len(text.rstrip()):
        pair = _PAIR.match(text, at)
        if pair is None:
            raise BadConninfo(
                "the parameters of the connection are not written as name=value name='value'"
            )
        value = pair[2] if pair[2] is not None else pair[3]
        found[pair[1]] = _ESCAPED.sub(r"\1", value)
        at = pair.end()
    return found


def _in_url(url: str) -> dict[str, str]:
    """A URL's parameters by libpq's names; what its query says goes before the rest."""
    parts = split_url(url)
    login, _, places = parts.netloc.rpartition("@")
    user, _, password = login.partition(":")
    found = {
        "user": unquote(user),
        PASSWORD: unquote(password),
        "dbname": unquote(parts.path.removeprefix("/")),
        **_places(places),
    }
    pairs = (_pair(each) for each in parts.query.split("&") if each)
    return _with_effect(found | dict(pairs))


def _places(text: str) -> dict[str, str]:
    """The hosts and ports of `host1:port1,host2:port2`."""
    if not text:
        return {}
    if "," in text:
        return take_apart(f"postgresql://{text}")[1]
    place = _PLACE.fullmatch(text)
    if place is None:
        raise BadConninfo(f"{text!r} is not a host with a port")
    return {"host": unquote(place[1].strip("[]")), "port": place[2] or ""}


def _with_effect(found: Mapping[str, str]) -> dict[str, str]:
    return {
        name: text for name, text in found.items() if text and not libpq.has_no_effect(name, text)
    }


def _pair(text: str) -> tuple[str, str]:
    """Name and value of a URL's parameter; a plus is one, as for libpq."""
    name, _, value = text.partition("=")
    return unquote(name), unquote(value)


def query_of(pairs: Iterable[tuple[str, str]]) -> str:
    """The parameters as the query of a URL; empty: there are none."""
    found = urlencode(list(pairs), quote_via=quote)
    return f"?{found}" if found else ""
