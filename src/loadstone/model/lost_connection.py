"""The reason of a lost connection: the engine gives it as a code and an English text."""

from __future__ import annotations

from loadstone.model.message import plain, say

_OF_THE_ENGINE = (
    say("the server closed the connection"),
    say("the server closed the connection while logging in"),
)
"""Texts of the engine's own, here so that they have translations; others come from the server."""


def reason_said(reason: str) -> str:
    """`2013 the server closed the connection`, with the engine's own text in any language."""
    code, _, text = reason.partition(" ")
    if not code.isdigit() or text not in _OF_THE_ENGINE:
        return reason
    return say("{code} {reason}", code=code, reason=plain(text))
