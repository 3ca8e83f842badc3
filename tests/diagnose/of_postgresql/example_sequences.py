"""Waits for the page of a sequence."""

from __future__ import annotations

from collections.abc import Mapping

from diagnose.accounts import an_account
from diagnose.examples import Example
from diagnose.of_postgresql.figures import Figures, a_case, at
from diagnose.of_postgresql.tables import a_sequence, a_table
from loadstone.diagnosis.rules.postgresql import sequences
from loadstone.model.account import Account
from loadstone.model.hot_spots import HotSpots, SequenceVisits, TableVersions

WAITS = {"state.LWLock:BufferContent": 6.0}
SAME_PAGES = an_account(latch=0.4, on_core=0.1, sending=0.4)


def waiting(
    *used: SequenceVisits,
    tables: tuple[TableVersions, ...] = (),
    account: Account = SAME_PAGES,
    means: Mapping[str, float] = WAITS,
) -> Figures:
    """Users that wait for pages, next to these sequences and tables."""
    spots = HotSpots(versions=tables, sequences=used)
    return at(account, means=means, step={"hot_spots": spots})


NUMBERED = a_table(inserted=400_000, updated=0, hot_updated=0)
"""A table whose ids come from a sequence."""

_FEW = a_case(waiting(a_sequence(400_000)))

EXAMPLES = (
    # Numbers without rows, and as many waits for pages with a sequence that hardly anybody uses.
    Example(
        sequences.RULE,
        _FEW,
        a_case(waiting(a_sequence(4000, cache=100), tables=(NUMBERED,))),
        a_case(
            at(
                SAME_PAGES,
                means=WAITS,
                step={"hot_spots": HotSpots(not_evaluated={"versions": "refused"})},
            )
        ),
        needs="the server's views of its tables",
    ),
    # Sequences alone were refused.
    Example(
        sequences.RULE,
        _FEW,
        a_case(waiting()),
        a_case(at(SAME_PAGES, means=WAITS, step={"hot_spots": HotSpots(versions=(NUMBERED,))})),
        needs="the server's views of its tables",
    ),
    # Whose the waits are is not asked where nobody waits for a page.
    Example(
        sequences.RULE,
        _FEW,
        a_case(
            at(
                SAME_PAGES,
                means={"state.LWLock:WALInsert": 6.0},
                step={"hot_spots": HotSpots(sequences=(a_sequence(400_000),))},
            )
        ),
        a_case(Figures(server_figures={"not_evaluated": {"connection_states": "no right"}})),
        needs="states of the connections",
    ),
)
