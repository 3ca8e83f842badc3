"""Connections of the load that broke, for any family of servers."""

from __future__ import annotations

from loadstone.diagnosis.context import Case
from loadstone.model.finding import Finding
from loadstone.model.lost_connection import reason_said
from loadstone.model.message import Message, counted, plain


def lost(case: Case, remedy: Message) -> Finding | None:
    """Connections that broke in the window: the figures include the time without them."""
    reconnects = case.step.reconnects
    if not case.step.outages or not reconnects:
        return None
    reason = reason_said(case.step.outages[0].reason)
    return Finding(
        cause="connections-lost",
        group="validity",
        sentence=counted(
            "1 connection was lost and opened again; the reason: {reason}.",
            "{number} connections were lost and opened again; the first reason: {reason}.",
            reconnects,
            reason=reason,
        ),
        evidence=(case.seen(plain("reconnects"), reconnects, plain(""), 0.0),),
        share=min(reconnects / max(case.users, 1), 1.0) * 0.5,
        confidence=0.9,
        remedy=remedy,
    )
