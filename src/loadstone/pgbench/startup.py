"""The settings that a client asks of its session: libpq's `options`, or `PGOPTIONS`.

Source: https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-CONNECT-OPTIONS

The server takes `-c name=value` and `--name=value`; words are separated by spaces, and a backslash
stands before a space or a backslash that belongs to a word. Here each setting becomes a `SET` after
the login.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from loadstone.pgbench.errors import Failed

VARIABLE = "PGOPTIONS"

_WORD = re.compile(r"(?:\\.|[^\s\\])+", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)*")


def statements(given: str | None, environment: Mapping[str, str]) -> tuple[str, ...]:
    """What each session executes first; `given`: the parameter `options` of the connection.

    Raises:
        Failed: it has something other than settings.
    """
    text = environment.get(VARIABLE, "") if given is None else given
    return tuple(f"SET {name} = {_literal(value)}" for name, value in _settings(text))


def _literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _settings(text: str) -> Iterator[tuple[str, str]]:
    words = iter([_ESCAPED.sub(r"\1", word) for word in _WORD.findall(text)])
    for word in words:
        if word.startswith("--"):
            pair = word[2:]
        elif word.startswith("-c"):
            pair = word[2:] or next(words, "")
        else:
            raise Failed(
                f'the option "{word}" of the connection is not taken here',
                detail="Expecting -c name=value or --name=value.",
            )
        name, equals, value = pair.partition("=")
        # As the server does: a dash in a name is an underscore.
        name = name.replace("-", "_")
        if not equals or not _NAME.fullmatch(name):
            raise Failed(f'"{pair}" is no name=value among the options of the connection')
        yield name, value
