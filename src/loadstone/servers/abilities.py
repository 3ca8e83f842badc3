"""What Loadstone does with the servers of some families and not, or not yet, with those of others.

A family lists its abilities; `families.require` refuses the others, so that nothing works by half.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from loadstone.model.errors import LoadstoneError
from loadstone.model.exit_codes import ExitCode
from loadstone.model.message import Message, say
from loadstone.servers.errors import TargetError

Ability = Literal[
    "counters",
    "templates",
    "experiments",
    "watching",
    "trials",
    "traffic",
    "digests",
    "extended",
    "pipelined",
]

SAID: Mapping[Ability, Message] = {
    "counters": say("reading a server's counters and sessions"),
    "templates": say("a workload from a file"),
    "experiments": say("an experiment"),
    "watching": say("`loadstone watch`"),
    "trials": say("proving a finding"),
    "traffic": say("replaying a log"),
    "digests": say("a template from the server's digests"),
    "extended": say("`--protocol extended`"),
    "pipelined": say("`--protocol pipelined`"),
}
"""The abilities as the subject of a sentence."""


class ForeignOption(LoadstoneError):
    """An option of the command line means nothing for the servers of the target's family."""

    exit_code = ExitCode.USAGE

    def __init__(self, server: str, option: str) -> None:
        super().__init__(
            say("{server} has no {option}", server=server, option=option), say("leave it out")
        )


class NotSupported(TargetError):
    """Loadstone cannot do that with the servers of the target's family."""

    exit_code = ExitCode.NOT_SUPPORTED

    def __init__(self, place: str | Message, server: str, ability: Ability) -> None:
        super().__init__(
            "not_supported",
            say(
                "{place} is a {server} server: {what} is not supported there",
                place=place,
                server=server,
                what=SAID[ability],
            ),
            # These are the only abilities that PostgreSQL has and MySQL does not.
            say("leave it out")
            if ability in ("extended", "pipelined")
            else say("docs/postgresql.md lists what is supported"),
        )
