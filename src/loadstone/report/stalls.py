"""What a load waits for, in a line; servers' own words in it cannot drive a terminal."""

from __future__ import annotations

from loadstone.model.records import LoadStalled, LockHolder

_DEEDS = {
    "watched": "",
    "ended": "; the statement is ended, and tried another way",
    "given_up": "; the connection is given up, and it is tried on another one",
}


def stalled_line(stalled: LoadStalled) -> str:
    """`loading: no progress for 5 s on connection 7 (LOAD DATA …): it waits for …`."""
    where = "" if stalled.connection is None else f" on connection {stalled.connection}"
    held = "" if stalled.holder is None else f", held by {_held_by(stalled.holder)}"
    more = f"; {stalled.others} more are silent" if stalled.others else ""
    line = (
        f"loading: no progress for {stalled.silent_s:.0f} s{where} ({stalled.statement}): "
        f"it waits for {stalled.waits_for}{held}{more}{_DEEDS[stalled.deed]}"
    )
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in line)


def _held_by(holder: LockHolder) -> str:
    user = f" ({holder.user})" if holder.user else ""
    since = f" for {holder.seconds} s" if holder.seconds is not None else ""
    doing = f", which is at: {holder.statement}" if holder.statement else ""
    return f"connection {holder.connection}{user}{since}{doing}"
