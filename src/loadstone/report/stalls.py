"""What a load waits for, in a line; servers' own words in it cannot drive a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from loadstone.model.language import ENGLISH, Language
from loadstone.model.message import Joined, Message, plain, say
from loadstone.model.records import LoadStalled, LockHolder


def stalled_line(stalled: LoadStalled, words: Language = ENGLISH) -> str:
    """`loading: no progress for 5 s on connection 7 (LOAD DATA …): it waits for …`."""
    line = words.value(Joined(_clauses(stalled), "clauses"))
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in line)


def _clauses(stalled: LoadStalled) -> Iterator[Message]:
    waits = plain(stalled.waits_for)
    if stalled.holder is not None:
        waits = say("{what}, held by {holder}", what=waits, holder=_held_by(stalled.holder))
    fields = {
        "seconds": f"{stalled.silent_s:.0f}",
        "statement": stalled.statement,
        "waits": waits,
    }
    if stalled.connection is None:
        yield say(
            "loading: no progress for {seconds} s ({statement}): it waits for {waits}", **fields
        )
    else:
        yield say(
            "loading: no progress for {seconds} s on connection {connection} ({statement}): it "
            "waits for {waits}",
            connection=stalled.connection,
            **fields,
        )
    if stalled.others:
        yield say("{number} more connections are silent", number=stalled.others)
    if stalled.deed == "ended":
        yield say("the statement is ended and retried in another way")
    elif stalled.deed == "given_up":
        yield say("the connection is given up, and the load is retried on another one")


def _held_by(holder: LockHolder) -> Message:
    said = say("connection {number}", number=holder.connection)
    if holder.user:
        said = say("{connection} ({user})", connection=said, user=holder.user)
    if holder.seconds is not None:
        said = say("{connection} for {seconds} s", connection=said, seconds=holder.seconds)
    if holder.statement:
        said = say(
            "{connection}, which runs: {statement}", connection=said, statement=holder.statement
        )
    return said
