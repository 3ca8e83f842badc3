"""Asks `loadstone` what a command line would do, without doing it, and checks a target."""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256

from loadstone.model.exit_codes import ExitCode
from loadstone.web.begin.begun import secrets_for_commands

LONGEST_S = 60.0
"""A server that does not answer is given up after the connections' own time limits, before this."""

_CONSENT = "--yes"

_MOST_BYTES = 64 * 1024


class NoAnswer(Exception):
    """The command did not end in time."""


@dataclass(frozen=True)
class Said:
    """What a command printed, and its exit code."""

    text: str
    code: int

    @property
    def needs_yes(self) -> bool:
        """Whether it was refused for want of the user's consent, which `--yes` would give."""
        return self.code == ExitCode.GUARD and _CONSENT in self.text

    @property
    def offers_more(self) -> bool:
        """Whether it would be done, without a part for which the user's consent is wanting."""
        return self.code == ExitCode.OK and _CONSENT in self.text


async def said_by(words: Sequence[str], language: str) -> Said:
    """Run `loadstone WORDS…`, which starts and changes nothing.

    Raises:
        NoAnswer: it did not end in time; it was killed.
    """
    # Without -P a module in the working folder could replace one of ours.
    command = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-P", "-m", "loadstone.cli", *words),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, **secrets_for_commands(), "LOADSTONE_LANG": language},
        start_new_session=True,
    )
    assert command.stdout is not None
    try:
        async with asyncio.timeout(LONGEST_S):
            text = await _read(command.stdout)
            code = await command.wait()
    except TimeoutError as error:
        raise NoAnswer from error
    finally:
        if command.returncode is None:
            with suppress(ProcessLookupError):
                command.kill()
            await command.wait()
    return Said(text.decode(errors="replace").strip(), code)


async def _read(stream: asyncio.StreamReader) -> bytes:
    found = b""
    while piece := await stream.read(_MOST_BYTES):
        found = (found + piece)[:_MOST_BYTES]
    return found


class Tickets:
    """Proofs that a person was shown what a command line would do, before it is started.

    A ticket belongs to one person and one command line, and to this process.
    """

    def __init__(self) -> None:
        self._secret = os.urandom(32)

    def of(self, who: str, words: Sequence[str]) -> str:
        """The ticket for a command line."""
        return hmac.new(self._secret, json.dumps([who, *words]).encode(), sha256).hexdigest()

    def is_of(self, given: str, who: str, words: Sequence[str]) -> bool:
        """Whether this ticket was given for that command line."""
        return hmac.compare_digest(given.encode(), self.of(who, words).encode())
