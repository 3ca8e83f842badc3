"""Who uses the page, and what each person may do: from a file of users, or the owner alone."""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationError, model_validator

from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.frozen import Frozen
from loadstone.model.message import say
from loadstone.runs import safe_open
from loadstone.web.begin.forms import THROWAWAY, TargetText

FEWEST_OF_TOKEN = 16
"""Minimum length of a token in characters: a shorter one could be guessed by trying."""

OWNER = ""
"""The name of the person whose token this process made, where there is no file of users."""

_LARGEST = 1024 * 1024


@dataclass(frozen=True)
class Person:
    """Somebody who is let in."""

    name: str
    may_steer: bool
    """Whether the person may stop and change runs that are under way."""
    may_run: bool
    """Whether the person may begin runs."""
    targets: tuple[str, ...] | None = None
    """The targets that the person may use; `None`: any."""
    only: str | None = None
    """The name of the one run that may be seen; `None`: all."""

    def limited_to(self, run: str) -> Person:
        """Somebody with whom this person shares one run."""
        return replace(self, may_steer=False, may_run=False, targets=(), only=run)

    def may_reach(self, targets: Sequence[str]) -> bool:
        """Whether the person may use all of these targets."""
        return self.targets is None or all(each in self.targets for each in targets)


class UsersRefused(LoadstoneError):
    """The file of users cannot be used."""

    exit_code = ExitCode.USAGE


def _not_short(text: str) -> str:
    if len(text) < FEWEST_OF_TOKEN:
        raise ValueError(say("a token has at least {fewest} characters", fewest=FEWEST_OF_TOKEN))
    return text


class User(Frozen):
    """A person in the file of users."""

    token: Annotated[str, AfterValidator(_not_short)] | None = None
    token_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    """The token's SHA-256, so that the file does not have the token."""
    may: Literal["watch", "run"] = "watch"
    targets: tuple[TargetText, ...] = (THROWAWAY,)

    @model_validator(mode="after")
    def _has_one_token(self) -> User:
        if (self.token is None) == (self.token_sha256 is None):
            raise ValueError(say("give either token or token_sha256"))
        return self

    @property
    def digest(self) -> str:
        """The SHA-256 of the token."""
        if self.token_sha256 is not None:
            return self.token_sha256
        assert self.token is not None
        return digest_of(self.token)

    def person(self, name: str) -> Person:
        """The person of that name, with the rights that the file gives."""
        runs = self.may == "run"
        return Person(name, may_steer=runs, may_run=runs, targets=self.targets if runs else ())


class _Users(Frozen):
    user: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$")], User] = Field(
        min_length=1
    )


def digest_of(token: str) -> str:
    """What is compared and kept of a token."""
    return sha256(token.encode()).hexdigest()


def users_in(path: Path) -> Mapping[str, User]:
    """The users in a file, by name.

    Raises:
        UsersRefused: it cannot be read, others can read it, or something in it is not valid.
    """
    try:
        content = safe_open.contents(path, _LARGEST)
        mode = path.lstat()
    except OSError as error:
        why = error.strerror or str(error)
        raise UsersRefused(say("cannot read {file}: {why}", file=str(path), why=why)) from error
    if mode.st_uid != os.geteuid() or stat.S_IMODE(mode.st_mode) & 0o077:
        raise UsersRefused(
            say("others can read {file}, which has tokens", file=str(path)),
            say("{command} keeps it to its owner", command=f"chmod 600 {path}"),
        )
    try:
        return _checked(tomllib.loads(content.decode()), path)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        # The message of the parser may repeat a line, which may have a token.
        raise UsersRefused(say("{file} is not valid TOML", file=str(path))) from error


def _checked(document: object, path: Path) -> Mapping[str, User]:
    try:
        found = _Users.model_validate(document).user
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(each) for each in first["loc"])
        raise UsersRefused(
            say("{file}: {place}: {why}", file=str(path), place=place, why=first["msg"])
        ) from error
    digests = [user.digest for user in found.values()]
    if len(set(digests)) < len(digests):
        raise UsersRefused(say("{file}: two users have the same token", file=str(path)))
    return found
