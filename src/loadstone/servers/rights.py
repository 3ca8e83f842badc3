"""What an account may do on a server, in the same terms for all families."""

from __future__ import annotations

from dataclasses import dataclass

from loadstone.model.message import Message, say

CHECK = say("check and watch")
RUN_READS = say("runs that only read")
RUN = say("all other runs")
PREPARE = say("prepare")
CLEANUP = say("cleanup")
EXPERIMENT = say("experiments without variables")
SET = say("proofs and experiments that set variables, and restore")
OBSERVE = say("other clients' sessions and what the server waits for, in watch and the account")
STATEMENTS = say("statements and waits, in the account and the diagnosis")


@dataclass(frozen=True)
class Right:
    """Something that a command does, and whether the account may."""

    what: Message
    missing: tuple[str, ...] = ()
    """The statements that would grant what is missing; empty: it may."""
    needs_superuser: bool = False
    """Whether only a superuser grants that, or is one: managed services have none."""

    @property
    def is_given(self) -> bool:
        """Whether the account may do it."""
        return not self.missing


@dataclass(frozen=True)
class Rights:
    """The rights of the account that is logged in."""

    account: str
    """As the server calls it."""
    schema: str
    """The schema, or the database, for which rights on tables were looked up."""
    rights: tuple[Right, ...]
    sees_sessions: bool
    """Whether sessions of other accounts are shown to it."""
